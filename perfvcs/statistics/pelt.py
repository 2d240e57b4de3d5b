"""Steps of the mean of a series by penalised least squares, with outliers clipped and weak steps taken back."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

WINDOW = 5  # of the running median
CLIP = 2.5  # standard deviations that a value may be away from it
PENALTY = 10.0  # times the variance of the noise times ln n: alone, it has to keep every false step out
FILTERED = 4.0  # where a filter by p follows; with 10, a step of 2.5 s ten values before the end is lost every second time
NORMAL = 1.482602218505602  # standard deviations in a median absolute deviation
CHANCE = 1e-5
SMALLEST = 0.005
PAUSE = 8  # values between two looks at which starts can be left out


def noise(values: ArrayLike) -> float:
    """The standard deviation of what is between the steps: the median absolute first difference, as of normal noise.

    Of a series of which most neighbours are equal, as of exact counts, it is the root mean square difference; 0 for a constant one or a
    single value.
    """
    import numpy as np

    steps = np.abs(np.diff(np.asarray(values, dtype=np.float64)))
    middle = float(np.median(steps)) if steps.size else 0.0
    spread = NORMAL * middle if middle or not steps.size else float(np.sqrt((steps**2).mean()))
    return spread / sqrt(2)


def running_median(values: ArrayLike, window: int = WINDOW) -> NDArray[np.float64]:
    """The median of the ``window`` (odd) values about each; at the ends, of those that exist."""
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    half = window // 2
    padded = np.concatenate([np.full(half, np.nan), y, np.full(half, np.nan)])
    found = np.lib.stride_tricks.sliding_window_view(padded, window)
    inner: NDArray[np.float64] = np.median(found, axis=1)  # NaN at the ends
    for place in [*range(min(half, len(y))), *range(max(0, len(y) - half), len(y))]:
        inner[place] = np.median(y[max(0, place - half) : place + half + 1])
    return inner


def winsorise(values: ArrayLike, clip: float = CLIP, window: int = WINDOW) -> NDArray[np.float64]:
    """The series with each value at most ``clip`` standard deviations away from the running median.

    The standard deviation is ``noise`` of the series: steps do not enlarge it.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    middle = running_median(y, window)
    reach = clip * noise(y)
    found: NDArray[np.float64] = np.clip(y, middle - reach, middle + reach)
    return found


def segment(values: ArrayLike, penalty: float, shortest: int = 1) -> list[int]:
    """Where the mean changes: the first index of each new segment, ascending.

    The exact minimum of the squares about the segments' means plus ``penalty`` per step, with segments of at least ``shortest`` values,
    by dynamic programming that leaves out starts which can never win. Source: Killick, Fearnhead, Eckley 2012 (PELT).
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n < 2 * shortest:
        return []
    y = y - y.mean()
    total, square = (np.concatenate([[0.0], np.cumsum(part)]) for part in (y, y**2))
    # With cost(s, t) = square[t] - square[s] - (total[t] - total[s])^2 / (t - s), ``opened`` is best[s] - square[s].
    best = np.full(n + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(n + 1, dtype=np.intp)
    starts, opened, sums, gap, time = (np.zeros(n + 1) for _ in range(5))
    opened[0] = -penalty
    live = 1
    for end in range(shortest, n + 1):
        cost, length = gap[:live], time[:live]
        np.subtract(total[end], sums[:live], out=cost)
        np.multiply(cost, cost, out=cost)
        np.subtract(float(end), starts[:live], out=length)
        np.divide(cost, length, out=cost)
        np.subtract(opened[:live], cost, out=cost)
        least = int(cost.argmin())
        before[end] = int(starts[least])
        best[end] = float(cost[least]) + square[end] + penalty
        if end % PAUSE == 0:
            keep = cost <= best[end] - square[end]
            kept = int(np.count_nonzero(keep))
            if kept < live:
                for part in (starts, opened, sums):
                    part[:kept] = part[:live][keep]
                live = kept
        ready = end - shortest + 1  # the next start of which a segment ends at end + 1
        if ready > 0 and best[ready] < np.inf:
            starts[live], opened[live], sums[live] = ready, best[ready] - square[ready], total[ready]
            live += 1
    found = []
    place = n
    while before[place]:
        place = int(before[place])
        found.append(place)
    return found[::-1]


def chances(values: ArrayLike, steps: Sequence[int], inflation: float = 1.0) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two-sided p and size (new mean minus old) of each of the ascending ``steps``, between it and its neighbours.

    Student's t with the pooled variance of the two segments, times ``inflation`` for dependent values; p is 1 where the segments have
    together fewer than three values.
    """
    import numpy as np

    from perfvcs.statistics.student import two_sided

    y = np.asarray(values, dtype=np.float64)
    if not len(steps):
        return np.empty(0), np.empty(0)
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
    t = np.abs(size) / np.where(flat, 1.0, error)
    p = np.where(flat, np.where(size != 0, 0.0, 1.0), two_sided(t, np.maximum(df, 1)))
    return np.where(df > 0, p, 1.0), size


def prune(
    values: ArrayLike, steps: Sequence[int], chance: float = CHANCE, smallest: float = SMALLEST, inflation: float = 1.0
) -> list[int]:
    """The ``steps`` without the weak ones, taken away one by one, the weakest first: p above ``chance``, or smaller than ``smallest``."""
    import numpy as np

    left = list(steps)
    while left:
        p, size = chances(values, left, inflation)
        small = np.abs(size) < smallest
        if not (small.any() or (p > chance).any()):
            break
        weakest = int(np.argmin(np.abs(size))) if small.any() and not (p > chance).any() else int(np.argmax(p))
        del left[weakest]
    return left


def pelt(
    values: ArrayLike, penalty: float = FILTERED, chance: float = CHANCE, smallest: float = SMALLEST, *, dependent: bool = True
) -> list[int]:
    """Steps of a series of log medians, ascending: each the index of the first value at the new level.

    Winsorised, segmented at ``penalty`` s^2 ln n with s from first differences, and pruned at ``chance`` and ``smallest`` (a difference of
    logarithms: .005 is .5 %). If ``dependent``, p takes a first-order dependence of the residuals into account. The values are finite;
    fewer than four, or constant ones, have no steps.
    """
    import numpy as np

    from perfvcs.statistics.autocorrelation import autocorrelation

    y = np.asarray(values, dtype=np.float64)
    if len(y) < 4:
        return []
    clipped = winsorise(y)
    spread = noise(clipped)
    steps = segment(clipped, penalty * spread**2 * log(len(y))) if spread else []
    if not steps:
        return []
    means = np.repeat([part.mean() for part in np.split(clipped, steps)], np.diff([0, *steps, len(y)]))
    inflation = float(autocorrelation((clipped - means)[None], 1).inflation()[0]) if dependent else 1.0
    return prune(clipped, steps, chance, smallest, inflation)
