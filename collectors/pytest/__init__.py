"""A project's own tests as benchmarks: wall time, CPU time and memory of each, run by pytest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import ClassVar

from perfvcs.collectors._shared.functions import PROCESSES, reached
from perfvcs.collectors._shared.testing.pluginnotes import MeterReading, PytestNotes, Test
from perfvcs.collectors._shared.testing.suite import (
    NAMED_TESTS,
    UNRUN_FUNCTION,
    counted,
    named,
    outcomes,
    qualified,
    run_suite,
)
from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.errors import UsageError
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import FINE, REPEATED, Metric, Reached
from perfvcs.profile.naming import ONCE

SESSION_METRICS = {"wall": Metric("s"), "cpu": Metric("s"), "peak": Metric("B", "none")}
ATTEMPTS = 4  # at finding out which tests cannot be repeated; in the last one none is
MAX_ROUNDS = 1000  # of pytest-benchmark that are kept of one test
HYPOTHESIS, BENCHMARK_REASON, BY_OTHERS = (
    "hypothesis",
    "benchmark",
    "another plugin runs it",
)  # reasons for one run, known before it

REMARKS = {
    "coverage": (
        "coverage is switched off, since it slows the tests down: leave --cov out to lose this note"
    ),
    "xdist": (
        "pytest-xdist is switched off, since tests that run at the same time disturb each other:"
        " add -n0 to lose this note"
    ),
}


@dataclass(frozen=True)
class Pytest(Unmodified):
    """A row per run of each test that passes, named as pytest names it; the command is one that
    runs pytest, with any selection.

    A test is run by pytest's whole protocol (setup, call, teardown with its own fixtures) up to
    ``repeat`` times after its first run, which is marked as left out of verdicts; after ``budget``
    seconds of such runs no further one begins, but there is always one. Measured is the test's own
    function. Tests that do not pass again when they are repeated have `` (once)`` behind their
    name: of these each process gives one run, the first. ``functions``: whether to record which
    functions of the project each test runs; a run before all others does, and no measured one.
    """

    engine: ClassVar[str] = "protocol/1"
    metrics: ClassVar[Mapping[str, Metric]] = SESSION_METRICS

    repeat: int = 10
    budget: float = 0.1
    functions: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.repeat <= 100_000:
            raise UsageError(
                f"pytest: repeat is {self.repeat!r}: give a whole number from 0 (each test once) to"
                " 100,000"
            )
        if not isfinite(self.budget) or self.budget < 0:
            raise UsageError(f"pytest: budget is {self.budget!r}: give seconds such as 0.1")

    def collect(self, run: Run) -> Observations:
        """Run the tests in one process; raises CollectError."""
        return measure(run, self)


@dataclass
class Known:
    """What a session knows of the tests of one command in one folder."""

    outcomes: Mapping[str, str]
    reached: Reached | None
    settled: bool = False
    flaky: set[str] = field(default_factory=set)


@dataclass
class PytestSession:
    """What executions of one session share.

    ``once``: tests that cannot be repeated, in any of its versions, by job.
    """

    place: Path | None = None
    known: dict[tuple[object, ...], Known] = field(default_factory=dict)
    once: defaultdict[tuple[object, ...], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )


_session = PytestSession()


def measure(run: Run, settings: Pytest) -> Observations:
    """Execute once, and before that as often as it takes to know the tests; raises CollectError."""
    global _session  # noqa: PLW0603 - executions of a session know nothing else of each other
    if _session.place != run.scratch.parent:
        _session = PytestSession(run.scratch.parent)
    key = (settings, run.cwd, run.argv)
    if key not in _session.known:
        _session.known[key] = _study(run, settings)
    tests, once = _session.known[key], _session.once[settings, run.uid, run.argv[1:]]
    for attempt in range(ATTEMPTS):
        notes = run_suite(
            run, "measure", repeat=settings.repeat, budget=settings.budget, once=sorted(once)
        )
        changed = _changed(tests, outcomes(notes))
        if tests.settled:
            break
        once |= {
            test.id
            for test in notes.tests
            if test.once not in ("", "asked", HYPOTHESIS, BENCHMARK_REASON, BY_OTHERS)
        }
        if changed:
            tests.flaky |= _changed(tests, outcomes(run_suite(run, "study", functions=False)))
        files = {_file(name) for name in changed - tests.flaky}
        if not files:
            break
        once |= {name for name in tests.outcomes if attempt == ATTEMPTS - 2 or _file(name) in files}
    tests.settled = True
    return _observations(run, settings, tests, notes, once, changed)


def _changed(tests: Known, outcomes: Mapping[str, str]) -> set[str]:
    """Tests that ended in another way than they did when they were first run."""
    return {
        name for name, outcome in outcomes.items() if tests.outcomes.get(name, outcome) != outcome
    }


def _study(run: Run, settings: Pytest) -> Known:
    notes = run_suite(run, "study", functions=settings.functions)
    outcome_of = outcomes(notes)
    if set(outcome_of.values()) <= {"unrun"}:
        raise CollectError(
            f"{name_command(run.argv)} ran no test: leave out --collect-only, --setup-only and"
            " similar options",
            lasting=True,
        )
    if not any(outcome in ("passed", "failed") for outcome in outcome_of.values()):
        raise CollectError(
            f"{name_command(run.argv)} ran none of {counted(len(outcome_of), 'test')}, all are"
            " skipped: choose others",
            lasting=True,
        )
    if "passed" not in outcome_of.values():
        raise CollectError(
            f"{name_command(run.argv)}: no test passed: {_failures(notes)}: measure tests that pass"
        )
    return Known(outcome_of, _reached(notes, run.cwd) if settings.functions else None)


def _file(test: str) -> str:
    return test.partition("::")[0]


def _reached(notes: PytestNotes, root: Path) -> Reached:
    """The functions in order of their names, by test; ``PROCESSES`` is among those of a test that
    started some.
    """
    sets = {name: qualified(functions, root) for name, functions in notes.reached.items()}
    for name in notes.processes:
        sets[name].add(PROCESSES)
    sets |= {name: {UNRUN_FUNCTION} for name in notes.left_out if name not in sets}
    return reached(sets)


def _observations(
    run: Run, settings: Pytest, tests: Known, notes: PytestNotes, once: set[str], changed: set[str]
) -> Observations:
    rows = Observations(
        metrics=dict(SESSION_METRICS),
        values={name: [] for name in SESSION_METRICS},
        reached=tests.reached,
    )
    rows.warnings += _remarks(tests, notes, once, changed)
    counts: defaultdict[str, int] = defaultdict(int)
    for test in notes.tests:
        if test.outcome != "passed" or test.id in changed:
            continue
        single = (
            bool(settings.repeat)
            and not test.rounds
            and (test.id in once or test.once in (HYPOTHESIS, BY_OTHERS))
        )
        name = test.id + (ONCE if single else "")  # whose first run is its only one
        for number, (wall, cpu, peak) in enumerate(_kept(test)[: 1 if single else None]):
            cold = number == 0 and bool(settings.repeat) and not single and not test.rounds
            rows.uid.append(name)
            rows.iteration.append(counts[name])
            rows.mark.append(REPEATED if cold else FINE)
            rows.values["wall"].append(wall / 1e9)
            rows.values["cpu"].append(cpu / 1e9 if cpu >= 0 else None)
            rows.values["peak"].append(peak)
            counts[name] += 1
    rows.size = [run.size] * len(rows.uid)
    if not rows.uid:
        raise CollectError(
            f"{name_command(run.argv)}: no test passed as it did before: {_failures(notes)}: run it"
            " again"
        )
    return rows


def _kept(test: Test) -> list[MeterReading]:
    """The readings of a test that count: the rounds of pytest-benchmark where it has any, evenly
    chosen of many.
    """
    if not test.rounds:
        return test.runs
    step = max(1, -(-len(test.rounds) // MAX_ROUNDS))
    return test.rounds[::step]


def _remarks(tests: Known, notes: PytestNotes, once: set[str], changed: set[str]) -> list[str]:
    lines = [REMARKS[what] for what in sorted(notes.remarks) if what in REMARKS]
    failed = [name for name, outcome in tests.outcomes.items() if outcome == "failed"]
    if failed:
        lines.append(
            f"{counted(len(failed), 'test')} failed and {'is' if len(failed) == 1 else 'are'} not"
            f" measured: {_failures(notes)}"
        )
    if once:
        lines.append(
            f"{counted(len(once), 'test')} cannot be repeated, so each process gives one run:"
            f" {named(sorted(once))}"
        )
    for name in sorted(changed)[:NAMED_TESTS]:
        lines.append(
            f"{name} had another outcome than before and is left out of that execution: check"
            " whether it is flaky"
        )
    return lines


def _failures(notes: PytestNotes) -> str:
    """Tests that failed, with the reasons of the first ones."""
    failed = {test.id: test.why for test in notes.tests if test.outcome == "failed"}
    return named([f"{name} ({why})" if why else name for name, why in failed.items()])
