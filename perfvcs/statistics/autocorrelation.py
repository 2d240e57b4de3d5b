"""How far a measurement predicts those after it."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

POINT = 1.959963984540054  # of the normal distribution, 95 % two-sided


@dataclass(frozen=True)
class Autocorrelation:
    """``coefficients`` at lags 0, 1, ... of rows of ``n`` values, shape (groups, lags + 1); NaN where the values do not vary."""

    coefficients: NDArray[np.float64]
    n: int

    @property
    def bound(self) -> float:
        """95 % of the coefficients of independent values lie within +-bound."""
        return POINT / sqrt(self.n)

    def p(self) -> NDArray[np.float64]:
        """Ljung and Box's test of all lags together, shape (groups,); NaN without a coefficient. Source: Ljung, Box 1978."""
        import numpy as np
        from scipy.special import chdtrc

        lags = self.coefficients.shape[1] - 1
        if not lags:
            return np.full(len(self.coefficients), np.nan)
        statistic = self.n * (self.n + 2) * (self.coefficients[:, 1:] ** 2 / (self.n - np.arange(1, lags + 1))).sum(axis=1)
        known = np.isfinite(statistic)
        return np.where(known, chdtrc(lags, np.where(known, statistic, 0.0)), np.nan)

    def inflation(self) -> NDArray[np.float64]:
        """By how much a first-order dependence enlarges the variance of a mean: (1 + r) / (1 - r), never below 1; shape (groups,).

        r is the lag 1 coefficient, at most 0.95; 1 where nothing varies.
        """
        import numpy as np

        if self.coefficients.shape[1] < 2:
            return np.ones(len(self.coefficients))
        r = np.clip(np.nan_to_num(self.coefficients[:, 1]), 0.0, 0.95)
        found: NDArray[np.float64] = (1 + r) / (1 - r)
        return found


def autocorrelation(values: ArrayLike, lags: int = 10) -> Autocorrelation:
    """Autocorrelations of each row of ``values`` (groups, n), n >= 1, at lags up to ``lags``, at most n - 1.

    r_k = sum (y_i - mean)(y_(i+k) - mean) / sum (y_i - mean)^2. Rows with a NaN are NaN. Source: Box, Jenkins 1970.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    groups, n = y.shape
    most = min(lags, n - 1)
    y = np.where(np.isfinite(y), y, np.nan)
    rest = y - y.mean(axis=1, keepdims=True)
    total = (rest**2).sum(axis=1)
    rounding = n * (8 * np.finfo(np.float64).eps * np.abs(y).max(axis=1)) ** 2
    varies = total > rounding
    found = np.full((groups, most + 1), np.nan)
    for lag in range(most + 1):
        products = (rest[:, : n - lag] * rest[:, lag:]).sum(axis=1)
        found[:, lag] = np.where(varies, products / np.where(varies, total, 1.0), np.nan)
    return Autocorrelation(found, n)
