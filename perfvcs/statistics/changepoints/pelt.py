"""Steps of the mean of a series by penalised least squares, and the series with its outliers clipped."""

from __future__ import annotations

from math import sqrt
from statistics import median
from typing import TYPE_CHECKING

from perfvcs.statistics.deviation import NORMAL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

WINDOW = 5  # of the running median
CLIP = 2.5  # standard deviations that a value may be away from it
PENALTY = 10.0  # times the variance of the noise times ln n: alone, it has to keep every false step out
PRUNING_INTERVAL = 8  # values between two looks at which starts can be left out


def noise(values: ArrayLike) -> float:
    """The standard deviation of what is between the steps: the median absolute first difference, as of normal noise.

    If most neighbours are equal, as in exact counts, it is the root mean square difference; 0 for a constant one or a
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
    n, half = len(y), window // 2
    found = np.empty(n)
    rows = [y[turn : n - window + 1 + turn] for turn in range(window)] if n >= window else []
    for last in range(len(rows) - 1, half - 1, -1):  # bubble the larger halves up: for five rows faster than any sort
        for turn in range(last):
            rows[turn], rows[turn + 1] = np.minimum(rows[turn], rows[turn + 1]), np.maximum(rows[turn], rows[turn + 1])
    if rows:
        found[half : n - half] = rows[half]
    for place in {*range(min(half, n)), *range(max(0, n - half), n)}:
        found[place] = median(y[max(0, place - half) : place + half + 1].tolist())
    return found


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
    ends = [*range(shortest, n - shortest + 1), n]
    sum_of, square_of = total[ends].tolist(), square[ends].tolist()
    # With cost(s, t) = square[t] - square[s] - (total[t] - total[s])^2 / (t - s), ``opened`` is best[s] - square[s].
    starts, opened, sums = (np.zeros(len(ends) + 1) for _ in range(3))
    opened[0] = -penalty
    live = 1
    best: list[float] = []
    before: dict[int, int] = {}
    ready = 0  # the next of the ends to become a start
    for turn, end in enumerate(ends):
        cost = sums[:live] - sum_of[turn]
        cost *= cost
        cost /= end - starts[:live]
        np.subtract(opened[:live], cost, out=cost)
        least = int(cost.argmin())
        before[end] = int(starts[least])
        best.append(float(cost[least]) + square_of[turn] + penalty)
        if turn % PRUNING_INTERVAL == PRUNING_INTERVAL - 1:
            keep = cost <= best[turn] - square_of[turn]
            kept = int(np.count_nonzero(keep))
            if kept < live:
                for part in (starts, opened, sums):
                    part[:kept] = part[:live][keep]
                live = kept
        while end < n and ends[ready] + shortest <= ends[turn + 1]:
            starts[live], opened[live], sums[live] = ends[ready], best[ready] - square_of[ready], sum_of[ready]
            ready, live = ready + 1, live + 1
    found = []
    place = n
    while before[place]:
        place = before[place]
        found.append(place)
    return found[::-1]
