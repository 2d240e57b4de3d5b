"""Many units as one: the total of each execution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from perfvcs.statistics.sessions import together

RNG = np.random.default_rng(3)
BEFORE = np.exp(RNG.normal(-6, 3, (40, 1)) + RNG.normal(0, 0.1, (40, 7)))
AFTER = BEFORE[:, :5] * np.exp(RNG.normal(0.05, 0.3, (40, 1)))


def centre(values: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.exp(np.log(values).mean(axis=-1))
    return found


def test_the_units_add_up_to_their_total() -> None:
    total = together(BEFORE, AFTER)
    assert centre(total.baseline) == pytest.approx(centre(BEFORE).sum(), rel=1e-12)
    assert centre(total.target) == pytest.approx(centre(AFTER).sum(), rel=1e-12)
    assert total.shares.sum() == pytest.approx(1)


def test_of_rates_the_times_of_one_each_are_added_up() -> None:
    total = together(1 / BEFORE, 1 / AFTER, rates=True)
    assert 1 / centre(total.baseline) == pytest.approx(centre(BEFORE).sum(), rel=1e-12)
    assert 1 / centre(total.target) == pytest.approx(centre(AFTER).sum(), rel=1e-12)


def test_what_all_units_of_an_execution_share_stays() -> None:
    shared = np.exp(RNG.normal(0, 0.1, 7))
    steady = np.exp(RNG.normal(-6, 3, (40, 1))) * np.ones((1, 7))
    total = together(steady * shared, steady * 1.03)
    assert total.baseline / total.baseline.mean() == pytest.approx(
        shared / shared.mean(), rel=1e-12
    )
    assert np.ptp(np.log(total.target)) == pytest.approx(0, abs=1e-12)


def test_an_odd_value_moves_the_total_by_less_than_its_size() -> None:
    odd = np.ones((10, 6))
    odd[0, 0] = 100.0
    total = together(odd, np.ones((10, 6)))
    assert total.baseline[0] / total.baseline[1] < odd[:, 0].sum() / odd[:, 1].sum() / 2


def test_equal_units_have_equal_shares() -> None:
    assert together(np.ones((4, 3)), np.ones((4, 3))).shares == pytest.approx(np.full(4, 0.25))


@given(st.lists(st.floats(1e-300, 1e300), min_size=2, max_size=6))
def test_the_total_lies_within_what_can_be_added_up(values: list[float]) -> None:
    sides = np.array(values)[:, None] * np.ones((1, 2))
    total = together(sides, sides)
    assert np.isfinite(total.shares).all()
    assert total.baseline == pytest.approx(np.full(2, sides[:, 0].sum()), rel=1e-6)
