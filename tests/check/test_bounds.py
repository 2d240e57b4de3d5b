"""What an open comparison settles all the same: its bound, `--within`, and a delta for each kind of
metric.
"""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from comparisons import STEADY, profile, verdict
from conftest import Perf, Project
from samples import interleaved, noisy
from scipy import stats

from perfvcs.check import Change, bounds, compare
from perfvcs.check.stopping import interim
from perfvcs.plan.design import reachable
from perfvcs.plan.variation import Variation
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.repository import Repository
from perfvcs.statistics.power import settled


def test_the_examples_hold() -> None:
    assert doctest.testmod(bounds).failed == 0


@pytest.mark.parametrize("back", [False, True])
def test_an_open_row_is_within_the_larger_side_of_its_interval(back: bool) -> None:
    sides = [side.tolist() for side in (STEADY[::-1] if back else STEADY)]
    # an interval of some percent, and one whose sides differ much: -41 to +43 %
    for spread in (1, 10):
        old, new = ([value * (value / 0.013) ** (spread - 1) for value in side] for side in sides)
        change = verdict(old, new)
        assert change.bound is not None and change.low is not None and change.high is not None
        assert change.bound == pytest.approx(max(-change.low, change.high))
        assert change.reason == f"the interval reaches beyond ±1 %; {bounds.within(change.bound)}"
        assert judged(old, new, within=change.bound * 1.0001).word == "same"
        assert judged(old, new, within=change.bound * 0.999).word == "inconclusive"


def judged(old: list[float], new: list[float], within: float | None) -> Change:
    (change,) = compare([profile(old)], [profile(new, 1)], within=within).changes
    assert change.within == within
    return change


def test_no_bound_is_stated_where_no_delta_would_settle_it() -> None:
    assert verdict([1.0, 1.1, 1.05], [1.0, 1.12, 1.04]).bound is None
    apart = [
        profile(side.tolist(), place, order="sequential", session=f"{place}")
        for place, side in enumerate(STEADY)
    ]
    assert verdict(*apart).bound is None
    assert verdict([0.003] * 10, [0.003] * 10).bound is None


@pytest.fixture
def measured(project: Project) -> list[str]:
    commits = [project.commit("one"), project.commit("two")]
    walls = [noisy(0.0131, seed=3, spread=0.015), noisy(0.0131, seed=4, spread=0.015)]
    Repository.find(create=True).store.add(interleaved(commits, walls), "test")
    return commits


def test_within_settles_what_lies_within_it_and_delta_keeps_its_meaning(
    measured: list[str], perf: Perf
) -> None:
    assert "within ±" in perf("check", *measured, "--strict", code=4).out
    assert "within ±" in perf("check", *measured, "--markdown").out
    perf("check", *measured, "--gate", code=4)
    said = perf("check", *measured, "--strict", "--gate", "--within", "5", code=0)
    assert "inconclusive" not in said.out
    changes = perf("check", *measured, "--json", "--within", "5").document["changes"]
    assert {(one["word"], one["delta"]) for one in changes} == {("same", 0.01)}
    assert all(one["reason"] == bounds.within(one["bound"]) for one in changes)
    perf("check", *measured, "--strict", "--within", "0.5", code=4)
    again = perf("check", *measured, "--json").document["changes"]
    # what is remembered is the report without it
    assert {one["word"] for one in again} == {"inconclusive"}


def test_within_settles_no_change(project: Project, perf: Perf) -> None:
    commits = [project.commit("one"), project.commit("two")]
    Repository.find(create=True).store.add(
        interleaved(commits, [noisy(0.0131), noisy(0.0136, seed=2)]), "test"
    )
    perf("check", *commits, "--within", "50", code=3)


def test_measuring_stops_when_all_lies_within() -> None:
    sides = [profile(STEADY[0].tolist())], [profile(STEADY[1].tolist(), 1)]
    assert interim(*sides, pairs=10).pairs == 11
    assert interim(*sides, pairs=10, within=0.05).pairs is None


def test_what_the_last_report_would_call_a_change_is_measured_on_however_wide_the_bound() -> None:
    random = np.random.default_rng(4)
    old, new = np.exp(random.normal(0, 0.01, 10)), np.exp(random.normal(0.0125, 0.01, 10))
    sides = [profile(old.tolist())], [profile(new.tolist(), 1)]
    (change,) = compare(*sides, within=0.1, alpha=0.001).changes
    assert change.word == "same" and change.p is not None and 0.001 < change.p < 0.01
    assert compare(*sides, within=0.1).changes[0].word == "degradation"
    assert interim(*sides, pairs=10, within=0.1).pairs == 11
    assert interim(*sides, pairs=10, most=10, within=0.1).pairs is None


def resident(metric: str, unit: str, level: float, shift: float = 0.0, side: int = 0) -> Profile:
    values = (level * (1 + np.random.default_rng(side).normal(0, 1e-4, 12)) + shift).tolist()
    rows = Resources(
        names=["sort"], uid=[0] * 12, execution=list(range(12)), metrics={metric: values}
    )
    return profile([], side, metrics={metric: Metric(unit)}, resources=rows)


@pytest.mark.parametrize(
    ("metric", "unit", "level", "shift", "word"),
    [
        ("maxrss", "B", 9e6, 150e3, "same"),  # 1.7 %: an interpreter's own 150 kB
        ("maxrss", "B", 9e6, 900e3, "same"),  # 10 %, and less than 1 MB
        ("maxrss", "B", 9e6, 1.3e6, "degradation"),
        ("maxrss", "B", 900e6, 10e6, "same"),  # 1.1 %
        ("maxrss", "B", 900e6, 30e6, "degradation"),
        ("minor_faults", "", 2000, 200, "same"),
        ("minor_faults", "", 2000, 400, "degradation"),
        # what a program reports of itself has the usual delta
        ("heap", "B", 9e6, 150e3, "degradation"),
    ],
)
def test_memory_and_faults_have_a_delta_of_their_own(
    metric: str, unit: str, level: float, shift: float, word: str
) -> None:
    (change,) = compare(
        [resident(metric, unit, level)], [resident(metric, unit, level, shift, 1)]
    ).changes
    assert change.word == word


def test_a_delta_that_is_asked_for_wins() -> None:
    sides = [resident("maxrss", "B", 9e6)], [resident("maxrss", "B", 9e6, 150e3, 1)]
    (change,) = compare(*sides, delta=0.01).changes
    assert (change.word, change.delta) == ("degradation", 0.01)
    (change,) = compare(*sides, method="log-median").changes
    assert change.word == "same"


@pytest.mark.parametrize("pairs", [5, 10, 30])
def test_a_reachable_delta_settles_four_of_five_equal_comparisons(pairs: int) -> None:
    rng = np.random.default_rng(pairs)
    gaps = rng.normal(0, 0.02, (20_000, pairs))
    half = stats.t.ppf(0.995, pairs - 1) * gaps.std(axis=1, ddof=1) / np.sqrt(pairs)
    bound = settled(0.02, pairs)
    assert np.mean(np.abs(gaps.mean(axis=1)) + half <= bound) == pytest.approx(0.8, abs=0.01)
    assert settled(0.02, 1) is None
    assert reachable(
        Variation("sort", None, "wall", "s", deviation=0.01, difference=0.02, df=100_000), pairs
    ) == pytest.approx(np.expm1(bound or 0), rel=1e-3)
    assert reachable(Variation("sort", None, "wall", "s"), pairs) is None


@pytest.mark.usefixtures("measured")
def test_perf_plan_proposes_a_delta_that_the_machine_reaches(perf: Perf) -> None:
    (job,) = perf("plan", "--json").document["jobs"]
    reached = max(unit["settles"] for unit in job["units"])
    line = next(
        line
        for line in perf("plan").out.splitlines()
        if "executions of equal versions settle" in line
    )
    assert f"±{np.ceil(1000 * reached) / 10:g} %" in line
