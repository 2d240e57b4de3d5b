"""A measuring session: every version takes its turn in every block, in random order, and becomes one profile per job."""

from __future__ import annotations

import random
import re
import secrets
import shlex
import shutil
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Protocol

from msgspec import structs

from perfvcs import __version__, environment
from perfvcs.collectors import CollectError, Run
from perfvcs.environment import Knobs, noise
from perfvcs.environment.noise import Noise
from perfvcs.errors import PerfError
from perfvcs.jobs import Cell
from perfvcs.jobs.config import Config
from perfvcs.jobs.workload import Workload
from perfvcs.measure.interpreter import probe
from perfvcs.measure.program import resolve
from perfvcs.measure.recording import Recording
from perfvcs.measure.site import Site, Version, prepare
from perfvcs.measure.virtualenv import VirtualEnvironment
from perfvcs.profile import Collected, Design, Profile
from perfvcs.vcs import Project

Flags = tuple[str, ...]


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
        """A line worth reading: a preparation, a warning."""
        ...

    def fail(self, failure: str) -> None:
        """What could not be measured and why; it is told here and nowhere else, whatever is quiet."""
        ...


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
        # only what is built can be built otherwise
        self._flags = [cell.collector.flags(shlex.split(cell.cmd)[0]) if config.build else () for cell in self.cells]
        self._sites: dict[tuple[int, int, Flags], Site] = {}
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
        """Make the sites of one version, one per build and flags of the compilers; jobs whose site fails are given up."""
        for kind, flags in enumerate(dict.fromkeys(self._flags)):
            numbers = [number for number, own in enumerate(self._flags) if own == flags]
            binaries = max(self.cells[number].binaries for number in numbers)
            # several versions are measured on equal terms, each in a fresh checkout; a single one as it stands
            in_place = version.here and len(self.versions) == 1 and binaries == 1 and not flags
            named = f" with {' '.join(flags)}" if flags else ""
            if not in_place or self.config.build or self.config.python is not None:
                self.progress.say(f"preparing {version.name}{named}")
            try:
                for binary in range(binaries):
                    place = f"{version.commit[:12]}-{position}-{binary}" + (f"-{kind}" if kind else "")
                    self._sites[position, binary, flags] = prepare(
                        self.project, self.home, self.config, version, place, self._stack, in_place=in_place, flags=flags
                    )
            except PerfError as error:
                if error.exit_code != CollectFailed.exit_code:
                    raise
                self._give_up(f"the build{named}" if flags else "", version, str(error))
            else:
                self._alive |= {(number, position) for number in numbers}

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
        cell, version, site = self.cells[number], self.versions[position], self._site(number, position, binary)
        self._runs += 1
        scratch = self.scratch / str(self._runs)
        scratch.mkdir()
        try:
            seen = cell.collector.collect(self._run_of(cell, site, scratch))
        except PerfError as error:
            if error.exit_code != CollectFailed.exit_code:
                raise
            self._alive.discard((number, position))
            self._give_up(cell.label, version, str(error) + self._kept_aside(number, position, binary, error))
        else:
            self.warnings |= dict.fromkeys(f"{cell.label}: {warning}" for warning in seen.warnings)
            if block is not None:
                self._recordings[number, position].add(seen, block, binary)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self.progress.step(f"{cell.label} {version.name}")

    def _site(self, number: int, position: int, binary: int = 0) -> Site:
        return self._sites[position, binary, self._flags[number]]

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

    def _kept_aside(self, number: int, position: int, binary: int, error: PerfError) -> str:
        """Write what a job gave before it failed into a file of its own; the end of the message about it, empty where it is nothing."""
        partial = error.partial if isinstance(error, CollectError) else None
        if partial is None or not partial.uid:
            return ""
        recording = self._recordings[number, position]
        recording.add(partial, recording.executions, binary)
        path = self.home / "aside" / f"{self.id}-{self.versions[position].commit[:12]}-{number}-{position}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(self._raw(number, position, datetime.now(UTC), noise.snapshot()).encode())
        return f" (what was measured until then is kept in {path})"

    def _give_up(self, label: str, version: Version, reason: str) -> None:
        failure = Failure(label, version.name, reason)
        self.failures.append(failure)
        self.progress.fail(str(failure))

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
        return [self._raw(number, 0, now, state)], [self._raw(number, 1, now, state)]

    def _profile(self, number: int, position: int, ended: datetime, after: Noise) -> Profile:
        profile = self._raw(number, position, ended, after)
        for postprocessor in self.cells[number].postprocessors:
            try:
                profile = postprocessor.apply(profile)
            except PerfError as error:  # what was measured is worth more than what could be computed from it
                self.warnings[f"{self.cells[number].label}: not processed: {error}"] = None
        return profile

    def _raw(self, number: int, position: int, ended: datetime, after: Noise) -> Profile:
        recording = self._recordings[number, position]
        cell, version, site = self.cells[number], self.versions[position], self._site(number, position)
        source, python = dict(site.source), self._python(cell, site)
        if cell.workload:
            source |= cell.workload.source(site.folder, self._workload(cell, site, site.env))
        label = python.interpreter.label if python else _interpreter(self._programs[site.folder, cell.cmd])
        job = cell.job(source)
        return Profile(
            commit=version.commit, dirty=version.dirty, job=structs.replace(job, engine=recording.engine or job.engine),
            metrics=recording.metrics, resources=recording.resources(), stacks=recording.stacks(),
            reached=recording.reached,
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


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@cache
def _interpreter(program: str) -> str:
    """The version of a program that is a Python interpreter, empty for any other; asked once per process."""
    found = probe(Path(program)) if re.fullmatch(r"(python|pypy)[\d.]*t?", Path(program).name) else None
    return found.label if found else ""
