"""A measuring session: every version takes its turn in every block, in random order, and becomes one profile per job."""

from __future__ import annotations

import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from types import TracebackType
from typing import NamedTuple

from perfvcs import __version__
from perfvcs.collector import CollectError, Observations
from perfvcs.environment import noise
from perfvcs.environment.noise import Noise
from perfvcs.errors import PerfError
from perfvcs.measure.blocks import Blocks
from perfvcs.measure.budget import Budget, Pace
from perfvcs.measure.journal import Block, Identity, Journal, Lost, moment
from perfvcs.measure.progress import Progress
from perfvcs.measure.recording import JobRecording
from perfvcs.measure.series import CellSeries
from perfvcs.measure.site import Version
from perfvcs.measure.sites import SiteKind, Sites
from perfvcs.measure.turns import draw, turns
from perfvcs.profile import Collected, Design, Profile, Reached
from perfvcs.summary import Measured
from perfvcs.text.words import counted, named, plural

SHORTEST = 0.001  # seconds of a time-out
WARM_UP = -1  # the block of executions whose results are dropped


class CollectFailed(PerfError):
    """Some jobs could not be measured; the others are stored."""

    exit_code = 5


class Turned(NamedTuple):
    """One cell's part of a block: the ``seed``, the versions ``tried`` with it in this order, what they gave, and how often they failed."""

    seed: int
    tried: Sequence[int]
    seen: dict[int, Observations]
    failed: dict[int, int]


@dataclass(frozen=True)
class Failure:
    """A job that was given up on a version, and why, in one line; ``name`` is what listings call it."""

    name: str
    version: str
    reason: str
    label: str = ""
    collector: str = ""

    def __str__(self) -> str:
        return f"{self.name} on {self.version}: {self.reason}" if self.name else self.reason


class Session:
    """Measures cells on versions, interleaved; use as a context manager, which prepares the checkouts and takes them away.

    Its ``identity`` fixes all that is random. The profiles are complete after any number of ``run`` calls, and wherever one of these is
    interrupted: complete blocks count. A ``journal`` notes them, and what it has from before the session was continued counts too.
    """

    def __init__(
        self, sites: Sites, progress: Progress, identity: Identity, journal: Journal | None = None, *,
        pace: Pace | None = None, budget: Budget | None = None,
    ) -> None:  # fmt: skip
        self.pace, self.budget = pace or Pace({}), budget
        self.sites, self.progress, self.identity, self.journal = sites, progress, identity, journal
        self.cells, self.versions = sites.cells, sites.versions
        self.names = named([(cell.label, cell.collector_name) for cell in self.cells])
        self.failures: list[Failure] = []
        self.warnings: dict[str, None] = {}
        self.blocks = Blocks()
        self._begun = 0  # blocks that ``run`` was asked for
        self._stack = ExitStack()
        self._alive: set[tuple[int, int]] = set()
        self._series = CellSeries(sites, self.names, identity.session)
        self._left: Counter[tuple[int, int]] = Counter()  # executions ahead
        self._unnoted: list[Block | Lost] = []
        self._runs = 0
        self._functions = False
        self._reached: dict[tuple[int, int], Reached] = {}

    def __enter__(self) -> Session:
        try:
            self.scratch = self.sites.home / "tmp" / self.identity.session
            self.scratch.mkdir(parents=True)
            self._stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
            self.before = noise.snapshot()
            for position, version in enumerate(self.versions):
                for kind in self.sites.kinds():
                    self._prepare(position, version, kind)
            self._confirm()
            self._resume()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _prepare(self, position: int, version: Version, kind: SiteKind) -> None:
        """Make the sites of one version and kind; jobs whose site fails are given up."""
        config = self.sites.config
        if not self.sites.in_place(position, kind) or config.build or config.python is not None:
            self.progress.say(f"preparing {version.name}{kind.named}")
        try:
            self.sites.prepare(position, kind, self._stack)
        except PerfError as error:
            if error.exit_code != CollectFailed.exit_code:
                raise
            self._fail(f"the build{kind.named}" if kind.flags else "", version, str(error))
        else:
            self._alive |= {(number, position) for number in kind.jobs}

    def _confirm(self) -> None:
        """Give up the working tree's own changes if they changed before all of them was copied."""
        copied = {position for _, position in self._alive if self.versions[position].dirty}
        now = self.sites.changes() if copied else None
        for position in sorted(copied):
            if now is not None and self.versions[position].dirty != now.hash():
                self._alive = {pair for pair in self._alive if pair[1] != position}
                reason = "the working tree changed while it was copied: measure again, and name what changes by itself in [dirty] ignore"
                self._fail("", self.versions[position], reason)

    def _resume(self) -> None:
        """Take what the journal has: complete blocks, and what was given up, which stays so."""
        for entry in self.journal.entries() if self.journal else ():
            if isinstance(entry, Block):
                self.blocks.add(entry)
            elif (entry.job, entry.version) in self._alive:
                self._alive.discard((entry.job, entry.version))
                self._lose(entry.job, entry.version, entry.reason)
        self._series.before = self.blocks.series()
        for number, position in sorted(self._alive.intersection(self._series.before)):
            self._series.of(number, position, self.blocks.of(number, position)[-1].seen[position].engine)

    def warm_up(self, blocks: Mapping[int, int]) -> None:
        """Run the warm-up executions of the cells that have blocks to run, and drop what they measured; the first records functions."""
        for number, cell in enumerate(self.cells):
            for turn in range(cell.warmup if self._ahead(number, blocks) else 0):
                for binary in range(cell.binaries if self._fits(number) else 0):
                    self._functions = not turn and not binary
                    seen = self._turn(number, self._versions(number), WARM_UP, binary).seen
                    self._reached |= {(number, position): one.reached for position, one in seen.items() if one.reached}
        self._functions = False

    def begin(self, blocks: Mapping[int, int]) -> None:
        """Show how many executions ``warm_up`` and ``run`` with that many blocks per cell number are."""
        self._left.clear()
        for number, ahead in self.turns_ahead(blocks).items():
            self._left |= dict.fromkeys(((number, position) for position in self._versions(number)), ahead)
        self.progress.begin(self._left.total())

    def turns_ahead(self, blocks: Mapping[int, int]) -> dict[int, int]:
        """How many turns of each cell ``warm_up`` and ``run`` with that many blocks are."""
        ahead = {number: len(self._ahead(number, blocks)) for number in blocks if self._versions(number)}
        return {
            number: turns + self.cells[number].warmup * self.cells[number].binaries for number, turns in ahead.items() if turns
        }

    def _ahead(self, number: int, blocks: Mapping[int, int]) -> set[int]:
        return self.blocks.missing(number, range(self._begun, self._begun + blocks.get(number, 0)))

    def run(self, blocks: Mapping[int, int]) -> None:
        """Run that many more blocks of each cell (by its number); jobs take turns too, so that noise hits all alike."""
        ahead = {number: self._ahead(number, blocks) for number in blocks}
        begin, self._begun = self._begun, self._begun + max(blocks.values(), default=0)
        for block in range(begin, self._begun):
            alive = [self._versions(number) for number in range(len(self.cells))]
            for number, positions in turns(self.identity.seed, block, alive):
                if block in ahead.get(number, ()) and self._fits(number):
                    binary = block % self.cells[number].binaries
                    self._complete(number, block, binary, self._turn(number, positions, block, binary))

    def more(self, number: int) -> bool:
        """Run the next block of one cell; whether it was complete."""
        block = next(block for block in count() if self.blocks.missing(number, [block]))
        positions = dict(turns(self.identity.seed, block, [self._versions(other) for other in range(len(self.cells))]))[number]
        before = self.count(number)
        if positions and self._fits(number):
            binary = block % self.cells[number].binaries
            self._complete(number, block, binary, self._turn(number, positions, block, binary))
        return self.count(number) > before

    def count(self, number: int) -> int:
        """How many blocks of a cell are complete."""
        return max((len(self.blocks.of(number, position)) for position in self._versions(number)), default=0)

    def units(self, number: int) -> int:
        """How many units a cell has, by its first block."""
        return max((len(set(self.blocks.of(number, one)[0].seen[one].uid)) for one in self._versions(number)), default=0)

    def measured(self, number: int) -> list[Measured]:
        """What a cell gave so far, by version."""
        now, state = datetime.now(UTC), noise.snapshot()
        return [
            Measured.of(self._raw(number, position, self.blocks.recording(number, position), now, state))
            for position in self._versions(number)
        ]

    def unmeasured(self) -> list[str]:
        """The cells that have no complete block, though they were not given up: the budget ended before."""
        return [self.names[number] for number in range(len(self.cells)) if self._versions(number) and not self.count(number)]

    def _fits(self, number: int) -> bool:
        """Whether a turn of a cell fits into the budget."""
        return self.budget is None or self.budget.allows(self.pace.of(number))

    def _is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.budget is not None and not self.budget.left

    def _versions(self, number: int) -> list[int]:
        """The versions on which a cell was not given up."""
        return [position for position in range(len(self.versions)) if (number, position) in self._alive]

    def _turn(self, number: int, positions: Sequence[int], block: int, binary: int) -> Turned:
        """One cell's part of a block: all its versions with one seed.

        Before the last repetition of an execution that fails, the seed is given up, and all begin again with another one.
        """
        began = time.monotonic()
        failures: defaultdict[int, list[str]] = defaultdict(list)
        stepped: set[int] = set()
        for attempt in count():
            seed = 0 if self.cells[number].exact else draw(self.identity.seed, block, number, attempt)
            tried = [position for position in positions if (number, position) in self._alive]
            seen: dict[int, Observations] = {}
            for position in tried:
                found = self._execute(number, position, binary, seed, failures[position])
                if found is not None:
                    seen[position] = found
                    if position not in stepped:
                        stepped.add(position)
                        self._step(number, position)
                elif (number, position) in self._alive:
                    break
            else:
                break
            if self._is_over():
                return Turned(seed, tried, {}, {})
        for position in seen:
            if failures[position]:
                self.progress.say(f"repeated: {self.names[number]} on {self.versions[position].name}: {failures[position][-1]}")
        if seen:
            self.pace.note(number, time.monotonic() - began)
        return Turned(seed, tried, seen, {position: len(failures[position]) for position in seen})

    def _complete(self, number: int, block: int, binary: int, turned: Turned) -> None:
        """A block counts when every version had its turn, if any gave something."""
        if turned.seen:
            series = {position: self._series.of(number, position, found.engine) for position, found in turned.seen.items()}
            places = {position: place for place, position in enumerate(turned.tried) if position in turned.seen}
            done = Block(number, block, binary, turned.seed, turned.seen, turned.failed, places, series)
            self.blocks.add(done)
            self._note(done)

    def _note(self, entry: Block | Lost) -> None:
        """Note a block, or from the first block on, with what was lost before it, what is lost."""
        if self.journal is not None:
            self._unnoted.append(entry)
            while self._unnoted and len(self.blocks):
                self.journal.add(self._unnoted[0])
                del self._unnoted[0]

    def _execute(self, number: int, position: int, binary: int, seed: int, failures: list[str]) -> Observations | None:
        """One execution, repeated where it fails; None where that takes another seed, or the job is given up on the version.

        The reasons are added to the ``failures`` that the version has had in this block.
        """
        cell = self.cells[number]
        while True:
            try:
                seen = self._attempt(number, position, binary, seed)
                break
            except PerfError as error:
                if error.exit_code != CollectFailed.exit_code:
                    raise
                failures.append(str(error))
                if self._is_over():  # which has ended it, or it failed just then
                    return None
                if len(failures) > cell.retries or not isinstance(error, CollectError) or error.lasting:
                    often = f" (failed {len(failures)} times in a row)" if len(failures) > 1 else ""
                    self._give_up(number, position, str(error) + often + self._kept_aside(number, position, binary, error))
                    return None
                if len(failures) == cell.retries and not cell.exact:
                    return None
        self.warnings |= dict.fromkeys(f"{self.names[number]}: {warning}" for warning in seen.warnings)
        return seen

    def _step(self, number: int, position: int) -> None:
        """One of the executions ahead is done."""
        self._left[number, position] -= 1
        self.progress.step(f"{self.names[number]} {self.versions[position].name}")

    def _attempt(self, number: int, position: int, binary: int, seed: int) -> Observations:
        self._runs += 1
        scratch = self.scratch / str(self._runs)
        scratch.mkdir()
        try:
            run = self.sites.run(number, position, binary, scratch, seed)
            run = replace(run, functions=self._functions)
            if self.budget is not None:
                run = replace(run, timeout=max(SHORTEST, min(run.timeout, self.budget.left)))
            return self.cells[number].collector.collect(run)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _kept_aside(self, number: int, position: int, binary: int, error: PerfError) -> str:
        """Write what a job gave before it failed into a file of its own; the end of the message about it, empty where it is nothing."""
        partial = error.partial if isinstance(error, CollectError) else None
        if partial is None or not partial.uid:
            return ""
        recording = self.blocks.recording(number, position)
        recording.add(partial, recording.executions, binary)
        path = (
            self.sites.home / "aside" / f"{self.identity.session}-{self.versions[position].commit[:12]}-{number}-{position}.json"
        )
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self._raw(number, position, recording, datetime.now(UTC), noise.snapshot()).encode())
        return f" (what was measured until then is kept in {path})"

    def _give_up(self, number: int, position: int, reason: str) -> None:
        """Measure a job no more on a version; the others go on."""
        self._alive.discard((number, position))
        self._lose(number, position, reason)
        self._note(Lost(number, position, reason))
        self.progress.drop(self._left.pop((number, position), 0))

    def _lose(self, number: int, position: int, reason: str) -> None:
        """Say that a job was given up on a version."""
        cell = self.cells[number]
        self._tell(Failure(self.names[number], self.versions[position].name, reason, cell.label, cell.collector_name))

    def _fail(self, name: str, version: Version, reason: str) -> None:
        self._tell(Failure(name, version.name, reason))

    def _tell(self, failure: Failure) -> None:
        self.failures.append(failure)
        self.progress.fail(str(failure))

    def profiles(self) -> list[Profile]:
        """One profile per cell and version with a complete block, of those that were not given up."""
        ended, after = datetime.now(UTC), noise.snapshot()
        self.warnings |= dict.fromkeys(noise.warnings(self.before, after))
        return [self._profile(*place, ended, after) for place in sorted(self._alive) if self.blocks.of(*place)]

    def left(self, kept: Sequence[Profile]) -> Iterator[str]:
        """What to say of an interrupted session of which these profiles were kept."""
        if kept:
            counts = sorted({profile.design.executions for profile in kept})
            many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
            many += f" {plural(counts[-1], 'execution')}"
            yield f"kept what was complete: {counted(len(kept), 'profile')} of {many}"
            if self.journal is not None:
                yield f"to measure the rest: {self.journal.header.continued}"

    def unstored(self) -> Iterator[str]:
        """What to say where storing is interrupted after all was measured."""
        if self.journal is not None and len(self.blocks):
            rest = " and measure the rest" if self.journal.header.waiting else ""
            yield f"everything{' of this session' if rest else ''} was measured; to store it{rest}: {self.journal.header.continued}"

    def so_far(self, number: int) -> list[Profile] | None:
        """What each version of one cell gave so far, in their order; None when one of them was given up."""
        positions = range(len(self.versions))
        if not self._alive.issuperset((number, position) for position in positions):
            return None
        now, state = datetime.now(UTC), noise.snapshot()
        return [self._raw(number, position, self.blocks.recording(number, position), now, state) for position in positions]

    def _profile(self, number: int, position: int, ended: datetime, after: Noise) -> Profile:
        profile = self._raw(number, position, self.blocks.recording(number, position), ended, after)
        if profile.design.failed:
            name, version = self.names[number], self.versions[position].name
            many = counted(profile.design.failed, "execution")
            self.warnings[f"{name} on {version}: {many} failed and had to be repeated"] = None
        for postprocessor in self.cells[number].postprocessors:
            try:
                profile = postprocessor.apply(profile)
            except PerfError as error:  # what was measured is worth more than what could be computed from it
                self.warnings[f"{self.names[number]}: not processed: {error}"] = None
        return profile

    def _raw(self, number: int, position: int, recording: JobRecording, ended: datetime, after: Noise) -> Profile:
        cell, version = self.cells[number], self.versions[position]
        return Profile(
            commit=version.commit, dirty=version.dirty, job=self._series.job(number, position, recording.engine),
            metrics=recording.metrics, resources=recording.resources(), stacks=recording.stacks(),
            reached=recording.reached or self._reached.get((number, position)), turns=recording.turns if len(self.versions) > 1 else None,
            collected=Collected(self.identity.session, self.identity.started, moment(ended), f"perfvcs {__version__}"),
            environment=self.sites.environment(number, position, self.before, after),
            design=Design(
                binaries=cell.binaries, executions=recording.executions, warmup=cell.warmup, seed=self.identity.seed,
                version=position, order="interleaved" if len(self.versions) > 1 else "sequential",
                versions=[version.commit for version in self.versions], failed=self.blocks.failed(number, position),
            ),
        )  # fmt: skip
