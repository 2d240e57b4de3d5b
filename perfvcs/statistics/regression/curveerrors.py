"""Errors between two curves: a target's values f(x) against the baseline's f_b(x) at the same
sizes.

Values of either side are those of a model or measured ones; arrays of one shape, the last axis runs
over the sizes. NaN propagates, divisions by zero give what is documented and never warn. Source:
Stupinsky 2018, ch. 5.2, formulas 5.1 to 5.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.statistics.regression.condensed import running
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# this share of either side's rows at sizes that both have: the other rows are left out
COMMON_SHARE = 0.8
PLACES = 50  # at most this many ranges of sizes otherwise
ROWS_PER_BLOCK = 8  # about this many rows of both sides in each


@dataclass(frozen=True)
class Pairs:
    """Columns with a row for every place (a size, or a narrow range of sizes) where both sides of a
    group have values.

    ``x`` is the size, ``group`` the number of the group (rising, sizes rising within), ``baseline``
    and ``target`` are the means, ``counts`` (rows, 2) of how many values. ``difference`` is target
    minus baseline, corrected for sizes that do not quite agree.
    """

    x: Floats
    group: Indices
    baseline: Floats
    target: Floats
    difference: Floats
    counts: Indices
    groups: int


def pair(
    x1: ArrayLike,
    y1: ArrayLike,
    x2: ArrayLike,
    y2: ArrayLike,
    group1: ArrayLike | None = None,
    group2: ArrayLike | None = None,
    groups: int | None = None,
) -> Pairs:
    """Bring the baseline's values ``y1`` at sizes ``x1`` and the target's together, for every group
    (numbered from 0; one without).

    Where 80 % of either side's rows are at sizes that both sides have, the places are these sizes.
    Elsewhere they are up to 50 ranges with equally many rows, and the slope of the common curve is
    taken out of the difference: that of the model which fits both sides together best, and what it
    leaves by straight lines between the means of neighbouring ranges. Rows with a NaN or an
    infinity are left out. ``ValueError`` for columns of different lengths.
    """
    sides = [_side(x1, y1, group1), _side(x2, y2, group2)]
    x = np.concatenate([side.size for side in sides])
    y = np.concatenate([side.value for side in sides])
    group = np.concatenate([side.group for side in sides])
    side = np.repeat([0, 1], [len(side.size) for side in sides])
    total = int(group.max(initial=-1)) + 1 if groups is None else groups
    place = np.lexsort((x, group))
    x, y, group, side = x[place], y[place], group[place], side[place]
    size = np.cumsum(_edges(group, x)) - 1
    both = (np.minimum(*_counts(size, side).T) > 0)[size]
    rows, common = _counts(group, side, total), _counts(group[both], side[both], total)
    exact = np.asarray((common >= COMMON_SHARE * rows).all(axis=1))
    range_ = size
    if not exact.all():
        number = rows.sum(axis=1)
        bins = np.clip(number // ROWS_PER_BLOCK, 1, PLACES)
        within = np.arange(len(x)) - (np.cumsum(number) - number)[group]
        range_ = np.where(exact[group], size, within * bins[group] // np.maximum(number[group], 1))
    keep = both | ~exact[group]
    if not keep.all():
        x, y, group, side, range_ = x[keep], y[keep], group[keep], side[keep], range_[keep]
    where = np.cumsum(_edges(group, range_)) - 1
    counts = _counts(where, side)
    middle = _mean(where, x)
    owner = group[_edges(where)] if len(x) else group
    rest = y - _curve(x, y, group, exact, total)
    rest -= _along(x, where, middle, _mean(where, rest), owner, exact)
    means, rests = [], []
    for turn in (0, 1):
        rows_of_side = np.flatnonzero(side == turn)
        places, divisor = where[rows_of_side], np.maximum(counts[:, turn], 1)
        means.append(np.bincount(places, y[rows_of_side], len(counts)) / divisor)
        rests.append(np.bincount(places, rest[rows_of_side], len(counts)) / divisor)
    fine = np.minimum(*counts.T) > 0
    return Pairs(
        x=middle[fine],
        group=owner[fine],
        baseline=means[0][fine],
        target=means[1][fine],
        difference=(rests[1] - rests[0])[fine],
        counts=counts[fine],
        groups=total,
    )


class _Side(NamedTuple):
    """The usable rows of a side, each column (n,)."""

    size: Floats
    value: Floats
    group: Indices


def _side(x: ArrayLike, y: ArrayLike, group: ArrayLike | None) -> _Side:
    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    number = (
        np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    )
    if not size.shape == value.shape == number.shape or size.ndim != 1:
        raise ValueError("sizes, values and groups must be columns of equal length")
    keep = np.isfinite(size) & np.isfinite(value)
    return _Side(size[keep], value[keep], number[keep])


def _edges(*columns: Floats | Indices) -> Flags:
    """The indices at which runs of equal rows begin."""
    edges = np.ones(len(columns[0]), dtype=bool)
    if len(edges):
        edges[1:] = np.logical_or.reduce([np.diff(column) != 0 for column in columns])
    return edges


def _counts(number: Indices, side: Indices, total: int = 0) -> Indices:
    """How many rows of either side each number has; shape (numbers, 2)."""
    most = max(total, int(number.max(initial=-1)) + 1)
    return np.bincount(2 * number + side, minlength=2 * most).reshape(most, 2)


def _mean(number: Indices, values: Floats, total: int = 0) -> Floats:
    return np.bincount(number, values, total) / np.maximum(np.bincount(number, minlength=total), 1)


def _curve(x: Floats, y: Floats, group: Indices, exact: Flags, total: int) -> Floats:
    """The best model of both sides together at each row; 0 where the sizes agree."""
    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.regression.models import MODELS

    curve, rows = np.zeros(len(x)), ~exact[group]
    if rows.any():
        weights = 1 / running(np.abs(y[rows]), group[rows]) ** 2
        best = choose(fit(x[rows], y[rows], group[rows], weights, groups=total, models=MODELS))
        curve[rows] = np.nan_to_num(best.predict(x[rows], group[rows]))
    return curve


def _along(
    x: Floats, where: Indices, middle: Floats, mean: Floats, owner: Indices, exact: Flags
) -> Floats:
    """The common curve at each row: through the places' means, straight between and beyond."""
    if len(middle) < 2 or exact[owner].all():
        return mean[where]
    run, rise = np.diff(middle), np.diff(mean)
    able = (np.diff(owner) == 0) & (run > 0)
    slope = np.where(able, rise / np.where(able, run, 1.0), np.nan)
    left, right = np.append(np.nan, slope), np.append(slope, np.nan)  # of each place
    left, right = np.where(np.isnan(left), right, left), np.where(np.isnan(right), left, right)
    away = x - middle[where]
    chosen = np.nan_to_num(np.where(away < 0, left[where], right[where]))
    return mean[where] + np.where(exact[owner[where]], 0.0, chosen * away)


def absolute(target: ArrayLike, baseline: ArrayLike) -> Floats:
    """f(x_i) - f_b(x_i), in the unit of the values (5.1)."""
    with np.errstate(invalid="ignore"):
        residuals: Floats = np.subtract(target, baseline, dtype=np.float64)
    return residuals


def mean_squared(target: ArrayLike, baseline: ArrayLike) -> Floats:
    """The mean of the squared absolute errors over the last axis (5.3); NaN for no sizes."""
    squares = absolute(target, baseline) ** 2
    if squares.shape[-1] == 0:
        return np.full(squares.shape[:-1], np.nan)
    return np.asarray(squares.mean(axis=-1))


def leverage(target: ArrayLike) -> Floats:
    """How far each value lies from the mean of all: (f(x_i) - mean)^2 / sum (f(x_j) - mean)^2 + 1/n
    (5.4); 1/n where all are equal.
    """
    values = np.asarray(target, dtype=np.float64)
    away = (values - values.sum(axis=-1, keepdims=True) / max(values.shape[-1], 1)) ** 2
    total = away.sum(axis=-1, keepdims=True)
    share = np.where(total > 0, away / np.where(total > 0, total, 1.0), 0.0 * total)
    return np.asarray(share + 1 / max(values.shape[-1], 1))


def studentized(target: ArrayLike, baseline: ArrayLike) -> Floats:
    """The absolute error over its standard deviation, estimated without the value itself (5.6).

    t_i = dx_i / sqrt(MSE_(i) (1 - h_i)), MSE_(i) being the mean squared error of the other sizes. 0
    where there is no error, infinite where the others have none or the value's leverage is 1; NaN
    for a single size. An equal error everywhere gives values about 1, with a mean square of 1 + 2/n
    (table 6.2); an outlier stands out.
    """
    delta = absolute(target, baseline)
    n = delta.shape[-1]
    if n < 2:
        return np.full(delta.shape, np.nan)
    squares = delta**2
    others = np.maximum(squares.sum(axis=-1, keepdims=True) - squares, 0.0) / (n - 1)
    free = np.maximum(
        1 - leverage(np.broadcast_to(np.asarray(target, dtype=np.float64), delta.shape)), 0.0
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(delta == 0, 0.0, delta / np.sqrt(others * free)))
