"""Variance components, optimal counts, impact factor and robust resampling against the papers,
closed forms and statsmodels.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from numpy.typing import NDArray
from scipy import optimize, stats

from perfvcs.statistics import resampling
from perfvcs.statistics.components import (
    Components,
    components,
    cost,
    executions,
    measurements,
    observations,
    variance,
)
from perfvcs.statistics.resampling import resample
from perfvcs.statistics.runs import _distinct, impact


def drawn(
    seed: int, shape: tuple[int, int, int], spreads: tuple[float, float, float]
) -> NDArray[np.float64]:
    """Measurements of l binaries x m executions x n, with the standard deviations of these
    levels.
    """
    rng = np.random.default_rng(seed)
    builds, runs, _ = shape
    found: NDArray[np.float64] = 100 + spreads[0] * rng.standard_normal((builds, 1, 1))
    return (
        found
        + spreads[1] * rng.standard_normal((builds, runs, 1))
        + spreads[2] * rng.standard_normal(shape)
    )


def of(values: NDArray[np.float64]) -> Components:
    """Components of a balanced array (binaries, executions, measurements)."""
    binary, execution, _ = np.indices(values.shape)
    return components(values.ravel(), execution.ravel(), binary.ravel())


DRAWN = drawn(1, (6, 4, 5), (3.0, 2.0, 1.0))


def test_the_three_variances_are_the_papers() -> None:
    found = of(DRAWN)
    executions, binaries = DRAWN.mean(axis=2), DRAWN.mean(axis=(1, 2))
    assert found.mean[0] == pytest.approx(DRAWN.mean())
    assert found.within[0] == pytest.approx(
        ((DRAWN - executions[:, :, None]) ** 2).sum() / (6 * 4 * 4)
    )
    assert found.executions[0] == pytest.approx(
        ((executions - binaries[:, None]) ** 2).sum() / (6 * 3)
    )
    assert found.binaries[0] == pytest.approx(binaries.var(ddof=1))
    assert (
        found.values_count[0],
        found.executions_count[0],
        found.binaries_count[0],
    ) == pytest.approx((120, 24, 6))


def test_the_interval_is_equation_17_with_either_quantile() -> None:
    found = of(DRAWN)
    error = sqrt(found.within[0] / 120 + found.executions[0] / 24 + found.binaries[0] / 6)
    for quantile, point in (("normal", stats.norm.ppf(0.995)), ("t", stats.t.ppf(0.995, 5))):
        interval = found.interval(0.99, quantile)  # type: ignore[arg-type]
        assert (interval.low[0], interval.high[0]) == pytest.approx(
            (DRAWN.mean() - point * error, DRAWN.mean() + point * error)
        )


def test_with_one_binary_the_interval_has_two_levels() -> None:
    values = DRAWN[0]
    found = components(values.ravel(), np.repeat(np.arange(4), 5))
    s_sigma, s_rho = values.var(axis=1, ddof=1).mean(), values.mean(axis=1).var(ddof=1)
    half = stats.norm.ppf(0.995) * sqrt((5 * s_rho + s_sigma) / (4 * 5))
    assert found.interval(0.99, "normal").high[0] - found.mean[0] == pytest.approx(half)
    assert np.isnan(found.binaries[0])
    wide = found.interval(0.99).high[0] - found.mean[0]
    assert wide == pytest.approx(half * stats.t.ppf(0.995, 3) / stats.norm.ppf(0.995))


def test_what_each_level_adds_is_what_a_mixed_model_finds() -> None:
    values = drawn(2, (1, 30, 8), (0.0, 2.0, 1.0))[0]
    frame = pd.DataFrame({"y": values.ravel(), "execution": np.repeat(np.arange(30), 8)})
    model = smf.mixedlm("y ~ 1", frame, groups="execution").fit(reml=True)
    found = components(frame["y"], frame["execution"]).separate()
    assert found.within[0] == pytest.approx(model.scale, rel=1e-3)
    assert found.executions[0] == pytest.approx(float(model.cov_re.iloc[0, 0]), rel=1e-3)


def test_three_levels_are_taken_apart() -> None:
    found = of(drawn(3, (400, 10, 10), (3.0, 2.0, 1.0))).separate()
    assert (found.within[0], found.executions[0], found.binaries[0]) == pytest.approx(
        (1.0, 4.0, 9.0), rel=0.1
    )


def test_the_interval_covers_the_mean_as_often_as_it_says_with_few_binaries() -> None:
    values = np.stack([drawn(seed, (4, 3, 3), (3.0, 2.0, 1.0)) for seed in range(400)])
    group, binary, execution, _ = (index.ravel() for index in np.indices(values.shape))
    interval = components(values.ravel(), execution, binary, group).interval(0.95)
    assert 0.94 <= np.mean((interval.low <= 100) & (interval.high >= 100)) <= 1.0


def test_unbalanced_data_weigh_executions_and_not_measurements() -> None:
    found = components([1.0, 1.0, 1.0, 1.0, 3.0, 5.0], [0, 0, 0, 0, 1, 2])
    assert found.mean[0] == 3.0
    assert found.executions[0] == 4.0
    assert (found.within[0], found.within_df[0]) == (0.0, 3)
    # each execution has a third of the mean; 1/9 (1/4 + 1 + 1) is the factor of S_E^2
    assert found.values_count[0] == pytest.approx(9 / 2.25)


def test_groups_are_evaluated_apart_and_at_once() -> None:
    together = components(
        np.concatenate([DRAWN[0].ravel(), DRAWN[1].ravel() * 10]),
        np.tile(np.repeat(np.arange(4), 5), 2),
        group=np.repeat([7, 3], 20),
    )
    for place, values in ((1, DRAWN[0]), (0, DRAWN[1] * 10)):
        alone = components(values.ravel(), np.repeat(np.arange(4), 5))
        assert together.mean[place] == pytest.approx(alone.mean[0])
        assert together.interval().high[place] == pytest.approx(alone.interval().high[0])


def test_a_single_execution_says_nothing_about_the_next() -> None:
    interval = components([1.0, 2.0, 3.0], [0, 0, 0]).interval()
    assert (interval.centre[0], interval.low[0], interval.high[0]) == (2.0, -np.inf, np.inf)


def test_equal_values_have_no_variance_and_a_nan_makes_all_unknown() -> None:
    interval = components([0.1] * 6, [0, 0, 1, 1, 2, 2]).interval()
    assert interval.low[0] == interval.high[0] == pytest.approx(0.1)
    unknown = components([0.1, np.nan, 0.1, 0.2], [0, 0, 1, 1])
    assert np.isnan([unknown.mean[0], unknown.variance()[0]]).all()
    assert unknown.interval().high[0] == np.inf


def test_one_measurement_per_execution_is_contained_in_the_level_above() -> None:
    found = components([1.0, 2.0, 4.0], [0, 1, 2])
    assert np.isnan(found.within[0])
    assert found.variance()[0] == pytest.approx(np.var([1, 2, 4], ddof=1) / 3)
    assert found.separate().executions[0] == pytest.approx(np.var([1, 2, 4], ddof=1))


@pytest.mark.parametrize(("values", "labels"), [([], []), ([1.0, 2.0], [0])])
def test_columns_must_fit(values: list[float], labels: list[int]) -> None:
    with pytest.raises(ValueError, match=r"values"):
        components(values, labels)


def test_the_optimal_counts_are_the_minimum_of_the_variance_at_equal_cost() -> None:
    within, between, above, warmup, build, part = 9.0, 2.0, 0.5, 20.0, 500.0, 3.0

    def spread(counted: NDArray[np.float64]) -> float:
        runs, times = np.exp(counted)
        price = cost(1, runs, times, warmup, build, part)
        return float(price * variance(within, between, above, 1, runs, times))

    best = np.exp(
        optimize.minimize(
            spread, [1.0, 1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
        ).x
    )
    assert float(executions(between, above, warmup, build, part)) == pytest.approx(
        best[0], rel=1e-4
    )
    assert float(measurements(within, between, warmup)) == pytest.approx(best[1], rel=1e-4)


def test_an_operation_that_is_a_part_needs_fewer_executions() -> None:
    whole, part = (float(executions(4.0, 1.0, 10.0, 1000.0, q)) for q in (1.0, 4.0))
    assert (whole, part) == pytest.approx((20.0, 10.0))


def test_counts_without_variance_have_a_meaning() -> None:
    found = measurements([1.0, 0.0, 0.0, np.nan], [0.0, 1.0, 0.0, 1.0], 10.0)
    np.testing.assert_array_equal(found, [np.inf, 1.0, 1.0, np.nan])


def test_the_median_needs_as_many_observations_as_published() -> None:
    assert observations(0.005, 0.5, 0.95) == 38416
    assert observations(0.005, 1.0) == 1
    with pytest.raises(ValueError, match="shares"):
        observations(0.0)


def test_the_impact_factor_is_the_ratio_of_the_spreads_and_its_control_tends_to_one() -> None:
    found = impact(drawn(4, (1, 60, 200), (0.0, 3.0, 1.0))[0], iterations=4000)
    assert found.samples == 45
    assert found.factor == pytest.approx(sqrt(1 + 9), rel=0.15)  # sqrt((sigma^2 + rho^2) / sigma^2)
    assert found.control == pytest.approx(1, abs=0.02)


def test_without_random_effects_the_impact_factor_is_one() -> None:
    assert impact(
        drawn(5, (1, 60, 200), (0.0, 0.0, 1.0))[0], iterations=4000
    ).factor == pytest.approx(1, abs=0.03)


def test_the_control_stays_away_from_one_where_the_start_changes_the_spread() -> None:
    rng = np.random.default_rng(6)
    runs = [rng.normal(0, spread, 100) for spread in np.where(np.arange(40) % 5 == 0, 20.0, 1.0)]
    assert impact(runs, iterations=4000).control > 3


def test_the_impact_factor_is_repeatable_takes_unequal_runs_and_needs_three_executions() -> None:
    runs = [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0, 9.0], [2.0, 2.5, 2.0], [1.0, 0.5, 3.0, 3.0, 3.0]]
    assert impact(runs, 500) == impact(runs, 500)
    assert impact(runs, 500, seed=1) != impact(runs, 500)
    assert np.isnan(impact(runs[:2]).factor)
    assert np.isnan(impact([[1.0]] * 8).factor)


def test_the_impact_of_constant_runs_is_one_or_infinite() -> None:
    assert impact([[0.1] * 5] * 5, 100).factor == 1
    different = impact([[value] * 5 for value in (0.1, 0.2, 0.3, 0.4, 0.5)], 100)
    assert (different.factor, different.control) == (np.inf, 1)


def test_runs_must_be_there_and_finite() -> None:
    for runs, message in (
        ([], "needs a measurement"),
        ([[1.0], []], "needs a measurement"),
        ([[1.0, np.inf]], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            impact(runs)


def test_draws_without_replacement_are_distinct_and_uniform() -> None:
    found = _distinct(np.random.default_rng(7), np.full(20000, 6), 4)
    assert all(len(set(row)) == 4 for row in found.tolist())
    share = np.bincount(found.ravel(), minlength=6) / found.size
    assert share == pytest.approx(1 / 6, abs=0.005)


def test_resampling_agrees_with_mean_and_variance_of_clean_runs() -> None:
    values = drawn(8, (1, 20, 400), (0.0, 2.0, 1.0))[0]
    found = resample(values.ravel(), [400] * 20)
    assert found.means == pytest.approx(values.mean(axis=1), abs=0.05)
    assert found.variances == pytest.approx(values.var(axis=1, ddof=1), rel=0.1)
    assert found.sizes.tolist() == [300] * 20
    whole = found.components()
    assert whole.mean[0] == pytest.approx(values.mean(), abs=0.02)
    half = stats.norm.ppf(0.995) * sqrt(
        (300 * found.means.var(ddof=1) + found.variances.mean()) / (20 * 300)
    )
    assert whole.interval(0.99, "normal").high[0] - whole.mean[0] == pytest.approx(half)


@pytest.mark.parametrize("share", [0.5, 0.75])
def test_one_outlier_is_in_the_median_resample_as_often_as_the_binomial_says(share: float) -> None:
    spoilt = np.append(np.ones(99), 1e6)
    seen = [resample(spoilt, [100], share=share, seed=seed).means[0] > 1 for seed in range(200)]
    assert np.mean(seen) == pytest.approx(
        stats.binom.sf(49, 100, 1 - 0.99 ** (100 * share)), abs=0.1
    )


def test_an_outlier_of_one_execution_leaves_the_others_as_they_are() -> None:
    values = drawn(9, (1, 10, 100), (0.0, 0.5, 1.0))[0]
    spoilt = values.copy()
    spoilt[3, 50] = 1e6
    plain, robust = (resample(column.ravel(), [100] * 10) for column in (values, spoilt))
    assert robust.means[3] > plain.means[3] + 1000
    assert np.array_equal(np.delete(robust.means, 3), np.delete(plain.means, 3))


def test_resampling_of_single_measurements_knows_no_variance_inside_them() -> None:
    found = resample([1.0, 2.0, 4.0], [1, 1, 1])
    assert np.isnan(found.variances).all()
    assert found.components().variance()[0] == pytest.approx(np.var([1, 2, 4], ddof=1) / 3)
    assert found.components().interval().high[0] < np.inf
    assert resample([1.0, 2.0], [2]).components().interval().high[0] == np.inf


def test_benchmarks_are_resampled_together_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(12)
    counts, group = rng.integers(1, 6, 60), np.repeat(np.arange(12), 5)
    values = rng.normal(10, 1, counts.sum())
    together, whole = resample(values, counts, group), resample(values, counts, group).components()
    ends = np.cumsum(counts)
    for number in range(12):
        mine = group == number
        alone = resample(values[np.repeat(mine, counts)], counts[mine])
        assert np.array_equal(alone.means, together.means[mine])
        assert np.array_equal(alone.variances, together.variances[mine], equal_nan=True)
        one = alone.components()
        assert whole.interval().high[number] == pytest.approx(one.interval().high[0])
        assert whole.within[number] == pytest.approx(one.within[0], nan_ok=True)
    # a few executions at a time, the same draws
    monkeypatch.setattr(resampling, "CHUNK_MEASUREMENTS", 500)
    assert np.array_equal(resample(values, counts, group).means, together.means)
    # a few draws of one execution at a time
    monkeypatch.setattr(resampling, "CHUNK_MEASUREMENTS", 50)
    parts = resample(values, counts, group)
    assert parts.means == pytest.approx(together.means, abs=1)
    assert np.array_equal(parts.means[counts == 1], values[ends - 1][counts == 1])


def test_executions_of_one_benchmark_are_drawn_apart() -> None:
    assert len(set(resample([1.0, 2.0, 3.0, 4.0] * 50, [4] * 50).means)) > 1


@pytest.mark.parametrize(
    ("values", "counts", "group", "message"),
    [
        ([], [], None, "needs a measurement"),
        ([1.0], [1, 0], None, "needs a measurement"),
        ([1.0, 2.0], [1], None, "as many values"),
        ([1.0], [1], [0, 0], "as many values"),
        ([np.nan], [1], None, "finite"),
    ],
)
def test_executions_that_cannot_be_resampled_are_refused(
    values: Any, counts: Any, group: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        resample(values, counts, group)
