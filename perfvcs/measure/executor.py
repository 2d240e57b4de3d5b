"""Executors run the blocks of a session; the one here runs them on this machine, one execution
after the other.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import NamedTuple, Protocol

from perfvcs.environment import noise
from perfvcs.environment.host import Facts, facts
from perfvcs.errors import PerfError
from perfvcs.measure.blocks import draw, turns
from perfvcs.measure.budget import CellSeries
from perfvcs.measure.journal import Block, Identity
from perfvcs.measure.originals import ExecutionFolders
from perfvcs.measure.sites import FirstExecution, SiteKind, Sites
from perfvcs.measure.tally import About, CellPlace, Tally, profile_of
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.system.executionresult import ExecutionResult, named
from perfvcs.text.characters import shorten

COLLECT_FAILED = 5  # exit code of a failed measurement, after which the others go on
SHORTEST_TIMEOUT = 0.001  # seconds of a time-out
MUCH_OUTPUT = 1 << 20  # bytes; reading as much takes below 1 ms
LEFT = 200  # characters of the names of processes
WARM_UP = -1  # the block of executions whose results are dropped


class Wanted(NamedTuple):
    """A block to be run: its number, and the cells that take a turn in it."""

    block: int
    cells: Sequence[int]


class Turned(NamedTuple):
    """One cell's part of a block: ``seed``, versions ``tried`` in order, results and failures."""

    seed: int
    tried: Sequence[int]
    seen: dict[int, Observations]
    failed: dict[int, int]


class Executor(Protocol):
    """Runs the blocks of a session; what is complete, or given up, goes into its tally."""

    @property
    def width(self) -> int:
        """How many blocks run at a time."""
        ...

    def hosts(self) -> Sequence[Facts]:
        """The hosts that can run blocks now, once prepared."""
        ...

    def prepare(self, identity: Identity, stack: ExitStack) -> None:
        """Get ready for a session; what that makes lives as long as ``stack``."""
        ...

    def resume(self) -> None:
        """Begins with what the tally has from before the session was continued."""
        ...

    def warm_up(self, cells: Sequence[int]) -> None:
        """Run the warm-up executions of these cells, and drop what they measured."""
        ...

    def running(self, blocks: Iterable[Wanted]) -> Iterator[None]:
        """Run blocks, a part of them at each step, so that sessions can run together."""
        ...

    def describe(self, places: Iterable[CellPlace]) -> dict[CellPlace, About]:
        """The present state of the series measured so far."""
        ...


class LocalExecutor:
    """Runs blocks here: every version in a site of its own, one execution after the other."""

    width = 1

    def __init__(self, sites: Sites, tally: Tally) -> None:
        self.sites, self.tally = sites, tally
        self.cells, self.versions = sites.cells, sites.versions
        self._runs = 0
        self.within: Callable[[Run], tuple[str, ...]] = lambda run: run.within  # a sandbox
        self._unavailable = [cell.collector.available() for cell in self.cells]
        self._functions = self._warming = False
        self._sizes: dict[tuple[int, int], int] = {}  # bytes of output, by cell and version

    def hosts(self) -> list[Facts]:
        """This machine."""
        return [facts()]

    def prepare(self, identity: Identity, stack: ExitStack) -> None:
        """Make the sites, which live as long as ``stack``; what cannot be built is given up."""
        self.identity = identity
        self.scratch = self.sites.home / "tmp" / identity.session
        self.scratch.mkdir(parents=True)
        stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
        self.folders = ExecutionFolders(os.environ, self.sites.home / "tmp")
        stack.callback(self.folders.close)
        if self.folders.warning:
            self.tally.warnings[self.folders.warning] = None
        self._series = CellSeries(self.sites, self.tally.names, identity.session)
        self.before = noise.snapshot()
        self.sites.layouts = identity.seed
        for position in range(len(self.versions)):
            for kind in self.sites.kinds():
                self._prepare(position, kind, stack)
        self._confirm()

    def _prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:
        """Make the sites of one version and kind; jobs whose site fails are given up."""
        if not self.sites.stands(position):
            self.tally.progress.say(f"preparing {self.versions[position].name}{kind.named}")
        try:
            self.sites.prepare(position, kind, stack)
        except PerfError as error:
            if error.exit_code != COLLECT_FAILED:
                raise
            self.tally.fail(f"the build{kind.named}" if kind.flags else "", position, str(error))
        else:
            self.tally.alive |= {(number, position) for number in kind.jobs}
            self.tally.warnings |= dict.fromkeys(self.sites.notes(position, kind))
            for number in kind.jobs:
                if unseen := self.sites.unseen_workload(number, position):
                    self.tally.warnings[f"{self.tally.names[number]}: {unseen}"] = None

    def _confirm(self) -> None:
        """Give up the working tree's own changes if they changed before all of them was copied."""
        copied = {
            position
            for _, position in self.tally.alive
            if self.versions[position].dirty
            and self.versions[position].product is None
            and not self.sites.stands(position)
        }
        now = self.sites.changes.hash() if copied else None
        for position in sorted(copied):
            if self.versions[position].dirty != now:
                self.tally.alive = {pair for pair in self.tally.alive if pair[1] != position}
                reason = (
                    "the working tree changed while it was copied: measure again, and name what"
                    " changes by itself in [dirty] ignore"
                )
                self.tally.fail("", position, reason)

    def resume(self) -> None:
        """Raises Changed where a series is not what it was before the session was continued."""
        blocks = self.tally.blocks
        self._series.before = blocks.series()
        for number, position in sorted(self.tally.alive.intersection(self._series.before)):
            self._series.of(number, position, blocks.of(number, position)[-1].seen[position].engine)

    def warm_up(self, cells: Sequence[int]) -> None:
        """Run the warm-up executions of these cells, and drop what they measured; the first records
        functions.

        Versions whose sites an earlier session has warmed up are left out.
        """
        for number in cells:
            cell, alive = self.cells[number], self.tally.versions_of(number)
            cold = [
                position
                for position in alive
                if (number, self.versions[position]) not in self.sites.warm
            ]
            for position in set(alive).difference(cold):
                self.tally.skip(number, position, cell.warmup * cell.binaries)
            for turn in range(cell.warmup if cold else 0):
                for binary in range(cell.binaries if self.tally.fits(number) else 0):
                    self._functions, self._warming = not turn and not binary, True
                    for position, seen in self._turn(number, cold, WARM_UP, binary).seen.items():
                        place = number, self.versions[position]
                        self.sites.warm[place] = seen.reached or self.sites.warm.get(place)
        self._functions = self._warming = False

    def running(self, blocks: Iterable[Wanted]) -> Iterator[None]:
        """Run blocks, one at each step; jobs take turns too, so that noise hits all alike."""
        for block, cells in blocks:
            alive = [self.tally.versions_of(number) for number in range(len(self.cells))]
            for number, positions in turns(self.identity.seed, block, alive):
                if number in cells and self.tally.fits(number):
                    binary = block % self.cells[number].binaries
                    self._complete(
                        number, block, binary, self._turn(number, positions, block, binary)
                    )
            yield

    def describe(self, places: Iterable[CellPlace]) -> dict[CellPlace, About]:
        """The series, with the noise since the session began."""
        state = noise.snapshot()
        return {
            place: About(
                self._series.job(place.number, place.position, engine=place.engine),
                self.sites.environment(place.number, place.position, self.before, state),
                self.sites.warm.get((place.number, self.versions[place.position])),
            )
            for place in places
        }

    def _turn(self, number: int, positions: Sequence[int], block: int, binary: int) -> Turned:
        """One cell's part of a block: all its versions with one seed.

        Before the last repetition of an execution that fails, the seed is given up, and all begin
        again with another one.
        """
        tally, began = self.tally, time.monotonic()
        failures: defaultdict[int, list[str]] = defaultdict(list)
        stepped: set[int] = set()
        for attempt in count():
            seed = (
                0 if self.cells[number].exact else draw(self.identity.seed, block, number, attempt)
            )
            tried = [position for position in positions if (number, position) in tally.alive]
            seen: dict[int, Observations] = {}
            for position in tried:
                observed = self._execute(number, position, binary, seed, failures[position])
                if observed is not None:
                    seen[position] = observed
                    if position not in stepped:
                        stepped.add(position)
                        tally.step(number, position)
                elif (number, position) in tally.alive:
                    break
            else:
                break
            if tally.is_over():
                return Turned(seed, tried, {}, {})
        for position in seen:
            if failures[position]:
                tally.progress.say(
                    f"repeated: {tally.names[number]} on {self.versions[position].name}:"
                    f" {failures[position][-1]}"
                )
        if seen:
            tally.pace.note(number, time.monotonic() - began)
        return Turned(seed, tried, seen, {position: len(failures[position]) for position in seen})

    def _complete(self, number: int, block: int, binary: int, turned: Turned) -> None:
        """A block counts when every version had its turn, if any gave something."""
        if turned.seen:
            series = {
                position: self._series.of(number, position, observed.engine)
                for position, observed in turned.seen.items()
            }
            places = {
                position: place
                for place, position in enumerate(turned.tried)
                if position in turned.seen
            }
            self.tally.complete(
                Block(
                    job=number,
                    block=block,
                    binary=binary,
                    seed=turned.seed,
                    seen=turned.seen,
                    failed=turned.failed,
                    places=places,
                    series=series,
                )
            )

    def _execute(
        self, number: int, position: int, binary: int, seed: int, failures: list[str]
    ) -> Observations | None:
        """One execution, repeated where it fails; None where that takes another seed, or the job is
        given up on the version.

        The reasons are added to the ``failures`` that the version has had in this block.
        """
        cell, tally = self.cells[number], self.tally
        while True:
            try:
                seen = self._attempt(number, position, binary, seed)
                break
            except PerfError as error:
                if error.exit_code != COLLECT_FAILED:
                    raise
                failures.append(str(error))
                if tally.is_over():  # which has ended it, or it failed just then
                    return None
                if (
                    len(failures) > cell.retries
                    or not isinstance(error, CollectError)
                    or error.lasting
                ):
                    often = f" (failed {len(failures)} times in a row)" if len(failures) > 1 else ""
                    missing = self._missing(number, position, str(error))
                    aside = self._kept_aside(number, position, binary, error)
                    tally.give_up(number, position, f"{error}{often}{missing}{aside}")
                    return None
                if len(failures) == cell.retries and not cell.exact:
                    return None
        tally.warnings |= dict.fromkeys(
            f"{tally.names[number]}: {warning}" for warning in seen.warnings
        )
        return seen

    def _missing(self, number: int, position: int, reason: str) -> str:
        """The end of the message about a job that failed on a version: what it may miss there."""
        missing = self.sites.removed(number, position)
        if not missing and not self.tally.blocks.of(number, position):
            missing = self.sites.lacking(number, position)
        return "" if not missing or missing in reason else f" ({missing})"

    def _attempt(self, number: int, position: int, binary: int, seed: int) -> Observations:
        self._runs += 1
        cell, scratch = self.cells[number], self.scratch / str(self._runs)
        scratch.mkdir()
        try:
            run = self.sites.run(number, position, binary, scratch, seed)
            result = ExecutionResult(
                cell.result.normalise,
                self._reads(number, position),
                (os.fsencode(run.cwd), os.fsencode(self.folders.folder)),
            )
            run = replace(run, functions=self._functions, result=result)
            if self.tally.budget is not None:
                left = min(run.timeout, self.tally.budget.left)
                run = replace(run, timeout=max(SHORTEST_TIMEOUT, left))
            if reason := self._unavailable[number]:
                raise CollectError(reason, lasting=True)
            with self.folders.fresh(run.env, kept=cell.env, isolate=cell.isolate) as env:
                seen = cell.collector.collect(replace(run, env=env, within=self.within(run)))
                self._note_result(number, position, run, seen)
            self.sites.require(number, position, binary)
            return seen
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _reads(self, number: int, position: int) -> bool:
        """Whether the next execution's output is read: much is only read of a warm-up."""
        is_small = self._sizes.get((number, position), 0) <= MUCH_OUTPUT
        return self.cells[number].result.reads and (self._warming or is_small)

    def _note_result(self, number: int, position: int, run: Run, seen: Observations) -> None:
        """Takes what an execution gave beside numbers into what was observed of it."""
        result, plan = run.result, self.cells[number].result
        assert result is not None
        if plan.files:
            result.add_files(run.cwd, plan.files)
        if result.reads:
            self._sizes[number, position] = result.size
            seen.output = result.digest()
        if result.problem:
            self.tally.warnings[f"{self.tally.names[number]}: {result.problem}"] = None
        seen.left = shorten(named(result.left), LEFT)
        if self._warming:
            self.sites.first.setdefault(
                (number, self.versions[position]),
                FirstExecution(seen.output, result.wall, traced=seen.reached is not None),
            )

    def _kept_aside(self, number: int, position: int, binary: int, error: PerfError) -> str:
        """Write what a job gave before it failed into a file; the end of the message about it."""
        partial = error.partial if isinstance(error, CollectError) else None
        if partial is None or not partial.uid:
            return ""
        tally = self.tally
        recording = tally.blocks.recording(number, position)
        recording.add(partial, recording.executions, binary)
        place = CellPlace(number, position, recording.engine)
        profile = profile_of(
            tally, self.identity, place, recording, self.describe([place])[place], datetime.now(UTC)
        )
        commit = self.versions[position].commit[:12]
        name = f"{self.identity.session}-{commit}-{number}-{position}.json"
        path = self.sites.home / "aside" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(profile.encode())
        return f" (what was measured until then is kept in {path})"


class Make(Protocol):
    """Makes the executor of a session; ``width`` as its executors have it."""

    @property
    def width(self) -> int:
        """How many blocks run at a time."""
        ...

    def __call__(self, sites: Sites, tally: Tally) -> Executor:
        """The executor of a session."""
        ...
