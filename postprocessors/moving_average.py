"""A running average over the sizes."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

from perfvcs.errors import UsageError
from perfvcs.postprocessors._curve import CurvePoints, SmoothCurve, entries, most_points
from perfvcs.postprocessors._entries import check_number, check_word
from perfvcs.postprocessors._rows import GroupBlocks, Groups, begins, thin
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import MovingAverageEntry
from perfvcs.system.numeric import Flags, Floats, Indices, np

DECAYS = ("alpha", "com", "span", "halflife")
NARROWEST_WINDOW = 3  # rows of the narrowest window that is tried
GROWTH = 1.6  # of each window that is tried over the one before
TRIED = 2_000  # sizes of a unit at which windows are compared
# exponential averages that are tried: alpha = 2 / (1 + span)
SPANS = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89)
LOST = 1e-18  # a weight that changes nothing
CHUNK_ROWS = 4_000_000  # rows of windows held at once


@dataclass(frozen=True)
class MovingAverage(SmoothCurve):
    """Computes a running mean, median or exponential average over the sizes of each unit.

    ``kind``: ``mean`` and ``median`` use a window around each size; ``exponential`` is a mean of
    the sizes up to each one, whose weights fall with the number of sizes in between. ``window`` is
    a number of rows: at each size the window holds all rows of that size, and on either side half
    of the rest; rows of one size are never separated, and the window is cut off at the ends. By
    default each unit gets the window that best predicts rows left out one by one (with the mean).
    The decay of ``exponential`` is given by one of ``alpha`` (the weight of the newest size),
    ``com`` (alpha = 1 / (1 + com)), ``span`` (2 / (1 + span)) or ``halflife`` (1 - 2^(-1 /
    halflife)); by default each unit gets the decay that best predicts each size from those before
    it. Sizes are weighted by their number of rows. ``of`` names the metrics (by default, all that
    are judged); ``by`` names the column of x. Sources: the moving average of Perun; leave-one-out:
    Stone 1974.
    """

    kind: str = "mean"
    window: int | None = None
    alpha: float | None = None
    com: float | None = None
    span: float | None = None
    halflife: float | None = None
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        check_word(self, "kind", ("mean", "median", "exponential"))
        check_number(self, "window", 1, 1e9, "20", whole=True)
        check_number(self, "alpha", 0, 1, "0.3", above=True)
        check_number(self, "com", 0, 1e9, "3")
        check_number(self, "span", 1, 1e9, "10")
        check_number(self, "halflife", 0, 1e9, "5", above=True)
        given = [name for name in DECAYS if getattr(self, name) is not None]
        if len(given) > 1:
            raise UsageError(
                f"moving-average: {given[0]} and {given[1]} say the same in two ways: give one of"
                f" {', '.join(DECAYS)}"
            )
        if given and self.kind != "exponential":
            raise UsageError(
                f'moving-average: {given[0]} belongs to kind = "exponential": give a window, or'
                " that kind"
            )
        if self.window is not None and self.kind == "exponential":
            raise UsageError(
                "moving-average: an exponential average has no window: give a span, or another kind"
            )

    @property
    def decay(self) -> float | None:
        """The weight of the newest size, from whichever option says it; None where none does."""
        if self.com is not None:
            return 1 / (1 + self.com)
        if self.span is not None:
            return 2 / (1 + self.span)
        return self.alpha if self.halflife is None else 1 - exp(-log(2) / self.halflife)

    def curves(self, profile: Profile, metric: str, groups: Groups) -> list[MovingAverageEntry]:
        """The curves of one metric."""
        shown = thin(groups.blocks.group, len(groups), most_points(len(groups)))
        if self.kind == "exponential":
            alpha, smooth = self._exponential(groups)
            options, values = {"alpha": alpha}, smooth[shown]
        else:
            given = self.window
            window = _best_window(groups) if given is None else np.minimum(given, groups.counts)
            options = {"window": np.asarray(window)}
            average = _mean if self.kind == "mean" else _median
            values = average(groups, window, shown)
        curve = CurvePoints(groups.blocks.group[shown], groups.blocks.x[shown], values)
        options = {"kind": np.full(len(groups), self.kind), **options}
        return entries(MovingAverageEntry, profile, metric, self.by, groups, curve, options)

    def _exponential(self, groups: Groups) -> tuple[Floats, Floats]:
        decay = self.decay
        alpha = _best_alpha(groups) if decay is None else np.full(len(groups), decay)
        return alpha, _exponential(groups, alpha) + groups.mean[groups.blocks.group]


def _reach(groups: Groups, blocks: GroupBlocks, window: Indices) -> tuple[Indices, Indices]:
    """First row and end of the window about each of the blocks, ``window`` (groups,) rows wide, all
    rows of its sizes included.
    """
    every = groups.blocks
    block = groups.block
    half = np.maximum(window[blocks.group] - blocks.counts + 1, 0) // 2
    begin = groups.starts[blocks.group]
    end = begin + groups.counts[blocks.group]
    first = np.maximum(blocks.starts - half, begin)
    last = np.minimum(blocks.starts + blocks.counts + half, end) - 1
    return every.starts[block[first]], every.starts[block[last]] + every.counts[block[last]]


def _sums(groups: Groups) -> Floats:
    """Running sums of the values less the mean of their group, beginning with 0."""
    return np.concatenate([[0.0], np.cumsum(groups.y - groups.mean[groups.number])])


def _mean(groups: Groups, window: Indices, shown: Flags) -> Floats:
    """The mean of the window about each block that is ``kept``."""
    blocks = groups.blocks.take(shown)
    first, end = _reach(groups, blocks, window)
    sums = _sums(groups)
    means: Floats = (sums[end] - sums[first]) / (end - first) + groups.mean[blocks.group]
    return means


def _median(groups: Groups, window: Indices, shown: Flags) -> Floats:
    """The median of the window about each block that is ``kept``."""
    first, end = _reach(groups, groups.blocks.take(shown), window)
    length, medians = end - first, np.empty(len(first))
    for size in np.unique(length).tolist():  # windows of one length are one table
        places = np.flatnonzero(length == size)
        for part in np.array_split(places, max(1, len(places) * size // CHUNK_ROWS)):
            medians[part] = np.median(groups.y[first[part][:, None] + np.arange(size)], axis=1)
    return medians


def _best_window(groups: Groups) -> Indices:
    """The window (groups,) whose mean has the least squared error at the rows that are left out one
    by one; the widest of equals.

    Windows from three rows on are tried, each 1.6 times the one before, and the whole unit, at no
    more than 2,000 sizes of each unit.
    """
    blocks = groups.blocks.take(thin(groups.blocks.group, len(groups), TRIED))
    sums = _sums(groups)
    best, windows = np.full(len(groups), np.inf), np.minimum(NARROWEST_WINDOW, groups.counts)
    floor = 1e-12 * groups.squares  # windows that differ by rounding alone are equal
    width = float(NARROWEST_WINDOW)
    while len(groups):
        window = np.minimum(round(width), groups.counts)
        first, end = _reach(groups, blocks, window)
        n = (end - first).astype(np.float64)
        error = (sums[end] - sums[first]) / n - blocks.mean
        squares = (blocks.within + blocks.counts * error**2) * (n / np.maximum(n - 1, 1)) ** 2
        total = np.bincount(blocks.group, squares, len(groups))
        better = total <= best + floor
        best, windows = np.where(better, total, best), np.where(better, window, windows)
        if width >= groups.counts.max():
            break
        width *= GROWTH
    return windows.astype(np.intp)


def _exponential(groups: Groups, alpha: Floats) -> Floats:
    """At each block the mean of it and those before, weighted by their rows and (1 - alpha)^(blocks
    between); less the group's mean.
    """
    blocks = groups.blocks
    first = begins(blocks.group)
    factor = np.where(first, 0.0, 1 - alpha[blocks.group])
    weight = blocks.counts.astype(np.float64)
    total = weight * blocks.mean
    step = 1
    # doubling the distance that each sum reaches, until what is further away weighs nothing
    while step < len(factor) and factor.max() > LOST:
        for column in (total, weight):
            column[step:] = column[step:] + factor[step:] * column[:-step]
        factor = np.concatenate([np.zeros(step), factor[step:] * factor[:-step]])
        step *= 2
    means: Floats = total / weight
    return means


def _best_alpha(groups: Groups) -> Floats:
    """The alpha (groups,) that predicts each size best from those before, in squared error over its
    rows; the smallest of equals.
    """
    blocks = groups.blocks
    later = np.flatnonzero(np.diff(blocks.group) == 0) + 1
    best, alphas = np.full(len(groups), np.inf), np.ones(len(groups))
    floor = 1e-12 * groups.squares
    for span in SPANS:
        alpha = 2 / (1 + span)
        before = _exponential(groups, np.full(len(groups), alpha))[later - 1]
        squares = blocks.counts[later] * (blocks.mean[later] - before) ** 2
        total = np.bincount(blocks.group[later], squares, len(groups))
        better = total <= best + floor
        best, alphas = np.where(better, total, best), np.where(better, alpha, alphas)
    return alphas
