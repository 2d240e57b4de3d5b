"""Huber's paired shift: against statsmodels, Student's test where nothing is an outlier, and its
level and power.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from cases import each
from numpy.typing import NDArray
from scipy.stats import norm

from perfvcs.statistics import difference
from perfvcs.statistics.huber import BEND, FEWEST_PAIRS, NORMAL_IN_DISTANCES, paired, spread
from perfvcs.statistics.permutation import sign_flips

Array = NDArray[np.float64]


def shift(gaps: Array, confidence: float = 0.99) -> difference.Difference:
    """The shift of differences."""
    return paired(np.zeros_like(gaps), gaps, confidence).difference


def contaminated(rng: np.random.Generator, groups: int, n: int) -> Array:
    """Normal differences, of which one in 16 is of a burst."""
    found: Array = 0.03 * rng.standard_normal((groups, n)) + 0.4 * rng.choice(
        [-1, 0, 1], (groups, n), p=[1 / 32, 15 / 16, 1 / 32]
    )
    return found


def test_without_outliers_it_is_students_test() -> None:
    gaps = np.random.default_rng(1).uniform(-1, 1.2, (200, 12))
    found, student = shift(gaps), difference.paired(np.zeros_like(gaps), gaps)
    untouched = (paired(np.zeros_like(gaps), gaps).gaps == gaps).all(axis=1)
    assert 0.5 < untouched.mean() < 1
    for name in ("estimate", "low", "high", "p", "error", "df"):
        np.testing.assert_allclose(
            getattr(found, name)[untouched],
            getattr(student, name)[untouched],
            rtol=1e-12,
            atol=1e-15,
        )


def test_the_estimate_and_its_error_are_those_of_statsmodels_with_the_same_scale() -> None:
    gaps = np.random.default_rng(2).standard_t(2, (30, 15)) + 0.5
    found = shift(gaps)
    for group, (values, scale) in enumerate(zip(gaps, spread(gaps), strict=True)):
        model = sm.RLM(values, np.ones(len(values)), M=sm.robust.norms.HuberT(BEND))
        fitted = model.fit(
            maxiter=500,
            tol=1e-12,
            conv="coefs",
            start_params=[0.0],
            start_scale=scale,
            update_scale=False,
        )
        assert found.estimate[group] == pytest.approx(fitted.params[0], rel=1e-8)
        assert found.error[group] == pytest.approx(fitted.bse[0], rel=1e-6)


def test_students_standard_error_of_widened_gaps_is_that_of_the_difference() -> None:
    gaps = contaminated(np.random.default_rng(4), 50, 15)
    found = paired(np.zeros_like(gaps), gaps)
    assert 0 < found.drawn.sum() < 50
    student = difference.paired(np.zeros_like(gaps), found.widened)
    np.testing.assert_allclose(student.estimate, found.difference.estimate, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(student.error, found.difference.error, rtol=1e-9)


def test_an_outlier_neither_moves_nor_widens_it_the_further_it_is() -> None:
    calm = 0.05 + 0.01 * np.array([-1.5, -0.9, -0.5, -0.2, 0.1, 0.3, 0.6, 0.8, 1.1, 0.2])
    calm[9] = 1
    wild = calm.copy()
    wild[9] = 1e6
    near, far = (shift(values[None]) for values in (calm, wild))
    np.testing.assert_allclose(near.estimate, far.estimate, rtol=1e-9)
    np.testing.assert_allclose(near.p, far.p, rtol=1e-9)
    assert near.p[0] < 1e-3
    assert difference.paired(np.zeros((1, 10)), calm[None]).p[0] > 0.05


def test_fewer_than_eight_pairs_are_left_as_they_are() -> None:
    gaps = contaminated(np.random.default_rng(3), 50, FEWEST_PAIRS - 1)
    np.testing.assert_array_equal(paired(np.zeros_like(gaps), gaps).gaps, gaps)
    np.testing.assert_array_equal(shift(gaps).p, difference.paired(np.zeros_like(gaps), gaps).p)


def test_mostly_equal_differences_are_left_as_they_are() -> None:
    gaps = np.array([[0.1] * 9 + [0.2], [0.0] * 9 + [0.3]])
    found = paired(np.zeros_like(gaps), gaps)
    np.testing.assert_array_equal(found.gaps, gaps)
    np.testing.assert_allclose(found.difference.estimate, [0.11, 0.03])


def test_equal_pairs_keep_their_zero_for_the_flips_of_signs() -> None:
    gaps = np.array([[1.0, 1.1, 1.2, 1.05, 1.15, 1.12, 1.3, 1.25, 0.0, 0.0]])
    found = paired(np.zeros_like(gaps), gaps)
    assert found.gaps[0, 8:].tolist() == [0, 0]
    assert found.difference.estimate[0] > 0.95
    assert sign_flips(found.gaps)[0] == 2 / 2**8


@pytest.mark.parametrize(
    ("gaps", "estimate", "p"),
    [
        ([0.0] * 10, 0.0, 1.0),
        ([0.5] * 10, 0.5, 0.0),
        ([0.3], 0.3, np.nan),
        ([np.nan] * 9, np.nan, np.nan),
    ],
)
def test_odd_groups_have_defined_answers(gaps: list[float], estimate: float, p: float) -> None:
    found = shift(np.array([gaps]))
    np.testing.assert_array_equal(found.estimate, [estimate])
    np.testing.assert_array_equal(found.p, [p])
    bounds = [estimate] * 2 if np.isfinite(p) else [-np.inf, np.inf]
    assert [found.low[0], found.high[0]] == (
        bounds if np.isfinite(p) or np.isnan(estimate) else [-np.inf, np.inf]
    )


def test_infinite_and_huge_values_raise_no_warning() -> None:
    first, second = np.zeros((3, 9)), np.ones((3, 9)) + np.arange(9) / 10
    second[0, 0], first[1, 1], second[2] = np.inf, np.inf, np.linspace(-1e150, 1e150, 9)
    found = paired(first, second)
    assert np.isnan(found.difference.p[:2]).all()
    assert np.isnan(found.gaps[:2]).all()
    assert np.isfinite(found.difference.p[2])


def test_the_spread_of_many_values_is_a_normal_standard_deviation() -> None:
    values = np.random.default_rng(4).normal(7, 3, (4, 3001))
    np.testing.assert_allclose(spread(values), 3, rtol=0.06)
    np.testing.assert_allclose(NORMAL_IN_DISTANCES, 1 / (np.sqrt(2) * norm.ppf(0.75)), rtol=1e-4)
    assert spread([[1.0], [2.0]]).tolist() == [0, 0]


@pytest.mark.simulation
@each("pairs", [8, 10, 15, 30])
@each("kind", ["normal", "bursts", "t with 3 degrees of freedom"])
def test_the_level_is_kept(pairs: int, kind: str) -> None:
    rng = np.random.default_rng(5)
    shape = (20_000, pairs)
    gaps = {"normal": rng.standard_normal(shape), "bursts": contaminated(rng, *shape)}.get(
        kind, rng.standard_t(3, shape)
    )
    found = shift(gaps)
    assert (found.p <= 0.01).mean() < 0.0125
    assert (found.p <= 0.001).mean() < 0.002
    np.testing.assert_array_equal(found.p <= 0.01, (found.low > 0) | (found.high < 0))


def test_power_is_students_on_normal_noise_and_far_more_among_bursts() -> None:
    rng = np.random.default_rng(6)
    for gaps, least, most in (
        (0.03 * rng.standard_normal((4000, 15)), -0.01, 0.01),
        (contaminated(rng, 4000, 15), 0.3, 1),
    ):
        moved = gaps + 0.05
        gain = (shift(moved).p <= 0.01).mean() - (
            difference.paired(np.zeros_like(moved), moved).p <= 0.01
        ).mean()
        assert least <= gain <= most
