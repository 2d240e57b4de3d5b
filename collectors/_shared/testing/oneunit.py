"""One unit of a program counted alone, or each by itself: what the program is asked for, and what
came of it.

The harness that runs the unit says when it begins and ends (``perfvcs_unit`` in Python, and
``perfvcs.h``); a test of pytest by a plugin. Each run of the unit in a process has a number there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import NamedTuple

from perfvcs.collectors._shared.commandrun import python_path
from perfvcs.collectors._shared.testing.pluginnotes import PytestNotes, read_notes
from perfvcs.collectors._shared.testing.suite import with_plugin
from perfvcs.errors import nearest
from perfvcs.launcher.execution import name_command
from perfvcs.launcher.samples import (
    SAMPLES_VARIABLE,
    MalformedSamples,
    ReportedSamples,
    read_samples,
)
from perfvcs.native import python_folder
from perfvcs.plugins.collector import DIVIDED, EVERY_UNIT, CollectError, Observations, Run
from perfvcs.profile import Metric
from perfvcs.profile.naming import ONCE
from perfvcs.profile.validity import MAX_NAME


class Undivided(Exception):
    """The program does not say when the unit begins and ends; the message says why, with the
    cure.
    """


class UnitAmount(NamedTuple):
    """What one run of a unit executed, at a size (None: it has none)."""

    uid: str
    size: float | None
    amount: float


@dataclass(frozen=True)
class UnitRun:
    """A run whose harness counts ``unit`` alone; ``notes`` and ``samples`` are what it leaves."""

    run: Run
    unit: str
    notes: Path
    samples: Path

    @classmethod
    def of(cls, run: Run) -> UnitRun:
        """What to execute for the unit of a run, whose environment has all that counts in it."""
        unit = run.unit.removesuffix(ONCE)
        samples = run.scratch / "unit-samples.jsonl"
        env = {
            **run.env,
            "PYTHONPATH": python_path(run.env, python_folder()),
            "PERFVCS_UNIT": unit,
            SAMPLES_VARIABLE: str(samples),
        }
        run = replace(run, env=env)
        notes, env = with_plugin(run, "count")
        return cls(replace(run, env=env), unit, notes, samples)

    def chosen(self, runs: Iterable[int]) -> set[int]:
        """Which of the runs that were counted are those to take, by their numbers.

        Raises CollectError where the unit did not run or failed, Undivided where it ran and was not
        counted.
        """
        counted = set(runs)
        notes = read_notes(self.notes)
        test = next((test for test in reversed(notes.tests) if test.id == self.unit), None)
        command = self._command
        if test is not None:
            if test.outcome != "passed":
                why = f": {test.why}" if test.why else ""
                raise CollectError(
                    f"{self.unit} {_ended(test.outcome)}{why}, so that nothing was counted:"
                    " count a test that passes"
                )
            last = {len(test.runs)} & counted
            if last or counted:
                return last or counted
            raise Undivided(f"{self.unit} ran where nothing could count it alone")
        if counted:
            return counted
        _require_collected(notes, command)
        if notes.versions and "::" in self.unit:
            raise CollectError(f"{self.unit} is not among the tests that {command} runs here")
        names = dict.fromkeys(self._reported().uid)
        if self.unit in names:
            raise Undivided(
                f"{command} reports {self.unit} and does not say when it begins: measure it with"
                " perfvcs.bench, or with perfvcs.h in a program that is linked as PIE"
            )
        if names:
            close = nearest(self.unit, names)
            raise CollectError(f"{self.unit} is not among the units that {command} reports{close}")
        raise Undivided(
            f"nothing in {command} says when {self.unit} begins and ends: measure it with"
            " perfvcs.bench or perfvcs.h, by a test of pytest, or by a benchmark of asv"
        )

    def each(self, amounts: Sequence[UnitAmount]) -> list[UnitAmount]:
        """Of what was counted in each unit, what is to be taken: of a test its last run, if it
        passed.

        Raises CollectError where the tests could not be collected, Undivided where nothing was
        counted.
        """
        notes = read_notes(self.notes)
        command = self._command
        _require_collected(notes, command)
        if notes.versions:
            runs = {test.id: len(test.runs) for test in notes.tests if test.outcome == "passed"}
            by_test: defaultdict[str, list[UnitAmount]] = defaultdict(list)
            for counted in amounts:
                by_test[counted.uid].append(counted)
            amounts = [
                counted[min(len(counted), runs[test]) - 1]
                for test, counted in by_test.items()
                if runs.get(test)
            ]
        if not amounts:
            raise Undivided(f"nothing in {command} says when its units begin and end")
        if self.run.reads is not None and self.run.reads.format == "pytest-benchmark":
            return [_as_reported(amount) for amount in amounts]
        return list(amounts)

    @property
    def is_whole_repeatable(self) -> bool:
        """Whether the program as a whole does the same each time, unlike suites that call their
        benchmarks as often as the clock allows.
        """
        suite = "perfvcs_asv" in self.run.argv or read_notes(self.notes).versions
        return not suite and self.run.reads is None

    def sizes(self) -> Mapping[str, Iterator[float | None]]:
        """By unit, the sizes of its samples, in the order of these."""
        samples = self._reported()
        sizes: defaultdict[str, list[float | None]] = defaultdict(list)
        for uid, size in zip(samples.uid, samples.size, strict=True):
            sizes[uid].append(size)
        return defaultdict(lambda: iter(()), {uid: iter(row) for uid, row in sizes.items()})

    @property
    def _command(self) -> str:
        """The command without the folder of its program, which is a working copy's."""
        program, *arguments = self.run.argv
        return name_command([Path(program).name, *arguments])

    def _reported(self) -> ReportedSamples:
        try:
            return read_samples(self.samples, {}, "")
        except MalformedSamples:
            return ReportedSamples()


def divide(run: Run, count: Callable[[Run], Observations]) -> Observations:
    """What is counted in a run's unit; where it cannot be counted alone, in the whole program, with
    the reason. A program that runs the unit alone is counted from its start.

    The row of a unit that the job's harness reports has that name, as its times have.
    """
    if not run.unit:
        return count(run)
    is_reported = run.reads is not None and run.unit != EVERY_UNIT
    try:
        rows = count(replace(run, uid=run.unit) if is_reported else run)
    except Undivided as error:
        if run.unit == EVERY_UNIT and run.reads is not None:  # which says nothing of the whole
            raise CollectError(str(error), lasting=True) from None
        rows = count(replace(run, unit=""))
        if run.unit == EVERY_UNIT:
            return rows
        if run.alone:
            rows.warnings.append(f"{run.unit} is counted with the start of its program")
            return replace(rows, engine=rows.engine + DIVIDED)
        rows.warnings.append(f"counted over the whole program: {error}")
        return rows
    return replace(rows, engine=rows.engine + DIVIDED)


def rows_of(run: Run, metric: str, amounts: Iterable[UnitAmount]) -> Observations:
    """A row for each unit at each of its sizes: the median of its runs."""
    values: defaultdict[tuple[str, float | None], list[float]] = defaultdict(list)
    for uid, size, amount in amounts:
        if uid and len(uid) <= MAX_NAME and uid != run.uid and uid not in run.left_out:
            values[uid, size].append(amount)
    rows = Observations(values={metric: []}, metrics={metric: Metric("", "lower", "deterministic")})
    for (uid, size), counted in values.items():
        rows.add(uid, {metric: median(counted)}, size=size)
    return rows


def whole(run: Run, rows: Observations, collector: str) -> Observations:
    """The rows of a collector that sees programs as a whole, with a remark if a unit was asked
    for.
    """
    if run.unit and not run.alone:
        rows.warnings.append(
            f"counted over the whole program: {collector} cannot follow {run.unit} alone"
        )
    return rows


def _require_collected(notes: PytestNotes, command: str) -> None:
    if notes.versions and notes.problems:
        name, why = notes.problems[0]
        raise CollectError(f"{command} could not collect its tests: {name or 'pytest'}: {why}")


def _as_reported(amount: UnitAmount) -> UnitAmount:
    """A test under the name and size that pytest-benchmark's reader gives it, where its only
    parameter is a number.

    >>> _as_reported(UnitAmount("test_sort.py::test_sort[100]", None, 7))
    UnitAmount(uid='test_sort.py::test_sort', size=100.0, amount=7)
    """
    from perfvcs.formats._readings import number

    name, _, value = amount.uid.removesuffix("]").partition("[")
    size = number(value)
    return amount if size is None else UnitAmount(name, size, amount.amount)


def _ended(outcome: str) -> str:
    return {"failed": "failed", "xfailed": "failed as expected", "skipped": "was skipped"}.get(
        outcome, "did not run"
    )
