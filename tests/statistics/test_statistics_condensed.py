"""Recorded calls as few values: outliers, ranges of sizes, cells, and the course that a picture
shows.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.statistics.regression.callcurves import course
from perfvcs.statistics.regression.condensed import (
    BUSY_CLIP,
    MOST_SIZES,
    cells,
    drawn_in,
    ranges,
    warm,
)


def test_interrupted_calls_are_drawn_in_and_all_others_stay_as_they_are() -> None:
    random = np.random.default_rng(1)
    size = random.integers(1, 1000, 5000).astype(float)
    value = (100 + 2 * size) * np.exp(random.normal(0, 0.05, 5000))
    struck = random.choice(5000, 20, replace=False)
    hit = value.copy()
    hit[struck] *= 300
    found = drawn_in(size, hit)
    assert (found[struck] < 1.6 * (100 + 2 * size[struck])).all()
    untouched = np.setdiff1d(np.arange(5000), struck)
    assert np.mean(found[untouched] == hit[untouched]) > 0.998
    assert found[untouched] == pytest.approx(hit[untouched], rel=0.1)


def test_a_second_mode_is_no_outlier() -> None:
    random = np.random.default_rng(2)
    value = np.where(random.random(4000) < 0.2, 10.0, 1.0) * np.exp(random.normal(0, 0.01, 4000))
    assert drawn_in(random.uniform(1, 100, 4000), value).mean() == pytest.approx(
        value.mean(), rel=0.02
    )


def test_long_calls_of_a_busy_machine_keep_their_order() -> None:
    """Time slices of 4 to 16 ms, one for each 3 ms of work: a call of .6 ms is hit in a fifth of
    all cases, one of 10 us hardly ever.
    """
    random = np.random.default_rng(20)
    size, execution = (
        np.tile(np.repeat(np.arange(20.0, 180, 10), 12), 5),
        np.repeat(np.arange(5), 192),
    )
    quiet = 22e-9 * size**2 * np.exp(random.normal(0, 0.03, 960))
    busy = quiet + random.poisson(quiet / 3e-3) * random.uniform(4e-3, 16e-3, 960)
    assert course(size, quiet, execution).choice.order() == "O(n^2)"
    assert course(size, busy, execution).choice.order() == "O(n^2)"
    long = size >= 150
    assert drawn_in(size, busy)[long].mean() > 2 * quiet[long].mean(), (
        "too many for the time they take to be an accident"
    )
    assert drawn_in(size, busy, BUSY_CLIP)[long].mean() == pytest.approx(
        quiet[long].mean(), rel=0.1
    )


def test_few_values_and_those_around_zero_stay() -> None:
    few = np.array([1.0] * 62 + [1000.0])
    assert drawn_in(np.arange(63.0), few).tolist() == few.tolist()
    zeros = np.append(np.zeros(199), 5.0)
    assert drawn_in(np.arange(200.0), zeros).tolist() == zeros.tolist()


def test_up_to_five_hundred_sizes_are_left_alone() -> None:
    assert ranges((np.arange(MOST_SIZES * 1.0), np.arange(MOST_SIZES * 1.0))) is None
    # too few calls to fill eight ranges
    assert ranges((np.arange(1000.0),), executions=200) is None


@pytest.mark.parametrize(
    "sizes",
    [
        np.arange(1.0, 20_001),
        np.unique(np.geomspace(1, 1e12, 5000).round()),
        np.arange(0.0, 5000),
        np.arange(-2500.0, 2500),
        np.linspace(0.1, 0.9, 3000),
        np.arange(1e9, 1e9 + 5000),
    ],
)
def test_every_range_has_calls_on_both_sides_and_a_size_of_its_own(sizes: np.ndarray) -> None:
    first, second = np.repeat(sizes[::2], 5), np.repeat(sizes[1::2], 4)
    found = ranges((first, second), executions=2)
    assert found is not None
    assert 8 <= len(found.size) <= MOST_SIZES
    assert (np.diff(found.edges) > 0).all() and (np.diff(found.size) > 0).all()
    assert (
        np.isin(found.size, sizes).all()
        and (found.place(found.size) == np.arange(len(found.size))).all()
    )
    for side in (first, second):
        assert np.bincount(found.place(side), minlength=len(found.size)).min() >= 6


def test_a_side_that_lacks_the_large_sizes_still_fills_the_last_range() -> None:
    found = ranges((np.arange(1.0, 2000), np.arange(1.0, 1000)), executions=1)
    assert found is not None and found.edges[-1] == 1999
    assert np.bincount(found.place(np.arange(1.0, 1000)), minlength=len(found.size)).min() >= 3


def test_the_means_of_exact_sizes_are_those_of_each_execution() -> None:
    found = cells([1, 1, 2, 1, 2, 2], [1.0, 3, 10, 5, 20, 40], [0, 0, 0, 1, 1, 1])
    assert found.execution.tolist() == [0, 0, 1, 1] and found.size.tolist() == [1, 2, 1, 2]
    assert found.value.tolist() == [2, 10, 5, 30] and found.count.tolist() == [2, 1, 1, 2]


def test_it_does_not_matter_which_sizes_of_a_range_an_execution_had() -> None:
    random = np.random.default_rng(3)
    size = np.concatenate([np.sort(random.integers(1, 20_000, 4000)) for _ in range(4)]).astype(
        float
    )
    execution = np.repeat(np.arange(4), 4000)
    within = ranges((size,), executions=4)
    assert within is not None
    found = cells(size, 50 + 3 * size, execution, within)
    assert found.value == pytest.approx(50 + 3 * found.size, rel=1e-3)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 5), st.floats(0, 1e6)), min_size=1, max_size=60
    )
)
def test_cells_keep_the_number_and_the_sum_of_all_values(
    rows: list[tuple[int, int, float]],
) -> None:
    execution, size, value = map(np.array, zip(*rows, strict=True))
    found = cells(size, value, execution)
    assert found.count.sum() == len(rows)
    assert (found.value * found.count).sum() == pytest.approx(value.sum())
    assert len(found.size) == len({(a, b) for a, b, _ in rows})


def test_the_first_calls_of_each_execution_are_cold() -> None:
    number = np.concatenate([np.arange(100), np.arange(5000), [7]])
    execution = np.repeat([4, 9, 2], [100, 5000, 1])
    found = warm(number, execution)
    assert found[:100].tolist() == [False] * 10 + [True] * 90
    assert (~found[100:5100]).sum() == 20 and found[5100]
    assert warm([], []).tolist() == []


def test_a_course_has_quartiles_and_the_right_model() -> None:
    random = np.random.default_rng(4)
    size = np.repeat(np.arange(10.0, 510, 10), 40)
    value = 100 * np.log(size) * np.exp(random.normal(0, 0.05, len(size)))
    found = course(size, value, np.tile(np.arange(10), 200))
    assert found.choice.model() == "logarithmic"
    assert found.size.tolist() == np.arange(10.0, 510, 10).tolist() and set(
        found.count.tolist()
    ) == {40}
    here = np.sort(value[size == 250])
    assert (
        found.low[24] == here[10]
        and found.high[24] == here[29]
        and here[19] <= found.middle[24] <= here[20]
    )


def test_a_course_of_many_sizes_lies_in_their_ranges_and_size_zero_does_not_spoil_it() -> None:
    random = np.random.default_rng(5)
    size = random.integers(0, 20_000, 20_000).astype(float)
    value = 5 + np.log(np.maximum(size, 1)) * np.exp(random.normal(0, 0.02, len(size)))
    execution = np.arange(20_000) % 10
    within = ranges((size,), executions=10)
    assert within is not None
    found = course(size, value, execution, within)
    assert len(found.size) == len(within.size) and found.count.sum() == 20_000
    assert (found.low <= found.middle).all() and (found.middle <= found.high).all()
    exact = course(
        np.append(0.0, np.arange(1.0, 50)),
        np.append(9.0, 3 * np.log(np.arange(1.0, 50)) + 1),
        np.zeros(50),
    )
    assert exact.choice.model() == "logarithmic"


def test_values_of_sizes_far_apart_are_no_neighbours() -> None:
    x = np.geomspace(1, 1e5, 100)
    y = 1 + 0.01 * x**2
    assert drawn_in(x, y).tolist() == y.tolist()
    same = np.full(100, 7.0)
    values = np.append(1 + 0.01 * np.sin(np.arange(99)), 50.0)
    assert drawn_in(same, values)[-1] < 2
