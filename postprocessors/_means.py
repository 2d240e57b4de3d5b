"""Rows as one mean per unit and size, which noise does not rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.profile import Profile
    from perfvcs.statistics.regression.strategies import ModelPoints


FEWEST_MEANS = 5  # fewer of them make no curve of means


def first_calls(profile: Profile) -> NDArray[np.bool_]:
    """Mask of the recorded calls at the beginning of an execution, when the caches are empty; shape (rows,)."""
    import numpy as np

    from perfvcs.statistics.regression.condensed import warm
    from perfvcs.summary import RECORDER

    rows = profile.resources
    if profile.job.collector != RECORDER or rows.iteration is None:
        return np.zeros(len(rows), dtype=bool)
    columns = (rows.binary, rows.execution, rows.uid)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in (np.array(column, dtype=np.int64) for column in columns if column is not None):
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return ~warm(rows.integers("iteration"), key)


class GroupMeans(NamedTuple):
    """Means as points, of how many values (of how much weight) each is, shape (rows,), and which groups became means, shape (groups,)."""

    points: ModelPoints
    weight: NDArray[np.float64]
    many: NDArray[np.bool_]


def means(points: ModelPoints) -> GroupMeans:
    """The mean of the values at each size of each group, outliers pulled in; for groups of fewer than ``FEWEST_MEANS`` sizes all values.

    Values weigh their number / level^2, as in ``robust.described``; they come in the order of groups and sizes.
    """
    import numpy as np

    from perfvcs.postprocessors._groups import by_number
    from perfvcs.statistics.regression.condensed import BUSY_CLIP, OUTLIER_NEIGHBOURS, drawn_in
    from perfvcs.statistics.regression.level import running
    from perfvcs.statistics.regression.strategies import ModelPoints

    order = np.argsort(points.x)
    order = order[by_number(points.group[order])]
    x, y, group = points.x[order], points.y[order], points.group[order]
    weight = np.ones(len(x)) if points.weights is None else points.weights[order]
    changes = np.append(True, (np.diff(x) != 0) | (np.diff(group) != 0))[: len(x)]
    many = np.bincount(group, changes, points.groups) >= FEWEST_MEANS
    starts = np.flatnonzero(changes | ~many[group])
    if not len(starts):
        return GroupMeans(points, weight, many)
    ends = np.searchsorted(group, np.arange(points.groups + 1)).tolist()
    for number in np.flatnonzero(many & (np.bincount(group, minlength=points.groups) >= OUTLIER_NEIGHBOURS)).tolist():
        rows = slice(ends[number], ends[number + 1])
        y[rows] = drawn_in(x[rows], y[rows], BUSY_CLIP)
    count, first = np.add.reduceat(weight, starts), y[starts]
    away = y - np.repeat(first, np.diff(np.append(starts, len(x))))  # of equal values the mean is exact
    mean, of = first + np.add.reduceat(weight * away, starts) / count, group[starts]
    most = np.zeros(points.groups)
    np.maximum.at(most, of, np.abs(mean))
    scale = np.where(most > 0, most, 1.0)[of]  # so that no weight is more than a float holds
    condensed = ModelPoints(x[starts], mean, of, points.groups, count / running(np.abs(mean) / scale, of) ** 2)
    return GroupMeans(condensed, count, many)
