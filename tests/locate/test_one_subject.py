"""`perf check`, `blame`, `bisect` and `history` choose one benchmark where nobody names any."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from conftest import Perf, Project
from histories import store
from msgspec import structs
from samples import interleaved, noisy

from perfvcs.jobs import matrix
from perfvcs.jobs.config import load
from perfvcs.locate.blame.gauge import moved
from perfvcs.profile import Collected, Job, Metric, Profile, Resources
from perfvcs.profile.benchmarkfilter import EVERYTHING
from perfvcs.repository import Repository
from perfvcs.repository.lastreport import last_report
from perfvcs.repository.state import State

Levels = Mapping[str, float]
METRICS = {
    "wall": Metric("s"),
    "cpu": Metric("s"),
    "peak": Metric("B", "lower"),
    "instructions": Metric("1", "lower", "deterministic"),
}
JOB = Job(name="work", collector="time", cmd="sh work.sh", engine="launcher/1")


def unit(seconds: float, **others: float) -> Levels:
    return {"wall": seconds, "cpu": 0.9 * seconds, "peak": 1e6, "instructions": 1e6} | others


def slower(seconds: float, factor: float) -> tuple[Levels, Levels]:
    """A unit, and what it becomes with its work."""
    return unit(seconds), unit(factor * seconds, instructions=factor * 1e6)


QUIET = slower(0.05, 1)
TINY = slower(1e-6, 6)  # by far the largest effect, and nothing beside the others
BELOW = unit(10.0), unit(10.03)
MEMORY = unit(1e-4), unit(1e-4, peak=4e6)
COUNT = unit(1e-3), unit(1e-3, instructions=3e6)
FASTER = slower(5.0, 0.4)
LARGE = slower(0.1, 1.1)
SCENARIOS = {
    "time": ({"quiet": QUIET, "tiny": TINY, "large": LARGE, "below": BELOW}, "large"),
    "memory": ({"below": BELOW, "tiny": TINY, "memory": MEMORY}, "memory"),
    "count": ({"tiny": TINY, "count": COUNT, "below": BELOW, "memory": MEMORY}, "count"),
    "faster": ({"faster": FASTER, "tiny": TINY, "quiet": QUIET}, "tiny"),
    "accepted": ({"accepted": slower(1.0, 1.5), "tiny": TINY, "large": LARGE}, "large"),
    "accepted alone": ({"below": BELOW, "accepted": slower(1.0, 1.5), "quiet": QUIET}, "accepted"),
}


def profiles(commits: tuple[str, ...], units: Mapping[str, tuple[Levels, Levels]]) -> list[Profile]:
    """One session of two commits, of a job with these units before and after."""
    found = []
    for side, one in enumerate(interleaved(commits, [noisy(0.01)] * 2)):
        rows = Resources(
            names=list(units),
            uid=[place for place in range(len(units)) for _ in range(10)],
            execution=list(range(10)) * len(units),
            metrics={
                metric: [
                    value
                    for place, levels in enumerate(units.values())
                    for value in values(levels[side][metric], metric, 10 * place + side)
                ]
                for metric in METRICS
            },
        )
        found.append(structs.replace(one, job=JOB, resources=rows, metrics=METRICS))
    return found


def values(level: float, metric: str, seed: int) -> list[float]:
    return [level] * 10 if metric == "instructions" else noisy(level, seed=seed)


@pytest.mark.parametrize("name", SCENARIOS)
def test_all_commands_choose_the_benchmark_with_which_check_begins(
    name: str, project: Project, perf: Perf
) -> None:
    units, expected = SCENARIOS[name]
    project.configure()
    commits = tuple(project.commit(text, **{"work.sh": f": {text}\n"}) for text in ("a", "b"))
    store(*profiles(commits, units))
    # what was said before it was accepted is not what is said now
    changes = perf("check", *commits, "--json", code=None).document["changes"]
    accepted = [one["id"] for one in changes if one["uid"] == "accepted" and "id" in one]
    if accepted:
        perf("accept", *accepted, "--reason", "it has to be")
    repository = Repository.find()
    report = last_report(repository, *map(State, commits), EVERYTHING)
    assert report
    blamed = moved(report, EVERYTHING, matrix(load(project.root / "perf.toml")))
    bisected = perf("bisect", *commits, "--dry-run", "--json").document
    history = perf("history", "--json").document
    log = perf("log", "--json").document
    chosen = [
        blamed and blamed.change.uid,
        bisected["target"]["uid"],
        history["findings"][0]["uid"],
        log["commits"][0]["steps"][0]["uid"],
    ]
    assert chosen == [expected] * 4
    sentence = perf("check", *commits, "--json", code=None).document["sentence"]
    assert re.match(rf"work(: {expected})? became|no.* beyond what is accepted", sentence), sentence


@pytest.mark.parametrize("year", ["2099", "2001"])  # as those that are pulled may be
def test_a_report_is_not_followed_once_its_commits_have_other_profiles(
    year: str, project: Project, perf: Perf
) -> None:
    project.configure()
    commits = tuple(project.commit(text, **{"work.sh": f": {text}\n"}) for text in ("a", "b"))
    store(*profiles(commits, {"first": LARGE, "second": QUIET}))
    perf("check", *commits, code=None)
    repository, ends = Repository.find(), [*map(State, commits)]
    said = last_report(repository, *ends, EVERYTHING)
    assert said
    assert {change.uid for change in said.changes if change.word == "degradation"} == {"first"}
    times = (f"{year}-12-31T00:00:0{second}Z" for second in range(2))
    other = Collected(f"{year}1231T000000-000001", *times, "x")
    for one in profiles(commits, {"first": QUIET, "second": LARGE}):
        store(structs.replace(one, collected=other))
    repository = Repository.find()
    now = last_report(repository, *ends, EVERYTHING)
    assert now
    assert now.changes == repository.compare(*ends).changes != said.changes
