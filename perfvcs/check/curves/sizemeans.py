"""The mean of a curve's values at each size, with and without the levels of its executions."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.check.rows import CasePoints

MOST_ROUNDS = 3  # of levels and means in turn: each takes most of what the other left
FEWEST_LEVEL_ROWS = 3  # rows of an execution whose level is taken out
ROUNDING = 1e-12  # a level this near to 1 is one


class SizeMeans(NamedTuple):
    """The distinct sizes in rising order, the mean of the values at each, and how many these
    are.
    """

    sizes: Floats
    mean: Floats
    counts: Floats


class _SizeRows(NamedTuple):
    """The means, and of each row the place of its size and its weight."""

    means: SizeMeans
    place: Indices
    weight: Floats


def means(points: CasePoints) -> SizeMeans:
    """The means of the values as they are."""
    return _rows(points).means


def levelled(points: CasePoints) -> SizeMeans:
    """The means of values divided by the level of their execution: what it took at its sizes over
    what all took there, 1 on average.

    Where executions have sizes of their own, a slow one would bend the curve at its sizes. Where
    all have the same ones, hardly anything moves. Values that are not all above 0 are taken as they
    are, and so are those of executions with fewer than three rows.
    """
    (distinct, mean, count), place, weight = _rows(points)
    rows = np.bincount(points.execution, minlength=points.executions)
    if len(distinct) < FEWEST_LEVEL_ROWS or points.executions < 2 or not (points.value > 0).all():
        return SizeMeans(distinct, mean, count)
    share = np.bincount(points.execution, weight, points.executions)
    level = np.ones(points.executions)
    for _ in range(MOST_ROUNDS):
        usual = np.bincount(points.execution, mean[place] * weight, points.executions)
        relative = np.bincount(
            points.execution, points.value * weight, points.executions
        ) / np.where(usual > 0, usual, 1.0)
        level = np.where((rows >= FEWEST_LEVEL_ROWS) & (relative > 0), relative, 1.0)
        level /= (level * share).sum() / share.sum()
        level = np.where(np.abs(level - 1) <= ROUNDING, 1.0, level)
        mean = np.bincount(place, points.value / level[points.execution] * weight) / count
    return SizeMeans(distinct, mean, count)


def _rows(points: CasePoints) -> _SizeRows:
    distinct, place = np.unique(points.size, return_inverse=True)
    weight = np.ones(len(place)) if points.weight is None else points.weight.astype(np.float64)
    count = np.bincount(place, weight).astype(np.float64)
    return _SizeRows(
        SizeMeans(distinct, np.bincount(place, points.value * weight) / count, count), place, weight
    )
