"""Rank tests, normality, the bootstrap of the ratio and signed ranks against scipy, R, closed forms
and their degenerate cases.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from perfvcs.statistics.permutation import depth, signed_rank
from perfvcs.statistics.ranks import (
    TRANSFORMS,
    kolmogorov_smirnov,
    kruskal_wallis,
    mann_whitney,
    normality,
    transform,
)
from perfvcs.statistics.resampling import ratio

RNG = np.random.default_rng(20261121)
A = RNG.lognormal(0, 0.1, (12, 10))
B = RNG.lognormal(0.05, 0.2, (12, 7))


@pytest.mark.parametrize(
    ("test", "scipys"),
    [
        (mann_whitney, stats.mannwhitneyu),
        (kolmogorov_smirnov, stats.ks_2samp),
        (kruskal_wallis, stats.kruskal),
    ],
)
def test_tests_by_rank_are_scipys(test, scipys) -> None:  # type: ignore[no-untyped-def]
    found = test(A, B)
    for group in range(len(A)):
        expected = scipys(A[group], B[group])
        assert found.statistic[group] == pytest.approx(expected.statistic)
        if test is not mann_whitney:
            assert found.p[group] == pytest.approx(expected.pvalue)


def test_mann_whitney_is_exact_where_it_can_be_whatever_the_other_groups_are() -> None:
    tied = A[:2].copy(), B[:2].copy()
    tied[0][1, :3] = tied[1][1, :3] = 1.0
    found = mann_whitney(*tied)
    assert found.p[0] == pytest.approx(stats.mannwhitneyu(A[0], B[0], method="exact").pvalue)
    assert found.p[1] == pytest.approx(
        stats.mannwhitneyu(tied[0][1], tied[1][1], method="asymptotic").pvalue
    )


def test_the_smallest_p_of_five_against_five_is_two_in_252() -> None:
    assert mann_whitney([[1.0, 2, 3, 4, 5]], [[6.0, 7, 8, 9, 10]]).p[0] == pytest.approx(2 / 252)


@pytest.mark.parametrize("test", [mann_whitney, kolmogorov_smirnov, kruskal_wallis])
def test_equal_single_and_missing_values_have_a_p(test) -> None:  # type: ignore[no-untyped-def]
    found = test(
        [[2.0] * 3, [2.0, np.nan, 1.0], [1.0, 2.0, 3.0]], [[2.0] * 4, [1.0] * 4, [np.inf] * 4]
    )
    assert found.p[0] == 1
    assert np.isnan(found.p[1:]).all()
    single = test([[1.0], [1.0]], [[2.0], [1.0]])
    assert 0.3 < single.p[0] <= 1
    assert single.p[1] == 1
    with pytest.raises(ValueError, match="at least one value"):
        test([[]], [[1.0]])


def test_normality_is_scipys_under_each_transformation() -> None:
    found = normality(A)
    for name in TRANSFORMS:
        expected = stats.shapiro(transform(A, name)[3])
        assert (found.w[name][3], found.p[name][3]) == (
            pytest.approx(expected.statistic),
            pytest.approx(expected.pvalue),
        )


def test_the_transformation_that_makes_values_normal_is_chosen() -> None:
    normal = stats.norm.ppf((np.arange(60) + 0.5) / 60)
    found = normality(
        [
            10 + normal,
            np.exp(2 * normal),
            1 / (2.7 + normal),
            np.exp(np.exp(normal)),
            np.full(60, 0.1),
        ]
    )
    rejected = {name: (p < 0.05).tolist() for name, p in found.p.items()}
    assert rejected["none"] == [False, True, True, True, False]
    assert rejected["log"][1:] == [False, True, True, False]
    assert rejected["1/x"][2:] == [False, True, False]
    assert rejected["1/sqrt x"][3:] == [True, False]
    assert all(np.isnan(p[4]) for p in found.p.values())


def test_normality_says_nothing_of_few_constant_or_undefined_values() -> None:
    assert np.isnan(normality([[1.0, 2.0]]).p["none"]).all()
    found = normality([[0.1] * 5, [0.0, 1.0, 2.0, 3.0, 5.0], [1.0, 2.0, np.nan, 3.0, 4.0]])
    assert np.isnan(found.p["none"][[0, 2]]).all()
    assert np.isnan(found.p["log"]).all()
    assert found.p["none"][1] >= 0.05
    with pytest.raises(ValueError, match="1/sqrt x"):
        transform([1.0], "square")


def test_the_bootstrap_interval_of_the_ratio_is_about_that_of_the_delta_method() -> None:
    rng = np.random.default_rng(1)
    old = rng.normal(10, 0.3, (30, 1)) + rng.normal(0, 0.5, (30, 20))
    new = rng.normal(11, 0.3, (30, 1)) + rng.normal(0, 0.5, (30, 20))
    found = ratio(old, new)
    means = old.mean(axis=1), new.mean(axis=1)
    assert found.ratio == pytest.approx(means[1].mean() / means[0].mean())
    spread = found.ratio * np.sqrt(sum(side.var(ddof=1) / 30 / side.mean() ** 2 for side in means))
    # Resampling inside executions adds their own error once more, as the source has it.
    half = stats.norm.ppf(0.995) * spread
    assert found.high - found.ratio == pytest.approx(half, rel=0.2)
    assert found.ratio - found.low == pytest.approx(half, rel=0.2)


def test_the_bootstrap_takes_unequal_executions_and_is_repeatable() -> None:
    old, new = [[1.0, 2.0, 1.5], [2.0]], [[2.0, 4.0], [3.0, 3.0, 3.0], [4.0]]
    assert ratio(old, new) == ratio(old, new)
    found = ratio(old, new, seed=1)
    assert found.ratio == pytest.approx((3 + 3 + 4) / 3 / 1.75)
    assert found.low < found.ratio < found.high


def test_the_bootstrap_of_equal_single_and_negative_values() -> None:
    same = ratio([[2.0, 2.0]] * 3, [[3.0]] * 4)
    assert (same.ratio, same.low, same.high) == (1.5, 1.5, 1.5)
    alone = ratio([[1.0, 2.0]], [[3.0, 4.0], [3.0, 4.0]])
    assert (alone.low, alone.high) == (-np.inf, np.inf)
    assert np.isnan(ratio([[-1.0], [1.0]], [[1.0], [1.0]]).ratio)


def test_signed_ranks_give_rs_published_example() -> None:
    # R: wilcox.test(x, y, paired = TRUE, conf.int = TRUE) on the depression data of Hollander and
    # Wolfe: V = 40, p-value = 0.03906
    x = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    y = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    found = signed_rank([y], [x], confidence=0.95)
    assert found.p[0] == pytest.approx(0.0390625)
    assert (found.estimate[0], found.low[0], found.high[0]) == (
        pytest.approx(0.46),
        pytest.approx(0.01),
        pytest.approx(0.786),
    )


def test_signed_ranks_are_scipys_exact_test() -> None:
    gaps = RNG.normal(0.05, 0.1, (20, 15))
    found = signed_rank(np.zeros((20, 15)), gaps)
    for group in range(20):
        assert found.p[group] == pytest.approx(stats.wilcoxon(gaps[group], method="exact").pvalue)


def test_tied_and_zero_differences_use_all_flips_of_their_ranks() -> None:
    gaps = np.array([1.0, 1.0, 1.0, -2.0, 0.0, 3.0, -1.0, 4.0, 4.0])
    ranks = stats.rankdata(np.abs(gaps[gaps != 0]))
    plus = ranks[gaps[gaps != 0] > 0].sum()
    sums = np.array(
        [
            sum(rank for rank, up in zip(ranks, ups, strict=True) if up)
            for ups in product((0, 1), repeat=8)
        ]
    )
    least = min(plus, ranks.sum() - plus)
    expected = 2 * np.mean(sums <= least)
    assert signed_rank([np.zeros(9)], [gaps]).p[0] == pytest.approx(expected)
    # The same differences far from 0 tie in spite of rounding.
    assert signed_rank([np.full(9, 1e9)], [1e9 + gaps]).p[0] == pytest.approx(expected)
    assert signed_rank([np.full(9, 0.3)], [0.3 + gaps / 10]).p[0] == pytest.approx(expected)


def test_the_interval_of_signed_ranks_needs_eight_pairs_for_99_percent() -> None:
    # tables: Hollander, Wolfe, Chicken 2014, A.4
    assert [depth(n) for n in (7, 8, 10, 15)] == [0, 1, 4, 16]
    assert signed_rank([[0.0] * 7], [[1.0, 2, 3, 4, 5, 6, 7]]).high[0] == np.inf


def test_interval_and_p_agree() -> None:
    gaps = RNG.normal(0.1, 0.12, (200, 12))
    found = signed_rank(np.zeros((200, 12)), gaps)
    apart = (found.low > 0) | (found.high < 0)
    assert 20 < apart.sum() < 180
    np.testing.assert_array_equal(apart, found.p <= 0.01)


def test_signed_ranks_of_equal_missing_and_many_pairs() -> None:
    found = signed_rank(
        [[1.0, 2.0], [1.0, np.nan], [1.0, np.inf]], [[1.0, 2.0], [1.0, 2.0], [1.0, np.inf]]
    )
    assert (found.estimate[0], found.p[0]) == (0.0, 1.0)
    assert np.isnan([found.estimate[1:], found.p[1:]]).all()
    assert found.low[1] == -np.inf
    assert signed_rank([[1.0]], [[2.0]]).p[0] == 1
    assert signed_rank([[0.0] * 200], [np.arange(1, 201) / 7]).p[0] < 1e-50
    with pytest.raises(ValueError, match="200 pairs"):
        signed_rank(np.zeros((1, 201)), np.ones((1, 201)))


def test_samples_of_one_size_that_differ_least_have_a_p_of_one() -> None:
    # scipy 1.17 warns here
    found = kolmogorov_smirnov([[1.0, 2, 3, 4, 5]], [[1.5, 2.5, 3.5, 4.5, 5.5]])
    assert (found.statistic[0], found.p[0]) == (pytest.approx(0.2), 1.0)


def test_normality_does_not_depend_on_the_unit() -> None:
    plain, huge, tiny = (normality(A * unit).p["none"] for unit in (1, 1e150, 1e-160))
    assert plain == pytest.approx(huge)
    assert plain == pytest.approx(tiny)
