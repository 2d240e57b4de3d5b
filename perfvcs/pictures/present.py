"""What a series is like now: its level, its trend over a year, its last change, and how far its
commits scatter; the same words on pages, in terminals and on sites.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import accumulate, pairwise
from math import expm1, log, sqrt
from statistics import median

import msgspec

from perfvcs.text.quantity import percent, quantity

NEWEST = 9  # values whose median is a level, so that single ones do not move it
YEAR = timedelta(days=365)
FEWEST = 10  # values at one level, of which a scatter is told
NORMAL = 1.4826 / sqrt(2)  # the median of absolute differences -> a standard deviation


class Present(msgspec.Struct, frozen=True):
    """A series as it is now, in words: its ``level``, the ``trend`` up to it (over a ``span`` such
    as ``a year``), the last ``change`` for good, and the ``scatter`` of its commits; empty where
    there are too few values.
    """

    level: str
    trend: str
    span: str
    change: str
    scatter: str

    @property
    def words(self) -> str:
        """``now 12.9 ms, +1.2 % in a year, last change +12.0 %, 2026-03-12, scatter 0.8 %``."""
        parts = [
            f"now {self.level}",
            self.trend and f"{self.trend} {self.span}",
            self.change and f"last change {self.change}",
            self.scatter and f"scatter {self.scatter}",
        ]
        return ", ".join(filter(None, parts))


def present(
    values: Sequence[float], days: Sequence[str], unit: str, *, begin: int = 0, change: str = ""
) -> Present:
    """What some ``values`` (at least one, oldest first, of these ISO ``days``) say of now.

    The newest level begins at the value ``begin``, where the last ``change`` was.
    """
    newest = median(values[max(begin, len(values) - NEWEST) :])
    trend, span = "", ""
    if min(values) > 0:
        trend, span = _trend(values, days, newest)
    known = scatter(values[begin:])
    text = "" if known is None else percent(known).removeprefix("+")
    return Present(quantity(newest, unit), trend, span, change, text)


def _trend(values: Sequence[float], days: Sequence[str], newest: float) -> tuple[str, str]:
    """The change since a year ago, or since a shorter series' first values; and since when."""
    try:
        year_ago = (date.fromisoformat(days[-1]) - YEAR).isoformat()
    except ValueError:  # a commit without a date
        return "", ""
    older = bisect_right(list(accumulate(days, max)), year_ago)
    if older:
        return percent(newest / median(values[max(0, older - NEWEST) : older]) - 1), "in a year"
    if len(values) < 2 * NEWEST:
        return "", ""
    return percent(newest / median(values[:NEWEST]) - 1), f"since {days[0]}"


def scatter(values: Sequence[float]) -> float | None:
    """The standard deviation of commits at one level, as a share, from the differences of
    neighbours, so that neither drift nor single values count; None of too few values.
    """
    if len(values) < FEWEST or min(values) <= 0:
        return None
    apart = [abs(log(after / before)) for before, after in pairwise(values)]
    return expm1(NORMAL * median(apart))
