"""The effect of the place within a pair: removed where it is known, and no reason for a verdict
where it is not.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

from perfvcs.statistics import huber, period
from perfvcs.statistics.permutation import sign_flips

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
SIGMA = 0.0141


def coin(rng: np.random.Generator, groups: int, n: int) -> Flags:
    """Who came later, each by a coin."""
    return rng.random((groups, n)) < 0.5


def balanced(rng: np.random.Generator, groups: int, n: int) -> Flags:
    """Who came later, as often the one as the other."""
    return rng.permuted(np.tile(np.arange(n) % 2 == 0, (groups, 1)), axis=1)


def slower(later: Flags, share: float) -> Array:
    """What the second place does to the difference of a pair."""
    return np.where(later, share, -share)


def sides(gaps: Array, later: Flags, share: float) -> tuple[Array, Array]:
    """Pairs that differ by ``gaps`` (with the place in them), where the second place slows each
    version.
    """
    first = -slower(later, share) / 2
    return first, gaps + first


def called(found: huber.Shift) -> Flags:
    """What the default rule calls changed of pairs, each alone."""
    sides = found.difference
    changed = (sides.p <= 0.01) & (np.abs(sides.estimate) >= 0.01) & np.isfinite(sides.low)
    rows = np.flatnonzero(changed)
    p = huber.chance(found.free[rows])
    changed[rows] = p <= max(0.01, 2 / 2 ** found.free.shape[1])
    return changed


@pytest.mark.parametrize("n", [5, 6, 9, 12])
def test_without_outliers_it_is_the_regression_on_the_place(n: int) -> None:
    rng = np.random.default_rng(n)
    later = balanced(rng, 20, n)
    gaps = 0.03 + slower(later, 0.2) + rng.uniform(-0.01, 0.01, later.shape)
    found = period.paired(*sides(gaps, later, 0.2), later, bend=np.inf).difference
    for group in range(len(gaps)):
        model = sm.OLS(gaps[group], sm.add_constant(slower(later[group], 1.0))).fit()
        assert found.estimate[group] == pytest.approx(model.params[0])
        assert found.error[group] == pytest.approx(model.bse[0])
        assert found.p[group] == pytest.approx(model.pvalues[0])
        assert [found.low[group], found.high[group]] == pytest.approx(model.conf_int(0.01)[0])
        assert found.df[group] == n - 2


def test_where_the_place_does_nothing_evident_all_stays_as_it_is() -> None:
    rng = np.random.default_rng(1)
    later, gaps = balanced(rng, 500, 10), SIGMA * rng.standard_normal((500, 10))
    known, unknown = period.paired(0 * gaps, gaps, later), huber.paired(0 * gaps, gaps)
    same = known.difference.df == 9
    assert 0.97 < same.mean() < 1
    np.testing.assert_array_equal(known.difference.p[same], unknown.difference.p[same])
    np.testing.assert_array_equal(known.free[same], unknown.free[same])


@pytest.mark.simulation
@pytest.mark.parametrize("order", [coin, balanced])
@pytest.mark.parametrize("n", [5, 8, 10, 15])
def test_equal_versions_are_not_called_changed_for_the_place(n: int, order: object) -> None:
    rng, groups = np.random.default_rng(n), 1500 if n < 15 else 500
    most = 0.01 + 2 * np.sqrt(0.01 / groups)  # two standard errors above 1 %
    for share in (0.0, 0.03, 0.1, 0.2):
        later: Flags = order(rng, groups, n)  # type: ignore[operator]
        gaps = SIGMA * rng.standard_normal((groups, n)) + slower(later, share)
        found = period.paired(*sides(gaps, later, share), later)
        assert called(found).mean() <= most
        assert ((found.difference.low <= 0) & (found.difference.high >= 0)).mean() >= 0.975
        if n >= huber.FEWEST_PAIRS:  # of fewer the method says suspected
            assert called(huber.paired(0 * gaps, gaps)).mean() <= most


def test_values_drawn_in_before_the_flips_would_call_every_seventh_changed() -> None:
    rng = np.random.default_rng(4)
    gaps = SIGMA * rng.standard_normal((1500, 10)) + slower(coin(rng, 1500, 10), 0.1)
    found = huber.paired(0 * gaps, gaps)
    before = (found.difference.p <= 0.01) & (sign_flips(found.gaps) <= 0.01)
    assert before.mean() > 0.1
    assert called(found).mean() < 0.0155


def test_a_known_place_hides_no_change() -> None:
    rng = np.random.default_rng(5)
    later = balanced(rng, 500, 10)
    gaps = 0.03 + SIGMA * rng.standard_normal(later.shape) + slower(later, 0.1)
    assert called(period.paired(*sides(gaps, later, 0.1), later)).mean() > 0.95
    assert called(huber.paired(0 * gaps, gaps)).mean() < 0.05


def test_an_outlier_in_either_order_is_drawn_in() -> None:
    rng = np.random.default_rng(6)
    later = balanced(rng, 300, 10)
    gaps = 0.05 + SIGMA * rng.standard_normal(later.shape) + slower(later, 0.1)
    gaps[:, 0] += 0.5
    found = period.paired(*sides(gaps, later, 0.1), later)
    assert called(found).mean() > 0.8
    assert found.drawn.mean() > 0.95
    assert (found.reach > 0.05).mean() > 0.9


@pytest.mark.simulation
def test_power_under_outliers_is_kept() -> None:
    rng = np.random.default_rng(7)
    shape = (1000, 10)
    gaps = (
        0.05
        + 0.02 * rng.standard_normal(shape)
        + (rng.random(shape) < 0.15) * rng.normal(0, 0.3, shape)
    )
    assert called(huber.paired(0 * gaps, gaps)).mean() >= 0.6


@pytest.mark.parametrize("n", [5, 10])
def test_one_order_alone_settles_nothing(n: int) -> None:
    gaps = 0.1 + 0.001 * np.arange(n, dtype=np.float64)[None]
    found = period.paired(0 * gaps, gaps, np.ones((1, n), dtype=bool)).difference
    assert found.p[0] < 0.01
    assert [found.low[0], found.high[0]] == [-np.inf, np.inf]


def test_a_rare_order_takes_the_wider_interval() -> None:
    rng = np.random.default_rng(8)
    gaps = 0.01 * rng.standard_normal((1, 10))
    later = np.zeros((1, 10), dtype=bool)
    later[0, 3] = True
    gaps[0, 3] += 0.3
    found = period.paired(0 * gaps, gaps, later).difference
    assert found.p[0] > 0.01
    assert found.low[0] <= 0 <= found.high[0]
    assert found.high[0] > 0.15


def test_odd_groups_have_defined_answers() -> None:
    gaps = np.array([[0.0] * 10, [0.5] * 10, [np.nan] * 10, [0.5, 0.1] * 5])
    later = np.array([[True, False] * 5] * 4)
    found = period.paired(0 * gaps, gaps, later).difference
    np.testing.assert_allclose(found.estimate, [0, 0.5, np.nan, 0.3])
    np.testing.assert_array_equal(found.p, [1, 0, np.nan, 0])
    few = period.paired(0 * gaps[:, :4], gaps[:, :4], later[:, :4]).difference
    np.testing.assert_array_equal(few.p, huber.paired(0 * gaps[:, :4], gaps[:, :4]).difference.p)


@pytest.mark.parametrize("n", [8, 10])
def test_what_is_not_computed_is_what_all_patterns_would_give(n: int) -> None:
    rng = np.random.default_rng(9)
    gaps = 0.05 + 0.02 * rng.standard_normal((40, n))
    clear = (gaps > 0).all(axis=1) & ~huber.paired(0 * gaps, gaps).drawn
    assert clear.sum() > 20
    signs = 1.0 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    for row in gaps[clear]:
        flipped = huber.paired(np.zeros((2**n, n)), signs * row).difference
        t = np.abs(flipped.estimate) / flipped.error
        assert (t >= t[0] * (1 - 1e-9)).sum() == 2
        assert huber.chance(row[None])[0] == 2 / 2**n


def test_of_drawn_patterns_none_reaches_differences_of_one_sign() -> None:
    rng = np.random.default_rng(10)
    gaps = (
        0.05
        + 0.02 * rng.standard_normal((60, 15))
        + (rng.random((60, 15)) < 0.1) * np.abs(rng.normal(0, 0.3, (60, 15)))
    )
    clear = (gaps > 0).all(axis=1) & huber.paired(0 * gaps, gaps).drawn
    assert clear.sum() > 10
    signs = rng.choice([-1.0, 1.0], (500, 15))
    signs[:, 0], signs[:, 1] = 1, -1  # neither all nor none
    for row in np.sort(gaps[clear]):
        flipped = huber.paired(np.zeros((500, 15)), signs * row).difference
        observed = huber.paired(np.zeros((1, 15)), row[None]).difference
        t = np.abs(flipped.estimate) / flipped.error
        assert (t < abs(observed.estimate[0]) / observed.error[0]).all()
        assert huber.chance(row[None])[0] == pytest.approx(1 / (1 + huber.SIGN_PATTERNS))


FIVE = np.log([[100, 100.2, 99.9, 100.1, 100], [100.1, 121.2, 99.8, 120.8, 100.3]])
SECOND_LATER = np.array([[True, False, True, False, True]])


@pytest.mark.parametrize("disturbed", [0, 1])
def test_outliers_in_the_rarer_order_are_no_effect_of_the_place(disturbed: int) -> None:
    first, second = FIVE[disturbed][None], FIVE[1 - disturbed][None]
    found = period.paired(first, second, SECOND_LATER)
    assert not found.removed[0]
    assert found.difference.p[0] > 0.05
    assert found.difference.low[0] < 0 < found.difference.high[0]


def test_an_effect_of_the_place_slows_both_versions_and_is_removed() -> None:
    later = np.where(SECOND_LATER, 0.1, 0.0)
    quiet = np.log([[100, 100.2, 99.9, 100.1, 100], [100.1, 100.3, 99.8, 100.0, 100.3]])
    found = period.paired(quiet[:1] + 0.1 - later, quiet[1:] + 0.05 + later, SECOND_LATER)
    assert found.removed[0]
    assert found.difference.estimate[0] == pytest.approx(0.05, abs=0.002)
    assert found.difference.low[0] > 0.04


ORDERS = np.repeat(SECOND_LATER, 40, axis=0)
ONE_PROGRAM = np.zeros(40, dtype=int)


def suite(*blocks: float) -> tuple[Array, Array]:
    """Forty benchmarks of one program in five pairs; what their ``blocks`` differ by is known."""
    first, second = 0.003 * np.random.default_rng(2).standard_normal((2, 40, 5))
    return first + np.array(blocks), second + np.array(blocks)


def test_a_disturbance_of_one_execution_is_no_effect_of_the_place_in_its_benchmarks() -> None:
    # the blocks of the rarer order were faster, so that sums do not show which version was hit
    first, second = suite(0.0, -0.1, 0.0, -0.1, 0.0)
    second[:, 1] += 0.2  # all of an execution
    second[:3, 3] += 0.2  # and an outlier of three benchmarks
    assert period.paired(first, second, ORDERS).removed.sum() == 3
    assert not period.paired(first, second, ORDERS, executions=ONE_PROGRAM).removed.any()


def test_an_effect_of_the_place_that_all_benchmarks_share_is_removed_from_each() -> None:
    first, second = suite(0.0, 0.01, 0.0, 0.01, 0.0)
    first, second = first + np.where(ORDERS, 0.0, 0.1), second + np.where(ORDERS, 0.15, 0.05)
    found = period.paired(first, second, ORDERS, executions=ONE_PROGRAM)
    assert found.removed.mean() > 0.9
    assert np.median(found.difference.estimate) == pytest.approx(0.05, abs=0.002)
