"""The spread of a series about its level, whatever the level does: of the commonest component, place by place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

SHORTEST_HALF_OF, NORMAL_WIDTH = (
    20,
    0.944,
)  # number of values, and the mean width of the shortest half of that many normal values, in standard deviations
STRIDE = 5  # values from one window to the next
FEW_VALUES = 60  # values; in a series of fewer, twenty would often hold three levels
WINDOW_OF_FEW, NORMAL_OF_FEW = 9, 0.833
MEDIAN_WINDOWS = 31  # windows whose median is taken
ROUNDING = 1e-9  # of the largest deviation: values that differ by less are equal
TICK = 0.3  # of the distance between readings: what their rounding adds at least


def scale(values: ArrayLike) -> NDArray[np.float64]:
    """The standard deviation (n,) of the values about their level, at each of the finite ``values`` (n,), n >= 1; above 0.

    That of the shortest half of twenty values (nine in a short series), as of normal ones, its median over about 170 values: neither
    steps nor outliers nor rarer components enlarge it. Equal readings have the spread of a clock that ticks at the smallest distance
    between values.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    window, normal, stride = (WINDOW_OF_FEW, NORMAL_OF_FEW, 1) if n < FEW_VALUES else (SHORTEST_HALF_OF, NORMAL_WIDTH, STRIDE)
    width = min(window, n)
    half = (width + 1) // 2
    ordered = np.sort(np.lib.stride_tricks.sliding_window_view(y, width)[::stride], axis=1)
    short = (ordered[:, half - 1 :] - ordered[:, : width - half + 1]).min(axis=1) / normal
    if len(short) > MEDIAN_WINDOWS:
        middle = np.median(np.lib.stride_tricks.sliding_window_view(short, MEDIAN_WINDOWS), axis=1)
        side = MEDIAN_WINDOWS // 2
        near = np.concatenate([np.full(side, middle[0]), middle, np.full(side, middle[-1])])
    else:
        near = np.full(len(short), np.median(short))
    found = np.interp(np.arange(n), np.arange(len(short)) * stride + width / 2, near)
    bounded: NDArray[np.float64] = np.maximum(found, _floor(y))
    return bounded


def _floor(y: NDArray[np.float64]) -> float:
    import numpy as np

    rounding = max(float(np.abs(y).max()) * 1e-12, float(np.ptp(y)) * ROUNDING, 1e-300)
    apart = np.diff(np.sort(y))
    apart = apart[apart > rounding]
    return max(rounding, TICK * float(apart.min()) if len(apart) else 0.0)
