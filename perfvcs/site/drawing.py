"""The numbers of the figures: rounded, since every digit travels thousands of times, and of all trails at once."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.site.record import CHANGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.site.record import Trail

DIGITS = 6  # significant ones
LARGEST = 700.0  # exp of more is beyond a float
LIMIT = 300  # the largest power of ten
WORDS = ("new", "same", "", "missing", "accepted")  # of NEW, SAME, CHANGED, UNJUDGED, ACCEPTED


class Drawing(NamedTuple):
    """One trail as a figure draws it, one element per commit: levels with their intervals, changes to the one before, and their words."""

    levels: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    effects: NDArray[np.float64]
    words: NDArray[np.object_]


def drawings(trails: Sequence[Trail]) -> list[Drawing]:
    """The drawings of trails, in their order."""
    import numpy as np

    levels, reach, moves, kinds = (
        np.concatenate([getattr(trail, name) for trail in trails]) for name in ("levels", "reach", "moves", "kinds")
    )
    counts = [len(trail.places) for trail in trails]
    lower = np.repeat([trail.line.better == "lower" for trail in trails], counts)
    bounds = np.exp(levels - reach), np.exp(np.minimum(levels + reach, LARGEST))
    words = np.array(WORDS, dtype=object)[kinds]
    changed = kinds == CHANGED
    words[changed] = np.where((moves > 0) == lower, "degradation", "improvement")[changed]
    effects = np.expm1(np.clip(moves, -LARGEST, LARGEST)).round(DIGITS)
    columns = (*map(rounded, (np.exp(levels), *bounds)), effects, words)
    ends = np.cumsum(counts)[:-1]
    return [Drawing(*parts) for parts in zip(*(np.split(column, ends) for column in columns), strict=True)]


def rounded(column: NDArray[np.float64], digits: int = DIGITS) -> NDArray[np.float64]:
    """Numbers with so many significant digits, of which the shortest text is short; powers of ten are exact up to 10^22."""
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
    """The numbers of a column, None where there is none."""
    import numpy as np

    if not np.isnan(column).any():
        return column.tolist()  # type: ignore[no-any-return]
    return np.where(np.isnan(column), None, column).tolist()  # type: ignore[call-overload, no-any-return]
