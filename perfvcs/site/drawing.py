"""The numbers of the figures: rounded, since every digit travels thousands of times, and of all series at once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.history.record import SeriesRecord

SIGNIFICANT_DIGITS = 6  # significant ones
LARGEST_EXPONENT = 700.0  # exp of more is beyond a float
LIMIT = 300  # the largest power of ten


class SeriesDrawing(NamedTuple):
    """One series as a figure draws it, one element per commit: levels with their intervals, changes to the one before, and their words."""

    levels: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    effects: NDArray[np.float64]
    words: list[str]


def drawings(all_series: Sequence[SeriesRecord]) -> list[SeriesDrawing]:
    """The drawings of series, in their order."""
    import numpy as np

    levels, reach = (np.concatenate([getattr(series, name) for series in all_series]) for name in ("levels", "reach"))
    bounds = np.exp(levels - reach), np.exp(np.minimum(levels + reach, LARGEST_EXPONENT))
    ends = np.cumsum([len(series.places) for series in all_series])[:-1]
    columns = zip(*(np.split(rounded(column), ends) for column in (np.exp(levels), *bounds)), strict=True)
    return [
        SeriesDrawing(level, low, high, *_compared(series))
        for (level, low, high), series in zip(columns, all_series, strict=True)
    ]


def _compared(series: SeriesRecord) -> tuple[NDArray[np.float64], list[str]]:
    """The effects of a series' commits against the one before (NaN: unknown), and the words."""
    import numpy as np

    effects, words = np.full(len(series.places), np.nan), [""] * len(series.places)
    words[0] = "new"
    for turn, verdict in series.verdicts.items():
        words[turn] = series.word(turn)
        if verdict.effect is not None:
            effects[turn] = verdict.effect
    return effects.round(SIGNIFICANT_DIGITS), words


def rounded(column: NDArray[np.float64], digits: int = SIGNIFICANT_DIGITS) -> NDArray[np.float64]:
    """Numbers rounded to so many significant digits, so that their text is short; powers of ten are exact up to 10^22."""
    import numpy as np

    size = np.abs(column)
    there = np.where(size > 0, size, 1)  # not where it is NaN either
    exponents = np.clip(digits - 1 - np.floor(np.log10(there)), -LIMIT, LIMIT).astype(np.int64)
    up, down = _powers()[np.maximum(exponents, 0)], _powers()[np.maximum(-exponents, 0)]
    found: NDArray[np.float64] = np.round(column * up / down) * down / up
    return found


@cache
def _powers() -> NDArray[np.float64]:
    import numpy as np

    return np.array([10.0**power for power in range(LIMIT + 1)])


def known(column: NDArray[np.float64]) -> list[float | None]:
    """The numbers of a column, None if there is none."""
    import numpy as np

    if not np.isnan(column).any():
        return column.tolist()  # type: ignore[no-any-return]
    return np.where(np.isnan(column), None, column).tolist()  # type: ignore[call-overload, no-any-return]
