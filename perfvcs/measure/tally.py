"""The tally of a session: what is complete, what was given up, and what is ahead; executors fill
it, the session reads it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from perfvcs import __version__
from perfvcs.jobs.cell import Cell
from perfvcs.measure.blocks import Blocks, JobRecording
from perfvcs.measure.budget import Budget, TurnTimes
from perfvcs.measure.journal import Block, Described, Identity, Journal, JournalEntry, Lost, moment
from perfvcs.measure.progress import Progress
from perfvcs.measure.site import Version
from perfvcs.profile import Collected, Design, Environment, Job, Profile, Reached
from perfvcs.text.words import named


class Failure(msgspec.Struct, frozen=True):
    """A job that was given up on a version, and why, in a line; listings call it ``name``."""

    name: str
    version: str
    reason: str
    label: str = ""
    collector: str = ""

    def __str__(self) -> str:
        return f"{self.name} on {self.version}: {self.reason}" if self.name else self.reason


class About(NamedTuple):
    """What is known of a series: the job, the environment with its noise, warm-up functions."""

    job: Job
    environment: Environment
    reached: Reached | None = None


class Tally:
    """What a session has so far.

    Cells and versions go by their numbers; a pair of both is ``alive`` until it is given up.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        versions: Sequence[Version],
        progress: Progress,
        journal: Journal | None,
        pace: TurnTimes | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.cells, self.versions, self.progress, self.journal = cells, versions, progress, journal
        self.pace, self.budget = pace or TurnTimes({}), budget
        self.names = named([(cell.label, cell.collector_name) for cell in cells])
        self.failures: list[Failure] = []
        self.warnings: dict[str, None] = {}
        self.blocks = Blocks()
        # what hosts said of their series
        self.described: dict[tuple[str, int, int], Described] = {}
        self.alive: set[tuple[int, int]] = set()
        self._left: Counter[tuple[int, int]] = Counter()  # executions ahead
        self._unnoted: list[JournalEntry] = []

    def versions_of(self, number: int) -> list[int]:
        """The versions on which a cell was not given up."""
        return [
            position for position in range(len(self.versions)) if (number, position) in self.alive
        ]

    def fits(self, number: int) -> bool:
        """Whether a turn of a cell fits into the budget."""
        return self.budget is None or self.budget.allows(self.pace.of(number))

    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.budget is not None and not self.budget.left

    def expect(self, ahead: dict[int, int]) -> None:
        """Show how many executions are ahead; ``ahead`` has those of each version, by cell."""
        self._left.clear()
        for number, count in ahead.items():
            self._left |= dict.fromkeys(
                ((number, position) for position in self.versions_of(number)), count
            )
        self.progress.begin(self._left.total())

    def expect_more(self, ahead: dict[int, int]) -> None:
        """Show that at least so many executions of each version are ahead, by cell."""
        for number, count in ahead.items():
            for position in self.versions_of(number):
                missing = count - self._left[number, position]
                if missing > 0:
                    self._left[number, position] += missing
                    self.progress.drop(-missing)

    def decided(self, number: int) -> None:
        """No more executions of a cell are ahead."""
        for position in self.versions_of(number):
            self.progress.drop(max(0, self._left.pop((number, position), 0)))

    def step(self, number: int, position: int) -> None:
        """Counts one of the executions ahead as done."""
        self._left[number, position] -= 1
        self.progress.step(f"{self.names[number]} {self.versions[position].name}")

    def skip(self, number: int, position: int, steps: int) -> None:
        """Counts that many of the executions ahead as not made here."""
        self._left[number, position] -= steps
        self.progress.drop(steps)

    def describe(self, entry: Described) -> None:
        """Takes what a host said of what it measures."""
        if self.described.get(place := (entry.host, entry.job, entry.version)) != entry:
            self.described[place] = entry
            self.note(entry)

    def about(self, number: int, position: int, host: str) -> About:
        """What a host said of a series of which it measured blocks."""
        description = self.described[host, number, position]
        return About(description.about, description.environment, description.reached)

    def complete(self, block: Block) -> None:
        """Takes one more complete block."""
        self.blocks.add(block)
        self.note(block)

    def note(self, entry: JournalEntry) -> None:
        """Note a block, or from the first block on, with what was lost before it, what is lost."""
        if self.journal is not None:
            self._unnoted.append(entry)
            while self._unnoted and len(self.blocks):
                self.journal.add(self._unnoted[0])
                del self._unnoted[0]

    def resume(self, entries: Iterable[JournalEntry]) -> None:
        """Take what a journal has: complete blocks, and what was given up, which stays so."""
        for entry in entries:
            if isinstance(entry, Block):
                self.blocks.add(entry)
            elif isinstance(entry, Described):
                self.described[entry.host, entry.job, entry.version] = entry
            elif (entry.job, entry.version) in self.alive:
                self.alive.discard((entry.job, entry.version))
                self._lose(entry.job, entry.version, entry.reason)

    def give_up(self, number: int, position: int, reason: str) -> None:
        """Gives a job up on a version; the others go on."""
        self.alive.discard((number, position))
        self._lose(number, position, reason)
        self.note(Lost(number, position, reason))
        self.progress.drop(self._left.pop((number, position), 0))

    def leave_out(self, number: int, reason: str) -> None:
        """Do not measure a job on any version; that is not a failure."""
        self.alive -= {(number, position) for position in range(len(self.versions))}
        self.warnings[f"{self.names[number]} is not measured: {reason}"] = None

    def _lose(self, number: int, position: int, reason: str) -> None:
        cell = self.cells[number]
        self._tell(
            Failure(
                self.names[number],
                self.versions[position].name,
                reason,
                cell.label,
                cell.collector_name,
            )
        )

    def fail(self, name: str, position: int, reason: str) -> None:
        """Say that something of a version failed."""
        self._tell(Failure(name, self.versions[position].name, reason))

    def _tell(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.progress.fail(str(failure))


class CellPlace(NamedTuple):
    """A cell on a version, by their numbers, on a host (empty: here); ``engine`` is the one used,
    if that is known only afterwards.
    """

    number: int
    position: int
    engine: str = ""
    host: str = ""


def profile_of(
    tally: Tally,
    identity: Identity,
    place: CellPlace,
    recording: JobRecording,
    described: About,
    ended: datetime,
) -> Profile:
    """The profile of what was recorded at a place."""
    cell, version = tally.cells[place.number], tally.versions[place.position]
    several = len(tally.versions) > 1
    return Profile(
        commit=version.commit,
        dirty=version.dirty,
        job=described.job,
        metrics=recording.metrics,
        resources=recording.resources(),
        stacks=recording.stacks(),
        reached=recording.reached or described.reached,
        turns=recording.turns if several else None,
        results=recording.results(same_output=cell.result.same_output),
        collected=Collected(
            identity.session, identity.started, moment(ended), f"perfvcs {__version__}"
        ),
        environment=described.environment,
        design=Design(
            binaries=cell.binaries,
            executions=recording.executions,
            warmup=cell.warmup,
            seed=identity.seed,
            version=place.position,
            order="interleaved" if several else "sequential",
            versions=[
                measured.product.name if measured.product else measured.commit
                for measured in tally.versions
            ],
            failed=tally.blocks.failed(place.number, place.position, place.host),
            product=version.product.recorded if version.product else None,
        ),
    )
