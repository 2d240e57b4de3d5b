"""Which benchmarks of a project the change from one state to another can touch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from perfvcs.git.changes import WorkingChanges
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config
from perfvcs.locate.select.changereach import ChangeReach, touches
from perfvcs.locate.select.choices import BenchmarkReach, Choice, beside_program, choose, sampled
from perfvcs.locate.select.impact import impact
from perfvcs.locate.select.inputs import Inputs
from perfvcs.locate.select.misses import ONE_IN
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded
from perfvcs.locate.select.static import reach, resolved
from perfvcs.locate.sources import is_within
from perfvcs.locate.sources.differences import Changes, changes
from perfvcs.locate.sources.imports import why
from perfvcs.locate.sources.uses import Sources
from perfvcs.profile.rules import REGISTER_FILE, RULES_FILE
from perfvcs.repository import Repository
from perfvcs.repository.state import State

TESTS = "pytest"  # the collector whose units can be left out one by one


class LeftOut(NamedTuple):
    """What need not be measured: whole jobs by label and collector, and tests of others;
    ``sampled`` is measured all the same.
    """

    jobs: frozenset[tuple[str, str]]
    tests: dict[tuple[str, str], frozenset[str]]
    sampled: tuple[BenchmarkUnit, ...]

    @property
    def units(self) -> tuple[BenchmarkUnit, ...]:
        """All of them, sorted."""
        tests = [BenchmarkUnit(*cell, name) for cell, names in self.tests.items() for name in names]
        return tuple(sorted([*(BenchmarkUnit(*cell) for cell in self.jobs), *tests]))


@dataclass(frozen=True)
class Selection:
    """Which benchmarks the change from ``baseline`` to ``target`` can touch: a choice for each, in
    the order of perf.toml.
    """

    baseline: State
    target: State
    changes: Changes
    choices: tuple[Choice, ...]

    @property
    def run(self) -> list[Choice]:
        """Those that the change can touch."""
        return [choice for choice in self.choices if choice.run]

    def left_out(self, one_in: int = ONE_IN) -> LeftOut:
        """What need not be measured, but for one in so many (0: none at all), chosen by chance that
        follows from both commits.
        """
        drawn = sampled(self.choices, f"{self.baseline.commit} {self.target.commit}", one_in)
        again = set(drawn)
        left = [
            choice.unit for choice in self.choices if not choice.run and choice.unit not in again
        ]
        whole = {unit.cell for unit in left}
        partly = {choice.unit.cell for choice in self.choices if choice.run or choice.unit in again}
        tests: dict[tuple[str, str], set[str]] = {}
        for unit in left:
            if unit.cell in partly:
                tests.setdefault(unit.cell, set()).add(unit.uid)
        return LeftOut(
            frozenset(whole - partly),
            {key: frozenset(names) for key, names in tests.items()},
            tuple(drawn),
        )


def select(
    repository: Repository, config: Config, cells: Sequence[Cell], baseline: State, target: State
) -> Selection:
    """Choose among cells those that the change from one state to another can touch."""
    return _Selector(repository, config, baseline, target).choices(cells)


def unnoticed(repository: Repository, config: Config) -> bool:
    """Whether no job can notice what the working tree changes: what measures every revision alike,
    and documents that nothing names.

    Files of ``overlay`` and perf.toml itself are those of the working tree for every revision.
    """
    working = repository.changes

    def is_common(path: str) -> bool:
        return path in (RULES_FILE, REGISTER_FILE) or is_within(path, config.overlay)

    names = [name for name in working.files() if not is_common(name)]
    if any(map(why, names)):
        return False
    head = repository.project.head
    if not names or head is None:
        return True
    working_changes = changes(repository.project, head, head, working=working)
    specific = Changes(tuple(file for file in working_changes.files if not is_common(file.path)))
    sources = Sources(repository.project, repository.home, head, working)
    if any(map(Inputs(config, sources).names, names)):
        return False
    return impact(specific, sources).empty


class _Selector:
    """What several benchmarks share: the changes, the sources on both sides, and the records."""

    def __init__(
        self, repository: Repository, config: Config, baseline: State, target: State
    ) -> None:
        self.repository, self.config, self.baseline, self.target = (
            repository,
            config,
            baseline,
            target,
        )
        self.project, self.home = repository.project, repository.home
        self._stale: dict[str, ChangeReach] = {}
        self._later: dict[str, Changes] = {}
        self._named: dict[Sources, Inputs] = {}

    def choices(self, cells: Sequence[Cell]) -> Selection:
        working = self._working(self.target)
        changed = changes(self.project, self.baseline.commit, self.target.commit, working=working)
        reachable = self._reach(changed, self._after) if changed.files else ChangeReach()
        units = [
            (cell, unit)
            for cell in cells
            for unit in self._units(cell)
            if not self._is_gone(unit, changed)
        ]
        choices = [self._choice(unit, cell, changed, reachable) for cell, unit in units]
        return Selection(self.baseline, self.target, changed, tuple(choices))

    def _choice(
        self, unit: BenchmarkUnit, cell: Cell, changed: Changes, reachable: ChangeReach
    ) -> Choice:
        if self._is_text(unit, changed):
            return Choice(
                unit,
                True,
                f"{unit.path} changed, whose text it runs",
                "files",
                self._records.get(unit),
            )
        if path := self._inputs(self._after).given(cell, [file.path for file in changed.files]):
            return Choice(
                unit,
                True,
                f"{path} changed, which its command names",
                "files",
                self._records.get(unit),
            )
        unread = [] if reachable.everything else reachable.unread
        if reason := beside_program(cell, unread, self._after):
            return Choice(unit, True, reason, "files", self._records.get(unit))
        return choose(unit, self._evidence(unit, cell, reachable), reachable)

    def _reach(self, changed: Changes, sources: Sources) -> ChangeReach:
        """What a change can reach; all that is built where it can touch what the build runs."""
        inputs = self._inputs(sources)
        reachable = impact(changed, sources, self._outside, inputs.reason)
        if not reachable.everything and not reachable.empty:
            for path, maker in inputs.makers.items():
                if reason := touches(maker, reachable):
                    reachable.everything[path] = f"the build runs it: {reason}"
        return reachable

    def _inputs(self, sources: Sources) -> Inputs:
        if sources not in self._named:
            self._named[sources] = Inputs(self.config, sources)
        return self._named[sources]

    def _working(self, state: State) -> WorkingChanges | None:
        return self.repository.changes if state.dirty and not state.below else None

    @cached_property
    def _records(self) -> dict[BenchmarkUnit, Reach]:
        commit = self.baseline.commit
        return recorded(self.repository, chain([commit], self.project.ancestors(commit)))

    @cached_property
    def _outside(self) -> frozenset[str]:
        return frozenset().union(*{reach.outside for reach in self._records.values()})

    def _units(self, cell: Cell) -> Iterable[BenchmarkUnit]:
        whole = BenchmarkUnit(cell.label, cell.collector_name)
        if cell.collector_name != TESTS:
            return [whole]
        tests = [
            unit
            for unit in self._records
            if unit.uid and unit.cell == whole.cell and self._is_of(unit, cell)
        ]
        return sorted(tests, key=lambda unit: unit.uid) or [whole]

    def _is_text(self, unit: BenchmarkUnit, changed: Changes) -> bool:
        """Whether a changed file's documents or docstrings are the test itself: its own function is
        not among those that ran.
        """
        if not unit.uid or unit.path not in {file.path for file in changed.files}:
            return False
        record = self._records.get(unit)
        return record is None or f"{unit.path}:{unit.function}" not in record.functions

    def _is_gone(self, unit: BenchmarkUnit, changed: Changes) -> bool:
        """Whether a test's own function is no longer there."""
        if not unit.uid or f"{unit.path}:{unit.function}" not in changed.functions:
            return False
        parts = self._after.parts(unit.path)
        return parts is None or unit.function not in parts.functions

    def _is_of(self, unit: BenchmarkUnit, cell: Cell) -> bool:
        record = self._records.get(unit)
        return record is not None and record.command == cell.cmd

    def _evidence(self, unit: BenchmarkUnit, cell: Cell, changed: ChangeReach) -> BenchmarkReach:
        if changed.empty or changed.everything:
            return BenchmarkReach(None)
        record = self._record(unit, cell)
        if record is not None:
            later = [file.path for file in self._changed_since(record.commit).files]
            if path := self._inputs(self._before).given(cell, later):
                return BenchmarkReach(
                    None, f"{path}, which its command names, changed since it was recorded"
                )
            return BenchmarkReach(record, stale=self._since(record.commit))
        if cell.collector_name == TESTS:
            return BenchmarkReach(None, "its tests were not recorded yet: measure them once")
        command = " ".join(filter(None, (cell.cmd, cell.args)))
        guess = reach(self._before, self.baseline.commit, command, shell=cell.shell)
        if isinstance(guess, str):
            return BenchmarkReach(None, f"nothing is recorded of it, and {guess}")
        after = reach(self._after, self.target.commit, command, shell=cell.shell)
        if isinstance(after, str):
            return BenchmarkReach(None, f"nothing is recorded of it, and {after}")
        return BenchmarkReach(
            replace(
                guess,
                functions=guess.functions | after.functions,
                processes=guess.processes or after.processes,
            )
        )

    def _record(self, unit: BenchmarkUnit, cell: Cell) -> Reach | None:
        """What was recorded of a benchmark, of a whole job under any of its collectors."""
        units = [unit] if self._is_of(unit, cell) else []
        if cell.collector_name != TESTS and not unit.uid:
            units += [
                other
                for other in self._records
                if other.job == unit.job and not other.uid and self._is_of(other, cell)
            ]
        records = (resolved(self._before, self._records[recorded_unit]) for recorded_unit in units)
        return next((record for record in records if not isinstance(record, str)), None)

    @cached_property
    def _before(self) -> Sources:
        return Sources(self.project, self.home, self.baseline.commit)

    @cached_property
    def _after(self) -> Sources:
        return Sources(self.project, self.home, self.target.commit, self._working(self.target))

    def _since(self, commit: str) -> ChangeReach | None:
        """What changed between a record and the baseline."""
        if commit == self.baseline.commit:
            return None
        if commit not in self._stale:
            self._stale[commit] = self._reach(self._changed_since(commit), self._before)
        return self._stale[commit]

    def _changed_since(self, commit: str) -> Changes:
        if commit not in self._later:
            self._later[commit] = changes(self.project, commit, self.baseline.commit)
        return self._later[commit]
