"""The rows of a profile that postprocessors compute with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfvcs.errors import UsageError, nearest
from perfvcs.profile import REPEATED, Profile
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from numpy.typing import NDArray


# values whose spread is less than this share of the largest are equal but for rounding
EQUAL = 1e-14
OUTLIER = "outlier"  # the column <metric>.outlier is 1 where a row was marked


@dataclass(frozen=True)
class Groups:
    """Rows sorted by unit, then ``x``, then ``y``, so that their order in the profile does not
    matter.

    ``unit``, ``starts`` and ``counts`` have the shape (groups,): the uid's code, the first row, the
    number of rows. The other arrays have the shape (rows,): ``number`` is the row's group,
    ``place`` its number in the profile, ``index`` that among the rows given. ``x`` and ``y`` are
    divided by the powers of two ``x_scale`` and ``y_scale`` (groups,), which loses nothing, so that
    squares of huge values are finite.
    """

    unit: Indices
    starts: Indices
    counts: Indices
    number: Indices
    place: Indices
    index: Indices
    x: Floats
    y: Floats
    x_scale: Floats
    y_scale: Floats

    def __len__(self) -> int:
        return len(self.unit)

    def total(self, values: Floats) -> Floats:
        """The sum of a column (rows,) per group."""
        return np.bincount(self.number, values, len(self)).astype(np.float64)

    @cached_property
    def mean(self) -> Floats:
        """The mean of ``y`` per group."""
        return self.total(self.y) / self.counts

    @cached_property
    def squares(self) -> Floats:
        """The squares of ``y`` about the mean, per group; 0 where only rounding differs."""
        squares = self.total((self.y - self.mean[self.number]) ** 2)
        return np.where(squares <= EQUAL**2 * self.counts, 0.0, squares)

    @cached_property
    def block(self) -> Indices:
        """The number of the row's block: rows of one group and one x."""
        return np.cumsum(begins(self.x, self.number)) - 1

    @cached_property
    def blocks(self) -> GroupBlocks:
        """The distinct values of ``x``."""
        starts = np.flatnonzero(begins(self.block))
        counts = np.diff(np.append(starts, len(self.x)))
        block = self.block
        # about the group's mean, so that sums over many rows stay exact
        away = self.y - self.mean[self.number] if len(self) else self.y
        means = np.bincount(block, away, len(starts)) / counts
        within = np.bincount(block, (away - means[block]) ** 2, len(starts)).astype(np.float64)
        return GroupBlocks(self.number[starts], self.x[starts], starts, counts, means, within)


@dataclass(frozen=True)
class GroupBlocks:
    """The rows of one group and one x, in order; arrays of the shape (blocks,).

    ``mean`` is that of ``y`` less the mean of the group, ``within`` the sum of squares about it.
    """

    group: Indices
    x: Floats
    starts: Indices
    counts: Indices
    mean: Floats
    within: Floats

    def take(self, chosen: Flags) -> GroupBlocks:
        """Some of the blocks."""
        return GroupBlocks(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def begins(*columns: NDArray[Any]) -> Flags:
    """Mask of the rows that differ from the row before in some column; the first row does.

    The columns have one length.
    """
    new = np.ones(len(columns[0]), dtype=bool)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return new


def group(rows: MetricRows, by: str = "size") -> Groups:
    """The rows that have a finite x, grouped by unit; with ``by`` empty all rows, x being 0."""
    x = rows.x if by else np.zeros(len(rows.y))
    finite = np.flatnonzero(np.isfinite(x))
    x, y, unit = x[finite], rows.y[finite], rows.unit[finite]
    # one column after the other, the last one in linear time, takes half of what lexsort does
    order = np.argsort(y)
    if by:
        order = order[np.argsort(x[order], kind="stable")]
    order = order[by_number(unit[order])]
    x, y, unit = x[order], y[order], unit[order]
    starts = np.flatnonzero(begins(unit))
    counts = np.diff(np.append(starts, len(unit)))
    number = np.repeat(np.arange(len(starts)), counts)
    x_scale, y_scale = (_scale(column, starts) for column in (x, y))
    return Groups(
        unit[starts],
        starts,
        counts,
        number,
        rows.place[finite][order],
        finite[order],
        x / x_scale[number],
        y / y_scale[number],
        x_scale,
        y_scale,
    )


def _scale(values: Floats, starts: Indices) -> Floats:
    """The power of two at or below the largest magnitude of each group; 1 where all are 0."""
    if not len(starts):
        return np.ones(0)
    largest = np.maximum.reduceat(np.abs(values), starts)
    exponent = np.frexp(np.where(largest > 0, largest, 1.0))[1]
    powers: Floats = np.ldexp(1.0, np.clip(exponent - 1, -1000, 1023))
    return powers


def by_number(number: Indices) -> Indices:
    """The order of rising numbers, rows of one number as they were."""
    # sixteen bits sort in linear time
    narrow = number.astype(np.uint16) if number.max(initial=0) < 1 << 16 else number
    return np.argsort(narrow, kind="stable")


def quantile(values: Floats, number: Indices, groups: int, share: float) -> Floats:
    """The quantile of each group's values, linear as numpy's; NaN for a group without any."""
    if (np.diff(number) < 0).any():
        values = values[by_number(number)]
    counts = np.bincount(number, minlength=groups)
    starts = np.cumsum(counts) - counts
    quantiles = np.full(groups, np.nan)
    for count in np.unique(counts[counts > 0]).tolist():  # groups of one length are one table
        alike = np.flatnonzero(counts == count)
        at = share * (count - 1)
        low = int(at)
        table = np.partition(
            values[starts[alike][:, None] + np.arange(count)],
            (low, min(low + 1, count - 1)),
            axis=1,
        )
        quantiles[alike] = table[:, low] + (at - low) * (
            table[:, min(low + 1, count - 1)] - table[:, low]
        )
    return quantiles


def thin(group_of: Indices, groups: int, most: int) -> Flags:
    """Mask that keeps at most ``most`` points of each group, evenly and with both ends; points are
    numbered in rising order.
    """
    counts = np.bincount(group_of, minlength=groups)
    starts = np.cumsum(counts) - counts
    rank, last = np.arange(len(group_of)) - starts[group_of], np.maximum(counts - 1, 1)[group_of]
    step = np.rint(rank * ((most - 1) / last))
    mask: Flags = (counts[group_of] <= most) | (np.rint(step * (last / (most - 1))) == rank)
    return mask


def fill(profile: Profile, rows: Indices, values: Floats) -> list[float | None]:
    """A column of the profile with ``values`` in the rows ``rows``, and None in all others."""
    column: NDArray[np.object_] = np.full(len(profile.resources), None, dtype=object)
    column[rows] = values
    filled: list[float | None] = column.tolist()
    return filled


@dataclass(frozen=True)
class MetricRows:
    """Rows with a value ``y`` of a metric: ``x`` is NaN without one, ``unit`` the uid's code,
    ``place`` the row's number in the profile.
    """

    y: Floats
    x: Floats
    unit: Indices
    place: Indices


def rows(profile: Profile, metric: str, by: str = "size", *, outliers: bool = False) -> MetricRows:
    """The rows of a metric that count, in their order: not those whose execution was repeated, nor
    marked ``outliers`` unless asked for.

    With a size, or a value of the metric ``by``, as x; raises UsageError where the profile has none
    at all. ``by=""`` needs none.
    """
    resources = profile.resources
    values = resources.array(metric)
    keep = np.isfinite(values)
    if resources.mark is not None:
        keep &= np.array(resources.mark, dtype=np.int64) != REPEATED
    marks = f"{metric}.{OUTLIER}"
    if marks in profile.metrics and not outliers:
        keep &= resources.array(marks) != 1
    over = named(profile, by, "by") if by else np.full(len(values), np.nan)
    place = np.flatnonzero(keep)
    return MetricRows(
        values[place], over[place], np.array(resources.uid, dtype=np.intp)[place], place
    )


def named(profile: Profile, name: str, option: str) -> Floats:
    """The sizes or a metric, as an option names them; raises UsageError where there is no such
    column, or nothing in it.
    """
    label = profile.job.label or "the profile"
    if name != "size" and name not in profile.metrics:
        raise UsageError(
            f"{label} has no column `{name}` for"
            f" {option}{nearest(name, ['size', *profile.metrics])}"
        )
    column = profile.resources.array(name)
    if np.isfinite(column).any():
        return column
    if name == "size":
        raise UsageError(
            f"{label} has no sizes, and this needs values over sizes: measure functions with the"
            " collector `complexity`, give the workload a size, or name another column with `by`"
        )
    raise UsageError(f"{label} has no value of `{name}` for {option}: name another column")


def chosen(profile: Profile, of: Sequence[str] = (), by: str = "") -> list[str]:
    """The metrics that were asked for, else all that are judged (``better`` is not none), less the
    one that is x.

    Raises UsageError for an unknown one, and where none is left.
    """
    wanted = [of] if isinstance(of, str) else list(of)
    for name in wanted:
        if name not in profile.metrics:
            raise UsageError(
                f"{profile.job.label or 'the profile'} has no metric"
                f" `{name}`{nearest(name, profile.metrics)}"
            )
    metrics = wanted or [
        name for name, metric in profile.metrics.items() if metric.better != "none" and name != by
    ]
    if not metrics:
        raise UsageError(
            f"{profile.job.label or 'the profile'} has no metric with a better direction: name some"
            f" with of; there are: {', '.join(profile.metrics) or 'none'}"
        )
    return metrics
