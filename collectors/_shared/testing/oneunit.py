"""One unit of a program counted alone: what the program is asked for, and what came of it.

The harness that runs the unit says when it begins and ends (``perfvcs_unit`` in Python, and
``perfvcs.h``); a test of pytest by a plugin. Each run of the unit in a process has a number there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from perfvcs.collectors._shared.testing.pluginnotes import read_notes
from perfvcs.collectors._shared.testing.suite import with_plugin
from perfvcs.errors import nearest
from perfvcs.launcher.execution import name_command
from perfvcs.launcher.samples import SAMPLES_VARIABLE, MalformedSamples, read_samples
from perfvcs.native import python_folder
from perfvcs.plugins.collector import DIVIDED, CollectError, Observations, Run

UNIT_VARIABLE = "PERFVCS_UNIT"
ONCE = " (once)"  # what the collector pytest puts behind some names


class Undivided(Exception):
    """The program does not say when the unit begins and ends; the message says why, with the
    cure.
    """


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
        path = [str(python_folder()), *filter(None, [run.env.get("PYTHONPATH")])]
        env = {
            **run.env,
            "PYTHONPATH": os.pathsep.join(path),
            UNIT_VARIABLE: unit,
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
        command = name_command(self.run.argv)
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
        if notes.versions and notes.problems:
            name, why = notes.problems[0]
            raise CollectError(f"{command} could not collect its tests: {name or 'pytest'}: {why}")
        if notes.versions and "::" in self.unit:
            raise CollectError(f"{self.unit} is not among the tests that {command} runs here")
        names = self._reported()
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

    def _reported(self) -> dict[str, None]:
        """The units of which the program reported samples."""
        try:
            return dict.fromkeys(read_samples(self.samples, {}, "").uid)
        except MalformedSamples:
            return {}


def divide(run: Run, count: Callable[[Run], Observations]) -> Observations:
    """What is counted in a run's unit; where it cannot be counted alone, in the whole program, with
    the reason.
    """
    if not run.unit:
        return count(run)
    try:
        rows = count(run)
    except Undivided as error:
        rows = count(replace(run, unit=""))
        rows.warnings.append(f"counted over the whole program: {error}")
        return rows
    return replace(rows, engine=rows.engine + DIVIDED)


def whole(run: Run, rows: Observations, collector: str) -> Observations:
    """The rows of a collector that sees programs as a whole, with a remark if a unit was asked
    for.
    """
    if run.unit:
        rows.warnings.append(
            f"counted over the whole program: {collector} cannot follow {run.unit} alone"
        )
    return rows


def _ended(outcome: str) -> str:
    return {"failed": "failed", "xfailed": "failed as expected", "skipped": "was skipped"}.get(
        outcome, "did not run"
    )
