"""Steps of a series by weighted t-values of the values before and after each place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

WIDTH = 12
LEAST = 5.0
SMALLEST = 0.01


def scores(values: ArrayLike, width: int = WIDTH) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """t and size of the change at each index that has ``width`` values on both sides (the index itself is behind); 0 elsewhere.

    ``width`` is at least 2. The weights fall linearly from 1 beside the index to 1/width; t = (mean_b - mean_a) / sqrt((v_a + v_b) / width)
    with weighted means and v = sum (x - mean)^2 / (width - 1). Equal values on both sides have t = 0, different ones without any
    variance an infinite t.

    Source: the alerts of Mozilla's Perfherder (bug 879903 for the weights).
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    t, size = np.zeros(n), np.zeros(n)
    if n < 2 * width:
        return t, size
    y = y - y.mean()
    weights = np.arange(1, width + 1) / width  # towards the index
    plain = np.correlate(y, np.full(width, 1 / width), "valid")
    squares = ((np.lib.stride_tricks.sliding_window_view(y, width) - plain[:, None]) ** 2).sum(axis=1)
    means, variances = [], []
    for weight, pieces in ((weights, slice(n - 2 * width + 1)), (weights[::-1], slice(width, None))):
        mean = np.correlate(y, weight / weights.sum(), "valid")[pieces]
        means.append(mean)
        variances.append((squares[pieces] + width * (mean - plain[pieces]) ** 2) / (width - 1))  # about the weighted mean
    change = means[1] - means[0]
    error = np.sqrt((variances[0] + variances[1]) / width)
    rounding = np.abs(y).max() * 1e-12
    flat = error <= rounding
    sure = np.where(np.abs(change) > rounding, np.copysign(np.inf, change), 0.0)
    here = slice(width, n - width + 1)
    t[here], size[here] = np.where(flat, sure, change / np.where(flat, 1.0, error)), change
    return t, size


def window(values: ArrayLike, width: int = WIDTH, least: float = LEAST, smallest: float = SMALLEST) -> list[int]:
    """Steps of a series, ascending: where |t| > ``least`` and the size is at least ``smallest``, the largest |t| within ``width``.

    Of equal ones (infinite, say) that with the larger size counts. It cannot see the first and the last ``width`` values. They are finite.
    """
    import numpy as np

    t, size = scores(values, width)
    strong = (np.abs(t) > least) & (np.abs(size) >= smallest)
    order = sorted(np.flatnonzero(strong).tolist(), key=lambda place: (-abs(t[place]), -abs(size[place]), place))
    found: list[int] = []
    for place in order:
        if all(abs(place - other) >= width for other in found):
            found.append(place)
    return sorted(found)
