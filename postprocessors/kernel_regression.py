"""A smooth curve by a kernel that weighs what is near."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.errors import UsageError
from perfvcs.postprocessors._curve import CurvePoints, SmoothCurve, entries, most_points
from perfvcs.postprocessors._entries import check_number, check_word
from perfvcs.postprocessors._rows import Groups, thin
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import KernelEntry
from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


KERNEL_SIZES = 400  # sizes of a unit that the kernel goes over
SEARCHED = 100  # rows of a unit that the search for a bandwidth goes over
IN_ALL = 30_000  # rows of all units
FEW_ROWS = 30  # rows of one of very many units
FEWEST_KERNEL_ROWS = 5  # rows and sizes
STEPS = 1000  # of a search
CHUNK_WEIGHTS = 2_000_000  # weights held at once


@dataclass(frozen=True)
class KernelRegression(SmoothCurve):
    """Fits a smooth curve over the sizes of each unit, with a normal kernel.

    ``estimate``: ``ll`` fits a line around each size (local linear), ``lc`` takes the weighted mean
    (local constant, Nadaraya-Watson). ``mode`` chooses the source of the bandwidth: ``method``, a
    rule of thumb (``rule`` is scott or silverman, from the number of rows and the spread of their
    sizes, as in scipy); ``estimator``, the one with the least ``criterion``, cross-validation
    (cv_ls) or aic, on at most 100 rows of a unit (30 if there are very many units), since its time
    grows with their square; ``user``, the given ``bandwidth`` in the unit of x. The entry records
    the source (``bandwidth_by``): units with fewer than five rows or sizes, with equal values, or
    for which the search fails use the rule. Units with more than 400 sizes are first binned into
    400 equal cells. ``of`` names the metrics (by default, all that are judged); ``by`` names the
    column of x. Sources: Nadaraya, Watson 1964; Fan 1992; Hurvich, Simonoff, Tsai 1998 for aic; the
    kernel regression of Perun.
    """

    mode: str = "method"
    estimate: str = "ll"
    rule: str = "scott"
    criterion: str = "cv_ls"
    bandwidth: float | None = None
    of: tuple[str, ...] = ()
    by: str = "size"

    def __post_init__(self) -> None:
        for option, words in (
            ("mode", ("estimator", "method", "user")),
            ("estimate", ("ll", "lc")),
            ("rule", ("scott", "silverman")),
            ("criterion", ("cv_ls", "aic")),
        ):
            check_word(self, option, words)
        check_number(self, "bandwidth", 0, 1e300, "50", above=True)
        if self.mode == "user" and self.bandwidth is None:
            raise UsageError(
                'kernel-regression: mode = "user" needs a bandwidth: give one in the unit of x,'
                " such as 50"
            )
        if self.mode != "user" and self.bandwidth is not None:
            raise UsageError(
                'kernel-regression: a bandwidth that is given needs mode = "user": give both, or'
                " neither"
            )

    def curves(self, profile: Profile, metric: str, groups: Groups) -> list[KernelEntry]:
        """The curves of one metric."""
        width, by = self._bandwidths(groups)
        curve = _smooth(groups, width, self.estimate, most_points(len(groups)))
        with np.errstate(over="ignore"):
            bandwidth = np.minimum(width * groups.x_scale, np.finfo(np.float64).max)
        options = {
            "estimate": np.full(len(groups), self.estimate),
            "bandwidth": bandwidth,
            "bandwidth_by": by,
        }
        return entries(KernelEntry, profile, metric, self.by, groups, curve, options)

    def _bandwidths(self, groups: Groups) -> tuple[Floats, NDArray[Any]]:
        """Bandwidths on the scale of ``groups``, and what they are by."""
        if self.bandwidth is not None:
            with np.errstate(over="ignore"):
                return self.bandwidth / groups.x_scale, np.full(len(groups), "user")
        width = _by_rule(groups, self.rule)
        if self.mode == "method":
            return width, np.full(len(groups), self.rule)
        searched = _search(groups, self.estimate, self.criterion, width)
        return np.where(searched > 0, searched, width), np.where(
            searched > 0, self.criterion, self.rule
        )


def _by_rule(groups: Groups, rule: str) -> Floats:
    """The bandwidth of each group: the standard deviation of x, times n^(-1/5) (scott) or (3 n /
    4)^(-1/5) (silverman).

    As in ``scipy.stats.gaussian_kde``; 1 where all x are equal, when any bandwidth gives the same.
    """
    n = groups.counts.astype(np.float64)
    away = groups.x - (groups.total(groups.x) / n)[groups.number]
    deviation = np.sqrt(groups.total(away**2) / np.maximum(n - 1, 1))
    width = deviation * (n if rule == "scott" else 0.75 * n) ** -0.2
    alone = np.bincount(groups.blocks.group, minlength=len(groups)) < 2
    bandwidths: Floats = np.where(alone, 1.0, width)
    return bandwidths


def _search(groups: Groups, estimate: str, criterion: str, start: Floats) -> Floats:
    """The bandwidth of each group at which a criterion is least; 0 where none is found, or there is
    nothing to search in.

    As in statsmodels' ``KernelReg``: by the simplex of Nelder and Mead, from the normal reference
    rule on. It goes over at most ``SEARCHED`` rows of a group, and ``FEW_ROWS`` or more of each
    where all of them would have more than ``IN_ALL``.
    """
    from scipy.optimize import fmin

    bandwidths = np.zeros(len(groups))
    sizes = np.bincount(groups.blocks.group, minlength=len(groups))
    enough = np.flatnonzero(
        (groups.counts >= FEWEST_KERNEL_ROWS) & (sizes >= FEWEST_KERNEL_ROWS) & (groups.squares > 0)
    ).tolist()
    searched = thin(
        groups.number, len(groups), min(SEARCHED, max(FEW_ROWS, IN_ALL // max(len(enough), 1)))
    )
    for place in enough:
        rows = slice(groups.starts[place], groups.starts[place] + groups.counts[place])
        x, y = groups.x[rows][searched[rows]], groups.y[rows][searched[rows]]
        # the steps of the search know no units: x in bandwidths of the rule, y in deviations
        scaled = (x - x.mean()) / start[place]
        level = (y - y.mean()) / np.sqrt(groups.squares[place] / groups.counts[place])
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # of a search that goes astray, which its result shows
            cost = _criterion(scaled, level, estimate, criterion)
            first = 1.06 * scaled.std() * len(scaled) ** -0.2
            width = (
                abs(float(fmin(cost, first, maxiter=STEPS, maxfun=STEPS, disp=False)[0]))
                * start[place]
            )
        bandwidths[place] = width if np.isfinite(width) and width > 0 else 0.0
    return bandwidths


def _criterion(x: Floats, y: Floats, estimate: str, criterion: str) -> Callable[[Floats], float]:
    """What a bandwidth, an array of one, costs: the mean square of what it leaves of each row by
    the others, or Hurvich's criterion.
    """

    def cost(bandwidth: Floats) -> float:
        away = (x - x[:, None]) / bandwidth[0]
        weight = np.exp(-(away**2) / 2)
        # the mean weight of a row in its own estimate by ``lc``
        itself = float((1 / weight.sum(axis=1)).mean())
        if criterion == "cv_ls":
            np.fill_diagonal(weight, 0)
        # a row that nothing else reaches is expected at the mean, 0
        expected = np.nan_to_num(_local(away, weight, y, estimate))
        squares = float(((y - expected) ** 2).mean())
        if criterion == "cv_ls":
            return squares
        return float(np.log(squares) + (1 + itself) / (1 - itself - 2 / len(x)))

    return cost


def _smooth(groups: Groups, width: Floats, estimate: str, most: int) -> CurvePoints:
    """The estimate at no more than ``most`` sizes of each group."""
    group, x, weight, mean = _cells(groups)
    shown = np.flatnonzero(thin(group, len(groups), most))
    counts, points = (
        np.bincount(column, minlength=len(groups)) for column in (group, group[shown])
    )
    starts, firsts = np.cumsum(counts) - counts, np.cumsum(points) - points
    values = np.empty(len(shown))
    # groups of one shape are one table
    for cells, at in np.unique(np.stack([counts, points], axis=1), axis=0).tolist():
        alike = np.flatnonzero((counts == cells) & (points == at))
        for part in np.array_split(alike, max(1, len(alike) * cells * at // CHUNK_WEIGHTS)):
            inside = starts[part][:, None] + np.arange(cells)
            places = firsts[part][:, None] + np.arange(at)
            values[places] = _estimate(
                x[shown[places]],
                x[inside],
                mean[inside],
                weight[inside],
                width[part][:, None, None],
                estimate,
            )
    return CurvePoints(group[shown], x[shown], values + groups.mean[group[shown]])


class _Cells(NamedTuple):
    """Group, x, number of rows, and mean value less the group's, of each size, or of each cell that
    holds some of too many sizes.
    """

    group: Indices
    x: Floats
    weight: Floats
    mean: Floats


def _cells(groups: Groups) -> _Cells:
    blocks = groups.blocks
    sizes = np.bincount(blocks.group, minlength=len(groups))
    if not (sizes > KERNEL_SIZES).any():
        return _Cells(blocks.group, blocks.x, blocks.counts.astype(np.float64), blocks.mean)
    low, high = groups.x[groups.starts], groups.x[groups.starts + groups.counts - 1]
    span = np.where(high > low, high - low, 1.0)
    cell = ((blocks.x - low[blocks.group]) / span[blocks.group] * KERNEL_SIZES).astype(np.intp)
    # sizes of a group that has few stay apart
    many = (sizes > KERNEL_SIZES)[blocks.group]
    new = np.append(
        True,
        (np.diff(np.minimum(cell, KERNEL_SIZES - 1)) != 0)
        | (np.diff(blocks.group) != 0)
        | ~many[1:],
    )
    number = np.cumsum(new) - 1
    weight = np.bincount(number, blocks.counts).astype(np.float64)
    means = [
        np.bincount(number, blocks.counts * column) / weight for column in (blocks.x, blocks.mean)
    ]
    return _Cells(blocks.group[new], means[0], weight, means[1])


def _estimate(
    at: Floats, x: Floats, y: Floats, rows: Floats, width: Floats, estimate: str
) -> Floats:
    """The estimate of several groups at ``at`` (groups, points) from cells ``x``, ``y``, ``rows``
    (groups, cells).
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        away = (x[:, None, :] - at[:, :, None]) / width
        weight = np.exp(-(away**2) / 2) * rows[:, None, :]
        return _local(away, weight, y[:, None, :], estimate)


def _local(away: Floats, weight: Floats, y: Floats, estimate: str) -> Floats:
    """The weighted mean of y over the last axis, or of its weighted line where ``away`` is 0."""
    s0, t0 = weight.sum(axis=-1), (weight * y).sum(axis=-1)
    flat = t0 / s0
    if estimate == "lc":
        return np.asarray(flat)
    moved = np.where(weight > 0, weight * away, 0.0)
    s1, t1 = moved.sum(axis=-1), (moved * y).sum(axis=-1)
    s2 = np.where(weight > 0, moved * away, 0.0).sum(axis=-1)
    determinant = s0 * s2 - s1**2
    # without a second size in reach there is no slope
    sloped = determinant > 1e-10 * s0 * s0
    line = (s2 * t0 - s1 * t1) / np.where(sloped, determinant, 1.0)
    return np.asarray(np.where(sloped, line, flat))
