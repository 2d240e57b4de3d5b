"""Verdicts, through ``compare`` on profiles made in memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from comparisons import NEW, NOISE, OLD, STEADY, profile, verdict
from conftest import TESTS
from scipy import stats

from perfvcs.check import EarlierSessions, NothingToCompare, Report, Unit, compare, earlier_sessions
from perfvcs.check.assignment import Rule, Rules
from perfvcs.check.markdown import encode, markdown
from perfvcs.check.method import Method, load, names
from perfvcs.check.screen import screen
from perfvcs.check.stopping import interim
from perfvcs.errors import UsageError
from perfvcs.profile import Environment, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Measured


def test_slower_pairs_are_a_degradation_with_effect_and_interval() -> None:
    change = verdict(STEADY[0].tolist(), (STEADY[1] * 1.1).tolist())
    gaps = np.log(STEADY[1] * 1.1) - np.log(STEADY[0])
    expected = stats.ttest_1samp(gaps, 0)
    bounds = np.expm1(expected.confidence_interval(0.99))
    assert (change.word, change.gate, change.paired, change.executions) == (
        "degradation",
        True,
        True,
        (10, 10),
    )
    assert (change.effect, change.low, change.high) == (
        pytest.approx(np.expm1(gaps.mean())),
        *map(pytest.approx, bounds),
    )
    assert change.p == pytest.approx(expected.pvalue)
    assert change.permutation_p == pytest.approx(2 / 1024)
    assert (change.baseline, change.target) == (
        pytest.approx(stats.gmean(STEADY[0])),
        pytest.approx(stats.gmean(STEADY[1] * 1.1)),
    )
    assert change.shift == pytest.approx((change.target or 0) - (change.baseline or 0))


def test_faster_is_an_improvement_which_never_fails_the_gate() -> None:
    change = verdict(STEADY[0].tolist(), (STEADY[1] / 1.1).tolist())
    assert (change.word, change.gate) == ("improvement", False)


def test_more_is_better_where_the_metric_says_so() -> None:
    rate = Metric("1/s", better="higher")
    change = verdict(
        profile(STEADY[0].tolist(), metric=rate),
        profile((STEADY[1] / 1.1).tolist(), 1, metric=rate),
    )
    assert change.word == "degradation"
    assert change.effect == pytest.approx(-0.09, abs=0.02)


def test_an_interval_within_delta_is_the_same() -> None:
    change = verdict(STEADY[0].tolist(), (STEADY[0] * (1 + NOISE[1] / 10)).tolist())
    assert (change.word, change.reason) == ("same", "")


def test_noise_is_inconclusive_and_a_wider_delta_makes_it_the_same() -> None:
    wide = verdict(STEADY[0].tolist(), STEADY[1].tolist())
    assert wide.word == "inconclusive"
    assert wide.reason.startswith("the interval reaches beyond ±1 %; within ±")
    assert verdict(STEADY[0].tolist(), STEADY[1].tolist(), delta=0.05).word == "same"


def test_a_sure_change_below_delta_is_the_same() -> None:
    change = verdict(STEADY[0].tolist(), (STEADY[0] * 1.005).tolist())
    assert (change.word, change.p, change.effect) == ("same", 0, pytest.approx(0.005))


def test_a_degradation_whose_interval_reaches_into_delta_does_not_fail_the_gate() -> None:
    change = verdict(STEADY[0].tolist(), (STEADY[0] * (1.016 + NOISE[1])).tolist())
    assert change.low is not None
    assert change.low < 0.01
    assert (change.word, change.gate) == ("degradation", False)


def test_the_benchmarks_own_aa_floor_raises_delta() -> None:
    sides = profile(STEADY[0].tolist()), profile((STEADY[1] * 1.05).tolist(), 1)
    unit = next(iter(earlier_sessions(map(Measured.of, sides))))
    assert verdict(*sides).word == "degradation"
    change = verdict(*sides, history={unit: EarlierSessions(audits=(0.06, -0.06, 0.06))})
    assert change.word == "same"
    assert change.delta == pytest.approx(np.expm1(0.06 * 1.96))


def test_one_execution_is_inconclusive_without_an_interval() -> None:
    change = verdict([1.0], [2.0])
    assert (change.word, change.low, change.high, change.p) == ("inconclusive", None, None, None)
    assert change.effect == pytest.approx(1)
    assert verdict([1.0], [1.0]).word == "inconclusive"
    assert verdict([0.0], [0.0]).word == "inconclusive"


def test_fewer_than_five_executions_only_raise_suspicion() -> None:
    change = verdict([1.0, 1.001, 0.999], [2.0, 2.001, 2.002])
    assert (change.word, change.reason) == (
        "suspected",
        "only 3 executions a side: at least 5, better 10",
    )
    assert verdict([1.0, 1.001, 0.999], [1.0, 1.001, 1.0]).word == "inconclusive"


@pytest.mark.parametrize("order", ["interleaved", "sequential"])
@pytest.mark.parametrize("value", [0.0, 3.7, -2.0])
def test_identical_values_are_the_same(order: str, value: float) -> None:
    bytes_ = Metric("B")
    change = verdict(
        profile([value] * 3, order=order, metric=bytes_),
        profile([value] * 3, 1, order=order, metric=bytes_),
    )
    assert (change.word, change.effect, change.baseline, change.target) == ("same", 0, value, value)


def test_constant_values_which_differ_are_a_change() -> None:
    pages = Metric("B")
    assert (
        verdict(profile([4096.0] * 5, metric=pages), profile([8192.0] * 5, 1, metric=pages)).word
        == "degradation"
    )


def test_zeros_are_compared_on_the_raw_scale() -> None:
    old, new = [0.0, 1, 2, 1, 0, 1, 2, 1], [9.0, 11, 10, 12, 9, 10, 11, 8]
    change = verdict(old, new)
    assert change.word == "degradation"
    assert (change.effect, change.shift) == (pytest.approx(9), pytest.approx(9))
    assert (change.baseline, change.target) == (pytest.approx(1), pytest.approx(10))


@pytest.mark.parametrize(
    ("old", "new"),
    [([0.0] * 10, [5.0] * 10), ([-1.0] * 10, [5.0] * 10), ([1e-200, 0] * 5, [1e200] * 10)],
)
def test_without_a_positive_baseline_the_difference_is_judged_in_the_metrics_unit(
    old: list[float], new: list[float]
) -> None:
    change = verdict(old, new)
    assert (change.word, change.effect) == ("degradation", None)
    assert change.shift == pytest.approx(np.mean(new) - np.mean(old))


def test_numbers_at_the_ends_of_the_scale_stay_finite() -> None:
    assert verdict([1e-300] * 6, [1e300] * 6).word == "degradation"
    assert verdict([5e-324, 1e-310] * 3, [1e308, 1e307] * 3).effect is None


def test_nan_and_infinity_never_reach_a_verdict() -> None:
    old = [*STEADY[0].tolist(), float("nan"), float("inf"), 1.0]
    new = [*(STEADY[1] * 1.1).tolist(), 1.0, 1.0, float("-inf")]
    change = verdict(old, new)
    assert (change.word, change.executions) == ("degradation", (10, 10))
    nothing = verdict([float("nan")] * 5, [1.0] * 5)
    assert (nothing.word, nothing.effect) == ("inconclusive", None)
    apart = verdict(
        profile([float("nan")] * 5, order="sequential"), profile([1.0] * 5, 1, order="sequential")
    )
    assert apart.word == "inconclusive"


def test_measured_apart_without_history_a_change_is_suspected_and_nothing_is_the_same() -> None:
    old = profile(STEADY[0].tolist(), order="sequential", session="a")
    changed = verdict(old, profile((STEADY[1] * 1.1).tolist(), 1, order="sequential", session="b"))
    steady = verdict(
        old, profile((STEADY[0] * (1 + NOISE[1] / 10)).tolist(), 1, order="sequential", session="b")
    )
    assert (changed.word, steady.word) == ("suspected", "inconclusive")
    assert (
        changed.reason
        == steady.reason
        == "the two sides come from different sessions, and how much sessions differ is not"
        " known yet"
    )
    assert not changed.paired
    expected = stats.ttest_ind(np.log(STEADY[0]), np.log(STEADY[1] * 1.1), equal_var=False)
    assert changed.p == pytest.approx(expected.pvalue)


def history(spread: float, old: Profile, count: int = 12) -> dict[Unit, EarlierSessions]:
    unit = next(iter(earlier_sessions([Measured.of(old)])))
    means = np.random.default_rng(5).normal(0, spread, count)
    return {
        unit: EarlierSessions(
            tuple(means.tolist()), tuple(f"{place:040x}" for place in range(count))
        )
    }


def test_a_history_lets_sessions_apart_be_judged_by_how_much_sessions_differ() -> None:
    old = profile(STEADY[0].tolist(), order="sequential", session="a")
    new = profile((STEADY[1] * 1.1).tolist(), 1, order="sequential", session="b")
    steady, restless = (
        verdict(old, new, history=history(0.005, old)),
        verdict(old, new, history=history(0.05, old)),
    )
    assert (steady.word, restless.word) == ("degradation", "inconclusive")
    assert None not in (steady.high, restless.high)
    assert (restless.high or 0) > (steady.high or 0)
    close = profile((STEADY[0] * (1 + NOISE[1] / 10)).tolist(), 1, order="sequential", session="b")
    assert verdict(old, close, history=history(0.0001, old), delta=0.03).word == "same"


def test_a_history_which_is_too_short_is_none() -> None:
    old = profile(STEADY[0].tolist(), order="sequential", session="a")
    new = profile((STEADY[1] * 1.1).tolist(), 1, order="sequential", session="b")
    assert verdict(old, new, history=history(0.005, old, 4)).word == "suspected"


@pytest.mark.simulation
def test_sessions_apart_have_few_false_alarms_when_sessions_differ() -> None:
    rng = np.random.default_rng(11)
    wrong = 0
    for _ in range(400):
        past = rng.normal(0, 0.03, 10)
        sides = np.exp(rng.normal(0, 0.03, 2)[:, None] + rng.normal(0, 0.005, (2, 10)))
        old = profile(sides[0].tolist(), order="sequential", session="a")
        new = profile(sides[1].tolist(), 1, order="sequential", session="b")
        unit = next(iter(earlier_sessions([Measured.of(old)])))
        wrong += (
            verdict(
                old, new, history={unit: EarlierSessions(tuple(past.tolist()), tuple("abcdefghij"))}
            ).word
            == "degradation"
        )
    assert wrong <= 6


def test_several_sessions_of_each_side_stand_in_for_a_history() -> None:
    rng = np.random.default_rng(8)
    sides: list[list[Profile]] = [[], []]
    for side in (0, 1):
        for place in range(4):
            values = np.exp(0.2 * side + rng.normal(0, 0.02) + rng.normal(0, 0.01, 6 + place))
            sides[side].append(
                profile(values.tolist(), side, order="sequential", session=f"{side}{place}")
            )
    (change,) = compare(*sides).changes
    assert (change.word, change.executions, change.paired) == ("degradation", (30, 30), False)
    (single,) = compare(sides[0][:1], sides[1][:1]).changes
    assert single.word == "suspected"


def test_sessions_of_single_executions_say_nothing_about_their_inside() -> None:
    sides = [
        [
            profile([1.0 + place / 100], side, order="sequential", session=f"{side}{place}")
            for place in range(5)
        ]
        for side in (0, 1)
    ]
    (change,) = compare(*sides).changes
    assert change.word == "inconclusive"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"delta": 1.0}, ["--delta 100 changes nothing: exact metrics and counters have no delta"]),
        (
            {"rules": Rules((Rule(metric="wall", delta="100%"),))},
            [
                "[[check]] metric wall, delta 100% changes nothing: exact metrics and counters have"
                " no delta"
            ],
        ),
        (
            {"rules": Rules((Rule(metric="wall", delta="100%"),)), "delta": 1.0},
            ["--delta 100 changes nothing: exact metrics and counters have no delta"],
        ),
        ({"rules": Rules((Rule(metric="other", delta="100%"), Rule(metric="wall")))}, []),
        ({"rules": Rules((Rule(method="log-median", delta="100%"),))}, []),
        ({}, []),
    ],
)
def test_a_delta_that_no_comparison_has_is_said(options: dict[str, Any], said: list[str]) -> None:
    count = Metric("count", kind="deterministic")
    exact = [
        profile([level, level], revision, metric=count)
        for revision, level in enumerate((100.0, 150.0))
    ]
    found = compare([exact[0]], [exact[1]], **options)
    assert found.unused == said
    for text in (screen(found), markdown(found), encode(found)):
        assert text.count("changes nothing") == len(said)
    sampled = [profile(STEADY[0].tolist(), revision) for revision in (0, 1)]
    assert compare([sampled[0]], [sampled[1]], **options).unused == []


def test_deterministic_metrics_change_by_a_tenth_of_a_percent() -> None:
    count = Metric("count", kind="deterministic")
    for new, word in (
        (1_000_900.0, "same"),
        (1_002_000.0, "degradation"),
        (998_000.0, "improvement"),
    ):
        change = verdict(profile([1e6], metric=count), profile([new], 1, metric=count))
        assert (change.word, change.method, change.p) == (word, "deterministic", None)
        assert change.effect == pytest.approx(new / 1e6 - 1)
        assert change.gate == (word == "degradation")
    noisy = verdict(
        profile([1e6, 1.01e6, 0.99e6], metric=count), profile([1.02e6] * 3, 1, metric=count)
    )
    assert (noisy.word, noisy.delta) == ("same", pytest.approx(0.05))
    fewer = Metric("count", better="higher", kind="deterministic")
    assert (
        verdict(profile([0.0], metric=fewer), profile([5.0], 1, metric=fewer)).word == "improvement"
    )
    assert verdict(profile([0.0], metric=count), profile([0.0], 1, metric=count)).word == "same"
    assert (
        verdict(profile([1e-320], metric=count), profile([1e308], 1, metric=count)).effect is None
    )


def test_a_single_execution_is_as_exact_as_it_found_itself_to_be() -> None:
    count = {"wall": Metric("", kind="deterministic"), "repeatability": Metric("", "none")}

    def once(value: float, side: int, found: float | None, executions: int = 1) -> Profile:
        rows = Resources(
            names=["sort", "f"],
            uid=[0, 1] * executions,
            execution=[place // 2 for place in range(2 * executions)],
            metrics={"wall": [value] * 2 * executions, "repeatability": [found, None] * executions},
        )
        return profile([], side, metrics=count, resources=rows)

    for found, word in (
        (None, "degradation"),
        (0.0002, "degradation"),
        (0.002, "same"),
        (float("inf"), "degradation"),
    ):
        changes = compare([once(1000, 0, 0.0)], [once(1008, 1, found)]).changes
        assert [change.word for change in changes] == [word, word]
    report = compare([once(1000, 0, 0.0, 2)], [once(1008, 1, 0.002, 2)])
    assert {change.word for change in report.changes} == {"degradation"}


def test_many_comparisons_are_corrected_for_their_number() -> None:
    rng = np.random.default_rng(9)
    old = {f"unit {place}": np.exp(rng.normal(0, 0.02, 10)).tolist() for place in range(100)}
    new = {name: np.exp(rng.normal(0, 0.02, 10)).tolist() for name in old}
    new["unit 0"] = (np.array(old["unit 0"]) * 1.1).tolist()
    report = compare([profile(old)], [profile(new, 1)])
    assert [change.uid for change in report.having("degradation", "improvement")] == ["unit 0"]
    assert sum(change.p is not None and change.p < 0.05 for change in report.changes) > 1
    assert all((change.q or 0) >= (change.p or 0) for change in report.changes)


def test_a_report_puts_first_what_matters() -> None:
    def steady(scale: float) -> list[float]:
        return (STEADY[0] * scale * (1 + NOISE[1] / 10)).tolist()

    old = {name: STEADY[0].tolist() for name in ("same", "gone", "slow", "slower", "fast", "noisy")}
    new = {
        "same": steady(1),
        "slow": steady(1.1),
        "slower": steady(1.5),
        "fast": steady(0.5),
        "noisy": STEADY[1].tolist(),
        "fresh": steady(1),
    }
    report = compare([profile(old)], [profile(new, 1)])
    assert [change.uid for change in report.changes] == [
        "slower",
        "slow",
        "fast",
        "noisy",
        "fresh",
        "gone",
        "same",
    ]
    assert report.counts == {
        "degradation": 2,
        "improvement": 1,
        "inconclusive": 1,
        "new": 1,
        "missing": 1,
        "same": 1,
    }
    assert (report.baseline, report.target, report.method) == (OLD, NEW, "auto")


def test_an_early_look_asks_for_more() -> None:
    old, new = profile(STEADY[0].tolist()), profile((STEADY[0] * (1.02 + NOISE[1])).tolist(), 1)
    p = verdict(old, new).p
    assert p is not None
    assert 1e-8 < p < 0.01
    assert verdict(old, new).word == "degradation"
    assert verdict(old, new, alpha=p / 2).word == "inconclusive"


def test_measuring_stops_when_nothing_is_open() -> None:
    old, slow, noisy = (STEADY[0].tolist(), (STEADY[1] * 1.5).tolist(), STEADY[1].tolist())
    decided = interim([profile(old)], [profile(slow, 1)], pairs=10)
    assert (decided.pairs, decided.open, decided.report.changes[0].word) == (
        None,
        [],
        "degradation",
    )
    undecided = interim(
        [profile({"a": old, "b": old})], [profile({"a": slow, "b": noisy}, 1)], pairs=10
    )
    assert (undecided.pairs, [change.uid for change in undecided.open]) == (11, ["b"])
    last = interim([profile(old)], [profile(noisy, 1)], pairs=30)
    assert (last.pairs, len(last.open)) == (None, 1)
    first = interim([profile([1.0])], [profile([1.0], 1)], pairs=1, most=7)
    assert first.pairs == 5
    # a clock that never moved
    hopeless = interim([profile([0.0] * 5)], [profile([0.0] * 5, 1)], pairs=5)
    assert (hopeless.pairs, hopeless.open) == (None, [])


@pytest.mark.simulation
def test_looking_several_times_has_few_false_alarms() -> None:
    rng = np.random.default_rng(12)
    wrong = 0
    for _ in range(150):
        sides = np.exp(rng.normal(0, 0.03, (2, 30)))
        pairs: int | None = 5
        while pairs is not None:
            found = interim(
                [profile(sides[0, :pairs].tolist())],
                [profile(sides[1, :pairs].tolist(), 1)],
                pairs=pairs,
            )
            pairs = found.pairs
        wrong += found.report.changes[0].word in ("degradation", "improvement")
    assert wrong <= 5


def test_a_method_is_found_by_its_files_name() -> None:
    assert {"auto", "curves", "deterministic", "log-median"} <= set(names())
    for name in names():
        method = load(name)
        assert issubclass(method, Method)
        assert method().compare([]) == []
    report = compare(
        [profile(STEADY[0].tolist())], [profile(STEADY[0].tolist(), 1)], method="deterministic"
    )
    assert (report.method, report.changes[0].method) == ("deterministic", "deterministic")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "log-medain"}, "no method `log-medain`; did you mean `log-median`"),
        ({"method": "kz"}, "there is no method `kz`; did you mean `ks`"),
        ({"delta": -1.0}, "such as 0.01"),
        ({"delta": float("nan")}, "such as 0.01"),
        ({"confidence": 99.0}, "such as 0.99"),
        ({"alpha": 0.0}, "such as 0.01"),
    ],
)
def test_a_wrong_option_names_the_cure(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        compare([], [], **options)


def test_nothing_to_compare_is_an_empty_report() -> None:
    assert compare([], []) == Report(baseline="", target="", method="auto", changes=[])
    assert NothingToCompare.exit_code == 4


def test_a_history_has_one_mean_per_session_and_aa_effects() -> None:
    first = [profile([1.0, 1.0]), profile([2.0, 2.0], 1)]
    second = [
        profile([4.0, 4.0], session="s2"),
        profile([8.0, 8.0], 1, session="s2", commit=OLD),
        profile([0.0, 8.0], 1, session="s3"),
    ]
    ((unit, past),) = earlier_sessions(map(Measured.of, [*first, *second])).items()
    assert unit == Unit(first[0].job.key, "0123456789ab", "sort", None, "wall")
    assert past.means == (pytest.approx(np.log(2)), pytest.approx(np.log(8)))
    assert past.commits == (NEW, OLD)
    assert past.audits == (pytest.approx(np.log(2)),)


def test_a_history_of_another_machine_is_another_history() -> None:
    other = Environment(fields={"cpu": "other"}, fingerprint="ffffffffffff")
    assert (
        len(
            earlier_sessions(
                map(Measured.of, [profile([1.0]), profile([1.0], environment=other, session="s2")])
            )
        )
        == 2
    )


def test_jobs_are_named_for_people() -> None:
    job = Job(name="sort", collector="time", cmd="./sort", args="--reverse", engine="launcher/1")
    change = verdict(profile(STEADY[0].tolist(), job=job), profile(STEADY[1].tolist(), 1, job=job))
    assert (change.job, change.series) == ("sort --reverse", job.key)


def test_comparing_needs_neither_scipys_distributions_nor_statsmodels() -> None:
    program = (
        "import sys; from samples import sample_profile as p; from perfvcs.check import compare;"
        " before = 'numpy' in sys.modules; compare([p()], [p()]); compare([p((1.0,) * 9)],"
        " [p((2.0,) * 9, commit='1' * 40)]); print(before, [name for name in ('scipy.stats',"
        " 'statsmodels', 'bokeh', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=TESTS, capture_output=True, text=True, check=True
    )
    assert done.stdout == "False []\n"


def test_results_are_immutable() -> None:
    report = compare([profile(STEADY[0].tolist())], [profile(STEADY[1].tolist(), 1)])
    with pytest.raises(AttributeError):
        report.method = "other"  # type: ignore[misc]
