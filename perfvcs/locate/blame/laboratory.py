"""Measures versions of one benchmark under several collectors in turn, on the same checkouts."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from msgspec.structs import replace

from perfvcs.collectors._shared.commandrun import is_python, runtime
from perfvcs.errors import PerfError
from perfvcs.jobs.cell import Cell
from perfvcs.launcher.execution import name_command
from perfvcs.locate.blame.proof import VersionValues
from perfvcs.measure.journal import Identity
from perfvcs.measure.progress import PassedOn, Progress
from perfvcs.measure.rig import Rig
from perfvcs.measure.session import Session
from perfvcs.measure.site import Version
from perfvcs.plugins import build
from perfvcs.plugins.collector import CollectError, Collector, Observations, Run, divided
from perfvcs.profile import Metric, Profile

HEAVY = 60  # how much longer an execution under valgrind or with counting may take than one without
TOTAL = {
    "instructions": "instructions",
    "bytecode": "bytecodes",
    "memory": "bytes",
    "time": "cpu",
    "counters": "cpu",  # of a service under load
}  # the metric by which a collector's runs are compared
# blocks of a sampled metric, after each of which it is decided whether more are needed, and after
# how many no more begin where all so far took longer (s)
TURNS, USUAL_TURNS, QUICK_SECONDS = (6, 12, 24, 48, 96), 24, 30.0
NOT_COUNTED = "of a service the processor time is taken, its functions are not counted"


class UnmeasurableVersion(PerfError):
    """A version cannot be built, or its benchmark does not run."""

    exit_code = 5


@dataclass(frozen=True)
class Uncounted:
    """A collector that cannot run, since it would count the command and not its service."""

    own: Collector

    @property
    def engine(self) -> str:
        """That of the job's own collector."""
        return self.own.engine

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of the job's own collector."""
        return self.own.metrics

    def flags(self, program: str) -> tuple[str, ...]:
        """Those of the job's own collector."""
        return self.own.flags(program)

    def available(self) -> str:
        """Why it cannot run."""
        return f"{NOT_COUNTED}: leave out --metric"

    def collect(self, run: Run) -> Observations:
        """Refuse to."""
        raise CollectError(f"{name_command(run.argv)}: {self.available()}", lasting=True)


@dataclass
class Laboratory:
    """Where one benchmark is measured; ``cell`` is the benchmark as perf.toml has it, ``unit`` the
    part of it that is counted (empty: the whole program), ``executions`` counts what was executed.
    """

    rig: Rig
    cell: Cell
    executions: int = 0
    unit: str = ""

    def under(self, collector: str, **options: object) -> Cell:
        """The benchmark under another collector, which counts inside the unit where it can.

        A service stays under its own, which starts and stops it: its processor time is taken, and
        what would count otherwise is not available.
        """
        if self.serves():
            own = self.own()
            return own if collector == "time" else replace(own, collector=Uncounted(own.collector))
        member: Collector = build("collectors", collector, dict(options), f"job `{self.cell.name}`")
        slow = HEAVY if collector != "time" else 1
        return replace(
            self.own(),
            collector_name=collector,
            collector=member,
            options=dict(options),
            retries=1,
            timeout=self.cell.timeout * slow,
            unit=self.unit,
        )

    def own(self) -> Cell:
        """The benchmark under its own collector, one execution at a time; the unit alone where its
        harness can run it.
        """
        return replace(
            self.cell.alone(self.unit),
            executions=1,
            warmup=0,
            binaries=1,
            postprocessors=(),
            auto=None,
        )

    def serves(self) -> bool:
        """Whether the job measures a service, which its collector starts beside the command."""
        return getattr(self.cell.collector, "service", None) is not None

    def runs_python(self) -> bool:
        """Whether the command is a Python program, as far as its words tell."""
        words = shlex.split(self.cell.cmd)
        words = words[words.index("-c") + 1].split() if self.cell.shell and "-c" in words else words
        if self.serves():
            return False
        folder = self.rig.repository.project.root
        return any(
            is_python(word if "/" not in word else str(folder / word)) for word in words[:1]
        ) or (bool(words) and self.rig.config.python is not None and not Path(words[0]).suffix)

    @property
    def runtime(self) -> str:
        """The runtime that compiles the program while it runs, ``node`` or ``java``; else empty."""
        words = shlex.split(self.cell.cmd)
        return "" if self.serves() else runtime(words)

    def open(self, versions: Sequence[Version], cells: Sequence[Cell]) -> Bench:
        """The versions built for these cells; use it as a context manager.

        Raises UnmeasurableVersion where one cannot be built.
        """
        return Bench(self, list(versions), list(cells))


@dataclass
class Bench:
    """Versions of a benchmark, built and ready to be measured."""

    laboratory: Laboratory
    versions: list[Version]
    cells: list[Cell]
    _stack: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Bench:
        rig = self.laboratory.rig
        self.sites = rig.sites(self.cells, self.versions)
        self.session = self._stack.enter_context(
            Session(self.sites, Quiet(rig.progress), Identity.new(0))
        )
        self._check()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _check(self) -> None:
        if self.session.failures:
            failure = self.session.failures[0]
            raise UnmeasurableVersion(f"{failure.version} cannot be measured: {failure.reason}")

    def limit(self, cell: int, seconds: float) -> None:
        """Stops an execution of a cell after so many seconds."""
        self.sites.limit(cell, seconds)

    def run(self, cell: int, times: int = 1) -> list[Profile]:
        """Executes a cell so many more times on each version, in turns; the profiles of all its
        executions, one per version.
        """
        self.session.begin({cell: times})
        self.session.run({cell: times})
        self._check()
        self.laboratory.executions += times * len(self.versions)
        return [profile for (profile,) in self.session.so_far(cell) or ()]


def in_turns(
    execute: Callable[[int], VersionValues],
    is_decided: Callable[[VersionValues], bool],
    done: int = 0,
) -> VersionValues:
    """The values of versions over more and more blocks, of which so many are ``done``, until they
    decide: ``execute`` runs so many more, and has those of all.
    """
    began = monotonic()
    for turns in TURNS:
        levels = execute(turns - done)
        done = turns
        is_long = turns >= USUAL_TURNS and monotonic() - began > QUICK_SECONDS
        if is_decided(levels) or is_long:
            break
    return levels


def level(profile: Profile, metric: str = "", unit: str = "") -> list[float]:
    """The value of each execution: of the ``unit`` where it was counted under its name, else of the
    whole process, by a metric, else by the one in which a collector's runs are compared.
    """
    rows = profile.resources
    column = rows.metrics[metric or TOTAL[profile.job.collector]]
    is_named = divided(profile) and unit in rows.names
    uid = rows.names.index(unit if is_named else profile.job.name)
    by_execution: dict[int, list[float]] = {}
    for place, value in enumerate(column):
        if value is not None and rows.uid[place] == uid:
            by_execution.setdefault(rows.execution[place], []).append(value)
    return [sum(values) for _, values in sorted(by_execution.items())]


class Quiet(PassedOn):
    """What a session says, without its failures: whoever asked reports them once."""

    def fail(self, failure: str) -> None:
        """Shows nothing."""


class Once(PassedOn):
    """Progress in which a line is said once: every session prepares the ends anew."""

    def __init__(self, inner: Progress) -> None:
        super().__init__(inner)
        self._said = set[str]()

    def say(self, line: str) -> None:
        """Passes on a line that is new."""
        if line not in self._said:
            self._said.add(line)
            self.inner.say(line)
