"""What a benchmark is known to run: the functions that were recorded when it was measured last."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.locate.sources.differences import Changes

if TYPE_CHECKING:
    from perfvcs.profile import Profile
    from perfvcs.repository import Repository

# among the functions of a unit that started processes, whose own functions nobody saw
PROCESSES = "(processes)"
# the only function of a unit that was there and not measured: an older profile has its functions
LEFT_OUT = "(left out)"
# before the name of a function of a compiled program, whose file is not known
SYMBOL = "(compiled):"
SEARCHED_COMMITS = 20  # measured commits in which a record is looked for
_FRAME = re.compile(r"(.+) \(([^()]+)\)")
MODULE = "<module>"


class BenchmarkUnit(NamedTuple):
    """A benchmark: a job under a collector, and the unit of it (a test); the unit "" is the job as
    a whole.
    """

    job: str
    collector: str
    uid: str = ""

    def __str__(self) -> str:
        return self.uid or self.job

    @property
    def path(self) -> str:
        """The file of a test."""
        return self.uid.partition("::")[0]

    @property
    def function(self) -> str:
        """The qualified name of a test's function, without its parameters."""
        return ".".join(self.uid.partition("[")[0].split("::")[1:])

    @property
    def cell(self) -> tuple[str, str]:
        """The job and its collector."""
        return self.job, self.collector


@dataclass(frozen=True)
class Reach:
    """What a unit ran on a ``commit``: functions as ``file:qualified name``, ``outside`` those that
    ran in its process for no unit.

    ``complete``: every function of the project that ran is among them; otherwise those in which
    time or instructions were seen. ``processes``: it started processes whose functions nobody saw.
    ``recorded``: it was seen to run them, with this ``command``; otherwise it can by its sources.
    """

    commit: str
    functions: frozenset[str]
    outside: frozenset[str] = frozenset()
    processes: bool = False
    complete: bool = True
    recorded: bool = True
    command: str = ""

    @property
    def symbols(self) -> list[str]:
        """The functions of a compiled program that ran, by the names that they have in it."""
        return [
            function.removeprefix(SYMBOL)
            for function in self.functions
            if function.startswith(SYMBOL)
        ]

    def touched(self, changes: Changes) -> frozenset[str]:
        """The functions of the unit that a change touches, as ``file:qualified name``; with the
        files whose module it loads.
        """
        changed = changes.functions & {outer(function) for function in self.functions}
        modules = {f"{path}:{MODULE}" for path in changes.loaded}
        return changed | (modules & (self.functions | self.outside))


def outer(function: str) -> str:
    """The function that holds another one: ``file:f`` for ``file:f.<locals>.g``."""
    return function.partition(".<locals>")[0]


def recorded(
    repository: Repository, commits: Iterable[str], units: Iterable[BenchmarkUnit] | None = None
) -> dict[BenchmarkUnit, Reach]:
    """The newest complete record of each unit among some commits, nearest first; of all units, or
    as soon as these are known.
    """
    wanted = None if units is None else {unit.cell for unit in units}
    records: dict[BenchmarkUnit, Reach] = {}
    done: set[tuple[str, str]] = set()
    tests: dict[tuple[str, str], set[BenchmarkUnit]] = {}
    for commit in islice(repository.with_profiles(commits), SEARCHED_COMMITS):
        headers = [header for header in repository.index.headers([commit]) if header.dirty is None]
        newest = {(header.job.label, header.job.collector): header for header in headers}
        waiting = {
            key: header
            for key, header in newest.items()
            if key not in done and (wanted is None or key in wanted)
        }
        for key, profile in zip(waiting, repository.profiles(waiting.values()), strict=True):
            if reaches := of_profile(profile):
                there = tests.setdefault(
                    key, {unit for unit in reaches if unit.uid}
                )  # those that are gone are in older ones only
                for unit, reach in reaches.items():
                    if LEFT_OUT not in reach.functions and (not unit.uid or unit in there):
                        records.setdefault(unit, reach)
                if there <= records.keys():
                    done.add(key)
        if wanted is not None and wanted <= done:
            break
    return records


def of_profile(profile: Profile) -> dict[BenchmarkUnit, Reach]:
    """The complete records in a profile, by unit; of a whole process, the unit is "" too."""
    if profile.reached is None:
        return {}
    job, collector, names = profile.job.label, profile.job.collector, profile.reached.functions
    command = profile.job.cmd
    sets = {
        uid: frozenset(names[number] for number in numbers)
        for uid, numbers in profile.reached.units.items()
    }
    outside = sets.get("", frozenset()) - {PROCESSES}
    units = {uid: functions for uid, functions in sets.items() if uid}
    reaches = {
        BenchmarkUnit(job, collector, uid): Reach(
            profile.commit,
            functions - {PROCESSES},
            outside,
            PROCESSES in functions,
            command=command,
        )
        for uid, functions in units.items()
    }
    every = frozenset().union(*sets.values()) - {LEFT_OUT}
    reaches[BenchmarkUnit(job, collector)] = Reach(
        profile.commit, every - {PROCESSES}, frozenset(), PROCESSES in every, command=command
    )
    return reaches


def seen(profile: Profile) -> Reach:
    """The functions in which a profile saw time, instructions or allocations by its stacks and
    units: not all that ran.
    """
    frames = profile.stacks.frames if profile.stacks else []
    return Reach(
        profile.commit, frozenset(_named([*frames, *profile.resources.names])), complete=False
    )


def _named(frames: Iterable[str]) -> Iterator[str]:
    for frame in frames:
        if match := _FRAME.fullmatch(frame):
            yield outer(f"{match[2]}:{match[1]}")
