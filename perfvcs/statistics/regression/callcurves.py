"""How recorded calls run along their sizes, on one side and between two: what a picture of a curve
shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from perfvcs.statistics.regression.choice import ModelChoice
    from perfvcs.statistics.regression.condensed import Ranges


@dataclass(frozen=True)
class SizeCourse:
    """One side's calls by size: arrays of the shape (sizes,), sizes rising.

    ``low``, ``middle`` and ``high`` are the quartiles of the ``count`` calls at each size, ``mean``
    is theirs with outliers pulled in; all in the unit of the values. ``choice`` holds all models
    that were fitted to the means, and the best of them.
    """

    size: Floats
    low: Floats
    middle: Floats
    high: Floats
    mean: Floats
    count: Integers
    choice: ModelChoice


def course(
    x: ArrayLike, y: ArrayLike, execution: ArrayLike, within: Ranges | None = None
) -> SizeCourse:
    """The course of the values ``y`` at sizes ``x``, columns of equal length, all finite and not
    empty.

    With ``within`` near sizes are one, as ``condensed.ranges`` made them. The models are fitted to
    the means of ``condensed.cells`` and chosen as ``robust.described`` does.
    """
    from perfvcs.statistics.regression.condensed import BUSY_CLIP, cells, drawn_in
    from perfvcs.statistics.regression.robust import described

    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    cell = cells(size, drawn_in(size, value, BUSY_CLIP), execution, within)
    at, place = np.unique(cell.size, return_inverse=True)
    count = np.bincount(place, cell.count).astype(np.int64)
    mean = np.bincount(place, cell.value * cell.count) / count
    where = np.searchsorted(at, size if within is None else within.size[within.place(size)])
    ranked = value[np.lexsort((value, where))]
    start = np.cumsum(count) - count
    low, middle, high = (
        ranked[start + np.floor(part * (count - 1) + 0.5).astype(np.int64)]
        for part in (0.25, 0.5, 0.75)
    )
    positive = at > 0 if (at > 0).sum() > 2 else np.ones(len(at), dtype=bool)
    choice, _ = described(at[positive], mean[positive], count[positive])
    return SizeCourse(
        size=at, low=low, middle=middle, high=high, mean=mean, count=count, choice=choice
    )
