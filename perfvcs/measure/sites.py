"""The sites of a session, one per version, build and flags of the compilers, and what each job runs
there.
"""

from __future__ import annotations

import os
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import NamedTuple

from msgspec import structs

from perfvcs import environment
from perfvcs.environment import HEAP, Knobs
from perfvcs.environment.noise import Noise
from perfvcs.environment.variables import SEED_PLACEHOLDER, seeded
from perfvcs.git.changes import WorkingChanges, ignored
from perfvcs.git.project import Project
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.config import Config, installs
from perfvcs.jobs.harness import chosen, loading, repeated, repeats, runs_alone, steady
from perfvcs.jobs.workload import Workload
from perfvcs.measure.interpreter import of_program, only_here, only_one, resolve
from perfvcs.measure.site import Preparation, Site, Version, as_it_stands
from perfvcs.measure.virtualenv import VirtualEnvironment
from perfvcs.native import start_folder
from perfvcs.plugins.collector import OF_COPIES, CollectError, Repetition, Run
from perfvcs.profile import FIRST_OUTPUT, FIRST_WALL, TRACED_WALL, Environment, Job, Reached
from perfvcs.profile.buildidentity import DEPENDENCIES
from perfvcs.system.disk import Stamp, stamp
from perfvcs.text.words import listed

BuildFlags = tuple[str, ...]


class SiteKind(NamedTuple):
    """Sites that are built alike: with these flags, as often as these jobs need."""

    number: int
    flags: BuildFlags
    jobs: list[int]
    binaries: int

    @property
    def named(self) -> str:
        """The end of a message about it."""
        return f" with {' '.join(self.flags)}" if self.flags else ""


class FirstExecution(NamedTuple):
    """What the first execution on a site gave, which is not measured: the digest of its output, and
    its wall time in s; empty and None where that is not known. ``traced``: it recorded functions
    meanwhile.
    """

    output: str = ""
    wall: float | None = None
    traced: bool = False

    @property
    def notes(self) -> dict[str, str]:
        """What an environment notes of it."""
        wall = "" if self.wall is None else f"{self.wall:.6g}"
        pairs = {FIRST_OUTPUT: self.output, TRACED_WALL if self.traced else FIRST_WALL: wall}
        return {name: value for name, value in pairs.items() if value}


class Sites:
    """Where the cells run on the versions. Numbers are places in ``cells`` and ``versions``."""

    def __init__(
        self,
        project: Project,
        home: Path,
        config: Config,
        cells: Sequence[Cell],
        versions: Sequence[Version],
        knobs: Knobs,
        changes: WorkingChanges | None = None,
    ) -> None:
        self.project, self.home, self.config, self.knobs = project, home, config, knobs
        # of the working tree, for HEAD with these
        self.changes = changes or WorkingChanges(project, config.dirty.ignore)
        self.cells, self.versions = cells, versions
        # only what is built can be built otherwise
        self._flags = [
            cell.collector.flags(shlex.split(cell.cmd)[0]) if config.build else () for cell in cells
        ]
        self._sites: dict[tuple[int, int, BuildFlags], Site] = {}
        self._texts: dict[tuple[Path, Workload | None], tuple[str, Stamp | None]] = {}
        self._programs: dict[tuple[Path, str], str] = {}  # that the commands on the sites ran
        self._notes: dict[str, None] = {}  # what versions did to the workloads that they share
        self.built: Callable[[Path], None] = lambda _: None  # called with what was built
        self.layouts = 0  # the seed of the layouts of several builds
        # cells on versions that were warmed up, and what ran then
        self.warm: dict[tuple[int, Version], Reached | None] = {}
        self.first: dict[tuple[int, Version], FirstExecution] = {}
        # by cell, unit and size: how often a harness is asked to run what is counted
        self._iterations: defaultdict[int, dict[tuple[str, float | None], int]] = defaultdict(dict)

    def kinds(self) -> Iterator[SiteKind]:
        """The kinds of sites that each version needs."""
        for kind, flags in enumerate(dict.fromkeys(self._flags)):
            jobs = [number for number, job_flags in enumerate(self._flags) if job_flags == flags]
            yield SiteKind(kind, flags, jobs, max(self.cells[number].binaries for number in jobs))

    def stands(self, position: int) -> bool:
        """Whether a version is measured in the working tree as it stands; several never are."""
        return self.versions[position].here and len(self.versions) == 1

    def prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:
        """Make a version's sites of one kind, which live as long as ``stack``; raises PerfError."""
        version = self.versions[position]
        if self.stands(position):
            site = as_it_stands(self.project, self.config)
            self._sites[position, 0, kind.flags] = self._listed(site, kind)
            return
        for binary in range(kind.binaries):
            # the same wherever the version stands in a session, so that a build that is kept finds
            # its place again
            twin = sum(other.commit == version.commit for other in self.versions[:position])
            place = f"{version.commit[:12]}-{twin}-{binary}" + (
                f"-{kind.number}" if kind.number else ""
            )
            site = Preparation(
                self.project,
                self.home,
                self.config,
                version,
                place,
                self.changes,
                flags=kind.flags,
                once=kind.binaries > 1,
                layout=self._layout(kind, binary),
            ).make(stack)
            self.built(site.folder)
            self._sites[position, binary, kind.flags] = self._listed(site, kind)

    def _listed(self, site: Site, kind: SiteKind) -> Site:
        """A site that nothing has run on, with the list of its files where a job needs that."""
        if any(self.cells[number].collector_name in OF_COPIES for number in kind.jobs):
            site.originals.list_all()
        return site

    def _layout(self, kind: SiteKind, binary: int) -> str:
        """The seed of a build's layout of code, one for all versions; empty if none is drawn."""
        if kind.binaries == 1 or not (self.config.build and self.knobs.padding):
            return ""
        return f"{self.layouts} {kind.number} {binary}"

    def notes(self, position: int, kind: SiteKind) -> tuple[str, ...]:
        """What is to be said of how the site of a version was made, in sentences."""
        site = self._sites[position, 0, kind.flags]
        return (*site.lacks, *site.notes)

    def folders(self, position: int) -> list[Path]:
        """The folders of a version's sites."""
        return [site.folder for (at, _, _), site in self._sites.items() if at == position]

    def environments(self, position: int) -> list[VirtualEnvironment]:
        """A version's virtual environments, by its sites and interpreters."""
        sites = [site for (at, _, _), site in self._sites.items() if at == position]
        return [python for site in sites for python in site.pythons.values()]

    def place(self, position: int) -> tuple[Path, dict[str, str]]:
        """The folder of a version's first site, and the environment of commands that are run there
        beside the jobs: with its first virtual environment, if it has any.
        """
        site = next(site for (at, _, _), site in self._sites.items() if at == position)
        env = site.environ({})
        python = next(iter(site.pythons.values()), None)
        return site.folder, env if python is None else python.activate(env)

    def run(self, number: int, position: int, binary: int, scratch: Path, seed: int) -> Run:
        """An execution of a cell on a version, ready to be made; ``seed`` decides all chance."""
        cell, site = self._cell(number, position), self._site(number, position, binary)
        env = site.environ(
            {name: value.replace(SEED_PLACEHOLDER, str(seed)) for name, value in cell.env.items()}
        )
        python = self._python(cell, site)
        if python is not None:
            python.enter(f"{cell.name} on {self.versions[position].name}")
            env = python.activate(env)
        if cell.workload is not None and (drawn := cell.workload.drawn(seed)) is not None:
            text = drawn.prepare(site.folder, scratch / "workload", seeded(env, seed))
            scratch = scratch / "run"
            scratch.mkdir()
        else:
            text = self._workload(cell, site, env)
            if cell.workload is not None:
                site.originals.source(cell.workload, text)
                site.originals.require(cell.workload)
        site.originals.begin()
        env = self.knobs.padded(seeded(env, seed), Random(seed))
        env = self.knobs.shuffled(env, seed, position)
        if HEAP in env:
            env["PYTHONPATH"] = os.pathsep.join(
                filter(None, (str(start_folder()), env.get("PYTHONPATH")))
            )
        whole = cell.argv(text, seed)
        argv = [*whole]
        if cell.reads is not None:
            argv = chosen(whole, cell.reads, cell.unit, once=cell.exact)
            env = loading(cell.reads, env)
        program, *words = argv
        if "/" in program and (removed := site.originals.removed([program])):
            raise CollectError(removed, lasting=True)
        program = resolve(
            program, site.folder, env, self.project.root, python.folder if python else None
        )
        self._programs[site.folder, cell.cmd] = program
        if not self.stands(position) and only_one(program, site.folder, self.project.root):
            self._notes[
                f"every revision runs the same {program}, a file of the working tree: write its"
                " path below a checkout, and let `build` make it there"
            ] = None
        return Run(
            argv=(program, *words),
            cwd=site.folder,
            env=env,
            scratch=scratch,
            uid=cell.name,
            timeout=cell.timeout,
            size=cell.workload.size if cell.workload else None,
            cpus=self.knobs.cpus(),
            aslr=self.knobs.aslr,
            left_out=cell.left_out,
            unit=cell.unit,
            reads=cell.reads,
            alone=argv != whole and runs_alone(cell.reads),
            begun_with=site.originals.names,
            repetition=self._repetition(number, [program, *whole[1:]]),
        )

    def _repetition(self, number: int, words: list[str]) -> Repetition | None:
        """How a cell's harness is asked to run a unit so often, where that is counted."""
        cell = self.cells[number]
        if cell.reads is None or not (cell.exact and cell.unit and repeats(words, cell.reads)):
            return None
        return Repetition(
            partial(repeated, words, cell.reads), steady(cell.reads), self._iterations[number]
        )

    def limit(self, number: int, seconds: float) -> None:
        """Stops an execution of a cell after so many seconds, where it may take longer."""
        cells = [*self.cells]
        cells[number] = structs.replace(cells[number], timeout=min(cells[number].timeout, seconds))
        self.cells = cells

    def job(self, number: int, position: int) -> Job:
        """What identifies the series of a cell on a version."""
        cell, site = self.cells[number], self._site(number, position)
        source = dict(site.source)
        if cell.workload:
            source |= site.originals.source(cell.workload, self._workload(cell, site, site.env))
        return cell.job(source)

    def lacking(self, number: int, position: int) -> str:
        """What a cell may miss in the checkout of a version, with the cure, empty where nothing is:
        what that lacks of its revision, or of the working tree the first file or folder that the
        command names; if there is none, on HEAD, what git ignores.
        """
        site = self._site(number, position)
        if site.lacks:
            return "; ".join(site.lacks)
        if missing := only_here(self._words(number, position), site.folder, self.project.root):
            return missing
        if self.stands(position) or self.versions[position].commit != self.project.head:
            return ""
        names = ignored(self.project.root)
        unseen = [name for name in names if not os.path.lexists(site.folder / name)]
        if not unseen:
            return ""
        return (
            f"git ignores {listed(unseen)}, so that no checkout has that: name in `overlay` what a"
            " job needs"
        )

    def removed(self, number: int, position: int) -> str:
        """What a cell's command names and an execution on the version has removed; or empty."""
        return self._site(number, position).originals.removed(self._words(number, position))

    def _words(self, number: int, position: int) -> list[str]:
        cell = self._cell(number, position)
        words = [word for text in (cell.cmd, cell.args) for word in shlex.split(text)]
        if cell.shell:
            words = [part for word in words for part in (word, *word.split())]
        return words + self._literal(cell)

    def unseen_workload(self, number: int, position: int) -> str:
        """The workload of a cell that is only in the working tree, with the cure; or empty."""
        folder = self._site(number, position).folder
        return only_here(self._literal(self.cells[number]), folder, self.project.root)

    @staticmethod
    def _literal(cell: Cell) -> list[str]:
        return [cell.workload.name] if cell.workload else []

    def environment(
        self, number: int, position: int, before: Noise | None = None, after: Noise | None = None
    ) -> Environment:
        """What a cell runs in on a version; raises CollectError where its program is not there."""
        cell, site = self._cell(number, position), self._site(number, position)
        env, python = site.environ(cell.env), self._python(cell, site)
        interpreter = python.interpreter if python else of_program(self._program(cell, site, env))
        shuffles = bool(interpreter) and self.knobs.padding and not cell.exact
        drawn = {"heap": "shuffled"} if shuffles else {}
        drawn |= {"layouts": "drawn"} if site.laid_out else {}
        described = environment.describe(
            self.knobs,
            env,
            python=interpreter.label if interpreter else "",
            python_build=interpreter.build if interpreter else "",
            built=site.built,
            build=self.config.build if site.built else (),
            requires=installs(self.config) if python else (),
            drawn=drawn,
            before=before,
            after=after,
        )
        changed = site.originals.changed()
        altered = [f"{self.versions[position].name}: {changed}"] if changed else []
        first = self.first.get((number, self.versions[position]), FirstExecution())
        described = structs.replace(described, notes=described.notes | first.notes)
        warnings = [*site.lacks, *site.notes, *described.warnings, *self._notes, *altered]
        if python is None:
            return structs.replace(described, warnings=warnings)
        # what is installed may differ from revision to revision, and is a part of what is compared
        notes = described.notes | {"installed": " ".join(python.installed)}
        if (beside := python.dependencies) is not None:
            notes[DEPENDENCIES] = " ".join(beside)
        return structs.replace(described, notes=notes, warnings=[*warnings, *python.examine()])

    def program(self, number: int, position: int) -> str:
        """The program of a cell on a version; raises CollectError where it is not there."""
        cell, site = self._cell(number, position), self._site(number, position)
        return self._program(cell, site, site.environ(cell.env))

    def _program(self, cell: Cell, site: Site, env: Mapping[str, str]) -> str:
        """What a cell last ran on a site, even if that is gone; else what it would run."""
        if program := self._programs.get((site.folder, cell.cmd)):
            return program
        return resolve(cell.argv("")[0], site.folder, env, self.project.root)

    def require(self, number: int, position: int, binary: int) -> None:
        """Raises CollectError where the virtual environment in which a cell ran is gone, or its
        input another.

        It may have run in another one.
        """
        cell, site = self._cell(number, position), self._site(number, position, binary)
        if python := self._python(cell, site):
            python.require()
        if cell.workload is not None:
            site.originals.require(cell.workload)

    def _cell(self, number: int, position: int) -> Cell:
        """The cell with the program that a product has in the place of its own."""
        product = self.versions[position].product
        return product.cell(self.cells[number]) if product else self.cells[number]

    def _site(self, number: int, position: int, binary: int = 0) -> Site:
        return self._sites[position, binary, self._flags[number]]

    def _python(self, cell: Cell, site: Site) -> VirtualEnvironment | None:
        return site.pythons[cell.python] if cell.python else next(iter(site.pythons.values()), None)

    def _workload(self, cell: Cell, site: Site, env: Mapping[str, str]) -> str:
        """What the cell's workload is in the command, with the seed 0; it may depend on the site.

        Generates a file anew where an execution has changed it, since others would get it too.
        """
        if cell.workload is None:
            return ""
        key, folder = (site.folder, cell.workload), self.home / "workloads"
        text, made = self._texts.get(key, ("", None))
        if key in self._texts and made == _stamp(text, folder):
            return text
        if key in self._texts:
            name = cell.workload.name
            self._notes[f"what is measured changed the workload {name}, which was made anew"] = None
        text = cell.workload.prepare(site.folder, folder, seeded(env, 0))
        self._texts[key] = text, _stamp(text, folder)
        return text


def _stamp(text: str, folder: Path) -> Stamp | None:
    """The stamp by which a change of a generated file is seen; None for other workloads."""
    return stamp(text) if text.startswith(f"{folder}/") else None
