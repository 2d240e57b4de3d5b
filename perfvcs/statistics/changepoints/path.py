"""The levels of a series by least bounded squares: exact, for many series at once, deaf to
outliers, spikes and rarer components.
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import NORMAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


BOUND = 9.0  # squared standard deviations that one value can cost at most
PRICE = 2.5  # times ln n that a step costs: generous, since each is tested afterwards
CELL = 0.5  # standard deviations between levels that are tried
MOST_TRIED_LEVELS = 96  # levels that are tried
SERIES_AT_ONCE = 64  # series
MOST_CELLS = 20_000_000  # bytes: a long series does not widen the table of all others
WINDOW = 5  # of the running median
CLIP = 2.5  # standard deviations that a value may be away from it
# times the variance of the noise times ln n: alone, it has to keep every false step out
PENALTY = 10.0
PRUNING_INTERVAL = 8  # values between two looks at which starts can be left out


def paths(
    series: Sequence[NDArray[np.float64]],
    scales: Sequence[NDArray[np.float64]],
    middles: Sequence[NDArray[np.float64]],
    price: float = PRICE,
) -> list[list[int]]:
    """Per series of finite values (n,) where its level changes, ascending; ``scales`` (n,) are the
    standard deviations about the levels, ``middles`` (n,) the running medians.

    The levels minimise the sum of min(z^2, 9) of the standardised residuals plus ``price`` ln n per
    change, by dynamic programming over the levels of a grid. Source of the bounded loss: Fearnhead,
    Rigaill 2019 (there solved without a grid).
    """
    grids = [_grid(middle, scale) for middle, scale in zip(middles, scales, strict=True)]
    order = sorted(range(len(series)), key=lambda index: (len(grids[index]), len(series[index])))
    changes: list[list[int]] = [[] for _ in series]
    for turn in _together([index for index in order if len(grids[index]) > 1], series):
        solved = _solve(
            [series[i] for i in turn], [scales[i] for i in turn], [grids[i] for i in turn], price
        )
        for index, places in zip(turn, solved, strict=True):
            changes[index] = places
    return changes


def _together(
    order: Sequence[int], series: Sequence[NDArray[np.float64]]
) -> Iterator[Sequence[int]]:
    """The series that are solved side by side: as many as memory allows."""
    turn: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, len(series[index]))
        cells = longest * (len(turn) + 1) * MOST_TRIED_LEVELS
        if turn and (len(turn) == SERIES_AT_ONCE or cells > MOST_CELLS):
            yield turn
            turn, longest = [], len(series[index])
        turn.append(index)
    if turn:
        yield turn


def _grid(middle: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The levels that are tried: cells in which running medians lie, wider ones where those would
    be too many.
    """
    import numpy as np

    if len(middle) < 2:
        return middle
    width = CELL * max(float(scale.min()), 1e-300)
    low = middle.min()
    while True:
        cells = np.unique(np.rint((middle - low) / width))
        if len(cells) <= MOST_TRIED_LEVELS:
            levels: NDArray[np.float64] = low + cells * width
            return levels
        width *= 1.5


def _solve(
    series: Sequence[NDArray[np.float64]],
    scales: Sequence[NDArray[np.float64]],
    grids: Sequence[NDArray[np.float64]],
    price: float,
) -> list[list[int]]:
    """Viterbi's algorithm on all series side by side."""
    import numpy as np

    count, longest, most = len(series), max(map(len, series)), max(map(len, grids))
    # what is behind a series costs nothing
    y, weight = np.zeros((longest, count)), np.zeros((longest, count))
    grid = np.empty((count, most))
    cost = np.zeros((count, most))
    prices = np.empty((count, 1))
    for row in range(count):
        n = len(series[row])
        y[:n, row], weight[:n, row] = series[row], 1 / scales[row]
        grid[row, : len(grids[row])] = grids[row]
        grid[row, len(grids[row]) :] = grids[row][-1]
        prices[row] = price * log(n)
    moved = np.empty((longest, count, most), dtype=np.bool_)
    best = np.empty((longest, count), dtype=np.intp)
    rows = np.arange(count)
    z = np.empty((count, most))
    for turn in range(longest):
        if turn:
            best[turn] = cost.argmin(axis=1)
            limit = cost[rows, best[turn]][:, None]
            cost -= limit
            np.greater(cost, prices, out=moved[turn])
            np.minimum(cost, prices, out=cost)
        np.subtract(grid, y[turn][:, None], out=z)
        z *= weight[turn][:, None]
        z *= z
        np.minimum(z, BOUND, out=z)
        cost += z
    solved = []
    for row in range(count):
        state, places = int(cost[row].argmin()), []
        for turn in range(len(series[row]) - 1, 0, -1):
            if moved[turn, row, state]:
                places.append(turn)
                state = int(best[turn, row])
        solved.append(places[::-1])
    return solved


def noise(values: ArrayLike) -> float:
    """The standard deviation of what is between the steps: the median absolute first difference, as
    of normal noise.

    If most neighbours are equal, as in exact counts, it is the root mean square difference; 0 for a
    constant one or a single value.
    """
    import numpy as np

    steps = np.abs(np.diff(np.asarray(values, dtype=np.float64)))
    middle = float(np.median(steps)) if steps.size else 0.0
    spread = NORMAL * middle if middle or not steps.size else float(np.sqrt((steps**2).mean()))
    return spread / sqrt(2)


def running_median(values: ArrayLike, window: int = WINDOW) -> NDArray[np.float64]:
    """The median of the ``window`` (odd) values about each of ``values`` (..., n); at the ends, of
    those that exist.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    n, half = y.shape[-1], window // 2
    medians = np.empty(y.shape)
    rows = [y[..., turn : n - window + 1 + turn] for turn in range(window)] if n >= window else []
    # bubble the larger halves up: for five rows faster than any sort
    for last in range(len(rows) - 1, half - 1, -1):
        for turn in range(last):
            rows[turn], rows[turn + 1] = (
                np.minimum(rows[turn], rows[turn + 1]),
                np.maximum(rows[turn], rows[turn + 1]),
            )
    if rows:
        medians[..., half : n - half] = rows[half]
    for place in {*range(min(half, n)), *range(max(0, n - half), n)}:
        near = np.sort(y[..., max(0, place - half) : place + half + 1], axis=-1)
        count = near.shape[-1]
        medians[..., place] = (near[..., (count - 1) // 2] + near[..., count // 2]) / 2
    return medians


def winsorise(values: ArrayLike, clip: float = CLIP, window: int = WINDOW) -> NDArray[np.float64]:
    """The series with each value at most ``clip`` standard deviations away from the running median.

    The standard deviation is ``noise`` of the series: steps do not enlarge it.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    middle = running_median(y, window)
    reach = clip * noise(y)
    clipped: NDArray[np.float64] = np.clip(y, middle - reach, middle + reach)
    return clipped


def segment(values: ArrayLike, penalty: float, shortest: int = 1) -> list[int]:
    """Where the mean changes: the first index of each new segment, ascending.

    The exact minimum of the squares about the segments' means plus ``penalty`` per step, with
    segments of at least ``shortest`` values, by dynamic programming that leaves out starts which
    can never win. Source: Killick, Fearnhead, Eckley 2012 (PELT).
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
    # With cost(s, t) = square[t] - square[s] - (total[t] - total[s])^2 / (t - s), ``opened`` is
    # best[s] - square[s].
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
            remaining = int(np.count_nonzero(keep))
            if remaining < live:
                for part in (starts, opened, sums):
                    part[:remaining] = part[:live][keep]
                live = remaining
        while end < n and ends[ready] + shortest <= ends[turn + 1]:
            starts[live], opened[live], sums[live] = (
                ends[ready],
                best[ready] - square_of[ready],
                sum_of[ready],
            )
            ready, live = ready + 1, live + 1
    changes = []
    place = n
    while before[place]:
        place = before[place]
        changes.append(place)
    return changes[::-1]
