"""A site: one revision checked out, built and ready to be measured."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from perfvcs.environment import clean, compiler
from perfvcs.environment.variables import secrets
from perfvcs.git.changes import WorkingChanges, untracked
from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.git.worktree import checkout, is_binary, renew
from perfvcs.jobs.config import Config, PythonTable
from perfvcs.measure.buildinputs import files_of, lay, variables
from perfvcs.measure.builds import BuildError, Builds, key_of, run_build
from perfvcs.measure.held import rest
from perfvcs.measure.interpreter import find
from perfvcs.measure.originals import Originals
from perfvcs.measure.product import Product
from perfvcs.measure.pythons import PYTHONS_FOLDER, prune
from perfvcs.measure.recipe import Recipe
from perfvcs.measure.virtualenv import VirtualEnvironment, environment
from perfvcs.native import native_folder, python_folder
from perfvcs.repository.leftovers import Artefacts

LAYOUT_AS_IT_COMES = (
    "the builds have one layout, since none called a compiler of C or C++ of PATH that could draw"
    " it: `binaries` shows how builds differ by themselves"
)


class Version(msgspec.Struct, frozen=True):
    """A revision to be measured: a commit, with the working tree's own changes on top when
    ``dirty`` is not None.

    ``here``: it is measured in the working tree as it stands, for a command that somebody typed
    there. ``product``: what is measured instead of it; ``dirty`` is its digest then. ``packages``:
    requirements that replace what the revision installs of them.
    """

    commit: str
    dirty: str | None = None
    here: bool = False
    product: Product | None = None
    packages: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """For people: the product's name, or the short commit id, with a + for changes on top."""
        if self.product:
            return self.product.name
        return self.commit[:10] + ("+" if self.dirty else "")

    @property
    def is_commit(self) -> bool:
        """Whether it is what was committed and nothing else."""
        return self.dirty is None and self.product is None


class Site(msgspec.Struct, frozen=True):
    """A folder to run in, its environment, its Pythons by version, and the content hashes of the
    benchmark's own files.

    ``originals``: its files as they were before the first execution. ``lacks``: what the checkout
    lacks of its revision, ``notes``: what else is to be said of how it was made, in sentences.
    ``laid_out``: the layout of its code was drawn at random.
    """

    folder: Path
    env: Mapping[str, str]
    pythons: Mapping[str, VirtualEnvironment]
    source: Mapping[str, str]
    built: bool
    originals: Originals
    lacks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    laid_out: bool = False

    def environ(self, extra: Mapping[str, str]) -> dict[str, str]:
        """The environment of a job with its own variables, less those with a CI token."""
        tokens = secrets(os.environ)
        variables = {
            name: value
            for name, value in self.env.items()
            if not any(token in value for token in tokens)
        }
        return _reporting(variables | dict(extra))


def as_it_stands(project: Project, config: Config) -> Site:
    """The working tree itself, for a typed command: no overlay, build or installation."""
    return Site(project.root, clean(os.environ, config.env), {}, {}, False, Originals(project.root))


class Preparation(NamedTuple):
    """How the site of a version is made.

    ``home`` is the ``.perf`` folder and ``name`` the worktree's name in it. The ``changes`` of the
    working tree come on top of a version that has them. The C and C++ compilers add ``flags``
    during the build, and ``{cflags}`` in its commands stands for them. Takes what was built from
    the same before from the builds that are kept, unless this build is to be made ``once``: then
    differences between builds count, and the layout of its code follows from the seed ``layout``.
    """

    project: Project
    home: Path
    config: Config
    version: Version
    name: str
    changes: WorkingChanges
    flags: Sequence[str] = ()
    once: bool = False
    layout: str = ""

    def make(self, stack: ExitStack) -> Site:
        """Checks out the version, lays the benchmark's files over it, builds, and installs the
        interpreters.

        The worktree lives as long as ``stack``. Raises BuildError, CheckoutError or UsageError.
        """
        home, config, version, name = self.home, self.config, self.version, self.name
        lacks, notes = list[str](), list[str]()
        on_top = None if version.dirty is None or version.product else self.changes
        folder = self._checked_out(on_top, lacks, stack)
        source = {entry: lay(self.project.root, folder, entry) for entry in config.overlay}
        laid = untracked(folder) if config.overlay and version.is_commit else set()
        if config.build:
            renew(
                file
                for entry in source
                for file in files_of(folder / entry)
                if file.is_file() and not is_binary(file)
            )
        env = clean(os.environ, config.env)
        log = home / "log" / f"build-{name}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        rest()  # what a build does to environments is not what ran before
        content = None if on_top is not None or lacks else self._content_key(source)
        settings = _settings(config, env)
        # a build may know its place
        made_from = key_of(content, settings, config.build, tuple(self.flags), str(folder))
        # a build without all of its sources is not kept
        key = made_from if version.is_commit and not self.once and content is not None else None
        builds, laid_out = Builds(home), False
        if config.build and (key is None or not builds.restore(key, folder)):
            try:
                stale, laid_out = self._build_anew(folder, env, log)
            except BuildError as error:
                raise BuildError("; ".join([str(error), *lacks])) from None
            notes = [
                f"the build leaves `{name}` as it was committed: {_cure(name)}" for name in stale
            ]
            notes += [LAYOUT_AS_IT_COMES] if self.layout and not laid_out else []
            if key is not None and not stale:  # nor is one of which this is to be said again
                builds.keep(key, folder)
        log.unlink(missing_ok=True)
        if version.is_commit:
            self._note_artefacts(folder, laid, stack)
        pythons: dict[str, VirtualEnvironment] = {}
        if config.python is not None:
            if config.build and content is not None:
                content = None if self.once else made_from
            pythons = self._pythons(config.python, folder, content, settings, env, stack)
        originals = Originals(
            folder, source, plain=bool(version.product and version.product.folder)
        )
        if config.python is not None and config.python.release:
            notes.append(f"{config.python.release} was installed from the package index")
        return Site(
            folder,
            env,
            pythons,
            source,
            bool(config.build),
            originals,
            lacks=tuple(lacks),
            notes=tuple(notes),
            laid_out=laid_out,
        )

    def _checked_out(
        self, on_top: WorkingChanges | None, lacks: list[str], stack: ExitStack
    ) -> Path:
        """The folder with the files of the version; what it lacks of them is added to ``lacks``."""
        place, wanted = self.home / "worktrees" / self.name, self.config.submodules
        product = self.version.product
        if product and product.folder:
            return stack.enter_context(product.laid_out(place, wanted=wanted, notes=lacks))
        commit = self.version.commit
        return stack.enter_context(
            checkout(self.project, commit, place, changes=on_top, wanted=wanted, notes=lacks)
        )

    def _build_anew(
        self, folder: Path, env: Mapping[str, str], log: Path
    ) -> tuple[list[str], bool]:
        """Builds in a checkout; returns the programs that the build leaves as they were committed,
        and whether the layout of the code was drawn.

        What cannot be built with a drawn layout is built without.
        """
        config, scratch = self.config, self.home / "tmp"
        committed, env = _programs(config, folder), _reporting(env)
        try:
            laid_out = run_build(config, folder, env, self.flags, scratch, log, self.layout)
        except BuildError:
            if not self.layout:
                raise
            laid_out = run_build(config, folder, env, self.flags, scratch, log)
        built = _programs(config, folder)
        return [name for name, state in built.items() if committed.get(name) == state], laid_out

    def _note_artefacts(self, folder: Path, laid: set[str], stack: ExitStack) -> None:
        """Note what the build left, and at the end what installing and running left."""
        artefacts, build, commit = Artefacts(self.home), self.config.build, self.version.commit
        built = untracked(folder) - laid if build else set()
        if build and not artefacts.is_known(commit, build):
            artefacts.built(commit, build, built)

        def note() -> None:
            with suppress(GitError):
                artefacts.left(untracked(folder) - laid - built)

        stack.callback(note)

    def _content_key(self, source: Mapping[str, str]) -> str:
        """The key of the files in a checkout, before anything is built there."""
        version = self.version
        laid_out = version.product and version.product.folder
        base = version.dirty if laid_out else self.project.tree(version.commit)
        return key_of(base, sorted(source.items()), str(self.config.submodules))

    def _pythons(
        self,
        table: PythonTable,
        origin: Path,
        content: str | None,
        settings: str,
        env: Mapping[str, str],
        stack: ExitStack,
    ) -> dict[str, VirtualEnvironment]:
        """A virtual environment per interpreter that perf.toml asks for, held as long as
        ``stack``.
        """
        shared = self.home / PYTHONS_FOLDER
        stack.callback(prune, shared, table.keep)  # once those made here are released
        pythons = {}
        for number in table.versions or (f"{sys.version_info.major}.{sys.version_info.minor}",):
            recipe = Recipe(
                find(number, env),
                origin,
                table.install,
                table.requires,
                self.version.packages,
                release=table.release,
                content=content,
                settings=settings,
                env=env,
            )
            pythons[number] = stack.enter_context(environment(shared, recipe))
        return pythons


def _programs(config: Config, folder: Path) -> dict[str, tuple[int, int, int]]:
    """The compiled programs of the jobs in a checkout, by path: inode, size, change (ns)."""
    programs = {}
    commands: list[str] = []
    for job in config.job:
        commands += [job.cmd] if isinstance(job.cmd, str) else job.cmd
    for command in commands:
        name = os.path.normpath(shlex.split(command)[0])
        if (folder / name).is_file() and is_binary(folder / name):
            status = (folder / name).stat()
            programs[name] = status.st_ino, status.st_size, status.st_mtime_ns
    return programs


def _cure(name: str) -> str:
    return (
        f"take it out of git (`git rm --cached {shlex.quote(name)}`), or let the build remove it"
        " first"
    )


def _settings(config: Config, env: Mapping[str, str]) -> str:
    """The key of what else builds and installations obey: variables, the compiler's version."""
    compiled = compiler(env.get("CC", "cc"), env.get("PATH", os.defpath))
    return key_of(variables(env, config.env), compiled)


def _reporting(env: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a program finds ``perfvcs_bench`` and ``perfvcs.h``."""
    added = {"PYTHONPATH": python_folder(), "CPATH": native_folder()}
    return dict(env) | {
        name: os.pathsep.join(filter(None, (env.get(name), str(folder))))
        for name, folder in added.items()
    }
