"""The levels of a series by least bounded squares: exact, for many series at once, deaf to outliers, spikes and rarer components."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

BOUND = 9.0  # squared standard deviations that one value can cost at most
PRICE = 2.5  # times ln n that a step costs: generous, since each is tested afterwards
CELL = 0.5  # standard deviations between levels that are tried
MOST_TRIED_LEVELS = 96  # levels that are tried
SERIES_AT_ONCE = 64  # series


def paths(series: Sequence[NDArray[np.float64]], scales: Sequence[NDArray[np.float64]], price: float = PRICE) -> list[list[int]]:
    """Per series of finite values (n,) where its level changes, ascending; ``scales`` (n,) are the standard deviations about the levels.

    The levels minimise the sum of min(z^2, 9) of the standardised residuals plus ``price`` ln n per change, by dynamic programming over
    the levels of a grid. Source of the bounded loss: Fearnhead, Rigaill 2019 (there solved without a grid).
    """
    grids = [_grid(values, scale) for values, scale in zip(series, scales, strict=True)]
    order = sorted(range(len(series)), key=lambda one: (len(grids[one]), len(series[one])))
    found: list[list[int]] = [[] for _ in series]
    for start in range(0, len(order), SERIES_AT_ONCE):
        turn = [one for one in order[start : start + SERIES_AT_ONCE] if len(grids[one]) > 1]
        if turn:
            for one, places in zip(
                turn, _solve([series[i] for i in turn], [scales[i] for i in turn], [grids[i] for i in turn], price), strict=True
            ):
                found[one] = places
    return found


def _grid(values: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The levels that are tried: cells in which running medians lie, wider ones where those would be too many."""
    import numpy as np

    from perfvcs.statistics.changepoints.pelt import running_median

    if len(values) < 2:
        return values[:1]
    middle = running_median(values)
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
    y, weight = np.zeros((longest, count)), np.zeros((longest, count))  # what is behind a series costs nothing
    grid = np.empty((count, most))
    cost = np.zeros((count, most))
    prices = np.empty((count, 1))
    for one in range(count):
        n = len(series[one])
        y[:n, one], weight[:n, one] = series[one], 1 / scales[one]
        grid[one, : len(grids[one])] = grids[one]
        grid[one, len(grids[one]) :] = grids[one][-1]
        prices[one] = price * log(n)
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
    found = []
    for one in range(count):
        state, places = int(cost[one].argmin()), []
        for turn in range(len(series[one]) - 1, 0, -1):
            if moved[turn, one, state]:
                places.append(turn)
                state = int(best[turn, one])
        found.append(places[::-1])
    return found
