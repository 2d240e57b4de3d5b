"""The published methods for samples, through ``compare``: each decides as its source says."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import msgspec
import numpy as np
import pytest
from cases import each
from comparisons import profile
from numpy.typing import NDArray
from scipy import stats
from test_check_builds import built, drawn
from test_methods import sized

from perfvcs.check import Change, compare
from perfvcs.check.bounds import Undecided, within
from perfvcs.check.samples.sampled import MEASURED_APART, SHAPE
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.profile.summary import Measured
from perfvcs.statistics.permutation import depth
from perfvcs.statistics.ranks import shift, shift_depth
from perfvcs.statistics.resampling import ratio

Array = NDArray[np.float64]


def several(values: Array, side: int = 0, **overrides: Any) -> Profile:
    """One side whose ``values`` have the shape (executions, measurements), written measurement by
    measurement.
    """
    executions, count = values.shape
    rows = Resources(
        names=["sort"],
        uid=[0] * values.size,
        execution=list(range(executions)) * count,
        iteration=[number for number in range(count) for _ in range(executions)],
        metrics={"wall": values.T.ravel().tolist()},
    )
    return profile([], side, resources=rows, **overrides)


def judged(old: Any, new: Any, method: str, **options: Any) -> Change:
    """The only change between two columns or profiles."""
    first, second = (
        one
        if isinstance(one, Profile)
        else several(one, side)
        if np.ndim(one) == 2
        else profile(list(map(float, one)), side)
        for side, one in enumerate((old, new))
    )
    (change,) = compare([first], [second], method=method, **options).changes
    assert change.method == method
    return change


def apart(old: Array, new: Array) -> tuple[Profile, Profile]:
    """Two columns or tables that were measured one after the other."""
    make = (
        several
        if np.ndim(old) == 2
        else lambda values, side, **options: profile(values.tolist(), side, **options)
    )
    return (
        make(old, 0, order="sequential", session="one"),
        make(new, 1, order="sequential", session="two"),
    )


def normal(
    seed: int, effect: float = 0.0, count: int = 10, spread: float = 0.01, inside: int = 0
) -> tuple[Array, Array]:
    """Two sides of executions about 10 ms; with ``inside`` so many skewed measurements in each."""
    rng = np.random.default_rng(seed)
    sides = (
        0.01
        * (1 + spread * rng.standard_normal((2, count, 1)))
        * np.array([1, 1 + effect])[:, None, None]
    )
    if inside:
        sides = sides * (1 + 0.05 * rng.exponential(1, (2, count, inside)))
        return sides[0], sides[1]
    return sides[0, :, 0], sides[1, :, 0]


# -- t-test ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [0.0, 0.01, 0.03, -0.03])
def test_t_test_is_welchs_on_the_means_of_executions(effect: float) -> None:
    old, new = normal(1, effect, inside=7)
    change = judged(old, new, "t-test")
    expected = stats.ttest_ind(new.mean(axis=1), old.mean(axis=1), equal_var=False)
    bounds = np.array(expected.confidence_interval(0.99)) / old.mean()
    assert (change.p, change.low, change.high) == (
        pytest.approx(expected.pvalue),
        *map(pytest.approx, bounds),
    )
    assert change.effect == pytest.approx(new.mean() / old.mean() - 1)
    assert (change.baseline, change.target) == (
        pytest.approx(old.mean()),
        pytest.approx(new.mean()),
    )
    assert change.shift == pytest.approx(new.mean() - old.mean())
    assert (change.word in ("degradation", "improvement")) == (expected.pvalue < 0.01)
    assert (change.q, change.permutation_p, change.confidence) == (None, None, 0.99)


def test_a_published_level_is_its_own_and_delta_matters_for_the_gate_alone() -> None:
    old, new = normal(2, 0.03)
    plain = judged(old, new, "t-test")
    assert (plain.word, plain.gate, plain.delta) == ("degradation", True, 0.01)
    wide = judged(old, new, "t-test", delta=0.2)
    assert (wide.word, wide.gate) == ("degradation", False)
    assert judged(old, new, "t-test", alpha=1e-12).word == "degradation"


def test_what_is_not_changed_is_the_same_where_the_interval_is_within_delta() -> None:
    old, new = normal(3)
    assert judged(old, new, "t-test", delta=0.05).word == "same"
    open_ = judged(old, new, "t-test", delta=0.005)
    assert open_.word == "inconclusive"
    assert open_.bound is not None
    assert open_.reason == f"the interval reaches beyond ±0.5 %; {within(open_.bound)}"


@pytest.mark.parametrize(
    "method", ["t-test", "clusters", "signed-rank", "permutation", "bootstrap-ratio"]
)
def test_the_bound_of_an_open_comparison_settles_it(method: str) -> None:
    old, new = normal(3, inside=20)
    found = judged(old, new, method, delta=0.0005)
    assert found.word == "inconclusive"
    assert found.bound is not None
    assert judged(old, new, method, delta=0.0005, within=found.bound * 1.0001).word == "same"
    assert judged(old, new, method, delta=0.0005, within=found.bound * 0.999).word == "inconclusive"


def test_clusters_of_memory_have_the_delta_of_memory() -> None:
    old, new = normal(3, inside=20)
    for metric, delta in (("maxrss", 0.02), ("heap", 0.01)):
        sides = [several(1e11 * values, side) for side, values in enumerate((old, new))]
        for side in sides:
            side.resources.metrics[metric] = side.resources.metrics.pop("wall")
        sides = [msgspec.structs.replace(side, metrics={metric: Metric("B")}) for side in sides]
        assert judged(sides[0], sides[1], "clusters").delta == delta


def test_a_rule_that_knows_no_sessions_answers_with_a_warning() -> None:
    old, new = normal(4, 0.1)
    slower = judged(*apart(old, new), "t-test")
    assert (slower.word, slower.reason, slower.paired) == ("degradation", MEASURED_APART, False)
    noisy = judged(*apart(*normal(5)), "t-test", delta=0.001)
    assert (noisy.word, noisy.reason) == (
        "inconclusive",
        f"the interval reaches beyond ±0.1 %; {within(noisy.bound or 0)}; {MEASURED_APART}",
    )
    alone = judged(*apart(old[:1], new), "t-test")
    assert (alone.word, alone.reason) == (
        "inconclusive",
        "a single execution has no spread: at least 5, better 10",
    )


def test_several_sessions_of_a_side_are_put_together() -> None:
    old, new = normal(6, 0.02, count=12)
    first = [
        profile(part.tolist(), 0, order="sequential", session=f"o{place}")
        for place, part in enumerate(np.split(old, 3))
    ]
    second = [
        profile(part.tolist(), 1, order="sequential", session=f"n{place}")
        for place, part in enumerate(np.split(new, 2))
    ]
    (change,) = compare(first, second, method="t-test").changes
    assert change.p == pytest.approx(stats.ttest_ind(new, old, equal_var=False).pvalue)
    assert change.executions == (12, 12)


def test_builds_take_the_place_of_executions() -> None:
    old, new = drawn(7)[0], 1.2 * drawn(7)[1]
    change = judged(built(old), built(new, 1), "t-test")
    assert change.p == pytest.approx(
        stats.ttest_ind(new.mean(axis=1), old.mean(axis=1), equal_var=False).pvalue
    )
    assert (change.builds, change.executions) == ((6, 6), (30, 30))


def test_zeros_and_negative_values_are_compared_as_they_are() -> None:
    old, new = np.array([0.0, 1.0, 0.0, 1.0, 0.5, 0.5]), np.array([5.0, 6.0, 5.0, 6.0, 5.5, 5.5])
    change = judged(old, new, "t-test")
    assert (change.word, change.effect, change.shift) == (
        "degradation",
        pytest.approx(10),
        pytest.approx(5),
    )
    below = judged(-old - 1, new, "t-test")
    assert (below.word, below.effect, below.shift, below.gate) == (
        "degradation",
        None,
        pytest.approx(7),
        True,
    )
    assert below.p == pytest.approx(stats.ttest_ind(new, -old - 1, equal_var=False).pvalue)
    noise = judged(-old - 1, -old[::-1] - 1, "t-test")
    assert (noise.word, noise.effect) == ("inconclusive", None)
    assert noise.shift_low is not None


@each("unit", [1e-300, 1e300])
@each(
    "method",
    [
        "t-test",
        "ci-overlap",
        "visual",
        "mann-whitney",
        "permutation",
        "bootstrap-ratio",
        "clusters",
    ],
)
def test_the_unit_does_not_matter(method: str, unit: float) -> None:
    old, new = normal(8, 0.05)
    plain, scaled = judged(old, new, method), judged(old * unit, new * unit, method)
    assert (scaled.word, scaled.effect, scaled.low, scaled.high) == (
        plain.word,
        *(pytest.approx(each, rel=1e-6) for each in (plain.effect, plain.low, plain.high)),
    )


# -- ci-overlap and visual -------------------------------------------------------------------------


def two_levels(values: Array) -> tuple[float, float]:
    """Centre and half length, from the formula of 2005 with Student's quantile."""
    m, n = values.shape
    half = stats.t.ppf(0.995, m - 1) * np.sqrt(
        (n * values.mean(axis=1).var(ddof=1) + values.var(axis=1, ddof=1).mean()) / (m * n)
    )
    return float(values.mean()), float(half)


@pytest.mark.parametrize("effect", [0.0, 0.02, 0.04, -0.04])
def test_ci_overlap_has_the_published_two_level_interval(effect: float) -> None:
    old, new = normal(9, effect, inside=6)
    (a, half_a), (b, half_b) = two_levels(old), two_levels(new)
    change = judged(old, new, "ci-overlap")
    assert change.effect == pytest.approx((b - a) / a)
    assert (change.low, change.high) == (
        pytest.approx((b - half_b - a - half_a) / a),
        pytest.approx((b + half_b - a + half_a) / a),
    )
    overlap = abs(b - a) <= half_a + half_b
    assert (change.word not in ("degradation", "improvement")) == overlap
    assert change.p is None


def test_ci_overlap_has_three_levels_where_builds_were_repeated() -> None:
    old, new = drawn(10)[0], 1.3 * drawn(10)[1]
    ends = []
    for side in (old, new):
        builds, executions = side.shape
        within = side.var(axis=1, ddof=1).mean()
        variance = within / (builds * executions) + side.mean(axis=1).var(ddof=1) / builds
        ends.append((side.mean(), stats.t.ppf(0.995, builds - 1) * np.sqrt(variance)))
    (a, half_a), (b, half_b) = ends
    change = judged(built(old), built(new, 1), "ci-overlap")
    assert (change.effect, change.low) == (
        pytest.approx((b - a) / a),
        pytest.approx((b - half_b - a - half_a) / a),
    )
    assert change.builds == (6, 6)


def test_executions_of_unequal_length_have_an_interval() -> None:
    old, new = profile([1.0, 1.1, 1.2, 1.0, 1.1]), profile([2.0, 2.1, 2.2, 2.0, 2.1], 1)
    old.resources.uid += [0, 0]
    old.resources.execution += [0, 3]
    old.resources.metrics["wall"] += [1.3, None]
    change = judged(old, new, "ci-overlap")
    assert (change.word, change.baseline) == (
        "degradation",
        pytest.approx((1.15 + 1.1 + 1.2 + 1.0 + 1.1) / 5),
    )


def test_visual_has_three_answers() -> None:
    base = (
        np.array([-1.5, -1, -0.5, -0.25, 0, 0, 0.25, 0.5, 1, 1.5]) * 1.0471
    )  # of no step, unlike the readings of a coarse clock
    half = stats.t.ppf(0.995, 9) * base.std(ddof=1) / np.sqrt(10)
    old = 100 + base
    far = judged(old, old + 2.1 * half, "visual")
    assert (far.word, far.reason) == ("degradation", "")
    inside = judged(old, old + 0.9 * half, "visual", delta=1e-6)
    assert (inside.word, inside.reason) == ("same", "a mean lies inside the other's interval")
    tested = judged(old, old + 1.7 * half, "visual")
    expected = stats.ttest_ind(old + 1.7 * half, old, equal_var=False)
    assert (tested.word, tested.p) == ("degradation", pytest.approx(expected.pvalue))
    assert expected.pvalue < 0.01
    undecided = judged(old, old + 1.1 * half, "visual", delta=1e-6)
    assert stats.ttest_ind(old + 1.1 * half, old, equal_var=False).pvalue > 0.01
    assert undecided.word == "inconclusive"


# -- tests by rank ---------------------------------------------------------------------------------

TESTS: dict[str, Any] = {
    "mann-whitney": lambda a, b: stats.mannwhitneyu(a, b, method="exact"),
    "ks": stats.ks_2samp,
    "kruskal": stats.kruskal,
}


@each("effect", [0.0, 0.008, 0.012, -0.03])
@each("method", TESTS)
def test_a_test_by_rank_decides_at_five_percent_on_the_medians_of_executions(
    method: str, effect: float
) -> None:
    old, new = normal(11, effect, inside=5)
    medians = np.median(old, axis=1), np.median(new, axis=1)
    change = judged(old, new, method)
    p = TESTS[method](*medians).pvalue
    assert change.p == pytest.approx(p)
    assert (change.word in ("degradation", "improvement")) == (p < 0.05)
    gaps = (medians[1][:, None] - medians[0]).ravel()
    assert change.effect == pytest.approx(np.median(gaps) / np.median(medians[0]))
    assert (change.baseline, change.confidence) == (pytest.approx(np.median(medians[0])), 0.95)


def test_no_profile_is_opened_for_medians() -> None:
    old, new = normal(12, 0.05)
    sides = Measured.of(profile(old.tolist())), Measured.of(profile(new.tolist(), 1))
    (change,) = compare([sides[0]], [sides[1]], method="mann-whitney").changes
    assert change.word == "degradation"
    # without rows the medians stand for them
    (change,) = compare([sides[0]], [sides[1]], method="t-test").changes
    assert change.p == pytest.approx(stats.ttest_ind(new, old, equal_var=False).pvalue)


@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (lambda z: 100 + z, "the values look normal"),
        (lambda z: np.exp(2 * z), "the values look normal after log(x)"),
        (lambda z: 1 / (3 + z), "the values look normal after 1/x"),
        (
            lambda z: np.where(z > 0, 100 + 1e-3 * z, 1 + 1e-3 * z),
            "the values look normal neither as they are nor transformed",
        ),
    ],
)
def test_normal_looking_values_are_reported(transform: Any, words: str) -> None:
    z = stats.norm.ppf((np.arange(40) + 0.5) / 40)
    change = judged(transform(z), transform(z), "mann-whitney")
    assert change.finding == words


def test_two_executions_are_too_few_to_look_normal_or_to_bound_a_shift() -> None:
    change = judged([1.0, 1.1], [1.2, 1.3], "mann-whitney")
    assert (change.word, change.reason, change.finding) == (
        "inconclusive",
        "too few executions for an interval",
        "",
    )
    assert (change.low, change.high) == (None, None)


def test_distributions_that_differ_in_shape_alone_have_no_direction() -> None:
    old = np.concatenate([np.linspace(-0.01, 0.01, 30), [0.0]]) + 10
    new = np.concatenate([np.linspace(-5, -4, 15), np.linspace(4, 5, 15), [0.0]]) + 10
    change = judged(old, new, "ks")
    assert (change.word, change.reason) == ("inconclusive", SHAPE)
    assert (change.p or 1) < 2e-3


@pytest.mark.parametrize(("m", "k"), [(6, 9), (5, 5), (12, 4)])
def test_the_interval_of_a_shift_is_the_inverted_test(m: int, k: int) -> None:
    rng = np.random.default_rng(m)
    a, b = rng.normal(0, 1, (1, m)), rng.normal(0.5, 1, (1, k))
    found = shift(a, b, 0.95)
    gaps = np.sort((b[0][:, None] - a[0]).ravel())
    assert found.centre[0] == pytest.approx(np.median(gaps))
    middles = (gaps[1:] + gaps[:-1]) / 2
    accepted = [
        stats.mannwhitneyu(a[0], b[0] - middle, method="exact").pvalue > 0.05 for middle in middles
    ]
    np.testing.assert_array_equal(accepted, (middles > found.low[0]) & (middles < found.high[0]))


def test_the_depth_of_the_interval_is_that_of_the_tables() -> None:
    # Critical values of U at .05 two-sided (Mann, Whitney 1947), each plus one
    assert [shift_depth(m, m, 0.95) for m in (3, 4, 5, 8, 10, 20)] == [0, 1, 3, 14, 24, 128]
    exact, normal_ = shift_depth(30, 30, 0.95), round(450 - 1.959964 * np.sqrt(900 * 61 / 12))
    assert abs(exact - normal_) <= 1
    assert shift_depth(31, 31, 0.95) > exact
    assert shift(np.zeros((1, 40)), np.ones((1, 2)), 0.999).low[0] <= 1


# -- log-median ------------------------------------------------------------------------------------

AGREEING = [0.04, 0.05, 0.046, 0.052, 0.048, 0.055, 0.044]


def pairs_of(differences: list[float]) -> Change:
    """What is said of pairs whose logarithms differ so."""
    old = np.full(len(differences), 0.01)
    return judged(old, old * np.exp(differences), "log-median")


def test_pairs_that_all_agree_are_a_change_though_one_is_far_from_the_others() -> None:
    """Flips of that one alone look the same with outliers pulled in: all pairs count as they are,
    in the interval and in the permutation.
    """
    change = pairs_of([*AGREEING, 0.004])
    assert (change.word, change.permutation_p) == ("degradation", 2 / 2**8)


def test_an_interval_without_zero_that_a_permutation_vetoes_says_so() -> None:
    change = pairs_of([*AGREEING, -0.005])
    assert change.word == "inconclusive" and change.low is not None and change.low > 0.01
    assert change.reason.startswith(
        "so few pairs may agree by chance: more executions would settle it"
    )


# -- permutation -----------------------------------------------------------------------------------


def test_permutation_goes_through_all_arrangements_of_few() -> None:
    old, new = normal(13, 0.02, count=6)
    flips = [abs(np.dot(signs, new - old)) for signs in product((1, -1), repeat=6)]
    exact = np.mean(np.array(flips) >= abs((new - old).sum()) - 1e-12)
    change = judged(old, new, "permutation", alpha=0.05)
    assert (change.permutation_p, change.p) == (pytest.approx(exact), pytest.approx(exact))
    pooled = np.concatenate([old, new])
    sums = np.array(
        [abs(pooled[list(chosen)].mean() - pooled.mean()) for chosen in combinations(range(12), 6)]
    )
    loose = judged(*apart(old, new), "permutation")
    assert loose.permutation_p == pytest.approx(
        np.mean(sums >= abs(old.mean() - pooled.mean()) - 1e-12)
    )
    assert loose.p == loose.permutation_p


def test_permutation_finds_what_is_there_and_not_what_is_not() -> None:
    assert judged(*normal(14, 0.05), "permutation").word == "degradation"
    assert judged(*normal(14, -0.05), "permutation").word == "improvement"
    assert judged(*normal(15), "permutation", delta=0.05).word == "same"


def test_permutation_of_too_few_says_how_many_it_takes() -> None:
    change = judged(*normal(16, 0.5, count=5), "permutation")
    assert change.word == "inconclusive"
    assert change.reason.startswith("so few executions cannot reach p = 0.01: at least 8; within ±")
    assert judged(*apart(*normal(16, 0.5, count=5)), "permutation").word == "degradation"
    change = judged(*apart(*normal(16, 0.5, count=4)), "permutation")
    assert change.reason.startswith("so few executions cannot reach p = 0.01: at least 5")


# -- bootstrap-ratio -------------------------------------------------------------------------------


def test_bootstrap_ratio_is_the_hierarchical_one() -> None:
    old, new = normal(17, 0.03, inside=4)
    unit = 2.0**-7
    expected = ratio(old / unit, new / unit)
    change = judged(old, new, "bootstrap-ratio")
    assert [change.effect, change.low, change.high] == pytest.approx(
        [expected.ratio - 1, expected.low - 1, expected.high - 1]
    )
    assert change.word == "degradation"
    assert judged(new, old, "bootstrap-ratio").word == "improvement"


def test_bootstrap_ratio_draws_builds_and_their_executions() -> None:
    old, new = drawn(18)[0], 1.3 * drawn(18)[1]
    change = judged(built(old), built(new, 1), "bootstrap-ratio")
    expected = ratio(old, new)
    assert (change.effect, change.word) == (pytest.approx(expected.ratio - 1), "degradation")
    assert change.low == pytest.approx(expected.low - 1, rel=0.1)


def test_a_ratio_needs_positive_means() -> None:
    change = judged([1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], "bootstrap-ratio")
    assert (change.word, change.low) == ("inconclusive", None)
    assert np.isfinite(ratio([[1e-300], [1e-320], [1.0]], [[1e300], [1e300], [1e300]]).high)


# -- signed-rank -----------------------------------------------------------------------------------


@pytest.mark.parametrize("effect", [0.0, 0.015, 0.05])
def test_signed_rank_is_the_exact_test_of_log_ratios(effect: float) -> None:
    old, new = normal(19, effect, count=12)
    gaps = np.log(new) - np.log(old)
    change = judged(old, new, "signed-rank")
    assert change.p == pytest.approx(stats.wilcoxon(gaps, method="exact").pvalue)
    walsh = np.sort([(gaps[i] + gaps[j]) / 2 for i in range(12) for j in range(i, 12)])
    k = depth(12)
    expected = np.expm1([np.median(walsh), walsh[k - 1], walsh[-k]])
    assert [change.effect, change.low, change.high] == pytest.approx(expected.tolist())
    assert (change.word == "degradation") == ((change.p or 1) <= 0.01 and expected[0] >= 0.01)
    assert change.q == change.p


def test_signed_rank_is_not_blinded_by_an_outlier() -> None:
    old, new = normal(20, 0.05)
    new[3] *= 40
    assert judged(old, new, "signed-rank").word == "degradation"
    assert judged(old, new, "student").word == "inconclusive"


def test_signed_rank_asks_of_a_change_what_the_default_asks() -> None:
    old, new = normal(21, 0.05)
    assert judged(old, new, "signed-rank", delta=0.2).word == "same"
    assert judged(old, new, "signed-rank", alpha=1e-4).word == "inconclusive"
    assert judged(old, old * (1 + 1e-4), "signed-rank").word == "same"
    higher = Metric("1/s", better="higher")
    sides = profile(old.tolist(), metric=higher), profile(new.tolist(), 1, metric=higher)
    assert judged(*sides, "signed-rank").word == "improvement"
    gated = judged(old, new, "signed-rank")
    assert (gated.word, gated.gate) == ("degradation", True)


@pytest.mark.parametrize(
    ("count", "word", "reason"),
    [
        (1, "inconclusive", "a single execution has no spread: at least 5, better 10"),
        (4, "inconclusive", "only 4 executions a side: at least 5, better 10"),
        (5, "inconclusive", "only 5 pairs: an interval of 99 % needs 8"),
        (7, "inconclusive", "only 7 pairs: an interval of 99 % needs 8"),
        (8, "degradation", ""),
        (201, "inconclusive", "more than 200 pairs: use log-median"),
    ],
)
def test_signed_rank_needs_eight_pairs(count: int, word: str, reason: str) -> None:
    change = judged(*normal(22, 0.2, count=count), "signed-rank")
    assert (change.word, change.reason) == (word, reason)


def test_signed_rank_with_a_generous_level_only_suspects_from_few() -> None:
    assert (
        judged(*normal(22, 0.2, count=4), "signed-rank", alpha=0.2, confidence=0.8).word
        == "inconclusive"
    )
    many = {f"u{place}": [1.0, 1.1, 1.2, 1.3] for place in range(3)}
    new = {name: [2 * value for value in column] for name, column in many.items()}
    report = compare([profile(many)], [profile(new, 1)], method="signed-rank", alpha=0.2)
    assert {change.word for change in report.changes} == {"inconclusive"}


def test_signed_rank_needs_sides_measured_in_turns_and_a_ratio() -> None:
    change = judged(*apart(*normal(23, 0.2)), "signed-rank")
    assert (change.word, change.reason.split(":")[0]) == (
        "inconclusive",
        "not measured in turns, so there are no pairs to rank",
    )
    assert change.effect == pytest.approx(0.2, abs=0.05)
    assert judged([-1.0] * 9, [2.0] * 9, "signed-rank").word == "degradation"
    # readings that are all equal
    assert judged([-1.0] * 9, [-1.0] * 9, "signed-rank").word == "inconclusive"


def test_signed_rank_pairs_builds() -> None:
    old, new = drawn(24, builds=9)[0], 1.3 * drawn(24, builds=9)[1]
    change = judged(built(old), built(new, 1), "signed-rank")
    gaps = np.log(new).mean(axis=1) - np.log(old).mean(axis=1)
    assert (change.p, change.builds) == (
        pytest.approx(stats.wilcoxon(gaps, method="exact").pvalue),
        (9, 9),
    )


# -- clusters --------------------------------------------------------------------------------------


def modal(seed: int, *levels: tuple[float, float], executions: int = 10, count: int = 40) -> Array:
    """Executions with measurements about levels in seconds, each with its share."""
    rng = np.random.default_rng(seed)
    centres, shares = zip(*levels, strict=True)
    chosen = rng.choice(len(levels), p=shares, size=(executions, count))
    found: Array = np.array(centres)[chosen] * np.exp(
        rng.normal(0, 0.004, (executions, 1)) + rng.normal(0, 0.01, chosen.shape)
    )
    return found


def test_a_cluster_that_moved_is_named_though_the_mean_hides_it() -> None:
    """Kalibera 2006, ch. 3.4: a hit of 100 us beside a miss of 80 ms."""
    old, new = modal(1, (100e-6, 0.3), (80e-3, 0.7)), modal(2, (110e-6, 0.3), (80e-3, 0.7))
    change = judged(old, new, "clusters")
    assert (change.word, change.gate) == ("degradation", True)
    assert change.effect == pytest.approx(0.1, abs=0.02)
    assert (change.baseline, change.target) == (
        pytest.approx(100e-6, rel=0.01),
        pytest.approx(110e-6, rel=0.01),
    )
    assert change.finding.startswith("2 clusters: 99.81 -> 109.9 us +10.1 %, ")
    assert change.finding.endswith(("ms same", "ms open"))
    assert judged(old, new, "t-test").word != "degradation"


def test_shares_that_moved_are_named() -> None:
    old, new = modal(3, (10e-3, 0.8), (15e-3, 0.2)), modal(4, (10e-3, 0.5), (15e-3, 0.5))
    change = judged(old, new, "clusters", delta=0.02)
    assert change.word == "degradation"
    assert change.effect == pytest.approx(12.5 / 11 - 1, abs=0.05)
    assert "same" in change.finding
    shares = change.finding.split("shares ")[1]
    before, after = shares.split(" -> ")
    assert float(before.split(",")[0]) > 70
    assert float(after.split(",")[0]) < 60
    assert judged(new, old, "clusters", delta=0.02).word == "improvement"


def test_a_worse_cluster_counts_more_than_a_better_one() -> None:
    old, new = modal(5, (10e-3, 0.5), (15e-3, 0.5)), modal(6, (10.8e-3, 0.5), (13e-3, 0.5))
    change = judged(old, new, "clusters")
    assert change.word == "degradation"
    assert change.effect == pytest.approx(0.08, abs=0.02)
    assert "-13" in change.finding


def test_clusters_that_stay_are_the_same() -> None:
    old, new = modal(7, (10e-3, 0.5), (15e-3, 0.5)), modal(8, (10e-3, 0.5), (15e-3, 0.5))
    assert judged(old, new, "clusters", delta=0.1).word == "same"
    assert judged(old, new, "clusters", delta=0.0001).word == "inconclusive"


def test_one_cluster_is_one_comparison_of_log_means() -> None:
    old, new = normal(25, 0.04)
    change = judged(old, new, "clusters")
    expected = stats.ttest_ind(np.log(new), np.log(old), equal_var=False)
    assert (change.p, change.finding) == (pytest.approx(expected.pvalue), "")
    assert change.low == pytest.approx(np.expm1(expected.confidence_interval(0.99).low))
    assert change.word == "degradation"


def test_clusters_that_cannot_be_matched_are_suspected_at_most() -> None:
    old, new = modal(9, (10e-3, 1.0)), modal(10, (13e-3, 0.5), (20e-3, 0.5))
    change = judged(old, new, "clusters")
    assert (change.word, change.reason) == (
        "suspected",
        "not the same number of clusters on both sides",
    )
    assert change.finding.startswith("1 cluster on one side, more on the other: 9.9")
    hidden = judged(
        modal(9, (10e-3, 1.0)), modal(10, (9.6e-3, 0.5), (10.4e-3, 0.5)), "clusters", delta=0.2
    )
    assert (hidden.word, hidden.reason) == (
        "inconclusive",
        "not the same number of clusters on both sides",
    )


@pytest.mark.simulation
def test_executions_that_differ_as_a_whole_are_no_clusters() -> None:
    rng = np.random.default_rng(13)
    wrong = 0
    for _ in range(60):
        sides = 0.01 * np.exp(rng.normal(0, 0.05, (2, 10, 1)) + rng.normal(0, 0.001, (2, 10, 12)))
        change = judged(sides[0], sides[1], "clusters")
        wrong += change.word != "inconclusive"
        assert change.finding == ""
    assert wrong <= 2


def test_clusters_of_few_executions_and_of_sides_apart_are_suspected_at_most() -> None:
    old, new = (
        modal(11, (10e-3, 0.5), (15e-3, 0.5), executions=4),
        modal(12, (12e-3, 0.5), (18e-3, 0.5), executions=4),
    )
    few = judged(old, new, "clusters")
    assert (few.word, few.reason) == (
        "suspected",
        "only 4 executions a side: at least 5, better 10",
    )
    old, new = modal(11, (10e-3, 0.5), (15e-3, 0.5)), modal(12, (12e-3, 0.5), (18e-3, 0.5))
    loose = judged(*apart(old, new), "clusters")
    assert (loose.word, loose.reason.split(",")[0]) == ("suspected", "measured apart")
    assert judged(*apart(old, old * (1 + 1e-9)), "clusters", delta=0.5).word == "inconclusive"


def test_clusters_of_builds_are_compared_by_builds() -> None:
    old, new = drawn(26)[0], 1.3 * drawn(26)[1]
    change = judged(built(old), built(new, 1), "clusters")
    assert (change.builds, change.word) == ((6, 6), "degradation")


def test_clusters_with_zeros_are_shares_of_the_mean() -> None:
    old, new = np.abs(normal(27)[0]), np.abs(normal(27, 0.5)[1])
    old[0] = 0
    change = judged(old, new, "clusters", alpha=0.05)
    expected = stats.ttest_ind(new, old, equal_var=False)
    assert (change.p, change.effect) == (
        pytest.approx(expected.pvalue),
        pytest.approx((new.mean() - old.mean()) / old.mean()),
    )
    assert judged([-1.0, 2.0, -3.0] * 3, [1.0, 2.0, 3.0] * 3, "clusters").effect is None


def test_the_clusters_of_a_curve_would_be_its_sizes() -> None:
    many = tuple(float(size) for size in range(1, 60))
    values = np.array([0.01, 0.011, 0.012, 0.01, 0.011])
    change = judged(sized(values, 0, many), sized(values * 1.1, 1, many), "clusters")
    assert change.reason == "a unit of many sizes: its clusters would be the sizes"


def test_the_default_is_students_where_nothing_is_far_off() -> None:
    old, new = normal(3, 0.03)
    student, default = judged(old, new, "student"), judged(old, new, "log-median")
    assert (default.word, default.effect, default.low, default.high) == (
        student.word,
        student.effect,
        student.low,
        student.high,
    )


def test_the_default_is_not_blinded_by_a_burst() -> None:
    old, new = normal(4, 0.05)
    old[4] *= 2.0
    assert judged(old, new, "student").word == "inconclusive"
    found = judged(old, new, "log-median")
    assert found.word == "degradation"
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0.05 < found.high
    assert found.baseline == pytest.approx(np.median(old), rel=0.01)  # which a mean would not be
    assert found.baseline * (1 + found.effect) == pytest.approx(found.target)


def test_the_default_does_not_call_the_same_what_a_few_slow_executions_leave_open() -> None:
    old, new = normal(5, spread=0.002, count=20)
    new[[3, 9]] *= 1.5
    found = judged(old, new, "log-median")
    assert (found.word, found.reason) == (
        "inconclusive",
        f"{Undecided.FAR.value}; {within(found.bound or 0)}",
    )
    assert found.high is not None
    assert found.high < 0.01  # what was drawn in says "the same"
