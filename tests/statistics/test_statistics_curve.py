"""Whether a whole curve shifted: against statsmodels, closed forms, and under executions that differ."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.formula.api as formulas
from numpy.typing import NDArray
from pandas import DataFrame
from scipy import stats
from statsmodels.stats.multivariate import test_mvmean as one_sample
from statsmodels.stats.multivariate import test_mvmean_2indep as two_samples

from perfvcs.statistics.period import hotelling
from perfvcs.statistics.regression.curve import expectation, lines, replicated, shift
from perfvcs.statistics.student import f_tail

SIZES = np.geomspace(10, 10000, 20)
CENTRE = float(np.log(SIZES).mean())


def curve(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return 50 + 3 * x


def test_the_tail_of_f_is_scipys() -> None:
    for f in (0.0, 0.3, 4.0, 60.0):
        for above in (1, 2):
            for below in (1, 3, 40, 1000):
                assert f_tail(f, above, below) == pytest.approx(stats.f.sf(f, above, below), rel=1e-8)
    assert f_tail([np.nan, np.inf], 2, 5).tolist() == pytest.approx([np.nan, 0], nan_ok=True)


def test_the_pooled_test_is_an_analysis_of_covariance() -> None:
    random = np.random.default_rng(1)
    y1, y2 = curve(SIZES) * np.exp(0.05 * random.standard_normal((2, 20)))
    found = shift(SIZES, y1, SIZES, y2 * 1.05)
    rows = {
        "y": np.log(np.concatenate([y1, y2 * 1.05])),
        "size": np.tile(np.arange(20), 2),
        "version": np.repeat([0, 1], 20),
        "tilt": np.repeat([0, 1], 20) * np.tile(np.log(SIZES), 2),
    }
    small, large = (formulas.ols(f"y ~ C(size){more}", DataFrame(rows)).fit() for more in ("", " + version + tilt"))
    assert found.p[0] == pytest.approx(large.compare_f_test(small)[1], rel=1e-8)
    assert found.slope[0] == pytest.approx(large.params["tilt"])
    at = large.params["version"] + large.params["tilt"] * np.log(200.0)
    estimate = found.at(200.0)
    assert estimate.estimate[0] == pytest.approx(at)
    interval = large.t_test(f"version + {np.log(200.0)} * tilt").conf_int(0.01)[0]
    assert [estimate.low[0], estimate.high[0]] == pytest.approx(interval)


@pytest.mark.simulation
@pytest.mark.parametrize("apart", [False, True])
def test_two_percent_everywhere_is_found_where_single_sizes_do_not_show_it(apart: bool) -> None:
    random, groups = np.random.default_rng(2), 1500
    x1 = np.tile(np.geomspace(10, 10000, 100), groups)
    x2 = np.exp(random.uniform(np.log(10), np.log(10000), len(x1))) if apart else x1
    group = np.repeat(np.arange(groups), 100)
    y1, y2 = (curve(x) * np.exp(0.05 * random.standard_normal(len(x))) for x in (x1, x2))
    same, slower = (shift(x1, y1, x2, y2 * factor, group, group) for factor in (1, 1.02))
    assert np.mean(same.p < 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(same.p < 0.01) <= 0.02
    assert np.mean(slower.p < 0.05) >= 0.6  # METHODS.md: 69 % where single sizes give 11 %
    interval = slower.at(500.0)
    assert np.mean((interval.low <= np.log(1.02)) & (interval.high >= np.log(1.02))) == pytest.approx(0.99, abs=0.01)
    tilted = shift(x1, y1, x2, y2 * x2**0.03, group, group)
    assert np.median(tilted.slope) == pytest.approx(0.03, abs=0.002)


def test_a_pooled_test_of_bad_or_equal_curves() -> None:
    same = shift(SIZES, curve(SIZES), SIZES, curve(SIZES))
    assert same.p[0] == 1
    exact = shift(SIZES, curve(SIZES), SIZES, 2 * curve(SIZES))
    assert exact.p[0] == pytest.approx(0, abs=1e-100)
    assert exact.at(100.0).estimate[0] == pytest.approx(np.log(2))
    for x, y in (([1.0, 2], [3.0, 4]), ([0.0, -1, 2, 3], [1.0, 2, 3, 4]), ([1.0, 2, 3, 4], [0.0, -1, 2, 3])):
        unknown = shift(x, y, x, y)
        assert np.isnan(unknown.p[0])
        assert unknown.at(1.0).high[0] == np.inf


@pytest.mark.parametrize("paired", [True, False])
def test_hotellings_test_is_statsmodels(paired: bool) -> None:
    random = np.random.default_rng(3)
    first = random.standard_normal((6, 8, 2)) @ np.array([[1, 0.6], [0, 0.02]])
    second = random.standard_normal((6, 8 if paired else 11, 2)) @ np.array([[1, 0.6], [0, 0.02]]) + [0.5, 0.3]
    found = hotelling(first, second, paired=paired)
    for group in range(6):
        known = one_sample(second[group] - first[group]) if paired else two_samples(first[group], second[group])
        assert found[group] == pytest.approx(known.pvalue, rel=1e-8)


@pytest.mark.parametrize("paired", [True, False])
def test_one_dimension_that_varies_is_students_test(paired: bool) -> None:
    random = np.random.default_rng(4)
    a, b = random.standard_normal((2, 6))
    test = stats.ttest_rel if paired else stats.ttest_ind
    for other in (lambda values: 0 * values + 3, lambda values: 2 * values):
        first, second = (np.stack([values, other(values)], axis=-1)[None] for values in (a, b))
        assert hotelling(first, second, paired=paired)[0] == pytest.approx(test(b, a).pvalue, rel=1e-6)
    first, second = np.stack([a, 0 * a], axis=-1)[None], np.stack([b, 0 * b + 1], axis=-1)[None]
    assert hotelling(first, second, paired=paired)[0] == 0


def test_executions_that_say_nothing() -> None:
    ones = np.ones((1, 5, 2))
    for paired in (True, False):
        assert hotelling(ones, ones, paired=paired)[0] == 1
        assert hotelling(ones, 2 * ones, paired=paired)[0] == 0
        assert np.isnan(hotelling(ones * np.nan, ones, paired=paired)[0])
        assert np.isnan(hotelling(ones * np.inf, ones, paired=paired)[0])
        assert np.isnan(hotelling(ones[:, :0], ones[:, :0], paired=paired)[0])
    assert np.isnan(hotelling(ones[:, :2], ones[:, :2], paired=True)[0])
    assert np.isnan(hotelling(ones[:, :1], ones[:, :2])[0])
    with pytest.raises(ValueError, match="equal numbers"):
        hotelling(ones, ones[:, :3], paired=True)


def measured(
    random: np.random.Generator, groups: int, m: int, effect: float, blocks: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    """Values of the shape (groups, m, sizes): executions differ by a random offset and slope."""
    offset, slope = random.standard_normal((2, groups, m, 1)) * np.array([0.02, 0.003])[:, None, None, None]
    noise = 0.05 * random.standard_normal((groups, m, len(SIZES)))
    return curve(SIZES) * np.exp(effect + blocks + offset + slope * (np.log(SIZES) - CENTRE) + noise)


@pytest.mark.simulation
@pytest.mark.parametrize("paired", [True, False])
def test_executions_hold_the_level_and_find_two_percent(paired: bool) -> None:
    random, groups, m = np.random.default_rng(5), 1500, 12
    x, group = np.tile(SIZES, groups * m), np.repeat(np.arange(groups), m * len(SIZES))
    execution = np.repeat(np.arange(groups * m), len(SIZES))
    shares = {}
    for effect in (0.0, 0.02):
        blocks = 0.05 * random.standard_normal((groups, m, 1)) if paired else 0.0
        y1, y2 = (measured(random, groups, m, change, blocks).ravel() for change in (0.0, effect))
        common = expectation(np.tile(x, 2), np.concatenate([y1, y2]), np.tile(group, 2))
        sides = [
            tuple(part.reshape(groups, m) for part in lines(x, y, expected, execution, CENTRE))
            for y, expected in zip((y1, y2), np.split(common, 2), strict=True)
        ]
        found = replicated(sides[0], sides[1], CENTRE, paired=paired)
        shares[effect] = [np.mean(found.p < level) for level in (0.01, 0.05)]
        interval = found.at(3000.0)
        assert np.mean((interval.low <= effect) & (interval.high >= effect)) == pytest.approx(0.99, abs=0.007)
        assert np.mean(found.offset) == pytest.approx(effect, abs=0.001)
        assert np.mean(found.slope) == pytest.approx(0, abs=0.001)
        if not effect and not paired:  # what pooling would have said: executions are not independent rows
            assert np.mean(shift(x, y1, x, y2, group, group).p < 0.01) > 0.05
    assert shares[0.0] == pytest.approx([0.01, 0.05], abs=0.012)
    assert shares[0.02][1] >= 0.35


def test_lines_are_least_squares_of_the_log_ratio() -> None:
    random = np.random.default_rng(6)
    y = curve(SIZES) * np.exp(0.1 * random.standard_normal(20))
    offset, slope = lines(SIZES, y, curve(SIZES), np.zeros(20, dtype=int), 5.0, executions=2)
    known = np.polyfit(np.log(SIZES) - 5, np.log(y / curve(SIZES)), 1)
    assert [slope[0], offset[0]] == pytest.approx(known)
    assert np.isnan([offset[1], slope[1]]).all()
    bad = lines([1.0, 2, 0, 4], [1.0, -2, 3, 4], [1.0, 2, 3, 0], [0, 0, 0, 0], 1.0)
    assert np.isnan(bad).all()


def test_a_common_curve_is_the_mean_of_each_size_or_the_best_model() -> None:
    repeated = expectation([1.0, 1, 2, 2, 0], [4.0, 9, 5, 5, 5])
    assert repeated == pytest.approx([6, 6, 5, 5, np.nan], nan_ok=True)
    single = expectation(SIZES, curve(SIZES))
    assert single == pytest.approx(curve(SIZES))
    both = expectation([1.0, 1, 2, 2, *SIZES], [4.0, 9, 5, 5, *curve(SIZES)], [0, 0, 0, 0, *[1] * 20])
    assert both == pytest.approx([6, 6, 5, 5, *curve(SIZES)])
    assert np.isnan(expectation([0.0], [1.0])).all()
