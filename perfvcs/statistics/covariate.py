"""Values as they would be at one level of something that was measured beside them and that is not part of what is compared."""

from __future__ import annotations

from math import sqrt
from statistics import fmean, variance
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

CLIPPED = 2.0  # percent at either end that are outliers for the slope
STEEPEST = 1.5  # on logarithmic scales; in proportion is 1
SEVERAL = 8  # executions
FAR_ERRORS = 4.0  # standard errors by which the sides' means do not differ by chance
UNMOVED = 1e-6  # standard deviation of the covariate's logarithm below which it says nothing


def adjusted(value: ArrayLike, covariate: ArrayLike, cell: ArrayLike, execution: ArrayLike) -> NDArray[np.float64]:
    """``value`` at the geometric mean of ``covariate``; columns of equal length, whole numbers for ``cell`` and ``execution``.

    Analysis of covariance (Fisher 1932) on logarithms with one slope for all cells, from 0 to 1.5, by least squares after the tails of
    the values are cut. Cells (side and size) must not influence the slope. From eight executions on the slope is that through
    their means, since a single reading of the covariate is inexact and would flatten it. The slope costs a degree of freedom, which
    intervals of ten pairs and more do not notice (5 % of their width). Values and covariates that are not above 0, or unknown, change
    nothing and stay as they are.
    """
    import numpy as np

    values, beside = np.array(value, dtype=np.float64), np.asarray(covariate, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        known = (values > 0) & (beside > 0) & np.isfinite(beside) & np.isfinite(values)
    if not known.any():
        return values
    x, y = np.log(beside[known]), np.log(values[known])
    place = np.unique(np.asarray(cell)[known], return_inverse=True)[1]
    count = np.bincount(place)
    away, found = (column - (np.bincount(place, column) / count)[place] for column in (x, y))
    found = np.clip(found, *np.percentile(found, [CLIPPED, 100 - CLIPPED]))
    run = np.unique(np.asarray(execution)[known], return_inverse=True)[1]
    calls = np.bincount(run)
    weight = np.ones(len(away))
    if len(calls) >= SEVERAL:
        away, found, weight = np.bincount(run, away) / calls, np.bincount(run, found) / calls, calls.astype(np.float64)
    found_slope = slope(float((weight * away * found).sum()), float((weight * away**2).sum()), float(weight.sum()))
    values[known] *= np.exp(-found_slope * (x - x.mean()))
    return values


def slope(products: float, squares: float, count: float) -> float:
    """The slope by the sums of products and squares of ``count`` distances from the means; from 0 to 1.5, 0 where nothing moved."""
    return min(STEEPEST, max(0.0, products / squares)) if squares > UNMOVED**2 * count else 0.0


def far_apart(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the executions' logarithms of the covariate on two sides differ by more than chance: Welch's t beyond 4.

    Then it may be a part of what is compared. False where a side has one execution.
    """
    if min(len(first), len(second)) < 2:
        return False
    error = sqrt(variance(first) / len(first) + variance(second) / len(second))
    return abs(fmean(second) - fmean(first)) > FAR_ERRORS * error + UNMOVED
