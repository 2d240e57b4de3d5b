"""Confidence interval of one mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Interval:
    """Mean and its confidence interval per group, shape (groups,), in the unit of the values; infinite for a single value."""

    centre: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def interval(values: ArrayLike, confidence: float = 0.99) -> Interval:
    """Student's interval of the mean of each group; ``values`` has the shape (groups, n), n >= 1.

    For an interval of geometric means pass logarithms and take ``exp`` of the result.
    """
    import numpy as np

    from perfvcs.statistics.difference import combine, moments

    found = moments(values)
    mean = combine(found.mean, [found.variance / np.shape(values)[1]], [found.df], confidence)
    return Interval(found.mean, mean.low, mean.high)
