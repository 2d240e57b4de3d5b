from collections.abc import Sequence
from dataclasses import replace
from math import exp, inf, log1p, nan, pi, sqrt
from random import Random
from statistics import variance
from typing import Any

import msgspec
import pytest
from conftest import Perf, Project
from histories import store
from samples import WALL, interleaved, noisy, sample_profile

from perfvcs.check import compare
from perfvcs.jobs import matrix
from perfvcs.jobs.config import AutoTable, BadConfig, read
from perfvcs.measure.blocks import turns
from perfvcs.plan.automatic import choose, planned
from perfvcs.plan.design import (
    DetectableEffect,
    PlanRule,
    builds,
    finding,
    measurements,
    needed,
    options,
    seconds,
)
from perfvcs.plan.inside import Inside, Share, inside
from perfvcs.plan.survey import Cost, Survey
from perfvcs.plan.variation import Variation, apart, in_turns, spreads, variations
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources, Turns
from perfvcs.profile.summary import Measured
from perfvcs.repository import Repository
from perfvcs.statistics.power import detectable, limits, pairs, power


def nested(
    *,
    executions: int = 10,
    measured: int = 20,
    within: float = 0.05,
    between: float = 0.02,
    seed: int = 1,
    slow: int = 0,
    binaries: int = 1,
    builds: float = 0.0,
    **overrides: Any,
) -> Profile:
    """A profile of a program that reports ``measured`` samples of 1 ms each, the first ``slow`` of
    them twice as long.
    """
    random = Random(seed)
    rows = Resources(names=["sort", "inner"], metrics={"wall": []}, binary=[], iteration=[])
    shifts = [random.gauss(0, builds) for _ in range(binaries)]
    assert rows.binary is not None
    assert rows.iteration is not None
    for execution in range(executions * binaries):
        build = execution % binaries
        shift = shifts[build] + random.gauss(0, between)
        values = [
            0.001 * (1 + (place < slow)) * (1 + shift + random.gauss(0, within))
            for place in range(measured)
        ]
        for uid, iteration, value in [
            (0, 0, 0.010 + sum(values)),
            *((1, place, value) for place, value in enumerate(values)),
        ]:
            rows.uid.append(uid)
            rows.execution.append(execution)
            rows.binary.append(build)
            rows.iteration.append(iteration)
            rows.metrics["wall"].append(value)
    fields: dict[str, Any] = {
        "resources": rows,
        "design": Design(executions=executions * binaries, binaries=binaries, warmup=1),
    }
    return sample_profile(**(fields | overrides))


def survey_of(one: Variation, **overrides: Any) -> Survey:
    fields: dict[str, Any] = {
        "job": "sort",
        "name": "sort",
        "collector": "time",
        "series": "",
        "sessions": 1,
        "profiles": 1,
        "binaries": 1,
        "executions": 10,
        "warmup": 1,
        "cost": Cost(0.03, 0.001, 2.0),
        "variations": [one],
    }
    return Survey(**(fields | overrides))


def known(difference: float, df: int = 100_000, **overrides: Any) -> Variation:
    fields: dict[str, Any] = {
        "mean": 0.01,
        "deviation": difference / sqrt(2),
        "difference": difference,
        "df": df,
    }
    return Variation("sort", None, "wall", "s", **(fields | overrides))


# power


@pytest.mark.parametrize(
    ("effect", "deviation", "count"),
    [(0.05, 0.03, 10), (0.02, 0.03, 19), (0.02, 0.05, 60), (0.01, 0.2, 8), (0.005, 0.03, 400)],
)
def test_the_power_is_that_of_the_noncentral_t(effect: float, deviation: float, count: int) -> None:
    from statsmodels.stats.power import TTestPower

    expected = TTestPower().power(effect / deviation, count, 0.01)
    assert power(effect, deviation, count) == pytest.approx(expected, abs=6e-3)


def test_an_effect_that_is_the_bar_is_found_half_of_the_time() -> None:
    assert power(0.01, 0.001, 500, bar=0.01) == pytest.approx(0.5, abs=0.01)
    assert pairs(0.01, 0.001, bar=0.01) is None
    assert pairs(0.02, 0.5, most=50) is None


def test_the_fewest_pairs_have_the_power_and_one_less_has_not() -> None:
    count = pairs(0.02, 0.03, bar=log1p(0.01))
    assert count is not None
    assert (
        power(0.02, 0.03, count, bar=log1p(0.01))
        >= 0.8
        > power(0.02, 0.03, count - 1, bar=log1p(0.01))
    )
    assert pairs(0.5, 0.03) == 5


def test_the_smallest_effect_has_just_the_power() -> None:
    effect = detectable(0.03, 12, bar=0.01)
    assert effect is not None
    assert power(effect, 0.03, 12, bar=0.01) == pytest.approx(0.8, abs=1e-6)
    assert detectable(0.0, 5, bar=0.01) == pytest.approx(0.01)


def test_without_noise_every_effect_shows_and_with_one_pair_none() -> None:
    assert (
        power(0.02, 0.0, 5, bar=0.01),
        power(0.005, 0.0, 5, bar=0.01),
        power(0.02, 0.03, 1),
    ) == (1, 0, 0)
    assert detectable(0.03, 1) is None


def test_the_limits_of_a_deviation_are_those_of_chi_square() -> None:
    from scipy.stats import chi2

    low, high = limits(0.03, 9)
    assert (low, high) == pytest.approx(
        (0.03 * sqrt(9 / chi2.ppf(0.9, 9)), 0.03 * sqrt(9 / chi2.ppf(0.1, 9)))
    )


# variation


def test_several_sessions_are_pooled_without_what_sessions_differ_by() -> None:
    sessions = [
        Measured.of(
            sample_profile(
                noisy(centre, 10, seed, 0.02),
                collected=Collected(str(seed), "2026-01-01", "2026-01-02", "x"),
            )
        )
        for seed, centre in enumerate((0.010, 0.020, 0.015))
    ]
    (one,) = spreads(sessions)
    assert one.df == 27
    assert not one.paired
    assert one.deviation == pytest.approx(0.02, rel=0.3)
    assert one.difference == pytest.approx(sqrt(2) * (one.deviation or 0))
    assert one.mean == pytest.approx(0.015, rel=0.03)


def test_pairs_that_were_measured_in_turns_leave_drift_out() -> None:
    drift = [0.01 * 1.05**block for block in range(10)]
    sides = [
        [base * factor for base, factor in zip(drift, noisy(1, 10, seed, 0.002), strict=True)]
        for seed in (1, 2)
    ]
    one = spreads([Measured.of(profile) for profile in interleaved(["a" * 40, "b" * 40], sides)])[0]
    assert one.paired
    assert one.df == 9
    assert (one.deviation or 0) > 0.1
    assert one.difference == pytest.approx(0.002 * sqrt(2), rel=0.5)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([0.01], "a single execution shows no spread"),
        ([nan, inf], "no execution has a usable value"),
        ([0.0, 0.0, 0.0], "its mean is 0"),
        ([1e-320, -1.0, 1.0], "its mean is 0 or nearly 0"),
    ],
)
def test_what_cannot_be_planned_is_said(values: Sequence[float], problem: str) -> None:
    (one,) = variations([sample_profile(values)])
    assert problem in one.problem
    assert one.difference is None
    assert options(one, survey_of(one), PlanRule()) == []
    assert finding(one, 10, PlanRule()) is None


def test_zeros_among_positive_values_are_planned_by_the_mean() -> None:
    (one,) = variations([sample_profile([0.0, 1.0, 2.0, 1.0, 0.0, 2.0])])
    assert one.problem == ""
    assert one.deviation == pytest.approx(sqrt(0.8))


def test_equal_values_need_the_fewest_executions() -> None:
    (one,) = variations([sample_profile([0.01] * 10)])
    assert one.deviation == 0
    assert [option.replicates for option in options(one, survey_of(one), PlanRule())] == [
        5,
        5,
        5,
        5,
    ]
    found = finding(one, 10, PlanRule())
    assert found is not None
    assert found.effect == pytest.approx(0.01)


def test_a_metric_that_repeats_exactly_needs_no_plan() -> None:
    (one,) = variations(
        [sample_profile([7.0] * 5, metrics={"wall": Metric("", kind="deterministic")})]
    )
    assert "a single execution" in one.problem


def test_nothing_gives_nothing() -> None:
    assert spreads([]) == []
    assert inside([{(0, 0): [1.0]}, {(0, 0): [2.0]}]) is None


# outliers


def spiky(count: int, seed: int = 1, spread: float = 0.02) -> list[float]:
    """Logarithms of which one in thirty is far off."""
    random = Random(seed)
    return [random.gauss(0, spread) + 0.4 * (random.random() < 1 / 30) for _ in range(count)]


def test_pairs_in_turns_vary_as_the_verdict_takes_them() -> None:
    from perfvcs.statistics.huber import paired

    gaps = [one - other for one, other in zip(spiky(40), spiky(40, 2), strict=True)]
    shift = paired([[0.0] * 40], [gaps])
    assert shift.drawn[0]
    assert in_turns([gaps]) == pytest.approx(40 * shift.difference.error[0] ** 2)
    assert (in_turns([gaps[:20], [value + 1 for value in gaps[20:]]]) or 0) == pytest.approx(
        in_turns([gaps]) or 0, rel=0.2
    )


def test_executions_alone_tell_the_same_as_pairs_in_turns() -> None:
    one, other = spiky(20_000), spiky(20_000, 2)
    pairs_ = [before - after for before, after in zip(one, other, strict=True)]
    expected = in_turns([pairs_]) or 0
    assert apart([one[:400], one[400:800], one[800:1200]]) == pytest.approx(expected, rel=0.2)
    assert apart([one]) == pytest.approx(expected, rel=0.05)
    assert expected < 0.2 * 2 * variance(one)


@pytest.mark.parametrize("spread", [1e-6, 0.02, 0.5])
def test_without_outliers_hardly_anything_is_drawn_in(spread: float) -> None:
    values = [Random(seed).gauss(0, spread) for seed in range(200)]
    assert apart([values]) == pytest.approx(2 * variance(values), rel=0.05)
    assert in_turns([values]) == pytest.approx(variance(values), rel=0.06)


@pytest.mark.parametrize("values", [[0.1, 0.2, 0.3], [0.1] * 9 + [0.5], []])
def test_few_values_and_mostly_equal_ones_keep_their_outliers(values: list[float]) -> None:
    assert apart([values]) is None
    assert in_turns([values]) is None


def test_outliers_cost_a_plan_little_from_eight_pairs_on() -> None:
    profile = sample_profile([0.01 * (1 + value) for value in spiky(60)])
    (one,) = variations([profile])
    assert one.drawn is not None
    assert one.drawn < 0.6 * (one.difference or 0)
    rule = PlanRule()
    assert (needed(one, 0.02, rule)[0] or 0) == pytest.approx(
        needed(msgspec.structs.replace(one, difference=one.drawn), 0.02, rule)[0] or 0
    )
    # as few as keep their outliers must find the effect in spite of them
    assert needed(one, 0.15, rule)[0] == 8
    assert (finding(one, 7, rule) or DetectableEffect(0, 0, 0)).effect > 2 * (
        finding(one, 8, rule) or DetectableEffect(0, 0, 0)
    ).effect


@pytest.mark.parametrize("noise", ["normal", "spiky"])
def test_a_plan_keeps_its_promise_through_the_verdict(noise: str) -> None:
    random = Random(7)

    def side(count: int, factor: float = 1.0) -> list[float]:
        draws = (
            spiky(count, random.randrange(10**9))
            if noise == "spiky"
            else [random.gauss(0, 0.03) for _ in range(count)]
        )
        return [0.01 * factor * exp(value) for value in draws]

    (one,) = spreads([Measured.of(sample_profile(side(20_000)))])
    count = needed(one, 0.05, PlanRule())[0] or 0
    found = 0
    for _ in range(300):
        old, new = interleaved(["a" * 40, "b" * 40], [side(count), side(count, 1.05)])
        for profile in (old, new):
            del profile.resources.metrics["cpu"], profile.metrics["cpu"]
        found += compare([old], [new]).changes[0].word == "degradation"
    assert found / 300 == pytest.approx(0.8, abs=0.07)


# inside executions


def test_the_levels_of_variance_are_distinguished() -> None:
    profile = nested(executions=200, measured=20, within=0.05, between=0.02)
    one = next(one for one in variations([profile]) if one.uid == "inner")
    assert one.inside is not None
    assert one.measurements == 20
    assert one.inside.within == pytest.approx(0.05, rel=0.1)
    assert one.inside.executions == pytest.approx(0.02, rel=0.2)
    assert one.inside.builds is None
    assert one.inside.warmup == 0
    assert one.inside.dependence == pytest.approx(-1 / 20, abs=0.03)


def test_the_impact_of_starting_again_has_its_control() -> None:
    profile = nested(executions=20, measured=40, within=0.01, between=0.1)
    seen = next(one for one in variations([profile]) if one.uid == "inner").inside
    assert seen is not None
    assert (seen.factor or 0) > 5
    assert seen.control == pytest.approx(1, abs=0.15)


def test_warm_up_is_found_and_left_out() -> None:
    seen = next(
        one
        for one in variations([nested(executions=8, measured=30, within=0.005, slow=4)])
        if one.uid == "inner"
    ).inside
    assert seen is not None
    assert seen.warmup == 4
    assert (seen.within or 1) < 0.01


def test_one_measurement_per_execution_has_no_inside() -> None:
    (one,) = variations([sample_profile(noisy(0.01))])
    assert one.inside is None
    assert measurements(one, survey_of(one)) is None


def test_measurements_that_follow_each_other_count_less() -> None:
    runs = {}
    random = Random(3)
    for execution in range(6):
        value, run = 0.0, []
        for _ in range(100):
            value = 0.8 * value + random.gauss(0, 0.01)
            run.append(1 + value)
        runs[0, execution] = run
    seen = inside([runs])
    assert seen is not None
    assert seen.dependence == pytest.approx(0.75, abs=0.1)
    assert seen.single(100) > 4 * (seen.within or 0) ** 2


@pytest.mark.parametrize("values", [[0.0, 0.0], [-1.0, 1.0]])
def test_measurements_around_zero_have_no_levels(values: list[float]) -> None:
    seen = inside([{(0, 0): values, (0, 1): values}])
    assert seen is not None
    assert seen.within is None
    assert seen.warmup == 0


# designs


def test_the_range_of_a_plan_narrows_with_what_is_stored() -> None:
    wide, narrow = (needed(known(0.03, df=df), 0.02, PlanRule()) for df in (4, 100))
    exact = needed(known(0.03), 0.02, PlanRule())
    assert None not in (*wide, *narrow, *exact)
    assert wide[1] < narrow[1] < narrow[2] < wide[2]  # type: ignore[operator]
    assert exact[0] == exact[1] == exact[2] or abs(exact[0] - exact[2]) <= 1  # type: ignore[operator]
    assert wide[0] > exact[0]  # type: ignore[operator]  # few executions promise nothing by themselves


def test_values_below_zero_are_planned_by_their_differences_as_they_are_judged() -> None:
    gains = [100 * value for value in noisy(0.01, 12, 3, 0.02)]
    (above,), (below,) = (
        variations([sample_profile([sign * value for value in gains])]) for sign in (1, -1)
    )
    assert below.mean == pytest.approx(-1, rel=0.02)
    assert below.difference == pytest.approx(above.difference, rel=0.02)
    assert needed(below, 0.05, PlanRule()) == needed(above, 0.05, PlanRule())


def memory(level: float, metric: str = "maxrss") -> Profile:
    rows = Resources(
        names=["job"],
        uid=[0] * 12,
        execution=list(range(12)),
        metrics={metric: noisy(level, 12, 3, 0.001)},
    )
    return sample_profile(resources=rows, metrics={metric: Metric("B")})


@pytest.mark.parametrize(
    ("metric", "level", "delta"),
    [("maxrss", 900e6, 0.02), ("maxrss", 10e6, 0.1), ("heap", 10e6, 0.01)],
)
def test_each_metric_is_planned_with_the_delta_that_it_is_judged_by(
    metric: str, level: float, delta: float
) -> None:
    (one,) = variations([memory(level, metric)])
    assert one.delta == pytest.approx(delta, rel=0.001)
    again = Collected("another", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "benchmark")
    other = msgspec.structs.replace(memory(level, metric), commit="b" * 40, collected=again)
    (change,) = compare([memory(level, metric)], [other]).changes
    assert change.delta == pytest.approx(one.delta, rel=1e-6)


def test_memory_is_planned_with_its_own_delta_unless_one_is_asked_for(
    project: Project, perf: Perf
) -> None:
    store(msgspec.structs.replace(memory(900e6), commit=project.commit()))
    (unit,) = perf("plan", "--json").document["jobs"][0]["units"]
    assert (unit["delta"], [option["delta"] for option in unit["options"]]) == (
        0.02,
        [0.005, 0.01, 0.02, 0.02],
    )
    assert "2 % is found only with --delta 1:" in perf("plan").out
    (unit,) = perf("plan", "--json", "--delta", "1").document["jobs"][0]["units"]
    assert (unit["delta"], [option["delta"] for option in unit["options"]]) == (
        0.01,
        [0.005, 0.01, 0.01, 0.01],
    )


def test_an_effect_near_delta_is_planned_with_a_smaller_one() -> None:
    assert PlanRule(0.01).below(0.01).delta == 0.005
    assert PlanRule(0.01).below(0.02).delta == 0.01
    assert PlanRule(0.05).below(0.02).delta == 0.01


def test_many_comparisons_ask_for_stronger_evidence() -> None:
    assert PlanRule(family=1).alpha == PlanRule(family=5).alpha == 0.01
    assert PlanRule(family=50).alpha == pytest.approx(0.001)
    few, many = (needed(known(0.03), 0.02, PlanRule(family=family))[0] or 0 for family in (1, 50))
    assert many > few


def test_the_best_number_of_measurements_is_the_published_one() -> None:
    one = next(
        one
        for one in variations([nested(executions=300, measured=20, within=0.04, between=0.02)])
        if one.uid == "inner"
    )
    # a start costs 10 measurements, 0.01 s; the median's pi / 2 included: sqrt(10 x pi/2 x .0016 /
    # .0004)
    assert measurements(one, survey_of(one)) == pytest.approx(sqrt(10 * 1.571 * 4), abs=1.5)
    option = options(one, survey_of(one), PlanRule(), [0.02])[0]
    assert option.best_measurements == measurements(one, survey_of(one))
    assert (option.best_replicates or 0) > (option.replicates or 0)
    assert (option.best_seconds or 1) < (option.seconds or 0)


def test_where_executions_do_not_differ_measuring_inside_is_all() -> None:
    one = next(
        one
        for one in variations([nested(executions=10, measured=5, within=0.2, between=0.0)])
        if one.uid == "inner"
    )
    assert measurements(one, survey_of(one)) in range(6, 21)


def test_costs_hold_starts_warm_up_and_builds() -> None:
    one = known(0.03)
    assert seconds(survey_of(one), 10, 1, 1) == pytest.approx(0.33)
    assert seconds(survey_of(one, binaries=3), 5, 1, 1) == pytest.approx(5 * (11 * 0.03 + 2))
    assert seconds(survey_of(one, cost=Cost()), 10, 1, 1) is None
    assert seconds(survey_of(one), None, 1, 1) is None


def test_with_several_builds_the_build_is_planned() -> None:
    profile = nested(executions=12, measured=5, within=0.01, between=0.01, builds=0.03, binaries=8)
    one = next(one for one in variations([profile]) if one.uid == "inner")
    assert one.df == 7
    assert one.replicates == 8
    assert one.deviation == pytest.approx(0.03, rel=0.5)
    assert one.inside is not None
    assert one.inside.builds == pytest.approx(0.03, rel=0.5)
    best = builds(one, survey_of(one, binaries=8))
    mean = sqrt((one.inside.executions or 0) ** 2 + one.inside.single(5) / 5)
    assert best == pytest.approx(sqrt(2.0 / 0.03) * mean / (one.inside.builds or 1), abs=0.51)
    assert builds(one, survey_of(one)) is None
    assert measurements(one, survey_of(one, binaries=8)) is None


@pytest.mark.parametrize(("within", "between", "of_builds"), [(0.01, 0.02, 0.01), (0.2, 0.0, 0.02)])
def test_the_best_executions_per_build_are_the_cheapest_precision(
    within: float, between: float, of_builds: float
) -> None:
    n = 5
    levels = Inside(within, between, of_builds, None, None, 0, None)
    one = known(0.03, inside=levels, measurements=n)

    def price(m: int) -> float:  # cost times variance of the mean, Kalibera 2006, eq. 18 and 19
        return (2.0 + 0.03 * m) * (of_builds**2 + (between**2 + pi / 2 * within**2 / n) / m)

    assert builds(one, survey_of(one, binaries=8)) == pytest.approx(
        min(range(1, 500), key=price), abs=1
    )


# perf plan


def test_the_plan_says_what_is_found_and_what_would_find_more(project: Project, perf: Perf) -> None:
    commits = [project.commit(name) for name in ("one", "two")]
    store(*interleaved(commits, [noisy(0.01, 20, seed, 0.02) for seed in (1, 2)]))
    out = perf("plan").out
    assert "20 executions of 1" in out
    assert "wall time" in out
    assert "CPU time" in out
    assert "one measurement per execution" in out
    assert "--delta 0.5" in out
    assert max(map(len, out.splitlines())) <= 80
    found = perf("plan", "--json").document
    (job,) = found["jobs"]
    wall = job["units"][0]
    assert wall["paired"]
    assert wall["pair_deviation"] == pytest.approx(0.028, rel=0.3)
    counts = [option["replicates"] for option in wall["options"]]
    assert counts == sorted(counts, reverse=True)
    assert wall["finds"]["low"] < wall["finds"]["effect"] < wall["finds"]["high"]


def test_a_program_that_reports_has_its_levels_in_words(project: Project, perf: Perf) -> None:
    commit = project.commit()
    store(nested(commit=commit, executions=12, measured=30, within=0.005, between=0.05, slow=3))
    out = perf("plan", "-v").out
    assert "within an execution" in out
    assert "impact factor" in out
    assert "the first 3 measurements" in out
    assert "one measurement per execution is enough" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_noise_inside_executions_asks_for_more_measurements(project: Project, perf: Perf) -> None:
    commit = project.commit()
    store(nested(commit=commit, executions=20, measured=4, within=0.2, between=0.0))
    out = perf("plan").flat
    assert "executions do not differ beyond their measurements" in out
    assert "measurements per execution instead of 4 would find 2 %" in out


def test_measurements_that_depend_on_each_other_are_reported(project: Project, perf: Perf) -> None:
    commit, random = project.commit(), Random(4)
    rows = Resources(names=["inner"], metrics={"wall": []})
    for execution in range(6):
        value = 0.0
        for _ in range(60):
            value = 0.9 * value + random.gauss(0, 0.01)
            rows.uid.append(0)
            rows.execution.append(execution)
            rows.metrics["wall"].append(1 + value)
    store(sample_profile(commit=commit, resources=rows, design=Design(executions=6)))
    assert "a measurement depends on the one before it" in perf("plan").flat


def test_builds_are_planned_as_builds(project: Project, perf: Perf) -> None:
    commit = project.commit()
    store(nested(commit=commit, executions=4, measured=3, binaries=6, builds=0.03))
    out = perf("plan").out
    assert "for each of 6 builds" in out
    assert "builds to find" in out
    assert "per build (now 4)" in " ".join(out.split())
    assert perf("plan", "--json").document["jobs"][0]["best_executions_per_build"] >= 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.01], "a single execution shows no spread"),
        ([0.01] * 6, "all values are equal"),
        ([0.0] * 6, "its mean is 0"),
        ([0.01, 0.011, 0.012], "a rough plan"),
    ],
)
def test_odd_data_are_a_plain_sentence(
    project: Project, perf: Perf, values: list[float], said: str
) -> None:
    commit = project.commit()
    store(sample_profile(values, commit=commit))
    assert said in perf("plan").flat
    assert perf("plan", "--json").document


def test_many_units_are_cut_and_many_comparisons_reported(project: Project, perf: Perf) -> None:
    commit, random = project.commit(), Random(5)
    rows = Resources(names=[f"unit {number}" for number in range(9)], metrics={"wall": []})
    for execution in range(6):
        for unit in range(9):
            rows.uid.append(unit)
            rows.execution.append(execution)
            rows.metrics["wall"].append(random.lognormvariate(0, 0.01))
    store(sample_profile(commit=commit, resources=rows))
    out = perf("plan").out
    assert "and 3 more units: perf plan -v" in out
    assert "9 comparisons at once" in out
    assert "unit 8:" in perf("plan", "-v").out


def test_without_profiles_the_cure_is_named(project: Project, perf: Perf) -> None:
    project.commit()
    Repository.find(create=True)
    said = perf("plan", code=4)
    assert "perf collect" in said.err
    assert said.err.count("\n") == 1


def test_a_job_that_is_not_stored_is_an_error_with_the_nearest(
    project: Project, perf: Perf
) -> None:
    commit = project.commit()
    store(sample_profile(commit=commit))
    assert "did you mean `sort`" in perf("plan", "-j", "srot", code=2).err
    assert "sort" in perf("plan", "-j", "sort").out


def test_what_has_no_process_row_is_priced_by_the_session(project: Project, perf: Perf) -> None:
    commit = project.commit()
    rows = Resources(
        names=["inner"], uid=[0] * 10, execution=list(range(10)), metrics={"wall": list(noisy(1.0))}
    )
    store(sample_profile(commit=commit, resources=rows, design=Design(executions=10)))
    assert perf("plan", "--json").document["jobs"][0]["cost"]["execution"] == pytest.approx(0.2)
    store(
        sample_profile(
            commit=commit,
            resources=rows,
            collected=Collected("s", "once", "later", "x"),
            design=Design(executions=10),
        )
    )
    assert "inner" in perf("plan").out


@pytest.mark.parametrize(
    "values",
    [
        [0.001, 0.1, 5.0],
        [1e-300, 1.1e-300, 1.2e-300] * 4,
        [1e300, 1.1e300, 1.2e300] * 4,
        [10.0**n for n in range(-90, 90)],
    ],
)
def test_whatever_is_stored_fits_the_terminal(
    project: Project, perf: Perf, values: list[float]
) -> None:
    commit = project.commit()
    store(sample_profile(values, commit=commit))
    assert max(map(len, perf("plan", "-v").out.splitlines())) <= 80


def test_hostile_names_are_harmless(project: Project, perf: Perf) -> None:
    commit, evil, random = project.commit(), "\x1b[31m\u202eevil\n" + "x" * 300, Random(6)
    rows = Resources(
        names=[evil, "\u65e5\u672c" * 30, "\u05d0\u05d1"], metrics={"wall": [], "rate": []}
    )
    for execution in range(10):
        for unit in range(3):
            rows.uid.append(unit)
            rows.execution.append(execution)
            rows.metrics["wall"].append(random.lognormvariate(0, 0.01))
            rows.metrics["rate"].append(random.lognormvariate(0, 0.05))
    metrics = {"wall": WALL, "rate": Metric("op/s", "higher")}
    jobs = [
        Job(name=name, collector="time", cmd="x") for name in (evil, "\u65e5\u672c" * 60, "j" * 300)
    ]
    store(
        *(sample_profile(commit=commit, resources=rows, metrics=metrics, job=job) for job in jobs)
    )
    for options_ in (["-v"], ["--json"]):
        assert not {"\x1b", "\u202e"}.intersection(perf("plan", *options_).out)
    assert max(map(len, perf("plan").out.splitlines())) <= 80


def test_fewer_executions_than_a_verdict_needs_find_nothing(project: Project, perf: Perf) -> None:
    commit = project.commit()
    store(sample_profile(noisy(0.01, 4), commit=commit))
    assert "4 executions a side settle nothing" in perf("plan").out
    (job,) = perf("plan", "--json").document["jobs"]
    assert job["units"][0]["finds"] is None


def test_a_job_without_any_value_says_so(project: Project, perf: Perf) -> None:
    commit = project.commit()
    store(sample_profile([None] * 6, commit=commit))  # type: ignore[list-item]
    assert "no execution has a value" in perf("plan").out


def test_the_times_of_a_unit_are_explained_once(project: Project, perf: Perf) -> None:
    commit = project.commit()
    profile = nested(commit=commit, executions=12, measured=30, within=0.005, between=0.05, slow=1)
    profile.resources.metrics["cpu"] = list(profile.resources.metrics["wall"])
    profile.metrics["cpu"] = Metric("s")
    store(profile)
    out = perf("plan").flat
    assert "inner, wall time: the first measurement of an execution is slower" in out
    assert "inner, CPU time:" not in out
    assert "inner, CPU time: impact factor" in perf("plan", "-v").flat


# executions = "auto"


@pytest.mark.parametrize(
    ("asked", "auto"),
    [("auto", AutoTable()), ({"find": "5 %", "most": 50}, AutoTable("5 %", 5, 50)), (7, None)],
)
def test_executions_may_be_planned(asked: object, auto: AutoTable | None) -> None:
    (cell,) = matrix(read({"job": [{"cmd": "a", "executions": asked}]}))
    assert cell.auto == auto
    assert cell.executions == (7 if asked == 7 else 10)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ({"executions": "ten"}, "'ten' is not known: give a whole number, \"auto\""),
        (
            {"executions": {"find": "2"}},
            "find: '2' is not a size of a change; write it like \"2%\"",
        ),
        ({"executions": {"find": "0%"}}, "is not a size of a change"),
        ({"executions": {"fnid": "2%"}}, "executions: there is no key `fnid`; did you mean `find`"),
        ({"executions": {"least": 9, "most": 3}}, "`least` is 9 and `most` 3"),
        ({"executions": "auto", "binaries": 3}, "perf plan"),
    ],
)
def test_a_wrong_plan_names_the_right_form(job: dict[str, object], message: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read({"job": [{"cmd": "a"} | job]})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def series(wall: Sequence[float], cpu: Sequence[float] | None = None) -> list[Measured]:
    rows = Resources(
        names=["sort"],
        uid=[0] * len(wall),
        execution=list(range(len(wall))),
        metrics={"wall": list(wall)},
    )
    metrics = {"wall": WALL}
    if cpu is not None:
        rows.metrics["cpu"] = list(cpu)
        metrics["cpu"] = Metric("s")
    return [Measured.of(sample_profile(resources=rows, metrics=metrics))]


def test_the_choice_finds_what_is_asked_for_between_least_and_most() -> None:
    wall = noisy(0.01, 20, spread=0.01)
    found = choose(series(wall), AutoTable())
    assert 5 < found.executions < 30
    assert found.reason.startswith("which find 2 % (wall time varies by")
    assert choose(series(wall), AutoTable("50%")).executions == 5
    capped = choose(series(wall), AutoTable("1%", most=12))
    assert capped.executions == 12
    assert "the most allowed: 1 % with --delta 0.5 would need" in capped.reason
    assert choose(series(wall), AutoTable("50%", least=8)).executions == 8


def test_steady_cpu_time_decides_where_it_is_nearly_all() -> None:
    wall, cpu = noisy(0.01, 20, spread=0.05), noisy(0.0099, 20, 2, spread=0.003)
    assert "CPU time" in choose(series(wall, cpu), AutoTable()).reason
    assert "wall time" in choose(series(wall, [value / 3 for value in cpu]), AutoTable()).reason


@pytest.mark.parametrize("values", [[], [0.01], [0.01, 0.011, 0.012]])
def test_where_too_little_is_stored_ten_are_taken(values: Sequence[float]) -> None:
    found = choose(series(values) if values else [], AutoTable())
    assert found.executions == 10
    assert "too little is stored" in found.reason


def test_what_repeats_exactly_needs_the_fewest() -> None:
    counts = sample_profile([7.0] * 6, metrics={"wall": Metric("", kind="deterministic")})
    assert choose([Measured.of(counts)], AutoTable(least=3)).executions == 3


def test_collect_plans_says_so_and_keeps_the_series(project: Project, perf: Perf) -> None:
    project.configure('cmd = "sh work.sh"\nexecutions = { find = "400%", least = 6, most = 6 }')
    project.commit("one", **{"work.sh": "true"})
    assert "work: 6 executions, since too little is stored" in perf("collect").err
    planned = perf("collect").err
    assert "work: 6 executions, " in planned
    assert "400 %" in planned
    perf("collect", "-n", "2")
    project.configure('cmd = "sh work.sh"\nexecutions = 3')
    perf("collect", "--committed")
    headers = Repository.find().index.headers()
    assert sorted(header.design.executions for header in headers) == [2, 3, 6, 6]
    assert len({header.job.key for header in headers}) == 1


def test_another_command_is_no_ground_for_a_plan(project: Project, perf: Perf) -> None:
    commit = project.commit("one", **{"work.sh": "true"})
    job = Job(name="work", collector="time", cmd="./other")
    store(
        sample_profile(
            noisy(0.01), commit=commit, job=job, resources=sample_profile(noisy(0.01)).resources
        )
    )
    project.configure('cmd = "sh work.sh"\nexecutions = "auto"')
    assert "too little is stored" in perf("collect").err


def test_a_unit_without_wall_time_is_planned_by_what_it_has() -> None:
    rows = Resources(
        names=["inner"],
        uid=[0] * 20,
        execution=list(range(20)),
        metrics={"rate": list(noisy(5.0, 20, spread=0.01))},
    )
    profile = sample_profile(resources=rows, metrics={"rate": Metric("op/s", "higher")})
    assert "inner: rate varies by" in choose([Measured.of(profile)], AutoTable()).reason


def test_a_fixed_number_beside_an_automatic_one_stays(project: Project, perf: Perf) -> None:
    two = (
        '[[job]]\nname = "fixed"\ncmd = "sh work.sh"\nexecutions = 2\n[[job]]\nname = "free"\ncmd ='
        ' "sh work.sh"\nexecutions = {}\n'
    )
    project.write("perf.toml", two)
    project.commit("one", **{"work.sh": "true"})
    assert "fixed:" not in perf("collect").err
    assert sorted(header.design.executions for header in Repository.find().index.headers()) == [
        2,
        10,
    ]


def test_no_plan_without_automatic_cells(project: Project) -> None:
    project.commit()
    cells = matrix(read({"job": [{"cmd": "a"}]}))
    assert planned(Repository.find(create=True), cells, "HEAD") == (cells, [])


# the seed of a block


def drawn(
    share: float,
    blocks: int,
    seed: int,
    *,
    versions: int = 2,
    drift: float = 0.0,
    place: float = 0.0,
    separate: bool = False,
) -> list[Profile]:
    """Versions that differ, in turns: the block's seed has this share of the variance of 2 %; the
    machine drifts, and places differ.
    """
    random = Random(seed)
    walls: list[list[float]] = [[] for _ in range(versions)]
    places: list[list[int]] = [[] for _ in range(versions)]
    machine = 0.0
    for block in range(blocks):
        own = random.gauss(0, 0.02 * sqrt(share))
        for turn, version in enumerate(turns(seed, block, [range(versions)])[0].versions):
            machine += random.gauss(0, drift)
            value = (
                0.1 * version
                + place * turn
                + machine
                + own
                + random.gauss(0, 0.02 * sqrt(1 - share))
            )
            walls[version].append(0.01 * exp(value))
            places[version].append(turn)
    found = interleaved(
        [f"{number:040x}" for number in range(versions)], walls, session=f"session{seed}"
    )
    numbers = [
        [1 + block + 1000 * version * separate for block in range(blocks)]
        for version in range(versions)
    ]
    return [
        msgspec.structs.replace(profile, turns=Turns(list(range(blocks)), turned, seeds))
        for profile, turned, seeds in zip(found, places, numbers, strict=True)
    ]


def seed_share(profiles: Sequence[Profile]) -> Share | None:
    return spreads([Measured.of(profile) for profile in profiles])[0].seed


@pytest.mark.parametrize("versions", [2, 3])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_the_seed_explains_what_neighbours_with_other_seeds_differ_by_more(
    share: float, versions: int
) -> None:
    found = [seed_share(drawn(share, 12, number, versions=versions)) for number in range(60)]
    inside = [one for one in found if one is not None and one.low <= share <= one.high]
    assert len([one for one in found if one is not None and one.blocks == 12]) == 60
    assert len(inside) >= 0.7 * 60, "the range holds it in four of five cases"
    several = [one for number in range(20) for one in drawn(share, 12, number, versions=versions)]
    pooled = seed_share(several)
    assert pooled is not None and pooled.blocks == 240
    assert pooled.share == pytest.approx(share, abs=0.12)


def test_drift_and_places_are_not_taken_for_the_seed() -> None:
    several = [one for number in range(20) for one in drawn(0.0, 20, number, drift=0.05, place=0.3)]
    found = seed_share(several)
    assert found is not None and found.share < 0.15
    assert (spreads([Measured.of(one) for one in several])[0].deviation or 0) > 0.08, (
        "although executions differ by it"
    )


@pytest.mark.parametrize(
    "profiles",
    [
        drawn(0.9, 4, 1),
        drawn(0.9, 20, 1, versions=1),
        drawn(0.9, 20, 1, separate=True),
        [msgspec.structs.replace(one, turns=None) for one in drawn(0.9, 20, 1)],
        drawn(0.9, 20, 1)[:1],
    ],
    ids=[
        "few blocks",
        "one version",
        "seeds of their own",
        "an older session",
        "the other version is gone",
    ],
)
def test_what_the_seed_explains_is_not_guessed(profiles: Sequence[Profile]) -> None:
    assert seed_share(profiles) is None


def test_blocks_that_are_missing_on_one_side_are_left_out() -> None:
    old, new = drawn(0.9, 12, 3)
    rows = new.resources
    kept = [row for row, number in enumerate(rows.execution) if number not in (4, 5)]
    part = replace(
        rows,
        uid=[rows.uid[row] for row in kept],
        execution=[rows.execution[row] for row in kept],
        metrics={name: [column[row] for row in kept] for name, column in rows.metrics.items()},
    )
    found = seed_share([old, msgspec.structs.replace(new, resources=part)])
    assert found is not None and found.blocks == 10


def test_the_plan_says_what_the_seed_explains(project: Project, perf: Perf) -> None:
    commits = [project.commit("one"), project.commit("two")]
    profiles = [
        msgspec.structs.replace(one, commit=commit)
        for one, commit in zip(drawn(0.97, 20, 1), commits, strict=True)
    ]
    store(*profiles)
    said = perf("plan").flat
    assert "wall time: the seed of a block explains 9" in said
    assert "; pairs that share it differ by 0." in said
    (job,) = perf("plan", "--json").document["jobs"]
    assert job["units"][0]["seed"]["low"] > 0.8
    assert job["units"][0]["seed"]["blocks"] == 20


def test_the_plan_says_that_it_does_not_know_what_the_seed_explains(
    project: Project, perf: Perf
) -> None:
    store(sample_profile(noisy(0.01, 10), commit=project.commit()))
    assert "seed" not in perf("plan").out
    said = perf("plan", "-v").flat
    assert (
        "how much the seed of a block explains is not known: it takes five blocks of two revisions"
        in said
    )


def test_a_bisection_does_not_say_how_a_project_is_measured(project: Project, perf: Perf) -> None:
    commits = [project.commit(f"version {number}") for number in range(3)]
    store(*interleaved(commits[1:], [noisy(0.01, 10), noisy(0.01, 10, 2)]))
    searched = "20261121T093000-5a1b22"
    store(*interleaved(commits, [noisy(0.01, 5, seed) for seed in (3, 4, 5)], searched))
    assert "10 executions of 10 ms; 2 sessions of it stored" in perf("plan").out
