"""One metric in several units: what is compared, shown and followed is the same whatever prefix it
was written with.
"""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest
from cases import each
from comparisons import STEADY, profile, verdict
from conftest import Perf, Project
from histories import grow, measured, printed, stepped, store
from hypothesis import given
from hypothesis import strategies as st
from samples import noisy, sample_profile

from perfvcs.check import compare, earlier_sessions
from perfvcs.profile import Collected, Metric, Profile
from perfvcs.profile import units as module
from perfvcs.profile.summary import Measured
from perfvcs.profile.units import base, in_base_units, is_read
from perfvcs.repository import Repository

MS = Metric("ms")
SLOWER = (STEADY[1] * 1.1).tolist()


def in_ms(values: list[float]) -> list[float]:
    return [1000 * value for value in values]


def test_the_examples_hold() -> None:
    assert doctest.testmod(module).failed == 0


@each(
    "unit plain factor",
    [
        ("ms", "s", 1e-3),
        ("µs", "s", 1e-6),
        ("μs", "s", 1e-6),
        ("min", "s", 60),
        ("h", "s", 3600),
        ("MiB", "B", 1 << 20),
        ("kB", "B", 1000),
        ("Mbit/s", "bit/s", 1e6),
        ("ns/op", "s/op", 1e-9),
        ("kops/s", "ops/s", 1000),
        ("GHz", "Hz", 1e9),
        ("1/ms", "1/s", 1000),
        ("mJ", "J", 1e-3),
        ("ms/request", "s/request", 1e-3),
        ("s", "s", 1),
        ("", "", 1),
    ],
)
def test_a_prefix_becomes_a_factor(unit: str, plain: str, factor: float) -> None:
    found = base(unit)
    assert (found.unit, found.times / found.over) == (plain, pytest.approx(factor, rel=1e-15))


@each(
    "unit",
    [
        "KB",
        "cycles",
        "%",
        "faults",
        "frames/ms2",
        "m",
        "k",
        "/",
        "ms/",
        "Ms",
        "mB",
        "s" * 10_000,
        "\x1b",
    ],
)
def test_what_is_ambiguous_or_unknown_is_left_alone(unit: str) -> None:
    assert base(unit).times == base(unit).over == 1


@given(st.text(max_size=12))
def test_no_unit_is_converted_twice(unit: str) -> None:
    once = base(unit)
    assert base(once.unit) == (once.unit, 1, 1)
    assert is_read(unit) == is_read(once.unit)


def test_ms_on_one_side_and_s_on_the_other_are_compared() -> None:
    plain = verdict(STEADY[0].tolist(), SLOWER)
    mixed = verdict(profile(in_ms(STEADY[0].tolist()), metric=MS), profile(SLOWER, 1))
    assert (mixed.word, mixed.unit, mixed.baseline) == (
        "degradation",
        "s",
        pytest.approx(plain.baseline),
    )
    assert (mixed.effect, mixed.low, mixed.p) == (
        pytest.approx(plain.effect),
        pytest.approx(plain.low),
        pytest.approx(plain.p),
    )


@pytest.mark.parametrize(
    "method", ["student", "t-test", "ks", "clusters", "average-amount", "absolute-error"]
)
def test_methods_that_open_the_rows_see_the_same_unit(method: str) -> None:
    mixed = verdict(
        profile(in_ms(STEADY[0].tolist()), metric=MS), profile(SLOWER, 1), method=method
    )
    plain = verdict(STEADY[0].tolist(), SLOWER, method=method)
    assert (mixed.word, mixed.effect) == (
        plain.word,
        plain.effect if plain.effect is None else pytest.approx(plain.effect),
    )


def test_sessions_of_one_side_may_differ_in_their_unit() -> None:
    old = [profile(STEADY[0].tolist()), profile(in_ms(STEADY[0].tolist()), session="s2", metric=MS)]
    new = [profile(SLOWER, 1), profile(in_ms(SLOWER), 1, session="s2", metric=MS)]
    (change,) = compare(old, new).changes
    assert (change.executions, change.effect) == (
        (20, 20),
        pytest.approx(verdict(STEADY[0].tolist(), SLOWER).effect),
    )


def test_a_session_whose_metric_meant_something_else_does_not_count() -> None:
    other = Metric("s", better="higher")
    early = {
        "session": "s0",
        "metric": other,
        "collected": Collected("s0", "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", "test"),
    }
    old = [profile(STEADY[0].tolist(), **early), profile(STEADY[0].tolist())]
    new = [profile(SLOWER, 1, **early), profile(SLOWER, 1)]
    (change,) = compare(old, new).changes
    assert (change.word, change.better, change.executions) == ("degradation", "lower", (10, 10))


def sessions(*parts: tuple[Metric, float]) -> list[Profile]:
    """A session of its own for each, on commits of their own."""
    return [
        sample_profile(
            [level, level * 1.001],
            commit=f"{number:040}",
            metrics={"wall": metric},
            collected=Collected(
                f"s{number}", f"2026-01-{number + 1:02}T00:00:00Z", "2026-02-01T00:00:00Z", "test"
            ),
        )
        for number, (metric, level) in enumerate(parts)
    ]


def test_a_past_survives_another_prefix_and_begins_anew_with_another_direction() -> None:
    seconds, reversed_ = Metric("s"), Metric("s", better="higher")
    ((_, past),) = earlier_sessions(
        map(Measured.of, sessions((seconds, 0.01), (MS, 10.0), (seconds, 0.01)))
    ).items()
    assert past.means == pytest.approx([past.means[0]] * 3)
    ((_, past),) = earlier_sessions(
        map(Measured.of, sessions((seconds, 0.01), (seconds, 0.01), (reversed_, 0.03)))
    ).items()
    assert len(past.means) == len(past.commits) == 1


@pytest.mark.parametrize("value", [5e-324, -0.0, 1.7e308, None, 1e300])
def test_extreme_values_stay_readable(value: float | None) -> None:
    found = in_base_units(profile([value], metric=Metric("h"))).resources.metrics["wall"][0]
    assert found is None if value is None else found == value * 3600


def test_a_history_goes_on_where_the_unit_changes_half_way(project: Project, perf: Perf) -> None:
    commits = grow(project, 40)
    levels = stepped(40, 25)
    store(
        *measured(commits[:20], [1000 * level for level in levels[:20]], metrics={"wall": MS}),
        *measured(commits[20:], levels[20:], seed=2),
    )
    found = printed(perf)
    ((series,),) = [{(one["metric"], one["unit"]) for one in found["findings"]}]
    assert series == ("wall", "s")
    assert [one["commit"] for one in found["findings"]] == [commits[25]]


def test_two_tables_in_different_units_are_one_benchmark(project: Project, perf: Perf) -> None:
    commits = [project.commit("one"), project.commit("two")]
    sides = noisy(0.0131, seed=1), noisy(0.0131 * 1.1, seed=2)
    for name, column, values in (
        ("old", "wall [ms]", in_ms(sides[0])),
        ("new", "wall [s]", sides[1]),
    ):
        Path(f"{name}.csv").write_text(
            f"uid,run,{column}\n"
            + "".join(f"sort,{run},{value}\n" for run, value in enumerate(values))
        )
    both = [part for commit in commits for part in ("--commit", commit)]
    perf("import", "old.csv", "new.csv", *both, "--name", "weekly", "--in-turns")
    said = perf("check", *commits, code=3)
    assert "13.1" in said.out and "14.4" in said.out and " ms" in said.out
    (change,) = perf("check", *commits, "--json", code=3).document["changes"]
    assert (change["word"], change["unit"]) == ("degradation", "s")
    stored = Repository.find()
    assert {
        one.metrics["wall"].unit for _, one in stored.store.read_many(stored.store.paths())
    } == {"s", "ms"}
