"""Statistics against scipy, statsmodels, closed forms, and their degenerate cases."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from perfvcs.statistics import multiplicity, sessions
from perfvcs.statistics.difference import combine, interval, moments, paired, welch
from perfvcs.statistics.multiplicity import q_values
from perfvcs.statistics.permutation import ARRANGEMENTS, sign_flips, smallest, two_sample

RNG = np.random.default_rng(20261120)
A = RNG.normal(1, 0.1, (40, 10))
B = RNG.normal(1.05, 0.3, (40, 7))
C = RNG.normal(1.05, 0.3, (40, 10))


def test_welch_is_scipys_and_its_interval_is_statsmodels() -> None:
    found = welch(A, B)
    expected = stats.ttest_ind(B, A, axis=1, equal_var=False)
    np.testing.assert_allclose(found.p, expected.pvalue, rtol=1e-9)
    np.testing.assert_allclose(found.df, expected.df, rtol=1e-9)
    bounds = CompareMeans(DescrStatsW(B[3]), DescrStatsW(A[3])).tconfint_diff(
        alpha=0.01, usevar="unequal"
    )
    np.testing.assert_allclose((found.low[3], found.high[3]), bounds, rtol=1e-9)


def test_paired_is_scipys() -> None:
    found = paired(A, C, confidence=0.95)
    for group in range(len(A)):
        expected = stats.ttest_rel(C[group], A[group])
        bounds = expected.confidence_interval(0.95)
        np.testing.assert_allclose(
            (found.p[group], found.low[group], found.high[group]),
            (expected.pvalue, *bounds),
            rtol=1e-9,
        )


def test_an_additional_variance_joins_the_others_with_its_degrees_of_freedom() -> None:
    found = welch(A[:1], B[:1], extra=0.02, extra_df=4)
    parts = np.array([A[0].var(ddof=1) / 10, B[0].var(ddof=1) / 7, 0.02])
    df = parts.sum() ** 2 / (parts**2 / [9, 6, 4]).sum()
    assert found.df[0] == pytest.approx(df)
    assert found.error[0] == pytest.approx(sqrt(parts.sum()))
    assert found.p[0] == pytest.approx(
        2 * stats.t.sf(abs(B[0].mean() - A[0].mean()) / sqrt(parts.sum()), df)
    )
    wider = paired(A, C, extra=np.full(40, 0.02), extra_df=4)
    assert (wider.high - wider.low > paired(A, C).high - paired(A, C).low).all()


def test_a_variance_known_exactly_gives_the_normal_distribution() -> None:
    found = combine(np.array([1.0]), [np.array([0.25])], [np.array([np.inf])])
    assert found.p[0] == pytest.approx(2 * stats.norm.sf(2))


@pytest.mark.parametrize("test", [welch, paired])
def test_without_variance_equal_means_are_certain_and_others_certainly_differ(test) -> None:  # type: ignore[no-untyped-def]
    same, other = test([[2.0] * 3] * 2, [[2.0] * 3, [3.0] * 3]).p
    assert (same, other) == (1.0, 0.0)
    found = test([[2.0] * 3], [[3.0] * 3])
    assert (found.low[0], found.high[0], found.df[0]) == (1.0, 1.0, np.inf)


@pytest.mark.parametrize("test", [welch, paired])
def test_what_cannot_be_known_is_nan_with_an_infinite_interval(test) -> None:  # type: ignore[no-untyped-def]
    for first, second in (([[1.0]], [[2.0]]), ([[1.0, np.nan, 1.0]], [[1.0, 2.0, 3.0]])):
        found = test(first, second)
        assert np.isnan([found.p[0], found.error[0], found.df[0]]).all()
        assert (found.low[0], found.high[0]) == (-np.inf, np.inf)


def test_rounding_is_no_variance_and_no_difference() -> None:
    assert moments([[0.1] * 7]).variance[0] == 0
    found = welch([[0.1] * 7], [[0.1] * 12])
    assert (found.estimate[0], found.p[0]) == (0.0, 1.0)
    shifted = paired([[0.1, 0.2, 0.3]], [[0.1 + 0.7, 0.2 + 0.7, 0.3 + 0.7]])
    assert (shifted.error[0], shifted.p[0]) == (0.0, 0.0)


def test_an_interval_of_one_mean_is_scipys() -> None:
    found = interval(A)
    low, high = stats.t.interval(0.99, 9, loc=A.mean(axis=1), scale=stats.sem(A, axis=1))
    np.testing.assert_allclose([found.low, found.high], [low, high])
    single = interval([[4.0]])
    assert (single.centre[0], single.low[0], single.high[0]) == (4.0, -np.inf, np.inf)


@pytest.mark.parametrize(("m", "k"), [(5, 5), (4, 6), (1, 3)])
def test_two_sample_permutation_counts_all_arrangements(m: int, k: int) -> None:
    first, second = A[:4, :m], C[:4, :k]
    pooled = np.concatenate([first, second], axis=1)
    for group, p in enumerate(two_sample(first, second)):
        total, observed = pooled[group].sum(), abs(first[group].mean() - second[group].mean())
        chosen = [pooled[group][list(rows)].sum() for rows in combinations(range(m + k), m)]
        assert p == pytest.approx(
            np.mean([abs(one / m - (total - one) / k) >= observed - 1e-12 for one in chosen])
        )


def test_two_sample_permutation_agrees_with_scipys() -> None:
    expected = stats.permutation_test(
        (A[0, :6], C[0, :6]),
        lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
        vectorized=True,
        n_resamples=np.inf,
    )
    assert two_sample(A[:1, :6], C[:1, :6])[0] == pytest.approx(expected.pvalue)


def test_sign_flips_count_all_flips() -> None:
    gaps = (C - A)[:4, :6]
    for group, p in enumerate(sign_flips(gaps)):
        sums = [abs(np.dot(signs, gaps[group])) for signs in product((-1, 1), repeat=6)]
        assert p == pytest.approx(np.mean([one >= abs(gaps[group].sum()) - 1e-12 for one in sums]))


def test_many_arrangements_are_drawn_with_a_seed_and_never_give_zero() -> None:
    far = np.arange(20.0)[None, :] + 1000
    assert two_sample(np.arange(20.0)[None, :], far)[0] == pytest.approx(1 / (1 + ARRANGEMENTS))
    assert sign_flips(far)[0] == pytest.approx(1 / (1 + ARRANGEMENTS))
    near = two_sample(A[:8], C[:8])
    assert (near == two_sample(A[:8], C[:8])).all()
    reference = stats.ttest_ind(A[:8], C[:8], axis=1).pvalue
    np.testing.assert_allclose(near, reference, atol=0.03)


def test_equal_values_permute_to_one() -> None:
    assert two_sample([[3.0] * 5], [[3.0] * 5])[0] == 1
    assert sign_flips([[0.0] * 5])[0] == 1


def test_the_smallest_permutation_p_is_the_one_that_separated_samples_reach() -> None:
    assert (
        smallest(5, 5)
        == 2 / comb(10, 5)
        == two_sample([[1.0, 2, 3, 4, 5]], [[6.0, 7, 8, 9, 10]])[0]
    )
    assert smallest(5) == 2 / 32 == sign_flips([[1.0, 2, 3, 4, 5]])[0]
    assert smallest(1) == smallest(1, 1) == 1


def test_q_values_are_statsmodels() -> None:
    p = np.random.default_rng(2).random(200) ** 3
    np.testing.assert_allclose(q_values(p), multipletests(p, method="fdr_bh")[1])


def test_q_values_leave_out_what_has_no_p() -> None:
    np.testing.assert_allclose(q_values([np.nan, 0.01, np.nan, 0.04]), [np.nan, 0.02, np.nan, 0.04])
    assert np.isnan(q_values([np.nan])).all()
    assert q_values([]).shape == (0,)


def test_looks_are_early_and_strict_or_last() -> None:
    assert multiplicity.schedule() == tuple(range(5, 31))
    assert multiplicity.schedule(7) == (5, 6, 7)
    assert multiplicity.schedule(5) == (5,)
    assert multiplicity.schedule(3) == (3,)
    assert [multiplicity.level(pairs) for pairs in multiplicity.schedule()] == [0.001] * 25 + [
        0.0095
    ]
    assert [multiplicity.level(pairs, 7) for pairs in multiplicity.schedule(7)] == [
        0.001,
        0.001,
        0.0095,
    ]


@pytest.mark.simulation
@pytest.mark.parametrize("heavy", [False, True], ids=["normal", "t with 3 degrees of freedom"])
def test_all_looks_together_have_at_most_17_false_alarms_in_1000_and_lose_no_power(
    heavy: bool,
) -> None:
    rng = np.random.default_rng(9)
    shape = (20_000, multiplicity.PAIRS)
    gaps = rng.standard_t(3, shape) if heavy else rng.standard_normal(shape)
    zero = np.zeros(shape)

    def changed(shifted: NDArray[np.float64], pairs: int, level: float) -> NDArray[np.bool_]:
        return paired(zero[:, :pairs], shifted[:, :pairs]).p <= level

    plan = [(pairs, multiplicity.level(pairs)) for pairs in multiplicity.schedule()]
    wrong = np.any([changed(gaps, *each) for each in plan], axis=0)
    assert 0.005 < wrong.mean() < 0.017
    moved = gaps + (1.1 if heavy else 0.65)
    found = np.any([changed(moved, *each) for each in plan], axis=0)
    assert found.mean() > changed(moved, multiplicity.PAIRS, 0.01).mean()


def test_a_historys_variance_is_found_through_steps_of_the_code() -> None:
    rng = np.random.default_rng(3)
    means = 0.02 * rng.standard_normal(400)
    steps = means + 0.2 * (np.arange(400) // 50)
    for series in (means, steps):
        found = sessions.between(series.tolist())
        assert found is not None
        assert sqrt(found.variance) == pytest.approx(0.02, rel=0.1)
    assert means.var() * 10 < steps.var()


def test_the_degrees_of_freedom_of_a_historys_variance_are_those_that_it_has() -> None:
    rng = np.random.default_rng(4)
    for count in (6, 12, 30):
        found = [sessions.between(rng.standard_normal(count).tolist()) for _ in range(3000)]
        variances = np.array([one.variance for one in found if one])
        assert variances.mean() == pytest.approx(1, rel=0.06)
        real = 2 * variances.mean() ** 2 / variances.var()
        assert found[0] is not None
        assert 0.7 * real < found[0].df <= 1.05 * real


@pytest.mark.parametrize("count", [5, 7, 10, 11])
def test_one_step_of_the_code_hardly_widens_a_short_history(count: int) -> None:
    rng = np.random.default_rng(count)
    means = rng.standard_normal((4000, count))
    sound, stepped = (
        [sessions.between(one) for one in series.tolist()]
        for series in (means, means + 50 * (np.arange(count) == count - 1))
    )
    before, after = (np.array([one.variance for one in found if one]) for found in (sound, stepped))
    assert before.mean() == pytest.approx(1, rel=0.07)
    assert after.mean() < 2.5 * before.mean()
    # the target's own difference is among those that the variance comes from, and never the reason
    # for an alarm
    assert sound[0] is not None
    gap = np.abs(means[:, -1] - means[:, -2])
    assert (2 * stats.t.sf(gap / np.sqrt(2 * before), sound[0].df) <= 0.01).mean() < 0.01


def test_sessions_that_were_all_alike_but_one_have_that_ones_step() -> None:
    assert sessions.between([1.0, 1.0, 1.0, 1.0, 3.0]) == sessions.Spread(
        pytest.approx(0.5), pytest.approx(2.4)
    )


def test_repeats_of_a_commit_say_more_than_neighbours() -> None:
    means, commits = [0.0, 0.1, 5.0, 5.1, 9.0, 9.1, 12.0, 12.1], list("aabbccdd")
    found = sessions.between(means, commits)
    assert found == sessions.repeats(means, commits)
    assert found is not None
    assert (found.variance, found.df) == (pytest.approx(0.005), 4)
    alone = sessions.between(means, list("abcdefgh"))
    assert alone is not None
    assert alone.variance > 1


def test_what_is_known_from_inside_sessions_is_taken_away() -> None:
    means = [0.0, 1.0, 0.0, 1.0, 0.0]
    assert sessions.between(means, within=0.2) == sessions.Spread(
        pytest.approx(0.5 / 0.565 - 0.2), pytest.approx(1.8)
    )
    assert sessions.between(means, within=7.0) == sessions.Spread(0.0, pytest.approx(1.8))
    assert sessions.between(means[:4]) is None
    assert sessions.between([1.0] * 20) == sessions.Spread(0.0, pytest.approx(11.4))
    assert sessions.repeats([1.0, 2.0], ["a", "b"]) is None


def test_an_aa_floor_needs_three_measurements() -> None:
    assert sessions.aa_floor([0.5, 0.5]) == 0
    assert sessions.aa_floor([0.01, -0.01, 0.01]) == pytest.approx(0.0196)


def test_student_s_last_digit_does_not_depend_on_what_it_is_computed_with():
    """Pages are written anew where anything that they say has moved, and so by far more than one
    new value.
    """
    from perfvcs.statistics.student import quantile, two_sided

    df = np.concatenate([np.arange(1, 60), np.linspace(0.3, 400, 300)])
    values = np.linspace(0.01, 12, len(df))
    points, tails = quantile(0.995, df), two_sided(values, df)
    for size in (2, 3, 7, 50):
        for start in range(0, len(df), size):
            part = slice(start, start + size)
            assert quantile(0.995, df[part]).tolist() == points[part].tolist()
            assert two_sided(values[part], df[part]).tolist() == tails[part].tolist()


def test_student_s_distribution_is_that_of_scipy():
    from scipy.special import stdtr, stdtrit

    from perfvcs.statistics.student import quantile, two_sided

    t = np.array([0.0, 1e-9, 0.01, 0.5, 1.0, 1.7, 2.5, 4.0, 9.0, 30.0, 500.0])
    df = np.array([0.4, 1.0, 1.7, 2.0, 4.0, 9.0, 18.3, 57.0, 299.0, 301.0, 4321.0, 1e9])[:, None]
    expected = 2 * stdtr(df, -t)
    usual = expected > 1e-60
    # near 0 scipy is the less exact
    np.testing.assert_allclose(two_sided(t, df)[usual], expected[usual], rtol=2e-9, atol=0)
    np.testing.assert_allclose(two_sided(-t, df), two_sided(t, df))
    for p in (0.6, 0.95, 0.995, 0.9999):
        np.testing.assert_allclose(quantile(p, df), stdtrit(df, p), rtol=1e-9)
    assert quantile(0.975, 10.0).shape == ()
