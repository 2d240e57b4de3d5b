"""Whether one side is such a multiple of the other that no start of a process explains it, however few executions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.curves.replication import ExecutionLines

    Floats = NDArray[np.float64]

SMALLEST_MULTIPLE = 10.0
FEWEST_IN_A_ROW = 3  # sizes in a row: a pause of the machine hits one
SHARE_OF_SIZES = 0.75  # of the sizes there must show it
TENTH = 10


def multiple(lines: ExecutionLines) -> int:
    """1 where the target's values are at least ten times the baseline's, -1 where a tenth of them at most, else 0.

    That must hold of every value of both sides, at three quarters of the largest tenth of the sizes, or of the smallest, or of all (at
    least three sizes). A baseline of 0 counts as its smallest value that is not; where it has none, nothing is known of what is small.
    """
    import numpy as np

    sizes, first, second = _extremes(lines)
    if len(sizes) < FEWEST_IN_A_ROW:
        return 0
    end = max(FEWEST_IN_A_ROW, len(sizes) // TENTH)
    for sign, (below, above) in ((1, (first, second)), (-1, (second, first))):
        values = np.abs(lines.rows[0 if sign > 0 else 1][1])
        least = values[values > 0].min(initial=np.inf)
        magnitude = np.maximum(np.maximum(np.abs(below[0]), np.abs(below[1])), least)
        away = (above[0] - below[1] >= (SMALLEST_MULTIPLE - 1) * magnitude) & np.isfinite(magnitude)
        if any(part.mean() >= SHARE_OF_SIZES for part in (away[-end:], away[:end], away)):
            return sign
    return 0


def _extremes(lines: ExecutionLines) -> tuple[Floats, tuple[Floats, Floats], tuple[Floats, Floats]]:
    """The sizes that both sides have in rising order, and of either side the smallest and the largest value at each."""
    import numpy as np

    both = np.intersect1d(lines.rows[0][0], lines.rows[1][0])
    sides = []
    for size, value, *_ in lines.rows:
        kept = np.isin(size, both)
        place = np.searchsorted(both, size[kept])
        low, high = np.full(len(both), np.inf), np.full(len(both), -np.inf)
        np.minimum.at(low, place, value[kept])
        np.maximum.at(high, place, value[kept])
        sides.append((low, high))
    return both, sides[0], sides[1]
