"""A measuring session: every version takes its turn in every block, in random order, and becomes
one profile per job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import count
from types import TracebackType

from perfvcs.errors import PerfError, UsageError
from perfvcs.measure.budget import Budget, TurnTimes
from perfvcs.measure.executor import COLLECT_FAILED, Executor, LocalExecutor, Wanted
from perfvcs.measure.journal import Identity, Journal
from perfvcs.measure.progress import Progress
from perfvcs.measure.sites import Sites
from perfvcs.measure.tally import CellPlace, Failure, Tally, profile_of
from perfvcs.profile import Profile
from perfvcs.profile.summary import Measured
from perfvcs.text.words import counted, plural

__all__ = ["CollectFailed", "Failure", "Session"]


class CollectFailed(PerfError):
    """Some jobs could not be measured; the others are stored."""

    exit_code = COLLECT_FAILED


class Session:
    """Measures cells on versions, interleaved; use as a context manager, which prepares the
    checkouts and takes them away.

    Its ``identity`` fixes all that is random. The profiles are complete after any number of ``run``
    calls, and wherever one of these is interrupted: complete blocks count. A ``journal`` notes
    them, and what it has from before the session was continued counts too. The ``executor`` runs
    the blocks: by default on this machine.
    """

    def __init__(
        self,
        sites: Sites,
        progress: Progress,
        identity: Identity,
        journal: Journal | None = None,
        *,
        pace: TurnTimes | None = None,
        budget: Budget | None = None,
        executor: Callable[[Sites, Tally], Executor] = LocalExecutor,
    ) -> None:
        self.tally = Tally(sites.cells, sites.versions, progress, journal, pace, budget)
        self.executor = executor(sites, self.tally)
        self.progress, self.identity, self.journal = progress, identity, journal
        self.cells, self.versions, self.config = sites.cells, sites.versions, sites.config
        self.names = self.tally.names
        self.failures = self.tally.failures
        self.warnings = self.tally.warnings
        self.blocks, self.pace = self.tally.blocks, self.tally.pace
        self._begun = 0  # blocks that ``run`` was asked for
        self._stack = ExitStack()

    @property
    def budget(self) -> Budget | None:
        """The bound on its time."""
        return self.tally.budget

    def __enter__(self) -> Session:
        try:
            self.executor.prepare(self.identity, self._stack)
            self.tally.resume(self.journal.entries() if self.journal else ())
            self.executor.resume()
            self._leave_out()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def _leave_out(self) -> None:
        """Leave out the jobs whose requirement no host meets; raises UsageError if that is all."""
        required = [
            number
            for number, cell in enumerate(self.cells)
            if cell.hosts and self.tally.versions_of(number)
        ]
        if not required:
            return
        from perfvcs.jobs.requirement import lacking

        hosts = self.executor.hosts()
        for number in required:
            if reason := lacking(self.cells[number].hosts, hosts, f"job `{self.names[number]}`"):
                self.tally.leave_out(number, reason)
        if not self.tally.alive and not self.failures:
            raise UsageError(next(iter(self.warnings)))

    def warm_up(self, blocks: Mapping[int, int]) -> None:
        """Run the warm-up executions of cells that have blocks to run, and drop the results."""
        self.executor.warm_up(
            [number for number in range(len(self.cells)) if self._ahead(number, blocks)]
        )

    def begin(self, blocks: Mapping[int, int]) -> None:
        """Show how many executions ``warm_up`` and ``run`` with that many blocks per cell are."""
        self.tally.expect(self.turns_ahead(blocks))

    def expect(self, blocks: Mapping[int, int]) -> None:
        """Show that at least so many more blocks per cell number are ahead."""
        self.tally.expect_more({number: len(self._ahead(number, blocks)) for number in blocks})

    def turns_ahead(self, blocks: Mapping[int, int]) -> dict[int, int]:
        """How many turns of each cell ``warm_up`` and ``run`` with that many blocks are."""
        ahead = {
            number: len(self._ahead(number, blocks))
            for number in blocks
            if self.tally.versions_of(number)
        }
        return {
            number: turns + self.cells[number].warmup * self.cells[number].binaries
            for number, turns in ahead.items()
            if turns
        }

    def _ahead(self, number: int, blocks: Mapping[int, int]) -> set[int]:
        return self.blocks.missing(number, range(self._begun, self._begun + blocks.get(number, 0)))

    def run(self, blocks: Mapping[int, int]) -> None:
        """Runs that many more blocks of each cell (by its number)."""
        for _ in self.running(blocks):
            pass

    def running(self, blocks: Mapping[int, int]) -> Iterator[None]:
        """Runs more blocks, a part at each step."""
        ahead = {number: self._ahead(number, blocks) for number in blocks}
        begin, self._begun = self._begun, self._begun + max(blocks.values(), default=0)
        wanted = (
            Wanted(block, [number for number in ahead if block in ahead[number]])
            for block in range(begin, self._begun)
        )
        yield from self.executor.running([chosen for chosen in wanted if chosen.cells])

    def more(self, number: int) -> bool:
        """Runs the next block of one cell; returns whether it was complete."""
        before = self.count(number)
        following = next(block for block in count() if self.blocks.missing(number, [block]))
        for _ in self.executor.running([Wanted(following, [number])]):
            pass
        return self.count(number) > before

    def count(self, number: int) -> int:
        """How many blocks of a cell are complete."""
        return max(
            (len(self.blocks.of(number, position)) for position in self.tally.versions_of(number)),
            default=0,
        )

    def units(self, number: int) -> int:
        """How many units a cell has, by its first block."""
        positions = self.tally.versions_of(number)
        return max(
            (
                len(set(self.blocks.of(number, position)[0].seen[position].uid))
                for position in positions
            ),
            default=0,
        )

    def measured(self, number: int) -> list[Measured]:
        """What a cell gave so far, by version."""
        profiles = self._profiles(
            [(number, position) for position in self.tally.versions_of(number)]
        )
        return [Measured.of(profile) for profile in profiles.values()]

    def unmeasured(self) -> list[str]:
        """The cells without a complete block that were not given up: the budget ended."""
        return [
            self.names[number]
            for number in range(len(self.cells))
            if self.tally.versions_of(number) and not self.count(number)
        ]

    def profiles(self) -> list[Profile]:
        """One profile per cell, version and host with a complete block that was not given up."""
        by_place = self._profiles(sorted(self.tally.alive))
        self.warnings |= dict.fromkeys(
            warning for profile in by_place.values() for warning in profile.environment.warnings
        )
        return [self._processed(place.number, profile) for place, profile in by_place.items()]

    def left(self, profiles: Sequence[Profile]) -> Iterator[str]:
        """The message about an interrupted session of which these profiles were kept."""
        if profiles:
            counts = sorted({profile.design.executions for profile in profiles})
            many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
            many += f" {plural(counts[-1], 'execution')}"
            yield f"kept what was complete: {counted(len(profiles), 'profile')} of {many}"
            if self.journal is not None:
                yield f"to measure the rest: {self.journal.header.continued}"

    def unstored(self) -> Iterator[str]:
        """What to say where storing is interrupted after all was measured."""
        if self.journal is not None and len(self.blocks):
            rest = " and measure the rest" if self.journal.header.waiting else ""
            yield (
                f"everything{' of this session' if rest else ''} was measured; to store it{rest}:"
                f" {self.journal.header.continued}"
            )

    def so_far(self, number: int) -> list[list[Profile]] | None:
        """What each version of one cell gave so far, by host; None if one was given up."""
        pairs = [(number, position) for position in range(len(self.versions))]
        if not self.tally.alive.issuperset(pairs):
            return None
        by_place = self._profiles(pairs)
        return [
            [profile for place, profile in by_place.items() if place.position == position]
            for _, position in pairs
        ]

    def _profiles(self, pairs: Sequence[tuple[int, int]]) -> dict[CellPlace, Profile]:
        """The profiles of cells on versions with a complete block, one per host, as measured."""
        recordings = {
            (*pair, host): self.blocks.recording(*pair, host)
            for pair in pairs
            for host in self.blocks.hosts(*pair)
        }
        places = [
            CellPlace(number, position, recording.engine, host)
            for (number, position, host), recording in recordings.items()
        ]
        described = self.executor.describe(place for place in places if not place.host)
        described |= {
            place: self.tally.about(place.number, place.position, place.host)
            for place in places
            if place.host
        }
        now = datetime.now(UTC)
        return {
            place: profile_of(
                self.tally,
                self.identity,
                place,
                recordings[place.number, place.position, place.host],
                described[place],
                now,
            )
            for place in places
        }

    def _processed(self, number: int, profile: Profile) -> Profile:
        """A profile with what its job's postprocessors say of it."""
        if profile.design.failed:
            name, version = self.names[number], self.versions[profile.design.version].name
            many = counted(profile.design.failed, "execution")
            self.warnings[f"{name} on {version}: {many} failed and had to be repeated"] = None
        for postprocessor in self.cells[number].postprocessors:
            try:
                profile = postprocessor.apply(profile)
            except (
                PerfError
            ) as error:  # what was measured is worth more than what could be computed from it
                self.warnings[f"{self.names[number]}: not processed: {error}"] = None
        return profile
