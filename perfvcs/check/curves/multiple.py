"""Whether one side is such a multiple of the other that no start of a process explains it, however few executions there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.curves.replication import ExecutionLines

    Floats = NDArray[np.float64]

SMALLEST_MULTIPLE = 10.0
FEWEST_IN_A_ROW = 3  # sizes in a row: a pause of the machine hits one
SHARE_OF_SIZES = 0.75  # of the sizes there must show it
TENTH = 10


class _Range(NamedTuple):
    """The smallest and the largest value at each size."""

    low: Floats
    high: Floats


class _Ranges(NamedTuple):
    """The sizes that both sides have in rising order, and the values of either side at these."""

    sizes: Floats
    baseline: _Range
    target: _Range


def multiple(lines: ExecutionLines) -> int:
    """1 where the target's values are at least ten times the baseline's, -1 where a tenth of them at most, else 0.

    That must hold of every value of both sides, at three quarters of the largest tenth of the sizes, or of the smallest, or of all (at
    least three sizes). A baseline of 0 counts as its smallest value that is not; where it has none, nothing is known of what is small.
    """
    import numpy as np

    sizes, baseline, target = _ranges(lines)
    if len(sizes) < FEWEST_IN_A_ROW:
        return 0
    end = max(FEWEST_IN_A_ROW, len(sizes) // TENTH)
    for sign, (below, above) in ((1, (baseline, target)), (-1, (target, baseline))):
        values = np.abs(lines.rows[0 if sign > 0 else 1].value)
        least = values[values > 0].min(initial=np.inf)
        magnitude = np.maximum(np.maximum(np.abs(below.low), np.abs(below.high)), least)
        away = (above.low - below.high >= (SMALLEST_MULTIPLE - 1) * magnitude) & np.isfinite(magnitude)
        if any(part.mean() >= SHARE_OF_SIZES for part in (away[-end:], away[:end], away)):
            return sign
    return 0


def _ranges(lines: ExecutionLines) -> _Ranges:
    import numpy as np

    both = np.intersect1d(lines.rows[0].size, lines.rows[1].size)
    sides = []
    for rows in lines.rows:
        kept = np.isin(rows.size, both)
        value, place = rows.value[kept], np.searchsorted(both, rows.size[kept])
        low, high = np.full(len(both), np.inf), np.full(len(both), -np.inf)
        np.minimum.at(low, place, value)
        np.maximum.at(high, place, value)
        sides.append(_Range(low, high))
    return _Ranges(both, *sides)
