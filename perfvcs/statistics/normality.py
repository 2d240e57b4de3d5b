"""Whether values, or a transformation of them, look normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

TRANSFORMS = ("none", "log", "1/x", "1/sqrt x")
FEWEST_VALUES = 3
MOST_VALUES = 5000  # with more values, the p of the test is no longer exact enough to report
SIGNIFICANCE = 0.05
SMALLEST_NUMBER = 1e-300  # 1/x of less is beyond a float


@dataclass(frozen=True)
class Normality:
    """W and p of Shapiro and Wilk's test by the name of the transformation, each of shape (groups,).

    NaN where it says nothing: fewer than three values or more than 5000, no variance, a NaN, or a value that is not positive (transformed).
    """

    w: dict[str, NDArray[np.float64]]
    p: dict[str, NDArray[np.float64]]

    def choice(self, level: float = SIGNIFICANCE) -> list[str | None]:
        """Per group the first transformation, in the order of ``TRANSFORMS``, that is not rejected as normal at ``level``, or None."""
        columns = [self.p[name] for name in TRANSFORMS]
        return [
            next((name for name, p in zip(TRANSFORMS, row, strict=True) if p >= level), None)
            for row in zip(*columns, strict=True)
        ]


def transform(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """The values under one of ``TRANSFORMS``, elementwise; NaN where it is not defined. ``ValueError`` for another name."""
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    if name not in TRANSFORMS:
        raise ValueError(f"no transformation {name}; there are {', '.join(TRANSFORMS)}")
    if name == "none":
        return y
    x = np.where(y > SMALLEST_NUMBER, y, np.nan)
    found: NDArray[np.float64] = np.log(x) if name == "log" else 1 / x if name == "1/x" else 1 / np.sqrt(x)
    return found


def normality(values: ArrayLike) -> Normality:
    """Shapiro and Wilk's test of each group, shape (groups, n), unchanged and after each transformation.

    Sources: Shapiro, Wilk 1965; Royston 1995; scipy.stats.shapiro; the transformations: Kalibera 2006, ch. 3.3.
    """
    import numpy as np
    from scipy import stats

    w, p = {}, {}
    for name in TRANSFORMS:
        y = transform(values, name)
        groups, n = y.shape
        w[name], p[name] = np.full(groups, np.nan), np.full(groups, np.nan)
        if not FEWEST_VALUES <= n <= MOST_VALUES:
            continue
        known = np.asarray(np.isfinite(y).all(axis=1))
        sure = np.where(known[:, None], y, 0.0)
        width = np.ptp(sure, axis=1)
        known = known & (width > 1e-10 * np.abs(sure).max(axis=1))  # below, the test counts rounding
        if known.any():
            # W does not depend on unit and origin, but the library's sums of squares do not reach as far as a float.
            rows = (y[known] - y[known].mean(axis=1, keepdims=True)) / width[known, None]
            found = stats.shapiro(rows, axis=1)
            w[name][known], p[name][known] = found.statistic, found.pvalue
    return Normality(w, p)
