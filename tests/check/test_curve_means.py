"""The means of a side of a curve, as they are and with the executions at one level."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from perfvcs.check.curves.sizemeans import levelled, means
from perfvcs.check.rows import CasePoints

Floats = NDArray[np.float64]


def side(
    size: Floats,
    value: Floats,
    execution: NDArray[np.int64],
    weight: NDArray[np.int64] | None = None,
) -> CasePoints:
    count = int(execution.max()) + 1
    return CasePoints(
        size,
        value,
        execution,
        np.stack([np.zeros(count, dtype=np.int64), np.arange(count)], axis=1),
        weight,
    )


def test_slow_executions_do_not_bend_a_curve_at_their_sizes() -> None:
    random = np.random.default_rng(3)
    execution = np.repeat(np.arange(30), 40)
    level = np.exp(random.normal(0, 0.2, 30))
    centre = random.uniform(2, 6, 30)  # of the logarithm of an execution's sizes
    size = np.round(np.exp(random.normal(centre[execution], 0.7)))
    value = (100 + 3 * size) * level[execution]
    plain, level_ = means(side(size, value, execution)), levelled(side(size, value, execution))
    shape = [np.log(one[1] / (100 + 3 * one[0])) for one in (plain, level_)]
    assert np.std(shape[0], ddof=1) > 0.1
    assert (
        np.average((shape[1] - np.average(shape[1], weights=level_[2])) ** 2, weights=level_[2])
        ** 0.5
        < 0.03
    )
    assert (plain[0] == level_[0]).all() and (plain[2] == level_[2]).all()


def test_the_level_of_all_together_stays() -> None:
    execution, size = np.repeat(np.arange(4), 5), np.tile(np.arange(1.0, 6.0), 4)
    value = size * np.array([1.0, 1.0, 2.0, 4.0])[execution]
    found = levelled(side(size, value, execution))
    assert found[1] == pytest.approx(2 * np.arange(1.0, 6.0), rel=0.01)


def test_weights_are_counts_of_rows() -> None:
    size, value = np.array([1.0, 2, 3, 1, 2, 3]), np.array([1.0, 2, 3, 2, 4, 6])
    execution, weight = np.array([0, 0, 0, 1, 1, 1]), np.array([3, 3, 3, 1, 1, 1])
    assert means(side(size, value, execution, weight))[1] == pytest.approx([1.25, 2.5, 3.75])
    assert levelled(side(size, value, execution, weight))[1] == pytest.approx([1.25, 2.5, 3.75])


@pytest.mark.parametrize(
    ("size", "value", "execution"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], [0, 0, 0, 0]),  # one execution
        ([1, 2, 1, 2], [1, 2, 3, 4], [0, 0, 1, 1]),  # two sizes
        ([1, 2, 3, 1, 2, 3], [0, 2, 3, 1, 2, 3], [0, 0, 0, 1, 1, 1]),  # a value that has no ratio
        # an execution of three rows, which has nothing beside it
        ([1, 2, 3, 1, 2], [1, 2, 3, 5, 9], [0, 0, 0, 1, 2]),
        ([1, 2, 3, 4, 5, 6], [1, 2, 3, 9, 9, 9], [0, 0, 0, 1, 1, 1]),  # no size in common
    ],
)
def test_where_no_level_is_known_means_are_as_measured(
    size: list[float], value: list[float], execution: list[int]
) -> None:
    one = side(np.array(size, dtype=float), np.array(value, dtype=float), np.array(execution))
    if execution == [0, 0, 0, 1, 2]:
        one = side(one.size[:3], one.value[:3], one.execution[:3])
    for plain, found in zip(means(one), levelled(one), strict=True):
        assert found == pytest.approx(plain, rel=1e-9)
