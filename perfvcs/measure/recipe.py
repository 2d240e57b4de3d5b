"""Recipes of virtual environments, and how uv, or venv and pip, follow them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from tempfile import TemporaryFile, mkstemp
from typing import IO, NamedTuple

from perfvcs.errors import CURES, UsageError, disk_is_full
from perfvcs.jobs.pythonneeds import normalized
from perfvcs.launcher.preparation import CommandFailed, run
from perfvcs.measure.buildinputs import Named, is_editable, named, options
from perfvcs.measure.held import Held
from perfvcs.measure.interpreter import Interpreter
from perfvcs.measure.pythons import InstallError

INSTALL_TIMEOUT = 1800.0  # seconds
SWITCHES = {"--no-index", "--pre"}
SOURCE_OPTIONS = SWITCHES | {"-i", "-f", "--index-url", "--extra-index-url", "--find-links"}
SOURCE_OPTIONS |= {"--index", "--default-index"}  # of uv
# variables of pip and uv that would lead them out of the virtual environment
ASTRAY = re.compile(
    "PIP_(TARGET|PREFIX|ROOT|EDITABLE|REQUIRE_VIRTUALENV|PYTHON)|UV_(SYSTEM_PYTHON|PYTHON|TARGET|PREFIX)|VIRTUAL_ENV|PYTHONHOME|PYTHONPATH"
)
EDITABLE = "an editable install would change with the worktree: leave -e out"
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES)
_LIST = """
import importlib.metadata, json
found, own = set(), set()
for one in importlib.metadata.distributions():
    if name := one.metadata["Name"]:
        found.add(name + "==" + one.version)
        if '"dir_info"' in (one.read_text("direct_url.json") or ""):
            own.add(name + "==" + one.version)
print(json.dumps([sorted(found), sorted(own)]))
"""


class Distributions(NamedTuple):
    """What is in an environment, as ``name==version``; its ``own`` come from a folder."""

    installed: list[str]
    own: list[str]


@dataclass(frozen=True)
class Recipe:
    """What an environment is made from: ``requires``, then ``install``; options are passed on.

    ``packages`` are requirements that are installed last and without their dependencies, whatever
    the others ask for. ``install`` names what is built from ``worktree``, whose content has the id
    ``content``; None means that it has none, so that nothing is reused. ``release``, as
    ``name==version``, is installed from an index in its place. ``settings`` stands for what else
    installations obey. ``env`` is the environment of the commands, ``timeout`` in seconds is for
    each of them, and for waiting while another process makes one. Raises UsageError.
    """

    interpreter: Interpreter
    worktree: Path
    install: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    _: KW_ONLY
    release: str = ""
    content: str | None
    settings: str = ""
    env: Mapping[str, str]
    timeout: float = INSTALL_TIMEOUT

    def __post_init__(self) -> None:
        if any(is_editable(option) for option, _ in options(self._words)):
            raise UsageError(f"[python] install: {EDITABLE}")

    @property
    def _words(self) -> tuple[str, ...]:
        return (*self.requires, *self._project, *self.packages)

    @property
    def _project(self) -> tuple[str, ...]:
        """The words that install the project."""
        return (*_sources(self.install), self.release) if self.release else self.install

    @property
    def uv(self) -> str | None:
        """The path of uv, if it installs."""
        return shutil.which("uv", path=self.env.get("PATH", os.defpath))

    @property
    def prefix(self) -> str:
        """How the names of its environments begin."""
        return f"py{self.interpreter.version}"

    def reads(self) -> Named:
        """The files that the installation reads; the checkout, if something comes from there."""
        inputs = named(self._words, self.worktree, self.env)
        return inputs._replace(checkout=inputs.checkout or bool(self.install))

    def name(self, folder: Path, reads: Named) -> str:
        """The recipe's own name, by all that decides what is installed.

        The folder of all is a part of it: environments know where they are.
        """
        decisive = (
            str(self.interpreter.path),
            self.interpreter.label,
            folder,
            self._project,
            self.requires,
            self.packages,
            "uv" if self.uv else "pip",
            self.content if reads.checkout else None,
            self.settings,
            reads.elsewhere,
        )
        text = repr(decisive).encode("utf-8", "surrogateescape")
        return f"{self.prefix}-{hashlib.sha256(text).hexdigest()[:16]}"

    def make(self, held: Held) -> Distributions:
        """Installs everything into an empty environment; returns what is in it then.

        Raises InstallError.
        """
        make, add = self._installer(held)
        self._run(make, held)
        # requirements first, so that a build without isolation finds them; then again beside the
        # project, so that they hold
        if self.requires:
            self._run([*add, *self.requires], held)
        if self._project:
            self._run([*add, *self.requires, *self._project], held)
        if self.packages:
            sources = _sources([*self.requires, *self.install])
            self._run([*add, "--no-deps", *sources, *self.packages], held)
        with TemporaryFile() as listing:
            self._run([str(held.python), "-I", "-c", _LIST], held, listing)
            listing.seek(0)
            installed, own = json.load(listing)
        # from wherever it came, the project is none of its dependencies
        project = normalized(self.release)
        own += [entry for entry in installed if self.release and normalized(entry) == project]
        if name := _editable(held.folder):
            raise InstallError(
                f"{name} in a virtual environment is an editable install: {EDITABLE}"
            )
        return Distributions(list(map(str, installed)), list(map(str, own)))

    def bring(self, held: Held, entries: Sequence[str], folder: Path) -> None:
        """Installs distributions, as ``name==version``, into a folder beside the environment, from
        where it has its own, and without their dependencies. Raises InstallError.
        """
        _, add = self._installer(held)
        sources = _sources([*self.requires, *self.install])
        self._run([*add, "--no-deps", "--target", str(folder), *sources, *entries], held)

    def _installer(self, held: Held) -> tuple[list[str], list[str]]:
        """The commands that make an environment, and that install into it what follows.

        ``-I`` imports nothing from the project's folder.
        """
        folder, python, base = str(held.folder), str(held.python), str(self.interpreter.path)
        if self.uv:
            _leave_no_settings(held.folder.parents[1])
            make = [self.uv, "venv", "--quiet", "--no-project", "--no-python-downloads"]
            # who writes into a file that is a link to uv's cache changes it in every project
            add = [self.uv, "pip", "install", "--quiet", "--compile-bytecode", "--link-mode=copy"]
            return [*make, "--python", base, folder], [*add, "--python", python]
        add = [python, "-I", "-m", "pip", "install", "--quiet", "--no-input"]
        return [base, "-I", "-m", "venv", folder], [*add, "--disable-pip-version-check"]

    def _run(self, step: Sequence[str], held: Held, output: IO[bytes] | None = None) -> None:
        """Runs one command; its log stays beside the environment if it fails. InstallError."""
        env = {name: value for name, value in self.env.items() if not ASTRAY.fullmatch(name)}
        try:
            self._try(step, held, env, output)
        except CommandFailed as error:
            if not _of_the_home(error, held.folder):
                raise self._failed(error, held.folder) from None
            try:
                self._try(step, held, env | {"PIP_NO_CACHE_DIR": "1", "UV_NO_CACHE": "1"}, output)
            except CommandFailed as again:
                raise self._failed(again, held.folder) from None

    def _try(
        self, step: Sequence[str], held: Held, env: Mapping[str, str], output: IO[bytes] | None
    ) -> None:
        log = held.folder.with_name(f"{held.folder.name}.log")
        # it holds the environment, too: nobody removes it while what outlived us writes into it
        run(
            step,
            cwd=self.worktree,
            env={**env, "PIP_USER": "0"},
            timeout=self.timeout,
            log=log,
            output=output,
            pass_fds=[held.lock],
        )
        log.unlink(missing_ok=True)

    def _failed(self, error: CommandFailed, folder: Path) -> InstallError:
        """The error about an environment that could not be made, while it is still on the disk."""
        cure = " (apt install python3-venv)" if "ensurepip" in str(error) else ""
        if os.strerror(errno.ENOSPC) in str(error) or disk_is_full(folder):
            cure = f": {CURES[errno.ENOSPC]}; `perf gc` removes environments beyond [python] keep"
        number = self.interpreter.version
        return InstallError(
            f"the virtual environment for Python {number} could not be made: {error}{cure}"
        )


def _leave_no_settings(home: Path) -> None:
    """Have uv find none above the checkouts of ``.perf``: it obeys the nearest, which would be
    those of the working tree. Whatever stood there, such as what a build wrote, is replaced.
    """
    handle, empty = mkstemp(dir=home)
    os.close(handle)
    Path(empty).replace(home / "uv.toml")


def _of_the_home(error: CommandFailed, folder: Path) -> bool:
    """Whether an installer could not write, but could have written where the environments are.

    That is its cache then, in a home folder that is full or may not be written.
    """
    if disk_is_full(folder):
        return False
    return any(os.strerror(number) in str(error) for number in UNWRITABLE)


def _editable(folder: Path) -> str:
    """The first distribution in an environment that is used where its sources are; empty if none
    is.

    It may be a list of requirements, or the settings of the installer, that asked for it.
    """
    for path in folder.glob("lib*/*/site-packages/*.dist-info/direct_url.json"):
        with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
            origin = json.loads(path.read_bytes())
            inside = origin["url"].startswith(folder.as_uri() + "/")
            if origin["dir_info"]["editable"] and not inside:
                return path.parent.name.partition("-")[0]
    return next((path.stem for path in folder.glob("lib*/*/site-packages/*.egg-link")), "")


def _sources(words: Sequence[str]) -> list[str]:
    """The options among the words of an installer that say where packages come from."""
    kept_options: list[str] = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        name = re.split(r"[= ]", word)[0]
        if name in SOURCE_OPTIONS:
            kept_options += [word] if name != word or name in SWITCHES else [word, value]
    return kept_options
