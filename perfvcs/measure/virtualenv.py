"""Virtual environments: one per interpreter, requirements and revision, made once, kept until they are pruned.

Revisions that install the same share one. pip is not in them, but in one of its own per interpreter: it takes more room than most projects.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from perfvcs import wholefile
from perfvcs.errors import CURES, PerfError, UsageError, disk_is_full
from perfvcs.measure.interpreter import Interpreter
from perfvcs.process import CommandFailed, run

COMPLETE = ".complete"  # written last: a folder without it is the remains of a crash
SAME_SUFFIX = ".same"  # suffix of a file beside the environments: it names the one that has the same content
ELSEWHERE = "installs-elsewhere"  # in an environment with pip: that can install into others
ENVIRONMENT_NAME = re.compile(r"py[^/\0]+-[0-9a-f]{16}")
VOLATILE = {"direct_url.json", "RECORD", "INSTALLER", "REQUESTED"}  # what installers note of where and how they installed
INSTALL_TIMEOUT = 1800.0
SWITCHES = {"--no-index", "--pre"}
SOURCE_OPTIONS = SWITCHES | {"-i", "-f", "--index-url", "--extra-index-url", "--find-links", "--index", "--default-index"}
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


class VirtualEnvironment(msgspec.Struct, frozen=True):
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
    packages: Sequence[str] = (),
    content: str | None,
    env: Mapping[str, str],
    timeout: float = INSTALL_TIMEOUT,
) -> VirtualEnvironment:
    """The virtual environment below ``folder`` in which ``requires``, then ``install``, are installed; options are passed on.

    ``packages`` are requirements that are installed last and without their dependencies, whatever the others ask for.
    ``install`` names what is built from ``worktree``, whose content has the id ``content`` (git's tree); None means that it has
    none, so that nothing is reused. ``env`` is the environment of the commands, ``timeout`` in seconds is for each of them, and
    for waiting while another process makes the same environment. Raises InstallError, UsageError.
    """
    for word in (*requires, *install, *packages):
        if word in ("-e", "--editable") or word.startswith(("-e ", "--editable=")):
            raise UsageError("[python] install: an editable install would change with the worktree: leave -e out")
    uv = shutil.which("uv", path=env.get("PATH", os.defpath))
    unsure = content is None and bool(install)
    project = f"worktree {worktree}" if unsure else content if install else None
    recipe = [str(interpreter.path), interpreter.label, list(install), list(requires), "uv" if uv else "pip", project, *packages]
    name = f"py{interpreter.version}-{hashlib.sha256(json.dumps(recipe).encode()).hexdigest()[:16]}"
    place = folder.absolute() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(place, timeout) as lock:
            if not unsure and (found := _read(place, interpreter) or _read(_same(place), interpreter)):
                os.utime(found.folder / COMPLETE)
                return found
            remove(place)
            try:
                made = _make(
                    place,
                    interpreter,
                    worktree,
                    list(install),
                    list(requires),
                    list(packages),
                    _installer(env),
                    timeout,
                    uv,
                    lock,
                )
                if not unsure:  # what is made anew under its name may have another content
                    made = _shared(made)
                return made
            except BaseException:
                remove(place)
                raise
    except OSError as error:
        raise InstallError(
            f"no virtual environment can be made in {folder}: {error.strerror}: make room, or make it writable"
        ) from None


def _make(
    folder: Path, interpreter: Interpreter, worktree: Path, install: list[str], requires: list[str], packages: list[str],
    env: Mapping[str, str], timeout: float, uv: str | None, lock: int,
) -> VirtualEnvironment:  # fmt: skip
    """Make the environment, step by step, its marker last."""
    python = str(folder / "bin" / "python")
    log = folder.with_name(f"{folder.name}.log")
    log.unlink(missing_ok=True)
    if uv:
        make = [uv, "venv", "--quiet", "--no-project", "--no-python-downloads", "--python", str(interpreter.path), str(folder)]
        add = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python]
    else:
        pip = _pip(folder.parent, interpreter, env, timeout, log)
        make = [str(interpreter.path), "-m", "venv", *(["--without-pip"] if pip else []), str(folder)]
        add = [str(pip), "-m", "pip", "--python", python] if pip else [python, "-m", "pip"]
        add += ["install", "--quiet", "--no-input", "--disable-pip-version-check"]
    # requirements first, so that a build without isolation finds them; then again beside the project, so that they hold
    steps = [make, [*add, *requires] if requires else [], [*add, *requires, *install] if install else []]
    steps += [[*add, "--no-deps", *_sources([*requires, *install]), *packages]] if packages else []
    try:
        for step in filter(None, steps):
            run(step, cwd=worktree, env=env, timeout=timeout, log=log, pass_fds=[lock])
        log.unlink()
        listing = folder / "installed.json"
        with listing.open("wb") as file:
            run([python, "-I", "-c", _LIST], cwd=folder, env=env, timeout=timeout, output=file)
    except CommandFailed as error:
        raise _failed(interpreter, error, folder) from None
    installed = tuple(json.loads(listing.read_bytes()))
    listing.write_text(json.dumps({"installed": installed, "bytes": _size(folder)}))
    listing.replace(folder / COMPLETE)
    return VirtualEnvironment(folder, interpreter, installed)


def _sources(words: Sequence[str]) -> list[str]:
    """The options among the words of an installer that say where packages come from."""
    found: list[str] = []
    for word, value in zip(words, [*words[1:], ""], strict=True):
        name = re.split(r"[= ]", word)[0]
        if name in SOURCE_OPTIONS:
            found += [word] if name != word or name in SWITCHES else [word, value]
    return found


def _failed(interpreter: Interpreter, error: CommandFailed, folder: Path) -> InstallError:
    """The error about an environment that could not be made; asked while what was written of it is still there."""
    cure = " (apt install python3-venv)" if "ensurepip" in str(error) else ""
    if os.strerror(errno.ENOSPC) in str(error) or disk_is_full(folder):
        cure = f": {CURES[errno.ENOSPC]}; `perf gc` removes environments beyond [python] keep"
    return InstallError(f"the virtual environment for Python {interpreter.version} could not be made: {error}{cure}")


def _pip(folder: Path, interpreter: Interpreter, env: Mapping[str, str], timeout: float, log: Path) -> Path | None:
    """The interpreter of an environment that has pip, to install into others; None where pip is too old for that (before 22.3)."""
    recipe = hashlib.sha256(json.dumps([str(interpreter.path), interpreter.label]).encode()).hexdigest()[:16]
    place = folder / f"pip{interpreter.version}-{recipe}"
    python = place / "bin" / "python"
    with locked(place, timeout) as lock:
        if not (place / COMPLETE).exists() or not python.exists():
            remove(place)
            try:
                run(
                    [str(interpreter.path), "-m", "venv", str(place)],
                    cwd=folder,
                    env=env,
                    timeout=timeout,
                    log=log,
                    pass_fds=[lock],
                )
            except CommandFailed as error:
                failed = _failed(interpreter, error, folder)
                remove(place)
                raise failed from None
            asked = [str(python), "-m", "pip", "--python", str(python), "--version"]
            with suppress(CommandFailed):
                run(asked, cwd=folder, env=env, timeout=timeout, pass_fds=[lock])
                (place / ELSEWHERE).touch()
                run(
                    [*asked[:3], "uninstall", "--quiet", "--yes", "setuptools"],
                    cwd=folder,
                    env=env,
                    timeout=timeout,
                    pass_fds=[lock],
                )
            (place / COMPLETE).write_text(json.dumps({"bytes": _size(place)}))
    return python if (place / ELSEWHERE).exists() else None


def _content(folder: Path) -> str:
    """A digest of what is installed, wherever it is and whatever was noted about how; empty where nothing is."""
    digest = hashlib.sha256()
    found = sorted(path for path in folder.glob("lib*/**/*") if path.is_file() and not path.is_symlink())
    kept = [path for path in found if "__pycache__" not in path.parts and path.name not in VOLATILE]
    for path in kept:
        digest.update(f"{path.relative_to(folder)}\0{path.stat().st_size}\0".encode("utf-8", "surrogateescape"))
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    for path in sorted((folder / "bin").glob("*")):  # they name the environment's own interpreter
        digest.update(os.fsencode(path.name) + b"\0")
    return digest.hexdigest() if kept else ""


def _size(folder: Path) -> int:
    """The bytes on disk of all files of a folder."""
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def _shared(made: VirtualEnvironment) -> VirtualEnvironment:
    """The environment beside this one that has the same content, which is then removed; itself where there is none."""
    about = note(made.folder) | {"content": (content := _content(made.folder))}
    wholefile.write(made.folder / COMPLETE, json.dumps(about).encode())
    version = made.folder.name.rpartition("-")[0]
    for other in sorted(made.folder.parent.glob(f"{version}-*")):
        if content and other != made.folder and ENVIRONMENT_NAME.fullmatch(other.name) and note(other).get("content") == content:
            found = _read(other, made.interpreter)
            if found is not None:
                wholefile.write(made.folder.with_name(made.folder.name + SAME_SUFFIX), other.name.encode())
                remove(made.folder)
                os.utime(other / COMPLETE)
                return found
    return made


def _same(folder: Path) -> Path:
    """The environment that one shares; itself where it shares none."""
    try:
        name = folder.with_name(folder.name + SAME_SUFFIX).read_text("utf-8", "replace")
    except OSError:
        return folder
    return folder.with_name(name) if ENVIRONMENT_NAME.fullmatch(name) else folder


def note(folder: Path) -> dict[str, Any]:
    """The record of a complete environment: what is ``installed``, its ``content`` and its ``bytes``; empty for others."""
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((folder / COMPLETE).read_bytes())
        return found if isinstance(found, dict) else {"installed": found}  # of older versions
    return {}


def _installer(env: Mapping[str, str]) -> dict[str, str]:
    """The variables of pip and uv without those that would lead them out of the virtual environment."""
    astray = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PIP_PYTHON", "UV_SYSTEM_PYTHON", "UV_PYTHON",
              "UV_TARGET", "UV_PREFIX", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH")  # fmt: skip
    return {name: value for name, value in env.items() if name not in astray} | {"PIP_USER": "0"}


def _read(folder: Path, interpreter: Interpreter) -> VirtualEnvironment | None:
    """The environment in a folder; None unless it is complete and its interpreter still exists."""
    installed = note(folder).get("installed")
    if (folder / "bin" / "python").exists() and isinstance(installed, list):
        return VirtualEnvironment(folder, interpreter, tuple(str(name) for name in installed))
    return None


def remove(folder: Path) -> None:
    """Take an environment away; its marker goes first, so that a crash leaves no half one in use."""
    try:
        (folder / COMPLETE).unlink(missing_ok=True)
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise InstallError(f"{folder} cannot be removed: {error.strerror}: delete it by hand") from None


def lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")


@contextmanager
def locked(folder: Path, timeout: float) -> Iterator[int]:
    """Only one process at a time makes or removes an environment; gives the lock's file descriptor. Raises EnvironmentBusy.

    Installers inherit it, so that one which outlives a killed perfvcs keeps others away until it has ended.
    """
    deadline = time.monotonic() + timeout
    while True:
        with lock_of(folder).open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise EnvironmentBusy(f"another process is making {folder}: wait for it, or end it") from None
                time.sleep(0.05)
                continue
            # prune may have removed the file between opening and locking: then others lock a new one
            if lock_of(folder).exists() and os.path.samestat(os.fstat(file.fileno()), lock_of(folder).stat()):
                try:
                    yield file.fileno()
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)
                return
