"""Which host measured the executions of a pair, and what is said where hosts disagree."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfvcs.check.case import Pair
    from perfvcs.check.samples.estimate import Estimate
    from perfvcs.check.samples.scale import Scaled

DISAGREE = 0.01  # p of the test between hosts, and q over all comparisons, from which each host's result is shown
MOST_HOSTS = 6  # that a finding lists


def hosts(pair: Pair) -> tuple[str, ...]:
    """The host of each session of a pair measured in turns; empty where one host, or nobody knows which, measured all."""
    sides = pair.case.chosen.sides
    names = [sides[1][session[0].profile].header.worker for session in pair.after] if pair.paired else []
    return tuple(names) if len(set(names)) > 1 else ()


def disagreement(scaled: Scaled, result: Estimate, q: float) -> str:
    """In words, each host's result where they differ; empty where they agree."""
    if not (result.by_host and result.unlike <= DISAGREE and q <= DISAGREE):
        return ""
    from perfvcs.text.words import counted

    shown = sorted(result.by_host.items(), key=lambda item: -abs(item[1] - result.theta))[:MOST_HOSTS]
    listed = ", ".join(f"{_effect(scaled, effect)} on {name or 'this machine'}" for name, effect in sorted(shown))
    rest = len(result.by_host) - len(shown)
    return f"differs by host: {listed}" + (f", and {counted(rest, 'more host')}" if rest else "")


def _effect(scaled: Scaled, effect: float) -> str:
    relative = scaled.relative(effect)
    return f"{effect:+.3g}" if relative is None else f"{100 * relative:+.1f} %"
