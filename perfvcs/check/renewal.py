"""Acceptances whose commits a squash or a rebase has left behind: what they accepted is in the
history, under another commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.check.acceptance import DEFAULT_DELTA, Acceptable, Acceptance
from perfvcs.check.change import Change, Report
from perfvcs.check.vocabulary import said
from perfvcs.text.words import counted, plural

if TYPE_CHECKING:
    from perfvcs.git.ancestry import Ancestry
    from perfvcs.history.verdict import Verdict

SHIFT_TOLERANCE = 0.1  # of an accepted shift, which has no interval


def renewable(
    change: Change | Verdict, acceptances: Iterable[Acceptance], way: Ancestry, today: date
) -> Acceptance | None:
    """The acceptance of the series, metric and effect of a degradation whose target is not in the
    history that the way ends with; of several the nearest in effect.
    """
    left_behind = [
        acceptance
        for acceptance in acceptances
        if acceptance.is_about(change)
        and not acceptance.has_ended(today)
        and _is_alike(change, acceptance)
        and not way.contains(way.target, acceptance.target)
    ]
    return min(left_behind, key=lambda acceptance: _distance(change, acceptance), default=None)


def offered(
    changes: Sequence[Acceptable], acceptances: Sequence[Acceptance], way: Ancestry, today: date
) -> list[Acceptable]:
    """The changes, those that can be accepted again with the acceptance that was left behind."""
    offers = []
    for change in changes:
        left = renewable(change, acceptances, way, today) if said(change).fails else None
        if left is None:
            offers.append(change)
            continue
        before = f"accepted as {left.id} for a commit that is not in this history ({left.reason})"
        update = {"reason": "; ".join(filter(None, [change.reason, before]))}
        if isinstance(change, Change):
            update["renewable"] = left.id
        offers.append(replace(change, **update))
    return offers


def offer(report: Report) -> str:
    """How all that can be renewed is accepted again, with the command at the end; empty where
    nothing can.
    """
    count = sum(bool(change.renewable) for change in report.changes)
    if not count:
        return ""
    were = plural(count, "was", "were")
    changes = counted(count, "degradation")
    return f"{changes} {were} accepted before a squash or a rebase: perf accept --renew"


def _distance(change: Change | Verdict, acceptance: Acceptance) -> float:
    if change.effect is not None and acceptance.effect is not None:
        return abs(change.effect - acceptance.effect)
    if change.shift is not None and acceptance.shift is not None:
        return abs(change.shift - acceptance.shift)
    return float("inf")


def _is_alike(change: Change | Verdict, acceptance: Acceptance) -> bool:
    """Whether the effects are the same as far as two measurements can say."""
    if change.effect is not None and acceptance.effect is not None:
        width = 0.0 if change.low is None or change.high is None else change.high - change.low
        tolerance = max(DEFAULT_DELTA if change.delta is None else change.delta, width)
    else:
        tolerance = SHIFT_TOLERANCE * abs(acceptance.shift or 0.0)
    return _distance(change, acceptance) <= tolerance
