"""Rows of each unit that belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.postprocessors._entries import OutcomeColumn, check_number, check_word, conclude
from perfvcs.postprocessors._rows import MetricRows, begins, chosen, fill, group, named, rows, thin
from perfvcs.profile import REPEATED, Profile
from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.postprocessors._rows import Groups

STRATEGIES = ("mixture", "sort-order", "sliding-window")
FITTED = 1_000  # values of a unit


@dataclass(frozen=True)
class Clusterizer:
    """Numbers the clusters of each unit, starting at the smallest values.

    ``strategy``: ``mixture`` fits up to ``most`` normal distributions and keeps as many as the BIC
    supports, such as cache hits and misses (on logarithms if all values are positive; on 1,000
    values of a unit, which then classify the others). ``sort-order`` gives every value its rank;
    equal values share one. ``sliding-window`` starts a cluster at the smallest value that is in
    none, and adds the next values while they are at most ``height`` above it and at most ``width``
    rows; equal values stay together. ``height_measure``: ``absolute``, in the metric's unit, or
    ``relative``, as a share of the unit's range of values; ``width_measure``: ``absolute``, in
    rows, or ``relative``, as a share of the unit's rows. Without either option the height is .1 of
    the range. ``by`` names what is clustered: ``value``, or ``size``, which gives the column
    ``size.cluster``. ``of`` names the metrics (by default, all that are judged). The result is the
    column ``<metric>.cluster``, null where the value is missing or the execution was repeated;
    where there are no sizes, other postprocessors can use it as x. Sources: the clusterizer of
    Perun; Fraley, Raftery
    2002.
    """

    strategy: str = "mixture"
    by: str = "value"
    most: int = 6
    width: float | None = None
    width_measure: str = "absolute"
    height: float | None = None
    height_measure: str = "relative"
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_word(self, "strategy", STRATEGIES)
        check_word(self, "by", ("value", "size"))
        check_number(self, "most", 1, 20, "6", whole=True)
        for option, example in (("width", ("100", "0.1")), ("height", ("1e-6", "0.1"))):
            measure = f"{option}_measure"
            check_word(self, measure, ("absolute", "relative"))
            relative = getattr(self, measure) == "relative"
            check_number(self, option, 0, 1 if relative else 1e300, example[relative], above=True)
            if getattr(self, option) is not None and self.strategy != "sliding-window":
                raise UsageError(
                    f'clusterizer: {option} belongs to strategy = "sliding-window": give that'
                    f" strategy, or no {option}"
                )
        if self.by == "size" and self.of:
            raise UsageError('clusterizer: by = "size" clusters no metric: leave out of')

    def apply(self, profile: Profile) -> Profile:
        """The profile with a column per metric, or one of the sizes."""
        columns: dict[str, OutcomeColumn] = {}
        if self.by == "size":
            columns["size"] = self._column(profile, _sizes(profile))
        else:
            for metric in chosen(profile, self.of):
                columns[metric] = self._column(profile, rows(profile, metric, "", outliers=True))
        return conclude(profile, self, columns=columns, word="cluster")

    def _column(self, profile: Profile, rows: MetricRows) -> OutcomeColumn:
        groups = group(rows, "")
        return "", fill(profile, groups.place, self._labels(groups))

    def _labels(self, groups: Groups) -> Floats:
        if self.strategy == "mixture":
            return _mixture(groups, self.most)
        if self.strategy == "sort-order":
            return _ranks(groups)
        height, relative = self.height, self.height_measure == "relative"
        if height is None and self.width is None:
            height, relative = 0.1, True
        return _windows(
            groups,
            height,
            relative_height=relative,
            width=self.width,
            relative_width=self.width_measure == "relative",
        )


def _sizes(profile: Profile) -> MetricRows:
    size = named(profile, "size", "by")
    place = np.flatnonzero(
        np.isfinite(size)
        & (np.array(profile.resources.integers("mark"), dtype=np.int64) != REPEATED)
    )
    unit = np.array(profile.resources.uid, dtype=np.intp)[place]
    return MetricRows(size[place], size[place], unit, place)


def _ranks(groups: Groups) -> Floats:
    """The rank of each value in its group, from 0, equal values having one."""
    rank = np.cumsum(begins(groups.y, groups.number)) - 1
    return (rank - rank[groups.starts][groups.number]).astype(np.float64)


def _windows(
    groups: Groups,
    height: float | None,
    *,
    relative_height: bool,
    width: float | None,
    relative_width: bool,
) -> Floats:
    """The number of the window that each value is in; None is without a bound."""
    total = len(groups.y)
    low, high = groups.y[groups.starts], groups.y[groups.starts + groups.counts - 1]
    ends = groups.starts + groups.counts
    # the row that begins the next window, if one begins at this row
    after = np.repeat(ends, groups.counts)
    if height is not None:
        with np.errstate(over="ignore"):
            reach = height * (high - low) if relative_height else height / groups.y_scale
        bound = groups.y + reach[groups.number]
        for start, end in zip(groups.starts.tolist(), ends.tolist(), strict=True):
            after[start:end] = start + np.searchsorted(
                groups.y[start:end], bound[start:end], side="right"
            )
    if width is not None:
        rows = np.maximum(
            width * groups.counts if relative_width else np.full(len(groups), width), 1
        )
        wide = np.arange(total) + np.minimum(rows, groups.counts)[groups.number].astype(np.intp)
        # up to the end of the equal values
        distinct = np.append(np.flatnonzero(begins(groups.y, groups.number)), total)
        wide = distinct[np.searchsorted(distinct, np.minimum(wide, total))]
        after = np.minimum(after, wide)
    following, place, opened = after.tolist(), 0, []
    while place < total:
        opened.append(place)
        place = following[place]
    first = np.zeros(total, dtype=np.intp)
    first[opened] = 1
    window = np.cumsum(first) - 1
    return (window - window[groups.starts][groups.number]).astype(np.float64)


def _mixture(groups: Groups, most: int) -> Floats:
    """The likeliest component of each value, of as many as the BIC says, up to ``most``."""
    from perfvcs.statistics.clusters import clusters

    fitted_rows = thin(groups.number, len(groups), FITTED)
    components = np.zeros(len(groups.y))
    for start, count in zip(groups.starts.tolist(), groups.counts.tolist(), strict=True):
        rows = slice(start, start + count)
        y = groups.y[rows]
        values = np.log(y) if y[0] > 0 else y
        fitted = clusters(values[fitted_rows[rows]], most)
        if len(fitted.centres) > 1:
            components[rows] = _likeliest(values, fitted.centres, fitted.spreads, fitted.shares)
    return components


def _likeliest(values: Floats, centres: Floats, spreads: Floats, shares: Floats) -> Indices:
    density = np.log(shares / spreads) - ((values[:, None] - centres) / spreads) ** 2 / 2
    return np.asarray(density.argmax(axis=1), dtype=np.intp)
