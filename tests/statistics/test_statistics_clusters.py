"""Warm-up of executions and clusters of observations, against what was simulated and closed
forms.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.signal import lfilter

from perfvcs.statistics.changepoints.warmup import warmup
from perfvcs.statistics.clusters import clusters, fit, match


def execution(seed: int, *levels: tuple[int, float], spread: float = 0.01) -> NDArray[np.float64]:
    """Measurements about levels, each (how many, level)."""
    plain = np.concatenate([np.full(count, level) for count, level in levels])
    found: NDArray[np.float64] = plain * np.exp(
        spread * np.random.default_rng(seed).standard_normal(len(plain))
    )
    return found


def test_the_warm_up_of_each_execution_is_its_own() -> None:
    found = warmup(
        [
            execution(1, (8, 2.0), (40, 1.0)),
            execution(2, (15, 3.0), (5, 1.5), (80, 1.0)),
            execution(3, (50, 1.0)),
        ]
    )
    assert found.counts.tolist() == [8, 20, 0]
    assert found.steady.all()


@pytest.mark.parametrize("count", [1, 2])
def test_a_few_slow_first_measurements_are_warm_up(count: int) -> None:
    assert warmup([execution(4, (count, 5.0), (30, 1.0))]).counts.tolist() == [count]


def test_outliers_later_on_are_no_warm_up() -> None:
    values = execution(5, (60, 1.0))
    values[[20, 40, 41]] *= 8
    assert warmup([values]).counts.tolist() == [0]


def test_an_execution_that_slows_down_at_its_end_is_not_steady() -> None:
    found = warmup([execution(6, (50, 1.0), (10, 1.3)), execution(7, (4, 2.0), (50, 1.0))])
    assert found.steady.tolist() == [False, True]


def test_levels_within_a_percent_are_one() -> None:
    values = execution(8, (40, 1.005), (40, 1.0), spread=0.0002)
    assert warmup([values]).counts.tolist() == [0]
    assert warmup([values], alike=0.001).counts.tolist() == [40]


def test_measurements_that_resemble_their_neighbours_are_steady() -> None:
    rng = np.random.default_rng(9)
    noise = 0.02 * lfilter([0.6], [1, -0.8], rng.standard_normal((40, 300)))[:, 100:]
    found = warmup([np.exp(row) for row in noise])
    assert found.steady.mean() > 0.9
    assert np.median(found.counts) == 0


def test_warm_up_of_few_and_of_equal_measurements() -> None:
    found = warmup([[1.0, 2.0, 3.0], [0.1] * 20, [5.0] * 6 + [1.0] * 20])
    assert found.counts.tolist() == [0, 0, 6]
    assert found.steady.tolist() == [False, True, True]
    for runs, message in (([[0.0, 1.0]], "positive"), ([[1.0, np.nan]], "finite"), ([], "needs")):
        with pytest.raises(ValueError, match=message):
            warmup(runs)


def hits_and_misses(
    seed: int, hit: float = 1.0, misses: float = 0.3, runs: int = 10
) -> list[NDArray[np.float64]]:
    """Logarithms of executions of 100 operations, each a cache hit or a miss that takes eight times
    as long.
    """
    rng = np.random.default_rng(seed)
    missed = rng.random((runs, 100)) < misses
    return list(
        np.where(missed, np.log(8.0), np.log(hit))
        + 0.02 * rng.standard_normal((runs, 100))
        + 0.01 * rng.standard_normal((runs, 1))
    )


def test_hits_and_misses_are_two_clusters() -> None:
    found = clusters(np.concatenate(hits_and_misses(1)))
    assert found.centres == pytest.approx([0, np.log(8)], abs=0.01)
    assert found.spreads == pytest.approx([0.022, 0.022], rel=0.2)
    assert found.shares == pytest.approx([0.7, 0.3], abs=0.05)
    assert np.bincount(found.labels) / 1000 == pytest.approx(found.shares, abs=1e-6)


@pytest.mark.simulation
def test_the_number_of_clusters_is_found() -> None:
    rng = np.random.default_rng(2)
    for k in (1, 2, 3, 4):
        found = [
            len(clusters(rng.normal(6 * rng.integers(k, size=400), 1)).centres) for _ in range(5)
        ]
        assert np.mean(np.array(found) == k) >= 0.8


def test_the_bic_of_one_cluster_is_that_of_a_normal_distribution() -> None:
    values = np.random.default_rng(3).normal(5, 2, 50)
    expected = -2 * stats.norm.logpdf(values, values.mean(), values.std()).sum() + 2 * np.log(50)
    assert fit(values, 1).bic == pytest.approx(expected)
    # BIC does not depend on the unit of the values, but for the constant that it adds to all models
    # alike.
    two, one = fit(values, 2).bic, fit(values, 1).bic
    assert fit(values * 1000, 2).bic - fit(values * 1000, 1).bic == pytest.approx(two - one)


def test_the_mixtures_likelihood_is_scipys() -> None:
    values = np.concatenate(hits_and_misses(4))
    found = fit(values, 2)
    density = found.shares * stats.norm.pdf(values[:, None], found.centres, found.spreads)
    assert found.bic == pytest.approx(
        -2 * np.log(density.sum(axis=1)).sum() + 5 * np.log(len(values)), rel=1e-6
    )


def test_clusters_of_equal_few_and_discrete_values() -> None:
    same = clusters([0.1] * 9)
    assert (same.centres.tolist(), same.spreads.tolist(), same.labels.tolist()) == (
        [0.1],
        [0.0],
        [0] * 9,
    )
    assert len(clusters([1.0]).centres) == 1
    ticks = clusters(np.repeat([10.0, 11.0, 13.0], [30, 50, 20]))
    assert ticks.centres == pytest.approx([10, 11, 13])
    for values in ([], [1.0, np.inf]):
        with pytest.raises(ValueError, match="finite"):
            clusters(values)


def test_a_slower_hit_is_found_though_the_averages_hide_it() -> None:
    old, new = hits_and_misses(5, misses=0.34), hits_and_misses(6, hit=1.05, misses=0.30)
    found = match(old, new)
    assert found.alike
    before, after = (means.mean(axis=1) for means in found.means)
    assert after - before == pytest.approx([np.log(1.05), 0], abs=0.02)
    assert [shares.mean(axis=1) for shares in found.shares] == [
        pytest.approx([0.66, 0.34], abs=0.05),
        pytest.approx([0.70, 0.30], abs=0.05),
    ]


def test_versions_with_different_numbers_of_clusters_are_not_alike() -> None:
    found = match(hits_and_misses(7), hits_and_misses(8, misses=0.0))
    assert not found.alike
    assert [len(means) for means in found.means] == [1, 1]


def test_a_cluster_in_one_execution_only_has_no_mean_in_the_others() -> None:
    old, new = hits_and_misses(9, misses=0.0, runs=4), hits_and_misses(10, misses=0.0, runs=4)
    for side in (old, new):
        side[0][:20] += np.log(8)
    found = match(old, new)
    assert found.alike
    for means in found.means:
        assert np.isfinite(means[0]).all()
        assert np.isfinite(means[1]).tolist() == [True, False, False, False]
