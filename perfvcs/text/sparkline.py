"""A series of numbers as one short line of a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

HEIGHTS = "▁▂▃▄▅▆▇█"
ASCII_INK = "_.-=+*#@"  # rising ink, for terminals without the blocks
MISSING_VALUE = " "


def sparkline(values: Sequence[float | None], *, width: int | None = None, plain: bool = False, least: float = 0.02) -> str:
    """One character per value, lowest to highest; None and what is not finite is a gap.

    ``width``: only the newest so many are shown. ``plain``: ASCII. The scale spans at least the share ``least`` of the middle value, so
    that noise of a percent does not look like a mountain.

    >>> sparkline([1, 2, None, 3]), sparkline([5, 5, 5], plain=True), sparkline([])
    ('▁▄ █', '===', '')
    """
    shown = list(values if width is None else values[max(0, len(values) - width) :])
    known = [value for value in shown if value is not None and math.isfinite(value)]
    if not known:
        return MISSING_VALUE * len(shown)
    low, high = min(known), max(known)
    middle = low / 2 + high / 2
    span = max(high - low, least * abs(middle))
    if not math.isfinite(span):  # the ends are further apart than a float can say
        shown = [None if value is None else value / 4 for value in shown]
        return sparkline(shown, plain=plain, least=least)
    steps = ASCII_INK if plain else HEIGHTS
    return "".join(
        MISSING_VALUE if value is None or not math.isfinite(value) else steps[_step(value, middle, span)] for value in shown
    )


def _step(value: float, middle: float, span: float) -> int:
    """The step 0..7 of a value on a scale of ``span`` about ``middle``."""
    share = 0.5 if span == 0 else (value - middle) / span + 0.5
    return min(len(HEIGHTS) - 1, max(0, math.floor(share * len(HEIGHTS) * (1 - 1e-9))))


def fits(encoding: str | None) -> bool:
    """Whether a terminal of this encoding can show the blocks."""
    try:
        HEIGHTS.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
