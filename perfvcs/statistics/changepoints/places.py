"""The places of a series at which the segmentation with the least squares may have a step: few are worth a look."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

# Segments with at least so many values, and fewer than the next number, are looked at together; the few places left are looked at again.
ROUNDS = ((1, 2, 4), (1, 3, 6, 16))
ROUNDING = 1e-9  # of the largest value: amply what prefix sums may be off


def places(values: ArrayLike, penalty: float) -> NDArray[np.intp]:
    """The indices, ascending, that can be steps where the squares about means plus ``penalty`` per step are least; no others can.

    Moving the last values of a segment to the next one, or the next one's first, must not pay (Hartigan, Wong 1979): with segments of
    means a < b the mean of those lies below (a + b) / 2, the mean of these above. And the step must pay: (b - a)^2 >= penalty
    (1/l + 1/r) with l and r values in the segments. At most 16 values on each side are looked at. Of normal noise without steps one place
    in eight is left. The values are finite, their mean is about 0.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    if len(y) < 2:
        return np.empty(0, dtype=np.intp)
    slack = ROUNDING * float(np.abs(y).max())
    total = np.concatenate([[0.0], np.cumsum(y)])
    may = np.arange(1, len(y))
    for lengths in ROUNDS:
        may = may[_plausible(total, may, penalty, lengths, slack)]
    return may


def _plausible(
    total: NDArray[np.float64], places: NDArray[np.intp], penalty: float, lengths: Sequence[int], slack: float
) -> NDArray[np.bool_]:
    """Whether segments of some length fit on both sides of each of the places; ``total`` are prefix sums."""
    import numpy as np

    n, most = len(total) - 1, lengths[-1]
    here, counts = total[places], np.arange(1, most + 1)[:, None]
    # The means of the 1 to ``most`` values before and behind; places that have fewer are kept, whatever these are.
    before = (here - total[np.maximum(places - counts, 0)]) / counts
    after = (total[np.minimum(places + counts, n)] - here) / counts
    may = (places < most) | (places > n - most)
    firsts, longest = [length - 1 for length in lengths[:-1]], np.array(lengths[1:])[:, None] - 1
    half = np.sqrt(penalty / longest) / 2 - slack  # the middle is at least as far from a segment's mean
    whole = np.sqrt(penalty / longest + penalty / longest.T)[:, :, None] - slack
    for low, high in ((before, after), (-before, -after)):  # the levels about a step upwards, or upside down of one downwards
        highest, lowest = _running(np.maximum, low), _running(np.minimum, high)
        nearest, furthest = highest[firsts] - slack, lowest[firsts] + slack
        may |= highest[-1] <= lowest[-1] + slack
        # What the means of segments of these lengths may be.
        least = np.array([np.minimum.reduce(low[first : length - 1]) for first, length in zip(firsts, lengths[1:], strict=True)])
        largest = np.array(
            [np.maximum.reduce(high[first : length - 1]) for first, length in zip(firsts, lengths[1:], strict=True)]
        )
        may |= (np.maximum(least + half, nearest) <= lowest[-1]).any(axis=0)
        may |= (np.minimum(largest - half, furthest) >= highest[-1]).any(axis=0)
        far = largest - least[:, None] >= whole  # (segments before, segments behind, places)
        if far.any():
            may |= (far & (nearest[:, None] <= furthest)).any(axis=(0, 1))
    return may


def _running(function: np.ufunc, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ufunc of all rows up to each; five times as fast as its ``accumulate``."""
    found = rows.copy()
    for row in range(1, len(rows)):
        function(found[row - 1], rows[row], out=found[row])
    return found
