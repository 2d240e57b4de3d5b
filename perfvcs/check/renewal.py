"""Acceptances whose commits a squash or a rebase has left behind: what they accepted is in the
history, under another commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.check.acceptance import DEFAULT_DELTA, Acceptable, Acceptance, Kind, Way
from perfvcs.check.vocabulary import said

if TYPE_CHECKING:
    from perfvcs.check.change import Change

SHIFT_TOLERANCE = 0.1  # of an accepted shift, which has no interval


def renewable(
    change: Acceptable | Change, acceptances: Iterable[Acceptance], way: Way, today: date
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
    changes: Sequence[Kind], acceptances: Sequence[Acceptance], way: Way, today: date
) -> list[Kind]:
    """The changes, those that can be accepted again with how."""
    told = []
    for change in changes:
        left = None
        if said(change).fails:
            left = renewable(change, acceptances, way, today)
        reason = change.reason
        if left is not None:
            reason = "; ".join(filter(None, [reason, _offer(left)]))
        told.append(change if left is None else replace(change, reason=reason))  # type: ignore[type-var]
    return told


def _offer(acceptance: Acceptance) -> str:
    return (
        f"accepted as {acceptance.id} for a commit that is not in this history"
        f" ({acceptance.reason}): perf accept --renew"
    )


def _distance(change: Acceptable | Change, acceptance: Acceptance) -> float:
    if change.effect is not None and acceptance.effect is not None:
        return abs(change.effect - acceptance.effect)
    if change.shift is not None and acceptance.shift is not None:
        return abs(change.shift - acceptance.shift)
    return float("inf")


def _is_alike(change: Acceptable | Change, acceptance: Acceptance) -> bool:
    """Whether the effects are the same as far as two measurements can say."""
    if change.effect is not None and acceptance.effect is not None:
        width = 0.0 if change.low is None or change.high is None else change.high - change.low
        tolerance = max(DEFAULT_DELTA if change.delta is None else change.delta, width)
    else:
        tolerance = SHIFT_TOLERANCE * abs(acceptance.shift or 0.0)
    return _distance(change, acceptance) <= tolerance
