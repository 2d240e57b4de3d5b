"""The levels of a series by least bounded squares: exact, for many series at once, deaf to
outliers, spikes and rarer components.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from perfvcs.statistics.changepoints.stepfilter import Segments


BOUND = 9.0  # squared standard deviations that one value can cost at most
PRICE = 2.5  # times ln n that a step costs: generous, since each is tested afterwards
CELL = 0.5  # standard deviations between levels that are tried
MOST_TRIED_LEVELS = 96  # levels that are tried
SERIES_AT_ONCE = 64  # series
MOST_CELLS = 20_000_000  # bytes: a long series does not widen the table of all others
WINDOW = 5  # of the running median


def paths(series: Sequence[Segments]) -> list[list[int]]:
    """Where the level of each series changes, ascending.

    The levels minimise the sum of min(z^2, 9) of the standardised residuals plus 2.5 ln n per
    change, by dynamic programming over the levels of a grid. Source of the bounded loss: Fearnhead,
    Rigaill 2019 (there solved without a grid).
    """
    grids = [_grid(segments.middle, segments.scale) for segments in series]
    lengths = [len(segments.values) for segments in series]
    order = sorted(range(len(series)), key=lambda index: (len(grids[index]), lengths[index]))
    changes: list[list[int]] = [[] for _ in series]
    for turn in _together([index for index in order if len(grids[index]) > 1], lengths):
        solved = _solve([series[index] for index in turn], [grids[index] for index in turn])
        for index, places in zip(turn, solved, strict=True):
            changes[index] = places
    return changes


def _together(order: Sequence[int], lengths: Sequence[int]) -> Iterator[Sequence[int]]:
    """The series that are solved side by side: as many as memory allows."""
    turn: list[int] = []
    longest = 0
    for index in order:
        longest = max(longest, lengths[index])
        cells = longest * (len(turn) + 1) * MOST_TRIED_LEVELS
        if turn and (len(turn) == SERIES_AT_ONCE or cells > MOST_CELLS):
            yield turn
            turn, longest = [], lengths[index]
        turn.append(index)
    if turn:
        yield turn


def _grid(middle: Floats, scale: Floats) -> Floats:
    """The levels that are tried: cells of running medians, wider where these are too many."""
    if len(middle) < 2:
        return middle
    width = CELL * max(float(scale.min()), 1e-300)
    low = middle.min()
    while True:
        cells = np.unique(np.rint((middle - low) / width))
        if len(cells) <= MOST_TRIED_LEVELS:
            levels: Floats = low + cells * width
            return levels
        width *= 1.5


def _solve(series: Sequence[Segments], grids: Sequence[Floats]) -> list[list[int]]:
    """Viterbi's algorithm on all series side by side."""
    lengths = [len(segments.values) for segments in series]
    count, longest, most = len(series), max(lengths), max(map(len, grids))
    # what is behind a series costs nothing
    y, weight = np.zeros((longest, count)), np.zeros((longest, count))
    grid = np.empty((count, most))
    cost = np.zeros((count, most))
    prices = np.empty((count, 1))
    for row, n in enumerate(lengths):
        y[:n, row], weight[:n, row] = series[row].values, 1 / series[row].scale
        grid[row, : len(grids[row])] = grids[row]
        grid[row, len(grids[row]) :] = grids[row][-1]
        prices[row] = PRICE * log(n)
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
        for turn in range(lengths[row] - 1, 0, -1):
            if moved[turn, row, state]:
                places.append(turn)
                state = int(best[turn, row])
        solved.append(places[::-1])
    return solved


def running_median(values: ArrayLike, window: int = WINDOW) -> Floats:
    """The median of the ``window`` (odd) values about each of ``values`` (..., n), cut at ends."""
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
