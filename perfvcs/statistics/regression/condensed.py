"""Many recorded calls as few values: outliers pulled in, nearby sizes merged, one value per
execution and size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Flags, Floats, Indices, Integers, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


NEIGHBOURS = 20  # the mean is over a twentieth of the rows to either side
FEWEST_ROWS = 2  # but at least this many
SMALLEST_VALUE = 0.01  # of the mean of the group: no value counts as less
MOST_SIZES = 500  # sizes: of more, near ones are put together
FEWEST_RANGES = 8  # ranges of sizes, or none are made
CALLS_PER_RANGE = 3  # of each execution, on average, in every range of sizes
OUTLIER_NEIGHBOURS = 64  # values at least, among which one is an outlier or not
BLOCKS = 64  # of neighbours at most
BLOCKS_APART = 4  # blocks, of which few hold values of sizes that are far apart,
# where the sizes differ by more than this: then no line through so few medians says what is far
# from it
WIDE_RATIO = 8.0
FENCE = 3.0  # quartile ranges beyond the quartiles: "far out" in Tukey 1977
COLD = 0.1  # of the calls of an execution are its beginning, when nothing is in the caches yet
MOST_COLD = 20  # calls, at most
OUTLIER_SHARE = 0.06  # of the neighbours on either side may be outliers; more are a second mode,
# or interruptions, if only the shape of the curve matters: long calls have more of them than short
# ones
BUSY_CLIP = 0.24


def level(x: ArrayLike, y: ArrayLike, group: ArrayLike | None = None) -> Floats:
    """The running geometric mean of the absolute values along the sizes of each group, at each row;
    positive everywhere.

    ``x``, ``y`` and ``group`` are columns of equal length, the groups numbered from 0. Rows with a
    NaN or an infinity are NaN. Since times scatter in proportion to themselves, 1 / level^2 are the
    weights under which a model should be fitted and chosen: without them the largest sizes decide
    everything, and the shape at the small ones is lost.
    """
    size, value = np.asarray(x, dtype=np.float64), np.abs(np.asarray(y, dtype=np.float64))
    number = (
        np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    )
    levels = np.full(size.shape, np.nan)
    rows = np.flatnonzero(np.isfinite(size) & np.isfinite(value))
    order = rows[by_size(size[rows], number[rows])]
    levels[order] = running(value[order], number[order])
    return levels


def by_size(size: Floats, group: Indices) -> Indices:
    """The order of the rows by group, then by size; quick where they have it already."""
    steps = np.diff(group)
    if ((steps > 0) | ((steps == 0) & (np.diff(size) >= 0))).all():
        return np.arange(len(size))
    return np.lexsort((size, group))


def running(
    values: Floats, group: Indices, fewest: int = FEWEST_ROWS, least: float = SMALLEST_VALUE
) -> Floats:
    """``level`` of values >= 0 that are already in the order of group and size; ``fewest``
    neighbours to either side at least.

    With 0 of them a value of few is its own level, which is right however steep the curve is. No
    value counts as less than ``least`` of the mean of its group.
    """
    starts = np.flatnonzero(np.append(True, np.diff(group) != 0)[: len(values)])
    lengths = np.diff(np.append(starts, len(values)))
    begin, n = np.repeat(starts, lengths), np.repeat(lengths, lengths)
    index = np.arange(len(values)) - begin
    # Narrower towards the ends, where a wide mean would lean to one side.
    reach = np.clip(np.minimum(index, n - 1 - index), fewest, np.maximum(n // NEIGHBOURS, fewest))
    first, last = begin + np.maximum(index - reach, 0), begin + np.minimum(index + reach + 1, n)
    most = np.repeat(
        np.bincount(np.repeat(np.arange(len(starts)), lengths), values) / lengths, lengths
    )
    logs = np.log(np.where(most > 0, np.maximum(values, least * most), 1.0))
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    means: Floats = np.exp((sums[last] - sums[first]) / (last - first))
    return means


@dataclass(frozen=True)
class CondensedCells:
    """What each execution took at each size: arrays of the shape (cells,), in the order of
    executions and sizes.

    ``value`` is the mean of ``count`` calls, in the unit of the values.
    """

    size: Floats
    value: Floats
    execution: Integers
    count: Integers


@dataclass(frozen=True)
class Ranges:
    """Sizes put together: range number k holds those above ``edges[k - 1]`` up to ``edges[k]``;
    ``size``, one of them, stands for it.
    """

    edges: Floats
    size: Floats

    def place(self, x: Floats) -> Indices:
        """The range of each size; those above all belong to the last."""
        return np.minimum(np.searchsorted(self.edges, x), len(self.edges) - 1)


def warm(number: ArrayLike, execution: ArrayLike) -> Flags:
    """Which calls are not among the first of their execution, a tenth and at most twenty; shape
    (calls,).

    ``number`` counts the calls of each execution from 0, including those without a row.
    """
    calls = np.asarray(number, dtype=np.int64)
    place = np.unique(np.asarray(execution), return_inverse=True)[1]
    total = np.zeros(int(place.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(total, place, calls + 1)
    return np.asarray(calls >= np.minimum(np.floor(COLD * total), MOST_COLD)[place])


def drawn_in(x: ArrayLike, y: ArrayLike, share: float = OUTLIER_SHARE) -> Floats:
    """The values ``y`` at sizes ``x``, columns of equal length, all finite; those far from their
    neighbours pulled in to a fence.

    A call that was interrupted takes ten or a thousand times as long. Of 64 or more values at
    neighbouring sizes, in shares of the curve through the medians, those beyond the quartiles by
    three quartile ranges (Tukey 1977) are set to that fence, but at most ``share`` at either end:
    what happens more often is not an accident. Fewer values than that, those of a curve that is not
    above 0, and fewer than 256 at sizes from one to more than its eightfold stay unchanged: they
    are not neighbours.

    On a busy machine interruptions come by the clock: a call that takes ten times as long is hit
    ten times as often, and O(n^2) looks like O(n^3) from where they are more than
    ``OUTLIER_SHARE``. ``BUSY_CLIP`` is for what asks for nothing but the shape.
    """
    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    count = len(value)
    blocks = min(count // OUTLIER_NEIGHBOURS, BLOCKS)
    if not blocks or (blocks < BLOCKS_APART and size.max() > WIDE_RATIO * size.min()):
        return value
    order = np.argsort(size, kind="stable")
    length = count // blocks
    starts = np.arange(blocks) * count // blocks
    windows = order[starts[:, None] + np.arange(length)]
    low_half, high_half = (length - 1) // 2, length // 2
    middle, medians = (
        (rows[:, low_half] + rows[:, high_half]) / 2
        for rows in (size[windows], np.sort(value[windows], axis=1))
    )
    if not (medians > 0).all():
        return value
    distinct, same = np.unique(middle, return_inverse=True)
    level = _along(size, distinct, np.bincount(same, medians) / np.bincount(same))
    ratio = np.sort((value / level)[windows], axis=1)
    few, quarter = int(share * length), length // 4
    first, third = ratio[:, quarter], ratio[:, -1 - quarter]
    far = FENCE * (third - first)
    low, high = np.minimum(first - far, ratio[:, few]), np.maximum(third + far, ratio[:, -1 - few])
    block = np.empty(count, dtype=np.intp)
    block[order] = np.searchsorted(starts, np.arange(count), side="right") - 1
    return np.clip(value, low[block] * level, high[block] * level)


def _along(size: Floats, at: Floats, level: Floats) -> Floats:
    """The curve through positive levels ``at`` rising sizes, at ``size``: on double logarithmic
    scales, and on beyond the last one.
    """
    if len(at) < 2 or at[0] <= 0:
        return np.interp(size, at, level)
    u, v, where = np.log(at), np.log(level), np.log(np.maximum(size, at[0]))
    place = np.clip(np.searchsorted(u, where), 1, len(u) - 1)
    slope = np.diff(v) / np.diff(u)
    curve: Floats = np.exp(v[place - 1] + slope[place - 1] * (where - u[place - 1]))
    return curve


def ranges(sides: tuple[ArrayLike, ...], executions: int = 1) -> Ranges | None:
    """Ranges for the sizes of one or several sides, each a column; None where there are at most
    ``MOST_SIZES`` sizes, or too few calls.

    They are equally wide by the logarithm (by the size itself where one is below 0; 0 has a range
    of its own), up to ``MOST_SIZES`` of them, and are joined until each holds three calls per
    execution on every side.
    """
    columns = [np.unique(np.asarray(side, dtype=np.float64), return_counts=True) for side in sides]
    distinct = np.unique(np.concatenate([sizes for sizes, _ in columns]))
    if len(distinct) <= MOST_SIZES:
        return None
    calls = np.zeros((len(columns), len(distinct)))
    for row, (sizes, count) in zip(calls, columns, strict=True):
        row[np.searchsorted(distinct, sizes)] = count
    scaled = distinct
    if distinct[0] >= 0:
        positive = distinct[distinct > 0]
        step = (np.log(positive[-1]) - np.log(positive[0])) / MOST_SIZES
        scaled = np.concatenate(
            [np.log(positive[:1]) - 2 * step] * int(distinct[0] == 0) + [np.log(positive)]
        )
    grid = np.floor((scaled - scaled[0]) / (scaled[-1] - scaled[0]) * MOST_SIZES)
    fine = np.cumsum(np.append(0, np.diff(grid) > 0))
    counts = np.stack([np.bincount(fine, row) for row in calls], dtype=np.float64)
    owner = _joined(counts, CALLS_PER_RANGE * executions)[fine]
    last = np.append(np.flatnonzero(np.diff(owner)), len(distinct) - 1)
    if len(last) < FEWEST_RANGES:
        return None
    total = calls.sum(axis=0)
    mean = np.bincount(owner, total * distinct) / np.bincount(owner, total)
    near = np.clip(np.searchsorted(distinct, mean), 1, len(distinct) - 1)
    below, above = distinct[near - 1], distinct[near]
    return Ranges(distinct[last], np.where(mean - below <= above - mean, below, above))


def cells(
    x: ArrayLike, y: ArrayLike, execution: ArrayLike, within: Ranges | None = None
) -> CondensedCells:
    """The means of the values ``y`` of each execution at each size ``x``, columns of equal length,
    or in each range of sizes.

    In a range each mean is moved to the range's size along the curve of all, so that it does not
    matter which sizes an execution had.
    """
    size = np.asarray(x, dtype=np.float64)
    value = np.asarray(y, dtype=np.float64)
    number = np.asarray(execution, dtype=np.int64)
    if within is None:
        at, place = np.unique(size, return_inverse=True)
    else:
        at, place = within.size, within.place(size)
    keys, cell = np.unique(number * len(at) + place, return_inverse=True)
    count = np.bincount(cell)
    mean, where = np.bincount(cell, value) / count, keys % max(1, len(at))
    if within is not None:
        mean = _moved(
            mean, np.bincount(cell, size) / count, where, at, _slopes(size, value, place, len(at))
        )
    return CondensedCells(at[where], mean, keys // max(1, len(at)), count)


def _moved(mean: Floats, size: Floats, where: Indices, at: Floats, slopes: Floats) -> Floats:
    """Means at the sizes of their ranges; no mean above 0 gets below it."""
    means = mean + slopes[where] * (at[where] - size)
    return np.where((means > 0) | (mean <= 0), means, mean)


def _slopes(size: Floats, value: Floats, part: Indices, ranges: int) -> Floats:
    """The slope of the curve through the means of all ranges, at each."""
    count = np.bincount(part, minlength=ranges)
    there = np.flatnonzero(count)
    slopes = np.zeros(ranges)
    if len(there) > 1:
        means = [
            np.bincount(part, column, ranges)[there] / count[there] for column in (value, size)
        ]
        slopes[there] = np.gradient(*means)
    return slopes


def _joined(counts: Floats, least: int) -> Indices:
    """Neighbours joined until each has ``least`` on every side; counts are of the shape (sides,
    ranges), the rest joins the last.
    """
    owner, total, number = [], np.zeros(len(counts)), 0
    for column in counts.T:
        owner.append(number)
        total = total + column
        if (total >= least).all():
            number, total = number + 1, np.zeros(len(counts))
    return np.minimum(owner, max(number - 1, 0))
