"""Steps of a series without those that chance explains, or that are too small: t-tests between neighbours."""

from __future__ import annotations

from math import exp, inf, log1p, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

CHANCE = 1e-5
SMALLEST = 0.005
DENSITY = 0.7978845608028654  # twice that of the normal distribution at 0


def scores(
    values: ArrayLike, steps: Sequence[int], inflation: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """|t|, its degrees of freedom and the size (new mean minus old) of each of the ascending ``steps``, between it and its neighbours.

    With the pooled variance of the two segments, times ``inflation`` for dependent values. Where nothing varies t is infinite, and 0 where
    the means are the same, too, or the segments have together fewer than three values.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    if not len(steps):
        return np.empty(0), np.empty(0), np.empty(0)
    bounds = np.array([0, *steps, len(y)])
    lengths = np.diff(bounds).astype(np.float64)
    y = y - y.mean()
    means = np.add.reduceat(y, bounds[:-1]) / lengths
    squares = np.add.reduceat((y - np.repeat(means, np.diff(bounds))) ** 2, bounds[:-1])
    size = np.diff(means)
    df = lengths[:-1] + lengths[1:] - 2
    variance = (squares[:-1] + squares[1:]) / np.maximum(df, 1) * (1 / lengths[:-1] + 1 / lengths[1:]) * inflation
    error = np.sqrt(variance)
    flat = error <= np.abs(y).max() * 1e-12
    t = np.where(flat, np.where(size != 0, np.inf, 0.0), np.abs(size) / np.where(flat, 1.0, error))
    return np.where(df > 0, t, 0.0), df, size


def chances(values: ArrayLike, steps: Sequence[int], inflation: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two-sided p and size of each of the ascending ``steps``, by Student's t of ``scores``."""
    t, df, size = scores(values, steps, inflation)
    return _exact(t, df), size


def _exact(t: NDArray[np.float64], df: NDArray[np.float64]) -> NDArray[np.float64]:
    import numpy as np

    from perfvcs.statistics.student import two_sided

    p = np.zeros(t.shape)
    finite = np.isfinite(t)
    p[finite] = two_sided(t[finite], np.maximum(df[finite], 1))
    return p


def limits(t: float, df: float) -> tuple[float, float]:
    """What the two-sided p of ``t`` is surely not below, and not above: fast, of large t a few percent apart; 0 and inf below df 2.

    Above it is the integral of u f(u) / t beyond t instead of that of the density f(u), with the normal density's constant; below what is
    left of it by parts, with Kershaw's bound on the constant.
    """
    if df < 2 or t <= 0:
        return 0.0, inf
    most = DENSITY * df / ((df - 1) * t) * exp(-(df - 1) / 2 * log1p(t * t / df)) if t < inf else 0.0
    return most * sqrt(1 - 0.5 / df) / (1 + (df / t / t + 1) / (df - 1)), most


def exceeding(t: NDArray[np.float64], df: NDArray[np.float64], chance: float) -> list[int]:
    """The indices whose two-sided p is above ``chance``; it is computed only where ``limits`` leave that open: it takes long."""
    found = []
    for place, (value, degrees) in enumerate(zip(t.tolist(), df.tolist(), strict=True)):
        least, most = limits(value, degrees)
        if most > chance and (least > chance or _exact(t[place : place + 1], df[place : place + 1])[0] > chance):
            found.append(place)
    return found


def prune(
    values: ArrayLike, steps: Sequence[int], chance: float = CHANCE, smallest: float = SMALLEST, inflation: float = 1.0
) -> list[int]:
    """The ``steps`` without the weak ones, taken away one by one, the weakest first: p above ``chance``, or smaller than ``smallest``."""
    import numpy as np

    left = list(steps)
    while left:
        t, df, size = scores(values, left, inflation)
        weak, small = exceeding(t, df, chance), np.abs(size) < smallest
        if len(weak) > 1:
            weakest = weak[int(np.argmax(_exact(t[weak], df[weak])))]
        elif weak:
            weakest = weak[0]
        elif small.any():
            weakest = int(np.argmin(np.abs(size)))
        else:
            break
        del left[weakest]
    return left
