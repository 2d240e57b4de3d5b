"""Where the warm-up of an execution ends: the change points of its measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.statistics.difference import NORMAL
from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

EQUAL_LEVELS = 0.01  # logarithms of levels that count as one
# standard deviations from the steady level that a single first measurement may not be
FAR_DEVIATIONS = 5.0
STEADY_SHARE = 1 / 3  # of an execution's measurements that the steady part must be
FEWEST_VALUES = 4


class Warmup(Struct, frozen=True):
    """Per execution how many first measurements are warm-up (``counts``) and whether it became
    ``steady``, shape (executions,).

    An execution that is not steady still changed its level in its last two thirds, or has fewer
    than four measurements.
    """

    counts: Integers
    steady: Flags


def warmup(runs: Sequence[ArrayLike], alike: float = EQUAL_LEVELS) -> Warmup:
    """Warm-up of executions, each a series of positive measurements in their order.

    The logarithms are segmented as a history is, with its confirmed steps; the last segment is
    steady, with those right before it whose level differs by at most ``alike``. Since single
    values are no level, first ones further than five standard deviations from the steady median
    are warm-up as well. ``ValueError`` as ``runs.stack``, and for measurements that are not
    positive. Source of segmenting: Barrett et al. 2017 (Virtual machine warmup blows
    hot and cold).
    """
    from perfvcs.statistics.runs import stack

    given = stack(runs)
    rows = [row[:count] for row, count in zip(given.values, given.counts.tolist(), strict=True)]
    if any((row <= 0).any() for row in rows):
        raise ValueError("measurements must be positive")
    counts = np.array([_count(np.log(row), alike) for row in rows], dtype=np.int64)
    enough = given.counts - counts >= np.maximum(STEADY_SHARE * given.counts, 2)
    return Warmup(counts, enough & (given.counts >= FEWEST_VALUES))


def _count(series: Floats, alike: float) -> int:
    from perfvcs.statistics.changepoints.path import paths, running_median
    from perfvcs.statistics.changepoints.stepfilter import Segments, allow_for_dependence, confirm
    from perfvcs.statistics.changepoints.steps import scale

    if len(series) < FEWEST_VALUES:
        return 0
    segments = Segments(series, scale(series), running_median(series))
    (generous,) = paths([segments])
    allow_for_dependence([segments], [generous])
    (steps,) = confirm([segments], [generous])
    levels = [float(np.median(part)) for part in np.split(series, steps)]
    while steps and abs(levels[-2] - levels[-1]) <= alike:
        # Compared with the last level each: many small steps may not add up to a steady part.
        levels[-2] = levels[-1]
        levels.pop()
        steps.pop()
    start = steps[-1] if steps else 0
    tail = series[start:]
    middle = float(np.median(tail))
    spread = NORMAL * float(np.median(np.abs(tail - middle)))
    far = np.abs(tail - middle) > max(FAR_DEVIATIONS * spread, alike)
    return start + int(np.argmin(far)) if not far.all() else start
