"""What `perf bisect --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.locate.bisection import describe_target
from perfvcs.locate.effects import effect, own
from perfvcs.locate.posterior import likeliest
from perfvcs.text.characters import escaped

if TYPE_CHECKING:
    from perfvcs.locate.bisection import Bisection

LARGEST_EVIDENCE = 1e300  # evidence beyond it is infinite, which JSON has no number for


def json(bisection: Bisection) -> str:
    """A bisection as one JSON object."""
    return escaped(msgspec.json.format(msgspec.json.encode(document(bisection))).decode())


def document(bisection: Bisection) -> dict[str, Any]:
    """Its ends, its target, every commit with what is known of it, and what was measured."""
    target = bisection.target
    base = {
        "good": bisection.span.good,
        "bad": bisection.span.bad,
        "ended": bisection.why if bisection.outcome or bisection.report else "",
        "target": target and {"benchmark": describe_target(target), **msgspec.structs.asdict(target)},
        "commits": _commits(bisection),
    }
    outcome, begun = bisection.outcome, bisection.begun
    if outcome is None or begun is None:
        return base
    belief, evidence = outcome.decision.belief, outcome.evidence
    named = [
        {
            "commit": bisection.span.commits[place],
            "parent": bisection.span.commits[place - 1],
            "probability": float(belief.change[place - 1]) if belief else None,
            "step": own(bisection, place)._asdict(),
        }
        for place in sorted(outcome.decision.named)
    ]
    return base | {
        "good_value": outcome.values.get(0),
        "effect": effect(evidence.pairs, bisection)._asdict() if evidence.pairs else None,
        "evidence": min(outcome.decision.evidence, LARGEST_EVIDENCE),
        "named": named,
        "blocks": outcome.blocks,
        "executions": outcome.executions,
        "counted": begun.counted,
        "instructions": outcome.guide
        and {
            "effect": outcome.guide.relative(improvement=bisection.improvement),
            "commits": {
                bisection.span.commits[place]: float(outcome.guide.jump[place - 1]) for place in likeliest(outcome.guide.jump)
            },
        },
        "built": len(begun.built),
        "seconds": begun.seconds,
        "sessions": [one.session for one in begun.sessions],
        "within": bisection.within and document(bisection.within),
    }


def _commits(bisection: Bisection) -> list[dict[str, Any]]:
    share, rows = bisection.shares(), []
    for place, commit in enumerate(bisection.span.commits[1:]):
        row: dict[str, Any] = {"commit": commit, "merge": commit in bisection.span.merges, "prior": share[place]}
        if bisection.suspects:
            row |= {"suspect": bisection.suspects[place].touches, "reasons": bisection.suspects[place].reasons}
        rows.append(row | (_measured(bisection, place + 1) if bisection.outcome else {}))
    return rows


def _measured(bisection: Bisection, number: int) -> dict[str, Any]:
    """What was measured of a commit: its mean value, the share of the difference that it has, and its probability."""
    assert bisection.outcome is not None and bisection.begun is not None
    belief = bisection.outcome.decision.belief
    return {
        "probability": None if belief is None else float(belief.jump[number - 1]),
        "value": bisection.outcome.values.get(number),
        "level": belief.levels[number][0] if belief and number in belief.levels else None,
        "blocks": len(bisection.outcome.evidence.candidates.get(number, ())),
        "skipped": bisection.begun.skipped.get(bisection.span.commits[number]),
    }
