"""Which measurements are compared with which, and what is new, missing or not comparable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparisons import NEW, OLD, STEADY, profile, verdict

from perfvcs.check import compare
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources

OLD_VALUES, NEW_VALUES = STEADY[0].tolist(), (STEADY[1] * 1.1).tolist()


def job(**changes: Any) -> Job:
    return Job(
        **({"name": "sort", "collector": "time", "cmd": "./sort", "engine": "launcher/1"} | changes)
    )


def environment(**fields: str) -> Environment:
    return Environment(fields=fields, fingerprint="".join(fields.values())[:12])


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ({"job": job(cmd="./a")}, {"job": job(cmd="./b")}, "cmd './a' -> './b'"),
        ({}, {"job": job(engine="wait4/1")}, "engine launcher/1 -> wait4/1"),
        ({"job": job(engine="")}, {}, "engine - -> launcher/1"),
        (
            {"job": job(source={"bench/run.py": "1"})},
            {"job": job(source={"bench/run.py": "2"})},
            "bench/run.py changed (add it to overlay)",
        ),
        (
            {},
            {"job": job(source={"bench/run.py": "2"})},
            "bench/run.py is only on one side (add it to overlay)",
        ),
        (
            {"job": job(options={"repeat": 1})},
            {"job": job(options={"repeat": 2})},
            "option repeat 1 -> 2",
        ),
        (
            {"environment": environment(kernel="6.1.0")},
            {"environment": environment(kernel="6.5.2")},
            "kernel 6.1.0 -> 6.5.2",
        ),
        (
            {"environment": environment(cpu="A", libc="1")},
            {"environment": environment(cpu="B", libc="1", python="3.12")},
            "cpu A -> B; python - -> 3.12",
        ),
    ],
)
def test_what_differs_is_named(old: dict[str, Any], new: dict[str, Any], reason: str) -> None:
    change = verdict(profile(OLD_VALUES, **old), profile(NEW_VALUES, 1, **new))
    assert (change.word, change.reason, change.effect) == ("not comparable", reason, None)


def test_units_of_incomparable_sides_are_listed_once() -> None:
    old = profile({"a": OLD_VALUES, "gone": OLD_VALUES}, environment=environment(kernel="1"))
    new = profile({"a": OLD_VALUES, "fresh": OLD_VALUES}, 1, environment=environment(kernel="2"))
    changes = compare([old], [new]).changes
    assert sorted(change.uid for change in changes) == ["a", "fresh", "gone"]
    assert {change.word for change in changes} == {"not comparable"}


def test_only_one_side_is_new_or_missing() -> None:
    other = job(name="other")
    report = compare([profile(OLD_VALUES)], [profile(NEW_VALUES, 1, job=other)])
    assert [(change.job, change.word) for change in report.changes] == [
        ("other", "new"),
        ("sort", "missing"),
    ]
    assert [change.word for change in compare([], [profile(NEW_VALUES)]).changes] == ["new"]
    assert [change.word for change in compare([profile(NEW_VALUES)], []).changes] == ["missing"]


def test_parameters_workloads_and_sizes_keep_benchmarks_apart() -> None:
    old = [
        profile(OLD_VALUES, job=job(params={"n": 10})),
        profile(OLD_VALUES, job=job(workload="a")),
    ]
    new = [
        profile(NEW_VALUES, 1, job=job(params={"n": 20})),
        profile(NEW_VALUES, 1, job=job(workload="a")),
    ]
    report = compare(old, new)
    assert [(change.job, change.word) for change in report.changes] == [
        ("sort a", "degradation"),
        ("sort n=20", "new"),
        ("sort n=10", "missing"),
    ]
    rows = Resources(
        names=["f"], uid=[0, 0], execution=[0, 0], size=[1.0, 2.0], metrics={"wall": [1.0, 2.0]}
    )
    other = Resources(
        names=["f"], uid=[0, 0], execution=[0, 0], size=[2.0, 3.0], metrics={"wall": [1.0, 2.0]}
    )
    changes = compare([profile([], resources=rows)], [profile([], 1, resources=other)]).changes
    assert [(change.size, change.word) for change in changes] == [
        (2, "inconclusive"),
        (3, "new"),
        (1, "missing"),
    ]


@pytest.mark.parametrize(
    ("was", "now", "reason"),
    [
        (Metric("s"), Metric("B"), "unit s -> B"),
        (Metric("s"), Metric("s", better="higher"), "better lower -> higher"),
        (
            Metric(""),
            Metric("s", kind="deterministic"),
            "unit - -> s; kind sampled -> deterministic",
        ),
    ],
)
def test_a_redefined_metric_is_not_comparable(was: Metric, now: Metric, reason: str) -> None:
    change = verdict(profile(OLD_VALUES, metric=was), profile(NEW_VALUES, 1, metric=now))
    assert (change.word, change.reason) == ("not comparable", reason)


def test_pairs_are_equal_executions_of_one_session_pooled_over_sessions() -> None:
    drift = np.exp(np.linspace(0, 1, 10))
    old = [profile((STEADY[0] * drift).tolist()), profile((STEADY[0] * 7).tolist(), session="s2")]
    new = [
        profile((STEADY[1] * 1.1 * drift).tolist()[:8], 1),
        profile((STEADY[1] * 7.7).tolist(), 1, session="s2"),
    ]
    (change,) = compare(old, new).changes
    assert (change.word, change.paired, change.executions) == ("degradation", True, (18, 18))
    assert change.effect == pytest.approx(0.1, abs=0.03)


def test_sessions_that_held_both_sides_are_preferred() -> None:
    apart = profile([value * 9 for value in OLD_VALUES], session="early", order="sequential")
    (change,) = compare([apart, profile(OLD_VALUES)], [profile(NEW_VALUES, 1)]).changes
    assert (change.paired, change.executions) == (True, (10, 10))


def test_equal_environments_are_compared_when_a_side_has_several() -> None:
    before, after = environment(kernel="6.1"), environment(kernel="6.5")
    old = [profile(OLD_VALUES, environment=before, session="a", order="sequential")]
    new = [
        profile(
            [value * 5 for value in NEW_VALUES],
            1,
            environment=after,
            session="c",
            order="sequential",
        ),
        profile(NEW_VALUES, 1, environment=before, session="b", order="sequential"),
    ]
    (change,) = compare(old, new).changes
    assert (change.word, change.executions) == ("suspected", (10, 10))
    assert change.effect == pytest.approx(0.1, abs=0.03)


def aa() -> list[Profile]:
    design = Design(executions=10, order="interleaved", versions=[OLD, OLD])
    return [
        profile(OLD_VALUES, design=design),
        profile(
            STEADY[1].tolist(),
            1,
            commit=OLD,
            design=Design(executions=10, order="interleaved", version=1, versions=[OLD, OLD]),
        ),
    ]


def test_a_revision_is_compared_with_itself_through_an_aa_measurement() -> None:
    both = aa()
    expected = compare(both[:1], both[1:]).changes
    assert expected[0].paired
    assert compare(both, both).changes == expected
    assert compare(both[1:], both[:1]).changes[0].effect == pytest.approx(
        1 / (1 + (expected[0].effect or 0)) - 1
    )
    assert compare(both, both[:1]).changes[0].paired


def test_one_measurement_is_never_compared_with_itself() -> None:
    one = [profile(OLD_VALUES)]
    (change,) = compare(one, one).changes
    assert (change.word, change.paired) == ("not comparable", False)
    assert "A/A" in change.reason
    more = [*one, profile(NEW_VALUES, session="s2", order="sequential")]
    (change,) = compare(more, one).changes
    assert change.executions == (10, 10)
    assert change.effect == pytest.approx(-0.09, abs=0.03)


def test_dirty_sides_are_compared() -> None:
    assert (
        verdict(profile(OLD_VALUES), profile(NEW_VALUES, 1, dirty="a" * 64, commit=NEW)).word
        == "degradation"
    )
