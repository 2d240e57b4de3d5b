"""What `perf bisect --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.locate.bisection import describe_target
from perfvcs.locate.effects import effect, own
from perfvcs.text.characters import escaped

if TYPE_CHECKING:
    from perfvcs.locate.bisection import Bisection

LARGEST_EVIDENCE = 1e300  # evidence beyond it is infinite, which JSON has no number for


def json(found: Bisection) -> str:
    """A bisection as one JSON object."""
    return escaped(msgspec.json.format(msgspec.json.encode(document(found))).decode())


def document(found: Bisection) -> dict[str, Any]:
    """Its ends, its target, every commit with what is known of it, and what was measured."""
    target = found.target
    base = {
        "good": found.span.good,
        "bad": found.span.bad,
        "ended": found.why if found.outcome or found.report else "",
        "target": target and {"benchmark": describe_target(target), **msgspec.structs.asdict(target)},
        "commits": _commits(found),
    }
    outcome, begun = found.outcome, found.begun
    if outcome is None or begun is None:
        return base
    belief, evidence = outcome.decision.belief, outcome.evidence
    named = [
        {
            "commit": found.span.commits[place],
            "probability": float(belief.change[place - 1]) if belief else None,
            "step": own(found, place)._asdict(),
        }
        for place in sorted(outcome.decision.named)
    ]
    return base | {
        "good_value": outcome.values.get(0),
        "effect": effect(evidence.pairs, found)._asdict() if evidence.pairs else None,
        "evidence": min(outcome.decision.evidence, LARGEST_EVIDENCE),
        "named": named,
        "blocks": outcome.blocks,
        "executions": outcome.executions,
        "counted": begun.counted,
        "built": len(begun.built),
        "seconds": begun.seconds,
        "sessions": [one.session for one in begun.sessions],
        "within": found.within and document(found.within),
    }


def _commits(found: Bisection) -> list[dict[str, Any]]:
    share, rows = found.shares(), []
    for place, commit in enumerate(found.span.commits[1:]):
        row: dict[str, Any] = {"commit": commit, "merge": commit in found.span.merges, "prior": share[place]}
        if found.suspects:
            row |= {"suspect": found.suspects[place].touches, "reasons": found.suspects[place].reasons}
        rows.append(row | (_measured(found, place + 1) if found.outcome else {}))
    return rows


def _measured(found: Bisection, number: int) -> dict[str, Any]:
    """What was measured of a commit: its mean value, the share of the difference that it has, and its probability."""
    assert found.outcome is not None and found.begun is not None
    belief = found.outcome.decision.belief
    return {
        "probability": None if belief is None else float(belief.jump[number - 1]),
        "value": found.outcome.values.get(number),
        "level": belief.levels[number][0] if belief and number in belief.levels else None,
        "blocks": len(found.outcome.evidence.candidates.get(number, ())),
        "skipped": found.begun.skipped.get(found.span.commits[number]),
    }
