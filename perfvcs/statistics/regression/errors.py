"""Errors between two curves: a target's values f(x) against the baseline's f_b(x) at the same sizes.

Values of either side are those of a model or measured ones; arrays of one shape, the last axis runs over the sizes. NaN propagates,
divisions by zero give what is documented and never warn. Source: Stupinsky 2018, ch. 5.2, formulas 5.1 to 5.6.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def absolute(target: ArrayLike, baseline: ArrayLike) -> NDArray[np.float64]:
    """f(x_i) - f_b(x_i), in the unit of the values (5.1)."""
    import numpy as np

    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.subtract(target, baseline, dtype=np.float64)
    return found


def relative(target: ArrayLike, baseline: ArrayLike) -> NDArray[np.float64]:
    """f(x_i) / f_b(x_i) - 1 (5.2); infinite where only the baseline is 0, and 0 where both are."""
    import numpy as np

    delta, level = np.broadcast_arrays(absolute(target, baseline), np.asarray(baseline, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((delta == 0) & (level == 0), 0.0, delta / level)


def mean_squared(target: ArrayLike, baseline: ArrayLike) -> NDArray[np.float64]:
    """The mean of the squared absolute errors over the last axis, in the squared unit (5.3); NaN for no sizes."""
    import numpy as np

    squares = absolute(target, baseline) ** 2
    if squares.shape[-1] == 0:
        return np.full(squares.shape[:-1], np.nan)
    return np.asarray(squares.mean(axis=-1))


def leverage(target: ArrayLike) -> NDArray[np.float64]:
    """How far each value lies from the mean of all: (f(x_i) - mean)^2 / sum (f(x_j) - mean)^2 + 1/n (5.4); 1/n where all are equal."""
    import numpy as np

    values = np.asarray(target, dtype=np.float64)
    away = (values - values.sum(axis=-1, keepdims=True) / max(values.shape[-1], 1)) ** 2
    total = away.sum(axis=-1, keepdims=True)
    share = np.where(total > 0, away / np.where(total > 0, total, 1.0), 0.0 * total)
    return np.asarray(share + 1 / max(values.shape[-1], 1))


def studentized(target: ArrayLike, baseline: ArrayLike) -> NDArray[np.float64]:
    """The absolute error over its standard deviation, estimated without the value itself (5.6).

    t_i = dx_i / sqrt(MSE_(i) (1 - h_i)), MSE_(i) being the mean squared error of the other sizes. 0 where there is no error, infinite
    where the others have none or the value's leverage is 1; NaN for a single size. An equal error everywhere gives values about 1,
    with a mean square of 1 + 2/n (table 6.2); an outlier stands out.
    """
    import numpy as np

    delta = absolute(target, baseline)
    n = delta.shape[-1]
    if n < 2:
        return np.full(delta.shape, np.nan)
    squares = delta**2
    others = np.maximum(squares.sum(axis=-1, keepdims=True) - squares, 0.0) / (n - 1)
    free = np.maximum(1 - leverage(np.broadcast_to(np.asarray(target, dtype=np.float64), delta.shape)), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(delta == 0, 0.0, delta / np.sqrt(others * free)))
