"""A measuring session: every version takes its turn in every block, in random order, and becomes one profile per job."""

from __future__ import annotations

import random
import re
import secrets
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol

from perfvcs import __version__, environment
from perfvcs.collectors import Observations, Run
from perfvcs.environment import Knobs, noise
from perfvcs.environment.noise import Noise
from perfvcs.errors import PerfError
from perfvcs.jobs import Cell
from perfvcs.jobs.config import Config
from perfvcs.jobs.workload import Workload
from perfvcs.measure.interpreter import probe
from perfvcs.measure.program import resolve
from perfvcs.measure.site import Site, Version, prepare
from perfvcs.measure.virtualenv import VirtualEnvironment
from perfvcs.profile import Collected, Design, Metric, Profile, Resources
from perfvcs.vcs import Project


class CollectFailed(PerfError):
    """Some jobs could not be measured; the others are stored."""

    exit_code = 5


class Progress(Protocol):
    """What a session tells while it runs; the command decides how it looks."""

    def begin(self, total: int) -> None:
        """``total`` steps are ahead."""
        ...

    def step(self, what: str) -> None:
        """One of them is done; ``what`` is the job and version."""
        ...

    def say(self, line: str) -> None:
        """A line worth reading: a preparation, a warning, a failure."""
        ...


@dataclass
class Recording:
    """The rows of one job on one version while they grow."""

    names: dict[str, int] = field(default_factory=dict)
    rows: Resources = field(default_factory=Resources)
    sizes: list[float | None] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)
    executions: int = 0

    def add(self, seen: Observations, execution: int, binary: int) -> None:
        """Append what one execution gave."""
        before, count = len(self.rows), len(seen.uid)
        self.rows.uid += [self.names.setdefault(name, len(self.names)) for name in seen.uid]
        self.rows.execution += [execution] * count
        for column, values in (("binary", [binary] * count), ("iteration", seen.iteration), ("mark", seen.mark)):
            setattr(self.rows, column, (getattr(self.rows, column) or []) + list(values))
        self.sizes += seen.size
        self.metrics |= seen.metrics
        for name in self.metrics:
            known = self.rows.metrics.setdefault(name, [None] * before)
            known += seen.values.get(name, [None] * count)
        self.executions += 1

    def resources(self) -> Resources:
        """All rows, the columns that hold nothing left out."""
        size = self.sizes if any(size is not None for size in self.sizes) else None
        return replace(self.rows, names=list(self.names), size=size)


@dataclass(frozen=True)
class Failure:
    """A job that was given up on a version, and why, in one line."""

    label: str
    version: str
    reason: str

    def __str__(self) -> str:
        return f"{self.label} on {self.version}: {self.reason}" if self.label else self.reason


class Session:
    """Measures cells on versions, interleaved; use as a context manager, which prepares the checkouts and takes them away.

    ``seed`` fixes the random order and the environment's padding. The profiles are complete after any number of ``run`` calls.
    """

    def __init__(
        self, project: Project, home: Path, config: Config, cells: Sequence[Cell], versions: Sequence[Version],
        progress: Progress, *, knobs: Knobs, seed: int | None = None,
    ) -> None:  # fmt: skip
        self.project, self.home, self.config = project, home, config
        self.cells, self.versions = list(cells), list(versions)
        self.progress, self.knobs = progress, knobs
        self.seed = secrets.randbelow(1 << 31) if seed is None else seed
        self.random = random.Random(self.seed)
        self.started = datetime.now(UTC)
        self.id = f"{self.started:%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
        self.failures: list[Failure] = []
        self.warnings: dict[str, None] = {}
        self.blocks = 0
        self._stack = ExitStack()
        self._sites: dict[tuple[int, int], Site] = {}
        self._alive: set[tuple[int, int]] = set()
        self._recordings: defaultdict[tuple[int, int], Recording] = defaultdict(Recording)
        self._texts: dict[tuple[Path, Workload | None], str] = {}
        self._programs: dict[tuple[Path, str], str] = {}
        self._runs = 0

    def __enter__(self) -> Session:
        try:
            self.scratch = self.home / "tmp" / self.id
            self.scratch.mkdir(parents=True)
            self._stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
            self.before = noise.snapshot()
            for position, version in enumerate(self.versions):
                self._prepare(position, version)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def _prepare(self, position: int, version: Version) -> None:
        """Make the sites of one version; when that fails, all its jobs are given up and the other versions go on."""
        binaries = max(cell.binaries for cell in self.cells)
        # several versions are measured on equal terms, each in a fresh checkout; a single one as it stands
        in_place = version.here and len(self.versions) == 1 and binaries == 1
        if not in_place or self.config.build or self.config.python is not None:
            self.progress.say(f"preparing {version.name}")
        try:
            for binary in range(binaries):
                place = f"{version.commit[:12]}-{position}-{binary}"
                site = prepare(self.project, self.home, self.config, version, place, self._stack, in_place=in_place)
                self._sites[position, binary] = site
        except PerfError as error:
            if error.exit_code != CollectFailed.exit_code:
                raise
            self._give_up("", version, str(error))
            return
        self._alive |= {(number, position) for number in range(len(self.cells))}

    def warm_up(self) -> None:
        """Run every job's warm-up executions and drop what they measured."""
        for number, cell in enumerate(self.cells):
            for _ in range(cell.warmup):
                for binary in range(cell.binaries):
                    for position in range(len(self.versions)):
                        self._execute(number, position, binary, None)

    def steps(self, blocks: Mapping[int, int]) -> int:
        """How many executions ``warm_up`` and that many blocks per cell number are."""
        alive = [number for number, _ in self._alive]
        return sum(self.cells[number].warmup * self.cells[number].binaries + blocks[number] for number in alive)

    def run(self, blocks: Mapping[int, int]) -> None:
        """Run that many more blocks of each cell (by its number); jobs take turns too, so that noise hits all alike."""
        for block in range(self.blocks, self.blocks + max(blocks.values(), default=0)):
            numbers = [number for number, count in blocks.items() if block - self.blocks < count]
            self.random.shuffle(numbers)
            for number in numbers:
                positions = list(range(len(self.versions)))
                self.random.shuffle(positions)
                for position in positions:
                    self._execute(number, position, block % self.cells[number].binaries, block)
        self.blocks += max(blocks.values(), default=0)

    def _execute(self, number: int, position: int, binary: int, block: int | None) -> None:
        if (number, position) not in self._alive:
            return
        cell, version, site = self.cells[number], self.versions[position], self._sites[position, binary]
        self._runs += 1
        scratch = self.scratch / str(self._runs)
        scratch.mkdir()
        try:
            seen = cell.collector.collect(self._run_of(cell, site, scratch))
        except PerfError as error:
            if error.exit_code != CollectFailed.exit_code:
                raise
            self._alive.discard((number, position))
            self._give_up(cell.label, version, str(error))
        else:
            self.warnings |= dict.fromkeys(f"{cell.label}: {warning}" for warning in seen.warnings)
            if block is not None:
                self._recordings[number, position].add(seen, block, binary)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.progress.step(f"{cell.label} {version.name}")

    def _run_of(self, cell: Cell, site: Site, scratch: Path) -> Run:
        env = site.environ(cell.env)
        if python := self._python(cell, site):
            env = python.activate(env)
        text = self._workload(cell, site, env)
        if self.knobs.padding:
            env = self.knobs.padded(env, self.random)
        program, *words = cell.argv(text)
        program = self._programs[site.folder, cell.cmd] = resolve(program, site.folder, env)
        return Run(
            argv=(program, *words), cwd=site.folder, env=env, scratch=scratch, uid=cell.name,
            timeout=cell.timeout, size=cell.workload.size if cell.workload else None,
            cpus=self.knobs.cpus(), aslr=self.knobs.aslr,
        )  # fmt: skip

    def _python(self, cell: Cell, site: Site) -> VirtualEnvironment | None:
        return site.pythons[cell.python] if cell.python else next(iter(site.pythons.values()), None)

    def _workload(self, cell: Cell, site: Site, env: Mapping[str, str]) -> str:
        """What the cell's workload is in the command; prepared once per site, since it may depend on the revision."""
        key = (site.folder, cell.workload)
        if cell.workload is not None and key not in self._texts:
            self._texts[key] = cell.workload.prepare(site.folder, self.home / "workloads", env)
        return self._texts.get(key, "")

    def _give_up(self, label: str, version: Version, reason: str) -> None:
        failure = Failure(label, version.name, reason)
        self.failures.append(failure)
        self.progress.say(f"failed: {failure}")

    def profiles(self) -> list[Profile]:
        """One profile per cell and version that was measured whole."""
        ended, after = datetime.now(UTC), noise.snapshot()
        self.warnings |= dict.fromkeys(noise.warnings(self.before, after))
        return [self._profile(*cell, ended, after) for cell in sorted(self._recordings) if cell in self._alive]

    def sides(self, number: int) -> tuple[list[Profile], list[Profile]] | None:
        """What two versions of one cell gave so far; None when one of them was given up."""
        if not {(number, 0), (number, 1)} <= self._alive:
            return None
        now, state = datetime.now(UTC), noise.snapshot()
        return [self._profile(number, 0, now, state)], [self._profile(number, 1, now, state)]

    def _profile(self, number: int, position: int, ended: datetime, after: Noise) -> Profile:
        recording = self._recordings[number, position]
        cell, version, site = self.cells[number], self.versions[position], self._sites[position, 0]
        source, python = dict(site.source), self._python(cell, site)
        if cell.workload:
            source |= cell.workload.source(site.folder, self._workload(cell, site, site.env))
        label = python.interpreter.label if python else _interpreter(self._programs[site.folder, cell.cmd])
        profile = Profile(
            commit=version.commit, dirty=version.dirty, job=cell.job(source),
            metrics=recording.metrics, resources=recording.resources(),
            collected=Collected(self.id, _iso(self.started), _iso(ended), f"perfvcs {__version__}"),
            environment=environment.describe(
                self.knobs, site.environ(cell.env), python=label, built=site.built,
                before=self.before, after=after,
            ),
            design=Design(
                binaries=cell.binaries, executions=recording.executions, warmup=cell.warmup, seed=self.seed, version=position,
                order="interleaved" if len(self.versions) > 1 else "sequential",
                versions=[version.commit for version in self.versions],
            ),
        )  # fmt: skip
        for postprocessor in cell.postprocessors:
            profile = postprocessor.apply(profile)
        return profile


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def _interpreter(program: str) -> str:
    """The version of a program that is a Python interpreter, empty for any other; asked once per process."""
    found = probe(Path(program)) if re.fullmatch(r"(python|pypy)[\d.]*t?", Path(program).name) else None
    return found.label if found else ""
