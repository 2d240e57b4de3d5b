"""Values on a grid: what falls into each cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class HeatCells:
    """Mean, lowest and highest value, and number of values of each cell, all of shape (rows, columns).

    A cell without a value has NaN, and a ``count`` of 0.
    """

    mean: Floats
    low: Floats
    high: Floats
    count: Numbers


def cells(row: Numbers, column: Numbers, values: Floats, shape: tuple[int, int]) -> HeatCells:
    """The cells of values; ``row`` and ``column`` say where each falls, all of shape (values,)."""
    import numpy as np

    size = shape[0] * shape[1]
    place = row * shape[1] + column
    count = np.bincount(place, minlength=size)
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(low, place, values)
    np.maximum.at(high, place, values)
    there = count > 0
    largest = np.abs(values).max(initial=0.0) or 1.0  # the sum of numbers near the largest float is none
    sums = np.bincount(place, weights=values / largest, minlength=size)
    mean = np.where(there, np.clip(sums / np.maximum(count, 1) * largest, low, high), np.nan)
    least, most = (np.where(there, end, np.nan).reshape(shape) for end in (low, high))
    return HeatCells(mean.reshape(shape), least, most, count.reshape(shape).astype(np.int64))
