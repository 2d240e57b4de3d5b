"""The benchmarks of a project, chosen by what a change can touch."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

from perfvcs.git.changes import WorkingChanges
from perfvcs.jobs import Cell
from perfvcs.jobs.config import Config
from perfvcs.locate.changes import Changes, changes
from perfvcs.locate.files import ACCEPTED, why
from perfvcs.locate.impact import ChangeReach, impact
from perfvcs.locate.reached import BenchmarkUnit, Reach, recorded
from perfvcs.locate.sampler import ONE_IN
from perfvcs.locate.selection import BenchmarkReach, Choice, choose, sampled
from perfvcs.locate.static import reach, resolved
from perfvcs.locate.uses import Sources
from perfvcs.repository import Repository
from perfvcs.rules import RULES_FILE
from perfvcs.state import State

TESTS = "pytest"  # the collector whose units can be left out one by one


class LeftOutUnit(NamedTuple):
    """A unit of a job (its label) under a collector; the unit "" is the whole job."""

    job: str
    collector: str
    uid: str


class LeftOut(NamedTuple):
    """What need not be measured: whole jobs by label and collector, and tests of others; ``sampled`` is measured all the same."""

    jobs: frozenset[tuple[str, str]]
    tests: dict[tuple[str, str], frozenset[str]]
    sampled: tuple[BenchmarkUnit, ...]

    @property
    def units(self) -> tuple[LeftOutUnit, ...]:
        """All of them, sorted."""
        whole = [LeftOutUnit(*cell, "") for cell in self.jobs]
        return tuple(sorted([*whole, *(LeftOutUnit(*cell, name) for cell, names in self.tests.items() for name in names)]))


@dataclass(frozen=True)
class Selection:
    """Which benchmarks the change from ``baseline`` to ``target`` can touch: a choice for each, in the order of perf.toml."""

    baseline: State
    target: State
    changes: Changes
    choices: tuple[Choice, ...]

    @property
    def run(self) -> list[Choice]:
        """Those that the change can touch."""
        return [choice for choice in self.choices if choice.run]

    def left_out(self, one_in: int = ONE_IN) -> LeftOut:
        """What need not be measured, but for one in so many (0: none at all), chosen by chance that follows from both commits."""
        drawn = sampled(self.choices, f"{self.baseline.commit} {self.target.commit}", one_in)
        again = set(drawn)
        left = [choice.unit for choice in self.choices if not choice.run and choice.unit not in again]
        whole = {unit.cell for unit in left}
        partly = {choice.unit.cell for choice in self.choices if choice.run or choice.unit in again}
        tests: dict[tuple[str, str], set[str]] = {}
        for unit in left:
            if unit.cell in partly:
                tests.setdefault(unit.cell, set()).add(unit.uid)
        return LeftOut(frozenset(whole - partly), {key: frozenset(names) for key, names in tests.items()}, tuple(drawn))


def select(repository: Repository, config: Config, cells: Sequence[Cell], baseline: State, target: State) -> Selection:
    """Choose among cells those that the change from one state to another can touch."""
    return _Selector(repository, config, baseline, target).choices(cells)


def unnoticed(repository: Repository, overlay: Sequence[str]) -> bool:
    """Whether no job can notice what the working tree changes: what measures every revision alike, and documents that no source names.

    Files of ``overlay`` and perf.toml itself are those of the working tree for every revision.
    """
    working = repository.changes

    def is_common(path: str) -> bool:
        return path in (RULES_FILE, ACCEPTED) or any(path == one or path.startswith(f"{one}/") for one in places)

    places = [os.path.normpath(entry) for entry in overlay]
    names = [name for name in working.files() if not is_common(name)]
    if any(map(why, names)):
        return False
    head = repository.project.head
    if not names or head is None:
        return True
    made = changes(repository.project, head, head, working=working)
    own = Changes(tuple(file for file in made.files if not is_common(file.path)))
    return impact(own, Sources(repository.project, repository.home, head, working)).empty


class _Selector:
    """What several benchmarks share: the changes, the sources on both sides, and the records."""

    def __init__(self, repository: Repository, config: Config, baseline: State, target: State) -> None:
        self.repository, self.config, self.baseline, self.target = repository, config, baseline, target
        self.project, self.home = repository.project, repository.home
        self._stale: dict[str, ChangeReach] = {}

    def choices(self, cells: Sequence[Cell]) -> Selection:
        working = self._working(self.target)
        made = changes(self.project, self.baseline.commit, self.target.commit, working=working)
        if not any(file.matters or file.document for file in made.files):
            found = ChangeReach()
        else:
            found = impact(
                made, Sources(self.project, self.home, self.target.commit, working), self._outside, self.config.overlay
            )
        units = [(cell, unit) for cell in cells for unit in self._units(cell) if not self._is_gone(unit, made)]
        choices = [
            Choice(unit, True, f"{unit.path} changed, whose text it runs", "files", self._records.get(unit))
            if self._is_text(unit, made)
            else choose(unit, self._evidence(unit, cell, found), found)
            for cell, unit in units
        ]
        return Selection(self.baseline, self.target, made, tuple(choices))

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
        own = [unit for unit in self._records if unit.uid and unit.cell == whole.cell and self._is_of(unit, cell)]
        return sorted(own, key=lambda unit: unit.uid) or [whole]

    def _is_text(self, unit: BenchmarkUnit, made: Changes) -> bool:
        """Whether a changed file's documents or docstrings are the test itself: its own function is not among those that ran."""
        if not unit.uid or unit.path not in {file.path for file in made.files}:
            return False
        known = self._records.get(unit)
        return known is None or f"{unit.path}:{unit.function}" not in known.functions

    def _is_gone(self, unit: BenchmarkUnit, made: Changes) -> bool:
        """Whether a test's own function is no longer there."""
        if not unit.uid or f"{unit.path}:{unit.function}" not in made.functions:
            return False
        parts = self._after.parts(unit.path)
        return parts is None or unit.function not in parts.functions

    def _is_of(self, unit: BenchmarkUnit, cell: Cell) -> bool:
        found = self._records.get(unit)
        return found is not None and found.command == cell.cmd

    def _evidence(self, unit: BenchmarkUnit, cell: Cell, changed: ChangeReach) -> BenchmarkReach:
        if changed.empty or changed.everything:
            return BenchmarkReach(None)
        known = self._record(unit, cell)
        if known is not None:
            return BenchmarkReach(known, stale=self._since(known.commit))
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
            replace(guess, functions=guess.functions | after.functions, processes=guess.processes or after.processes)
        )

    def _record(self, unit: BenchmarkUnit, cell: Cell) -> Reach | None:
        """What was recorded of a benchmark, of a whole job under any of its collectors."""
        own = [unit] if self._is_of(unit, cell) else []
        if cell.collector_name != TESTS and not unit.uid:
            own += [one for one in self._records if one.job == unit.job and not one.uid and self._is_of(one, cell)]
        found = (resolved(self._before, self._records[one]) for one in own)
        return next((one for one in found if not isinstance(one, str)), None)

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
            made = changes(self.project, commit, self.baseline.commit)
            self._stale[commit] = impact(made, self._before, self._outside, self.config.overlay)
        return self._stale[commit]
