"""Hotelling's T^2 in two dimensions, for many groups at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def hotelling(first: ArrayLike, second: ArrayLike, *, paired: bool = False, lost: int = 0) -> NDArray[np.float64]:
    """The p of equal means of two samples of the shapes (groups, m, 2) and (groups, k, 2); shape (groups,).

    Paired: one sample of the differences, an F with 2 and m - 2 degrees of freedom; apart: two samples with a pooled covariance, 2
    and m + k - 3. ``lost`` are degrees of freedom that something else took, whose part of the variance is restored already.
    If only one dimension varies (the other's values are all equal, or it is a multiple), it is Student's test in
    that one, and p is 0 if the other one differs. Too few executions (less than three pairs, or four apart) and any NaN make p NaN.
    ``ValueError`` for paired samples of different sizes. Source: Hotelling 1931; Anderson 2003, 5.2 and 5.3.
    """
    import numpy as np

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    m, k = a.shape[1], b.shape[1]
    if paired and m != k:
        raise ValueError("paired executions come in equal numbers")
    if not m or not k:
        return np.full(a.shape[0], np.nan)
    with np.errstate(invalid="ignore"):
        mean = b.mean(axis=1) - a.mean(axis=1)
        rounding = 64 * np.finfo(np.float64).eps * np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1))
        if paired:
            rest, free, factor = (b - a) - mean[:, None, :], m - 1, float(m)
        else:
            apart = [side - side.mean(axis=1, keepdims=True) for side in (a, b)]
            rest, free, factor = np.concatenate(apart, axis=1), m + k - 2, m * k / (m + k)
    return _test(mean, np.einsum("gei,gej->gij", rest, rest) / max(free, 1), rounding, factor, free - lost)


def _test(
    mean: NDArray[np.float64], covariance: NDArray[np.float64], rounding: NDArray[np.float64], factor: float, free: int
) -> NDArray[np.float64]:
    import numpy as np

    from perfvcs.statistics.fisher import tail

    known = np.isfinite(mean[:, 0] + mean[:, 1]) & np.isfinite(covariance.sum(axis=(1, 2)))
    mean = np.where(known[:, None] & (np.abs(mean) > rounding), mean, 0.0)
    scale = np.sqrt(np.where(known[:, None], np.diagonal(covariance, axis1=1, axis2=2), 0.0))
    varies = scale > rounding
    unit = np.where(varies, scale, 1.0)
    z = mean / unit
    full = (varies[:, 0] & varies[:, 1])[:, None]
    correlation = np.where(known & full[:, 0], covariance[:, 0, 1] / (unit[:, 0] * unit[:, 1]), 0.0)
    # Along the sum and the difference of the two scaled parts a correlation leaves the variances 1 + r and 1 - r.
    turned = np.stack([z[:, 0] + z[:, 1], z[:, 0] - z[:, 1]], axis=1) / np.sqrt(2)
    parts = np.where(full, turned, z)
    spread = np.where(full, np.stack([1 + correlation, 1 - correlation], axis=1), 1.0 * varies)
    has = spread > 1e-12
    squares = factor * (np.where(has, parts, 0.0) ** 2 / np.where(has, spread, 1.0)).sum(axis=1)
    elsewhere = (~has & (np.abs(parts) > 1e-9)).sum(axis=1) > 0
    dimensions = has.sum(axis=1)
    degrees = max(free - 1.0, 1.0)
    two, one = tail(squares * degrees / (2 * max(free, 1)), 2, degrees), tail(squares, 1, max(free, 1.0))
    p = np.where(dimensions == 2, two, np.where(dimensions == 1, one, 1.0))
    return np.where(known & (free > 1), np.where(elsewhere, 0.0, p), np.nan)
