"""What a comparison that delta leaves open settles all the same: the bound that its interval gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from perfvcs.check.change import Change, Report, Word


def within(bound: float) -> str:
    """The bound in words, rounded up.

    >>> within(0.0226), within(0.1)
    ('within ±2.3 %', 'within ±10 %')
    """
    from math import ceil

    return f"within ±{ceil(round(1000 * bound, 6)) / 10:g} %"


def stated(word: Word, reason: str, bound: float | None) -> str:
    """The reason, of what is open with the bound that it has all the same."""
    from math import isfinite

    if word != "inconclusive" or bound is None or not isfinite(bound):
        return reason
    return f"{reason}; {within(bound)}"


def settle(report: Report, asked: float | None) -> Report:
    """The report in which what is open, and within ``asked`` (a share), is the same; the reason says within what."""
    if asked is None:
        return report
    return msgspec.structs.replace(report, changes=[_settled(change, asked) for change in report.changes])


def _settled(change: Change, asked: float) -> Change:
    if change.word != "inconclusive" or change.bound is None or change.bound > asked:
        return change
    return msgspec.structs.replace(change, word="same", reason=within(change.bound), coarse=False)
