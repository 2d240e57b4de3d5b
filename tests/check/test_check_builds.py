"""Repeated builds: executions of one build resemble each other, so builds are what is
replicated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from comparisons import NEW, OLD, profile
from conftest import Project, Said
from numpy.typing import NDArray
from samples import sample_profile
from scipy import stats

from perfvcs.check import Change, compare
from perfvcs.check.stopping import interim
from perfvcs.profile import Metric, Profile, Resources
from perfvcs.profile.summary import Summary, summarise
from perfvcs.repository import Repository


def built(
    values: NDArray[np.float64], side: int = 0, *, nested: bool = False, **overrides: Any
) -> Profile:
    """One side whose ``values`` have the shape (builds, executions), executed in turns: build 0, 1,
    2, 0, 1, ...
    """
    builds, executions = values.shape
    numbers = [place // builds if nested else place for place in range(values.size)]
    rows = Resources(
        names=["sort"],
        uid=[0] * values.size,
        execution=numbers,
        binary=list(range(builds)) * executions,
        metrics={"wall": values.T.ravel().tolist()},
    )
    return profile([], side, resources=rows, **overrides)


def judged(old: Profile, new: Profile, **options: Any) -> Change:
    (change,) = compare([old], [new], **options).changes
    return change


def drawn(
    seed: int, builds: int = 6, executions: int = 5, between: float = 0.03, within: float = 0.005
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return 0.01 * np.exp(
        rng.normal(0, between, (2, builds, 1)) + rng.normal(0, within, (2, builds, executions))
    )


@pytest.mark.parametrize("nested", [False, True])
def test_pairs_are_builds_with_the_mean_of_their_executions(nested: bool) -> None:
    sides = drawn(1) * np.array([1, 1.3])[:, None, None]
    change = judged(built(sides[0], nested=nested), built(sides[1], 1, nested=nested))
    means = np.log(sides).mean(axis=2)
    expected = stats.ttest_rel(means[1], means[0])
    low, high = np.expm1(expected.confidence_interval(0.99))
    assert (change.p, change.low, change.high) == (
        pytest.approx(expected.pvalue),
        pytest.approx(low),
        pytest.approx(high),
    )
    assert change.permutation_p == pytest.approx(2 / 2**6)
    assert (change.word, change.builds, change.executions) == ("degradation", (6, 6), (30, 30))
    assert (change.baseline, change.target) == tuple(
        pytest.approx(np.exp(side.mean())) for side in means
    )


def test_apart_builds_are_compared_by_welch_on_the_means_of_builds() -> None:
    sides = drawn(2, builds=7)
    change = judged(
        built(sides[0], order="sequential", session="a"),
        built(sides[1][:5], 1, order="sequential", session="b"),
    )
    means = [np.log(sides[0]).mean(axis=1), np.log(sides[1][:5]).mean(axis=1)]
    expected = stats.ttest_ind(means[1], means[0], equal_var=False)
    assert (change.p, change.builds) == (pytest.approx(expected.pvalue), (7, 5))


@pytest.mark.simulation
def test_equal_versions_whose_builds_differ_raise_few_alarms_where_executions_alone_raise_many() -> (
    None
):
    naive = wrong = 0
    for seed in range(200):
        old, new = drawn(100 + seed, executions=4)
        wrong += judged(built(old), built(new, 1)).word in ("degradation", "improvement")
        flat = profile(old.T.ravel().tolist()), profile(new.T.ravel().tolist(), 1)
        naive += judged(*flat).word in ("degradation", "improvement")
    assert wrong <= 5
    assert naive >= 20


@pytest.mark.parametrize(("builds", "word"), [(2, "inconclusive"), (4, "suspected")])
def test_fewer_than_five_builds_settle_nothing_however_many_executions(
    builds: int, word: str
) -> None:
    sides = drawn(3, builds=builds, executions=20, between=0.01) * np.array([1, 2])[:, None, None]
    sides[1, 0] *= 1.5 if builds == 2 else 1
    change = judged(built(sides[0]), built(sides[1], 1))
    assert (change.word, change.reason) == (
        word,
        f"only {builds} builds a side: at least 5, better 10",
    )
    assert interim([built(sides[0])], [built(sides[1], 1)], pairs=10).pairs is None


def test_more_pairs_are_asked_for_while_builds_are_enough() -> None:
    sides = drawn(4, builds=5, executions=1)
    assert interim([built(sides[0])], [built(sides[1], 1)], pairs=5).pairs == 6


def test_one_build_against_several_has_no_spread() -> None:
    sides = drawn(5)
    old = profile(sides[0].ravel().tolist(), order="sequential", session="a")
    change = judged(old, built(sides[1], 1, order="sequential", session="b"))
    assert (change.word, change.reason, change.builds) == (
        "inconclusive",
        "a single build has no spread: at least 5, better 10",
        (1, 6),
    )


def test_a_single_build_is_judged_by_its_executions_whatever_its_number() -> None:
    values = drawn(6, builds=1, executions=10)
    plain = judged(profile(values[0, 0].tolist()), profile(values[1, 0].tolist(), 1))
    third = built(values[1], 1)
    third.resources.binary = [3] * 10
    assert judged(built(values[0]), third) == plain
    assert plain.builds is None


def test_sessions_of_one_build_count_as_one_build_beside_a_session_of_several() -> None:
    sides = drawn(7) * np.array([1, 1.3])[:, None, None]
    old = [built(sides[0]), profile(sides[0, 0].tolist(), session="s2")]
    new = [built(sides[1], 1), profile(sides[1, 0].tolist(), 1, session="s2")]
    (change,) = compare(old, new).changes
    assert (change.builds, change.executions) == ((7, 7), (35, 35))


@pytest.mark.parametrize("value", [0.0, 0.1, 3.7])
def test_equal_values_in_every_build_are_the_same(value: float) -> None:
    sides = np.full((7, 3), value)
    assert (
        judged(built(sides, metric=Metric("B")), built(sides, 1, metric=Metric("B"))).word == "same"
    )


def test_zeros_are_averaged_per_build_on_the_raw_scale() -> None:
    sides = drawn(8)
    sides[:, 0, 0] = 0
    sides[1] *= 2
    change = judged(built(sides[0]), built(sides[1], 1))
    means = sides.mean(axis=2) / sides[0].mean()
    assert change.p == pytest.approx(stats.ttest_rel(means[1], means[0]).pvalue)


def test_exact_metrics_do_not_mind_builds() -> None:
    count = Metric("count", kind="deterministic")
    change = judged(
        built(np.full((3, 2), 100.0), metric=count), built(np.full((3, 2), 101.0), 1, metric=count)
    )
    assert (change.word, change.builds) == ("degradation", None)


def test_summaries_keep_builds_apart_and_the_index_keeps_them(project: Project) -> None:
    commits = [project.commit("one"), project.commit("two")]
    values = drawn(9, builds=2, executions=2)
    nested = built(values[0], commit=commits[0], nested=True)
    assert summarise(nested) == [
        Summary(
            "sort", None, "wall", (0, 0, 1, 1), tuple(values[0].T.ravel().tolist()), (0, 1, 0, 1)
        )
    ]
    plain = sample_profile(commit=commits[1])
    repository = Repository.find(create=True)
    repository.store.add([nested, plain], "test")
    assert [one.summaries for one in repository.index.measured(commits)] == [
        summarise(nested),
        summarise(plain),
    ]
    assert {OLD, NEW}.isdisjoint(commits)


def test_measuring_stops_at_the_first_look_when_two_builds_can_settle_nothing(
    project: Project, perf: Callable[..., Said]
) -> None:
    project.configure('cmd = "true"\nbinaries = 2', top='build = ["true"]')
    commits = [project.commit("one"), project.commit("two")]
    said = perf("check", "--measure", *commits, code=None)
    assert "only 2 builds a side: at least 5, better 10" in said.flat
    assert [header.design.executions for header in Repository.find().index.headers(commits)] == [
        5,
        5,
    ]
