"""The contract of the collectors, which are found by their names in ``collectors/``.

A collector is a frozen dataclass; its fields are its options in perf.toml (``collectors = [{ name =
"time", repeat = 2 }]``). It runs one execution per ``collect`` and returns columns. It never
touches the store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from perfvcs.errors import PerfError
from perfvcs.profile import Metric, Profile, Reached, Stacks
from perfvcs.system.executionresult import ExecutionResult

DIVIDED = ":unit"  # the end of an engine's name that counted inside a unit
# collectors that run in a copy of the checkout, of what was there before any execution; their units
# are processes of their own
OF_COPIES = ("rebuild",)
EVERY_UNIT = "*"  # in place of a unit: each of them is counted by itself, in one execution


class CollectError(PerfError):
    """A command could not be measured: it failed, timed out, or reported garbage; ``partial`` is
    what it gave until then.

    ``lasting``: the same would happen again (a time-out, a missing tool), so that the execution is
    not repeated.
    """

    exit_code = 5

    def __init__(
        self, message: str, partial: Observations | None = None, *, lasting: bool = False
    ) -> None:
        super().__init__(message)
        self.partial, self.lasting = partial, lasting


class Reads(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What a job's own harness reports, and where: in a ``format`` that `perf import` knows, or in
    lines in which ``regex`` is found; on standard output, or in a ``file`` of the checkout.
    """

    format: str = ""
    file: str = ""
    regex: str = ""

    @property
    def identity(self) -> str | dict[str, str]:
        """What of it is a part of the series: not in which file the values stand."""
        return {"regex": self.regex} if self.regex else self.format


@dataclass(frozen=True)
class Repetition:
    """How a command is asked for one unit, so often: ``words`` gives the command's by the unit, its
    size and the iterations, ``env`` are variables with which each execution does the same.

    ``iterations`` are those that were found to be enough, by unit and size; the versions that are
    compared have them in common.
    """

    words: Callable[[str, float | None, int], list[str]]
    env: Mapping[str, str]
    iterations: dict[tuple[str, float | None], int] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One prepared execution.

    ``argv[0]`` is an absolute path. ``timeout`` is in seconds. ``scratch`` is an empty folder of
    this run, removed by the caller. ``uid`` names the row of the whole process. ``cpus``: the
    processors to pin to (empty: none). ``aslr``: False switches address space randomisation off.
    ``left_out``: units that need not be measured. ``functions``: this execution is not measured,
    and may record the functions that run. ``unit``: the only unit to count in, where the collector
    counts and can divide the program; empty: all of the program, EVERY_UNIT: each by itself.
    ``result`` takes what the execution gives beside numbers. ``reads``: what the command's own
    harness reports; None: the whole process is what is measured. ``alone``: the command runs
    ``unit`` and next to nothing else. ``stdin``: the file that is its standard input; None: it is
    empty. ``may_fail``: an exit status other than 0 is no failure. ``within`` are the words of a
    command that starts the execution in a sandbox. ``begun_with``: the files and folders below
    ``cwd`` before any execution, by their relative paths; None: it is not known. ``repetition``:
    the command's harness runs a unit as often as it is asked to; None: it does not, or nothing
    counts.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    scratch: Path
    uid: str
    timeout: float = 300.0
    size: float | None = None
    cpus: tuple[int, ...] = ()
    aslr: bool = True
    left_out: frozenset[str] = frozenset()
    functions: bool = False
    unit: str = ""
    result: ExecutionResult | None = None
    reads: Reads | None = None
    alone: bool = False
    stdin: Path | None = None
    may_fail: bool = False
    within: tuple[str, ...] = ()
    begun_with: frozenset[str] | None = None
    repetition: Repetition | None = None


@dataclass
class Observations:
    """Rows of one execution as columns of equal length; ``metrics`` describes every key of
    ``values``.

    ``engine`` is the way it was measured where that is known only now; empty: the collector's own.
    ``output`` is the digest of what the execution wrote, ``left`` names the processes that it left
    running; empty where there is none.
    """

    uid: list[str] = field(default_factory=list)
    size: list[float | None] = field(default_factory=list)
    iteration: list[int] = field(default_factory=list)
    mark: list[int] = field(default_factory=list)
    values: dict[str, list[float | None]] = field(default_factory=dict)
    metrics: dict[str, Metric] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    trace: list[int] = field(default_factory=list)
    stacks: Stacks | None = None
    reached: Reached | None = None
    engine: str = ""
    output: str = ""
    left: str = ""

    def add(
        self, uid: str, row: Mapping[str, float | None], *, size: float | None, trace: int = -1
    ) -> None:
        """Add a row of a unit: its values by metric, the others None."""
        self.uid.append(uid)
        self.size.append(size)
        self.iteration.append(0)
        self.mark.append(0)
        self.trace.append(trace)
        for name, column in self.values.items():
            column.append(row.get(name))


def divided(profile: Profile) -> bool:
    """Whether a profile counts what ran inside a unit, not the whole program."""
    return profile.job.engine.endswith(DIVIDED)


class Collector(Protocol):
    """What every member of the family offers."""

    @property
    def engine(self) -> str:
        """The way it measures here, such as ``launcher/1``; series of different engines are never
        compared.
        """
        ...

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics that every execution has, with units."""
        ...

    def flags(self, program: str) -> tuple[str, ...]:
        """What compilers must be given so that ``program``, the command's first word, can be
        measured; usually nothing.

        Jobs whose flags differ get builds of their own.
        """
        ...

    def available(self) -> str | None:
        """Why it cannot run here, with the cure; None when it can."""
        ...

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError."""
        ...
