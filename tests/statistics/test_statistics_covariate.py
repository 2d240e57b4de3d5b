"""Values at one level of a covariate: the slope is that of analysis of covariance, and nothing else
moves.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfvcs.statistics.sessions import adjusted, far_apart


def modes(
    random: np.random.Generator, executions: int, calls: int
) -> tuple[np.ndarray, np.ndarray]:
    """The pace of each execution's calls, fast or 1.6 times as slow, and their executions."""
    execution = np.repeat(np.arange(executions), calls)
    slow = np.where(random.random(executions) < 0.5, 1.0, 1.6)
    return slow[execution] * np.exp(random.normal(0, 0.01, len(execution))), execution


def test_what_the_machine_did_is_taken_out_of_the_values() -> None:
    random = np.random.default_rng(1)
    pace, execution = modes(random, 20, 500)
    value = 2.0 * pace**0.8 * np.exp(random.normal(0, 0.02, len(pace)))
    found = adjusted(value, pace, np.zeros(len(pace), dtype=int), execution)
    before, after = (np.std(np.bincount(execution, np.log(one)) / 500) for one in (value, found))
    assert before > 0.15
    assert after < 0.01
    assert np.log(found).mean() == pytest.approx(np.log(value).mean())


def test_the_slope_is_that_of_ordinary_least_squares_with_a_level_for_each_cell() -> None:
    import statsmodels.api as sm

    random = np.random.default_rng(2)
    pace, execution = modes(random, 10, 40)
    cell = execution % 3
    y = (
        np.array([0.0, 1.0, 5.0])[cell]
        + 0.7 * np.log(pace)
        + np.clip(random.normal(0, 0.001, len(pace)), -2e-3, 2e-3)
    )
    design = np.column_stack([np.log(pace), *(cell == one for one in range(3))]).astype(float)
    slope = sm.OLS(y, design).fit().params[0]
    found = adjusted(np.exp(y), pace, cell, np.zeros(len(pace), dtype=int))
    # the tails are cut
    assert np.polyfit(np.log(pace), y - np.log(found), 1)[0] == pytest.approx(slope, rel=5e-3)


def test_readings_that_are_inexact_do_not_flatten_the_slope() -> None:
    random = np.random.default_rng(6)
    pace, execution = modes(random, 20, 400)
    read = pace * np.exp(0.3 * random.standard_normal(len(pace)))
    found = adjusted(pace**0.9, read, np.zeros(len(pace), dtype=int), execution)
    before, after = (np.std(np.bincount(execution, np.log(one)) / 400) for one in (pace, found))
    assert after < 0.1 * before


def test_a_change_between_cells_is_none_of_the_machine() -> None:
    pace, execution = modes(np.random.default_rng(3), 40, 100)
    cell = (execution >= 20).astype(int)
    found = adjusted(np.where(cell, 1.3, 1.0) * pace, pace, cell, execution)
    assert np.median(found[cell == 1]) / np.median(found[cell == 0]) == pytest.approx(1.3, rel=1e-3)


def test_calls_that_were_interrupted_do_not_rule_the_slope() -> None:
    random = np.random.default_rng(4)
    pace, execution = modes(random, 20, 200)
    value = pace * np.exp(random.normal(0, 0.02, len(pace)))
    struck = (pace > 1.3) & (random.random(len(pace)) < 0.02)
    found = adjusted(
        np.where(struck, 1000 * value, value), pace, np.zeros(len(pace), dtype=int), execution
    )[~struck]
    assert np.median(found[pace[~struck] > 1.3]) == pytest.approx(
        np.median(found[pace[~struck] < 1.3]), rel=0.02
    )


def test_a_pace_that_tells_nothing_changes_nothing() -> None:
    random = np.random.default_rng(5)
    pace, _ = modes(random, 20, 50)
    against = 1 / pace  # faster on a slow machine: chance, or it measures something else
    assert adjusted(
        against, pace, np.zeros(len(pace), dtype=int), np.arange(len(pace))
    ) == pytest.approx(against, rel=1e-12)
    value = random.lognormal(size=100)
    assert (
        adjusted(value, np.full(100, 1e-6), np.zeros(100, dtype=int), np.arange(100)).tolist()
        == value.tolist()
    )
    assert (
        adjusted(value, np.full(100, np.nan), np.zeros(100, dtype=int), np.arange(100)).tolist()
        == value.tolist()
    )


def test_the_slope_is_bounded() -> None:
    pace = np.array([1.0, 2.0] * 50)
    found = adjusted(pace**4, pace, np.zeros(100, dtype=int), np.arange(100))
    assert found[1] / found[0] == pytest.approx(2 ** (4 - 1.5))


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, -1.0, np.nan, 1e-300, 1.0, 2.5, 1e300]),
            st.sampled_from([np.nan, 0.0, 1.0, 1.7]),
        ),
        max_size=30,
    )
)
def test_odd_values_stay_and_none_is_lost(rows: list[tuple[float, float]]) -> None:
    value, pace = np.array(rows, dtype=float).reshape(-1, 2).T
    found = adjusted(value, pace, np.zeros(len(value), dtype=int), np.arange(len(value)))
    odd = ~((value > 0) & (pace > 0))
    assert len(found) == len(value)
    assert np.array_equal(found[odd], value[odd], equal_nan=True)
    assert np.isfinite(found[~odd]).all()


def test_a_pace_that_differs_between_the_sides_by_more_than_chance_is_found() -> None:
    chance, doing = 0, 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        pace = np.log(np.where(random.random(20) < 0.5, 1.0, 1.6))
        chance += far_apart(pace[:10].tolist(), pace[10:].tolist())
        other = 0.05 * random.standard_normal(20)
        doing += far_apart(other[:10].tolist(), (np.log(1.3) + other[10:]).tolist())
    assert chance <= 2
    assert doing == 200


def test_one_execution_a_side_tells_nothing_about_the_pace() -> None:
    assert not far_apart([1.0], [5.0])
    assert not far_apart([1.0, 1.0], [1.0, 1.0])
