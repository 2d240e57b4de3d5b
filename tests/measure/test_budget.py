"""A bound on the time of `perf collect`, and how it is spent."""

# ruff: noqa: ARG001 - fixtures that only prepare
from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import Perf, Project, Said
from samples import sample_profile

from perfvcs.measure.budget import Budget, TurnTimes, spend
from perfvcs.plan.needs import needs
from perfvcs.profile import Design, Resources
from perfvcs.profile.summary import Measured
from perfvcs.repository import Repository

# notes its name, sleeps, and reports a time with the noise that its second argument names
WORK = """\
import json, math, os, random, sys, time
name, seconds, noise = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
with open(os.environ["ORDER"], "a") as file:
    print(name, file=file)
time.sleep(seconds)
with open(os.environ["PERFVCS_SAMPLES"], "a") as samples:
    print(json.dumps({"uid": "inner", "wall": math.exp(random.gauss(0, noise))}), file=samples)
"""


def configure(
    project: Project, *jobs: tuple[str, float, float], executions: int = 12, more: str = ""
) -> None:
    project.write("work.py", WORK)
    tables = [
        f"[[job]]\nname = '{name}'\ncmd = 'python3 work.py {name} {seconds} {noise}'\nexecutions ="
        f" {executions}\nwarmup = 0\n{more}\n"
        for name, seconds, noise in jobs
    ]
    project.write("perf.toml", "\n".join(tables))


@pytest.fixture
def order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that has a line per execution."""
    monkeypatch.setenv("ORDER", str(tmp_path / "order"))
    return tmp_path / "order"


def executions(said: Said) -> dict[str, int]:
    return {row["job"]: row["executions"] for row in said.document["stored"]}


def test_a_budget_that_is_large_enough_changes_nothing(
    project: Project, perf: Perf, order: Path
) -> None:
    configure(project, ("one", 0, 0), ("two", 0, 0), executions=7)
    project.commit()
    assert executions(perf("collect", "--json", "--seed", "3", "--budget", "1h")) == {
        "one": 7,
        "two": 7,
    }
    assert len(order.read_text().splitlines()) == 14


def test_what_does_not_fit_is_not_begun_and_what_is_complete_counts(
    project: Project, perf: Perf, order: Path
) -> None:
    # twice as long is more than the budget by seconds, and once less by as many
    configure(project, ("long", 4, 0), executions=100)
    project.commit()
    assert executions(perf("collect", "--json", "--budget", "7s"))["long"] == 1
    assert len(order.read_text().splitlines()) == 1


def test_an_execution_of_unknown_length_ends_with_the_budget(
    project: Project, perf: Perf, order: Path
) -> None:
    configure(project, ("endless", 600, 0))
    project.commit()
    said = perf("collect", "--budget", "2s")
    assert (
        "the budget ended before endless had a complete block: nothing of it is stored" in said.flat
    )
    assert "failed" not in said.err
    assert Repository.find(project.root).index.total() == 0


class Simulated:
    """A session whose jobs take seconds of a clock of its own, and vary by ``noise`` in each of
    their units.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        budget: float,
        jobs: Sequence[tuple[float, float, int]],
        exact: Sequence[int] = (),
    ) -> None:
        self.now, self.jobs = 0.0, jobs
        self.cells = [
            SimpleNamespace(exact=number in exact, executions=1) for number in range(len(jobs))
        ]
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        self.budget, self.pace, self.chance = (
            Budget(budget, began=0.0),
            TurnTimes({}),
            np.random.default_rng(7),
        )
        self.values: list[list[list[float]]] = [[[] for _ in range(units)] for _, _, units in jobs]
        for number in range(len(jobs)):
            self.more(number)

    def count(self, number: int) -> int:
        return len(self.values[number][0])

    def units(self, number: int) -> int:
        return self.jobs[number][2]

    def more(self, number: int) -> bool:
        seconds, noise, _ = self.jobs[number]
        self.now += seconds
        self.pace.note(number, seconds)
        for unit in self.values[number]:
            unit.append(float(np.exp(self.chance.normal(0, noise))))
        return True

    def measured(self, number: int) -> list[Measured]:
        rows = Resources(
            names=[f"unit{place}" for place in range(self.units(number))],
            uid=[place for place in range(self.units(number)) for _ in range(self.count(number))],
            execution=list(range(self.count(number))) * self.units(number),
            metrics={"wall": [value for unit in self.values[number] for value in unit]},
        )
        return [
            Measured.of(
                sample_profile(resources=rows, design=Design(executions=self.count(number)))
            )
        ]


def spent(
    monkeypatch: pytest.MonkeyPatch, budget: float, *jobs: tuple[float, float, int], most: int = 60
) -> tuple[list[int], float]:
    """The blocks of each job, and the seconds that were spent."""
    session = Simulated(monkeypatch, budget, jobs)
    spend(session, dict.fromkeys(range(len(jobs)), most))  # type: ignore[arg-type]
    return [session.count(number) for number in range(len(jobs))], session.now


def test_a_job_that_cannot_get_what_a_verdict_needs_leaves_the_time_to_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, seconds = spent(
        monkeypatch, 100, (1, 0.0001, 1), (40, 0.0001, 1), (2, 0.0001, 1), most=5
    )
    assert counts == [5, 2, 5]
    assert seconds <= 100


def test_what_a_verdict_needs_comes_first_for_the_job_with_the_most_units(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts, _ = spent(monkeypatch, 100, (10, 0.0001, 1), (10, 0.0001, 200), most=5)
    assert counts[1] == 5
    assert counts[0] == 4  # no more than the time allows


def test_the_rest_goes_to_what_can_still_be_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is settled from the start, the second soon; the third will never be."""
    counts, seconds = spent(monkeypatch, 32, (1, 0.0001, 1), (1, 0.012, 1), (1, 0.5, 1))
    assert counts[0] < 8
    assert counts[1] > 16
    assert counts[2] < 8
    assert 31 <= seconds <= 32


def test_with_time_for_everything_everything_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spent(monkeypatch, 1000, (1, 0.0001, 1), (2, 0.5, 1), most=20)[0] == [20, 20]


def test_a_job_that_is_decided_leaves_the_time_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Simulated(monkeypatch, 40.5, [(1, 0.1, 1), (1, 0.1, 1)])
    spend(session, {0: 60, 1: 60}, lambda number: number == 0)  # type: ignore[arg-type]
    assert [session.count(0), session.count(1)] == [5, 35]


def test_what_repeats_exactly_gets_what_it_asks_for_and_no_more_once_it_is_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = Simulated(monkeypatch, 40.5, [(1, 0.0, 1), (1, 0.1, 1)], exact=[0])
    spend(session, {0: 60, 1: 60}, lambda number: number == 0)  # type: ignore[arg-type]
    assert [session.count(0), session.count(1)] == [1, 39]


def test_how_long_it_takes_is_said_before_it_begins(
    project: Project, perf: Perf, order: Path
) -> None:
    configure(project, ("slow", 0.4, 0), executions=2)
    project.commit()
    first = perf("collect", "--budget", "300ms")
    assert "this takes about" not in first.err  # nothing is stored to say it by
    perf("collect")
    said = perf("collect", "--executions", "20", "--budget", "3s")
    assert "this takes about " in said.err
    assert re.search(r"\(by what is stored\); the budget has ([123]|under 1) s", said.err)
    assert executions(perf("collect", "--json", "--executions", "3"))["slow"] == 3


def test_after_the_first_block_where_nothing_is_stored(
    project: Project, perf: Perf, order: Path
) -> None:
    configure(project, ("slow", 0.5, 0), executions=60)
    project.commit()
    assert "(by the first block); the budget has " in perf("collect", "--budget", "4s").err


@pytest.mark.parametrize("budget", ["soon", "0", "-1s", "", "1d"])
def test_a_budget_that_is_not_a_time_is_one_line(project: Project, perf: Perf, budget: str) -> None:
    configure(project, ("one", 0, 0))
    project.commit()
    said = perf("collect", f"--budget={budget}", code=2)
    assert "--budget: " in said.err
    assert said.err.count("\n") == 1
    assert not (project.root / ".perf").exists()


def test_a_session_goes_on_with_the_budget_that_it_began_with(project: Project, perf: Perf) -> None:
    configure(project, ("one", 0, 0))
    project.commit()
    assert (
        "--continue finishes a session as it began"
        in perf("collect", "--continue", "--budget", "4s", code=2).err
    )


def sides(*values: Sequence[float]) -> list[Measured]:
    """What several versions gave in turns."""
    return [Measured.of(sample_profile(wall)) for wall in values]


def test_what_is_settled_needs_nothing_more() -> None:
    steady = [1.0, 1.0001, 0.9999, 1.0, 1.0001]
    assert needs(sides(steady, steady[::-1])) == []
    assert needs(sides(steady, [1.5 * value for value in steady[::-1]])) == []


def test_noise_of_twice_the_size_needs_four_times_as_many() -> None:
    noise = np.random.default_rng(1).normal(0, 0.03, 10)
    alone = [needs(sides(np.exp(factor * noise).tolist()))[0] + 10 for factor in (1, 2)]
    assert alone[1] / alone[0] == pytest.approx(4, rel=0.1)
    # two versions that differ by noise alone: 2.7 standard deviations of a mean of n are 1 %
    sd = np.std(noise, ddof=1) * np.sqrt(2)
    assert alone[0] == pytest.approx((2.6 * sd / np.log(1.01)) ** 2, rel=0.1)


def test_fewer_executions_than_a_verdict_needs_are_open() -> None:
    assert needs(sides([1.0])) == [4]
    assert needs(sides([1.0, 1.0], [1.0, 1.0])) == [3]


def test_the_time_of_a_turn_follows_what_is_seen() -> None:
    pace = TurnTimes({0: 10.0, 1: None})
    assert (pace.of(0), pace.of(1), pace.total({0: 3}), pace.total({0: 3, 1: 1})) == (
        10.0,
        None,
        30.0,
        None,
    )
    pace.note(0, 2.0)
    pace.note(0, 4.0)
    assert pace.of(0) == 3.0
    assert pace.total({1: 0}) == 0


def test_a_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    budget = Budget(10.0, began=100.0)
    assert (budget.left, budget.allows(9.0), budget.allows(11.0), budget.allows(None)) == (
        10.0,
        True,
        False,
        True,
    )
    now[0] = 120.0
    assert (budget.left, budget.allows(None), budget.allows(0.0)) == (0.0, False, False)
