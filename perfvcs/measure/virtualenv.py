"""Virtual environments: one per interpreter, requirements and revision, made once, kept until they are pruned."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from perfvcs.errors import PerfError, UsageError
from perfvcs.measure.interpreter import Interpreter
from perfvcs.process import CommandFailed, run

COMPLETE = ".complete"  # written last: a folder without it is the remains of a crash
TIMEOUT = 1800.0
_LIST = """
import importlib.metadata, json
found = ((one.metadata["Name"], one.version) for one in importlib.metadata.distributions())
print(json.dumps(sorted({name + "==" + version for name, version in found if name})))
"""


class InstallError(PerfError):
    """A virtual environment could not be made or removed."""

    exit_code = 5


class EnvironmentBusy(InstallError):
    """Another process is making the same virtual environment."""


@dataclass(frozen=True)
class VirtualEnvironment:
    """A complete virtual environment; ``installed`` lists its distributions as ``name==version``."""

    folder: Path
    interpreter: Interpreter
    installed: tuple[str, ...]

    @property
    def bin(self) -> Path:
        """The folder of its commands."""
        return self.folder / "bin"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.bin / "python"

    def activate(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of a process in this environment, as its activate script sets them."""
        kept = {name: value for name, value in env.items() if name not in ("PYTHONHOME", "VIRTUAL_ENV_PROMPT")}
        return kept | {"VIRTUAL_ENV": str(self.folder), "PATH": f"{self.bin}{os.pathsep}{env.get('PATH', os.defpath)}"}


def environment(
    folder: Path,
    interpreter: Interpreter,
    worktree: Path,
    *,
    install: Sequence[str] = (),
    requires: Sequence[str] = (),
    content: str | None,
    env: Mapping[str, str],
    timeout: float = TIMEOUT,
) -> VirtualEnvironment:
    """The virtual environment below ``folder`` in which ``requires``, then ``install``, are installed; options are passed on.

    ``install`` names what is built from ``worktree``, whose content has the id ``content`` (git's tree); None means that it has
    none, so that nothing is reused. ``env`` is the environment of the commands, ``timeout`` in seconds is for each of them, and
    for waiting while another process makes the same environment. Raises InstallError, UsageError.
    """
    for word in (*requires, *install):
        if word in ("-e", "--editable") or word.startswith(("-e ", "--editable=")):
            raise UsageError("[python] install: an editable install would change with the worktree: leave -e out")
    uv = shutil.which("uv", path=env.get("PATH", os.defpath))
    unsure = content is None and bool(install)
    project = f"worktree {worktree}" if unsure else content if install else None
    recipe = [str(interpreter.path), interpreter.label, list(install), list(requires), "uv" if uv else "pip", project]
    name = f"py{interpreter.version}-{hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]}"
    place = folder.absolute() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(place, timeout) as lock:
            if not unsure and (found := _read(place, interpreter)):
                os.utime(place / COMPLETE)
                return found
            _remove(place)
            try:
                return _make(place, interpreter, worktree, list(install), list(requires), _installer(env), timeout, uv, lock)
            except BaseException:
                _remove(place)
                raise
    except OSError as error:
        raise InstallError(
            f"no virtual environment can be made in {folder}: {error.strerror}: make room, or make it writable"
        ) from None


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove the remains of crashes, and all environments but the ``keep`` most recently used; returns what was removed.

    An environment that is being made right now stays. Call it only while nobody measures with an environment of this folder.
    """
    ages: dict[Path, float] = {}
    for place in (path for path in folder.glob("py*") if path.is_dir()):
        ages[place] = 0.0
        with suppress(OSError):
            ages[place] = (place / COMPLETE).stat().st_mtime
    newest = sorted(ages, key=lambda place: ages[place], reverse=True)
    for log in sorted(folder.glob("py*.log"), key=lambda log: log.stat().st_mtime)[:-keep]:  # of installations that failed
        log.unlink()
    old = [place for number, place in enumerate(newest) if number >= keep or not ages[place]]
    removed = []
    for place in old:
        with suppress(EnvironmentBusy), _locked(place, 0):
            if ages[place] or not (place / COMPLETE).exists():
                _remove(place)
                removed.append(place)
                _lock(place).unlink(missing_ok=True)
    return removed


def _make(
    folder: Path, interpreter: Interpreter, worktree: Path, install: list[str], requires: list[str], env: Mapping[str, str],
    timeout: float, uv: str | None, lock: int,
) -> VirtualEnvironment:  # fmt: skip
    """Make the environment, step by step, its marker last."""
    python = str(folder / "bin" / "python")
    if uv:
        make = [uv, "venv", "--quiet", "--no-project", "--no-python-downloads", "--python", str(interpreter.path), str(folder)]
        add = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    else:
        make = [str(interpreter.path), "-m", "venv", str(folder)]
        add = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    # requirements first, so that a build without isolation finds them; then again beside the project, so that they hold
    steps = [make, [*add, *requires] if requires else [], [*add, *requires, *install] if install else []]
    log = folder.with_name(f"{folder.name}.log")
    log.unlink(missing_ok=True)
    try:
        for step in filter(None, steps):
            run(step, cwd=worktree, env=env, timeout=timeout, log=log, pass_fds=[lock])
        log.unlink()
        listing = folder / "installed.json"
        with listing.open("wb") as file:
            run([python, "-I", "-c", _LIST], cwd=folder, env=env, timeout=timeout, output=file)
    except CommandFailed as error:
        cure = " (apt install python3-venv)" if "ensurepip" in str(error) else ""
        raise InstallError(f"the virtual environment for Python {interpreter.version} could not be made: {error}{cure}") from None
    made = VirtualEnvironment(folder, interpreter, tuple(json.loads(listing.read_bytes())))
    listing.replace(folder / COMPLETE)
    return made


def _installer(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of pip and uv without those that would lead them out of the virtual environment."""
    astray = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PIP_PYTHON", "UV_SYSTEM_PYTHON", "UV_PYTHON",
              "UV_TARGET", "UV_PREFIX", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH")  # fmt: skip
    return {name: value for name, value in env.items() if name not in astray} | {"PIP_USER": "0"}


def _read(folder: Path, interpreter: Interpreter) -> VirtualEnvironment | None:
    """The environment in a folder; None unless it is complete and its interpreter still exists."""
    with suppress(OSError, ValueError, RecursionError):
        installed = json.loads((folder / COMPLETE).read_bytes())
        if (folder / "bin" / "python").exists() and isinstance(installed, list):
            return VirtualEnvironment(folder, interpreter, tuple(str(name) for name in installed))
    return None


def _remove(folder: Path) -> None:
    """Take an environment away; its marker goes first, so that a crash leaves no half one in use."""
    try:
        (folder / COMPLETE).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise InstallError(f"{folder} cannot be removed: {error.strerror}: delete it by hand") from None


def _lock(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


@contextmanager
def _locked(folder: Path, timeout: float) -> Iterator[int]:
    """Only one process at a time makes or removes an environment; gives the lock's file descriptor. Raises EnvironmentBusy.

    Installers inherit it, so that one which outlives a killed perfvcs keeps others away until it has ended.
    """
    deadline = time.monotonic() + timeout
    while True:
        with _lock(folder).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise EnvironmentBusy(f"another process is making {folder}: wait for it, or end it") from None
                time.sleep(0.05)
                continue
            # prune may have removed the file between opening and locking: then others lock a new one
            if _lock(folder).exists() and os.path.samestat(os.fstat(file.fileno()), _lock(folder).stat()):
                try:
                    yield file.fileno()
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)
                return
