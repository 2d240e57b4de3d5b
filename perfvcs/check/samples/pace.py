"""Under which conditions pairs were measured: the pace of the machine, the host, and who came
first.
"""

from __future__ import annotations

from math import exp, inf, log, sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.statistics.sessions import far_apart, slope

if TYPE_CHECKING:
    from perfvcs.check.case import CaseExecution, ExecutionsOfSessions, Pair
    from perfvcs.check.samples.estimate import Estimate
    from perfvcs.check.samples.scale import Scaled
    from perfvcs.profile.summary import Measured

# p of the test between hosts, and q over all comparisons, from which each host's result is shown
DISAGREE = 0.01
MOST_HOSTS = 6  # that a finding lists
FEWEST_PACED = 8  # executions a side: of fewer the slope is not worth its degree of freedom
Logs = list[list[float]]  # by session


def later(scaled: Scaled) -> list[bool] | None:
    """Whether the target came after the baseline, for each execution in the order of the pair's
    sessions; None if any is not known.

    None also where builds take the place of executions: each has some of either order.
    """
    if scaled.pair.builds:
        return None
    sides, target_later = scaled.pair.case.chosen.sides, []
    for before, after in zip(scaled.pair.before, scaled.pair.after, strict=True):
        for old, new in zip(before, after, strict=True):
            first, second = (
                sides[0][old.profile].turns.get(old.place),
                sides[1][new.profile].turns.get(new.place),
            )
            if first is None or second is None or first == second:
                return None
            target_later.append(second > first)
    return target_later


def hosts(pair: Pair) -> tuple[str, ...]:
    """The host of each session of a pair measured in turns; empty where one host, or nobody knows
    which, measured all.
    """
    sides = pair.case.chosen.sides
    if not pair.paired:
        return ()
    names = [sides[1][session[0].profile].header.worker for session in pair.after]
    return tuple(names) if len(set(names)) > 1 else ()


def disagreement(scaled: Scaled, result: Estimate, q: float) -> str:
    """In words, each host's result where they differ; empty where they agree."""
    if not (result.by_host and result.unlike <= DISAGREE and q <= DISAGREE):
        return ""
    from perfvcs.text.words import counted

    shown = sorted(result.by_host.items(), key=lambda item: -abs(item[1] - result.theta))[
        :MOST_HOSTS
    ]
    listed = ", ".join(
        f"{_effect(scaled, effect)} on {name or 'this machine'}" for name, effect in sorted(shown)
    )
    rest = len(result.by_host) - len(shown)
    return f"differs by host: {listed}" + (f", and {counted(rest, 'more host')}" if rest else "")


def _effect(scaled: Scaled, effect: float) -> str:
    relative = scaled.relative(effect)
    return f"{effect:+.3g}" if relative is None else f"{100 * relative:+.1f} %"


def at_one_pace(pair: Pair) -> Pair:
    """The pair with the values of a time at the mean pace of both sides, by analysis of covariance
    (see ``statistics.covariate``).

    The slope is that inside the sessions of each side. It is estimated too: the values' distances
    from the mean of their session are stretched by as much as that adds to the variance of the
    difference. It is the pair itself without the pace of every execution, of a metric that is not a
    time or has values of 0 and below, with fewer than eight executions a side, where the paces of
    the sides differ by more than chance, and if the pace explains nothing.
    """
    sides = pair.before, pair.after
    if pair.about.unit != "s" or min(pair.executions) < FEWEST_PACED:
        return pair
    before, after = (
        _paces(side, measured) for side, measured in zip(sides, pair.case.chosen.sides, strict=True)
    )
    if before is None or after is None or far_apart(_flat(before), _flat(after)):
        return pair
    if not all(
        0 < execution.value < inf for side in sides for session in side for execution in session
    ):
        return pair
    steepness, stretch = _slope((before, after), sides)
    if steepness == 0:
        return pair
    middle = fmean(fmean(_flat(side_paces)) for side_paces in (before, after))

    def moved(side: ExecutionsOfSessions, side_paces: Logs) -> ExecutionsOfSessions:
        sessions = []
        for session, session_paces in zip(side, side_paces, strict=True):
            by = [steepness * (pace - middle) for pace in session_paces]
            sessions.append(_moved(session, by, stretch))
        return tuple(sessions)

    return replace(pair, before=moved(pair.before, before), after=moved(pair.after, after))


def _moved(
    session: tuple[CaseExecution, ...], by: list[float], stretch: float
) -> tuple[CaseExecution, ...]:
    logs = [log(execution.value) - less for execution, less in zip(session, by, strict=True)]
    middle = fmean(logs)
    return tuple(
        replace(execution, value=exp(middle + stretch * (value - middle)))
        for execution, value in zip(session, logs, strict=True)
    )


def _paces(side: ExecutionsOfSessions, measured: list[Measured]) -> Logs | None:
    """The logarithm of the pace of each execution; None where one is not known."""
    if not all(measured[session[0].profile].paces for session in side):
        return None
    logarithms: Logs = []
    for session in side:
        paces = [measured[execution.profile].paces.get(execution.place) for execution in session]
        usable = [pace for pace in paces if pace is not None and 0 < pace < inf]
        if len(usable) < len(paces):
            return None
        logarithms.append(list(map(log, usable)))
    return logarithms


def _flat(side: Logs) -> list[float]:
    return [pace for session in side for pace in session]


def _slope(
    paces: tuple[Logs, Logs], sides: tuple[ExecutionsOfSessions, ExecutionsOfSessions]
) -> tuple[float, float]:
    """The slope, and the factor by which it widens the difference's standard error."""
    squares = products = 0.0
    sessions = [
        pair
        for side_paces, side in zip(paces, sides, strict=True)
        for pair in zip(side_paces, side, strict=True)
    ]
    for session_paces, session in sessions:
        values = [log(execution.value) for execution in session]
        x, y = fmean(session_paces), fmean(values)
        squares += sum((pace - x) ** 2 for pace in session_paces)
        products += sum(
            (pace - x) * (value - y) for pace, value in zip(session_paces, values, strict=True)
        )
    counts = [sum(map(len, side)) for side in sides]
    steepness = slope(products, squares, sum(counts))
    if steepness == 0:
        return 0.0, 1.0
    free = sum(counts) - len(sessions)
    first, second = (fmean(_flat(side)) for side in paces)
    apart = (second - first) ** 2 / squares / sum(1 / count for count in counts)
    return steepness, sqrt((1 + apart) * free / (free - 1))
