"""Python interpreters on this machine, found by version."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from perfvcs.collectors._shared.commandrun import INTERPRETER_NAME, behind_env
from perfvcs.errors import UsageError
from perfvcs.jobs.commandwords import entered
from perfvcs.plugins.collector import CollectError
from perfvcs.profile.buildidentity import bounded
from perfvcs.text.characters import shorten

HEAD_BYTES = 512  # of a script, which show what runs it
# works from Python 2.7 on, so that an old interpreter is named and not taken for a broken one;
# sys._base_executable leads out of a virtual environment, which may vanish
_PROBE = """
import json, os, platform, sys
try:
    import sysconfig
    flags = [str(sysconfig.get_config_var(name) or "") for name in ("CONFIG_ARGS", "PY_CFLAGS")]
except Exception:  # a Python that was moved or cut down has no notes on how it was built
    flags = ["", ""]
build = [platform.python_compiler()] + flags
path = getattr(sys, "_base_executable", None) or sys.executable
letters = getattr(sys, "abiflags", "")
version = platform.python_version() + letters.replace("m", "")
print(json.dumps([os.path.realpath(path), version, platform.python_implementation(), build]))
"""
# what configure and the compiler were given that says where an interpreter was built or installed,
# and not how
OF_PLACES = re.compile(
    r"'?(--(prefix|exec-prefix|[a-z]*dir|with-wheel-pkg-dir|build|host)=|MKDIR_P=|PKG_CONFIG"
    r"|-f(file|debug|macro|profile)-prefix-map=|-[IL]/)"
)
# options of a build that are named, since they make another interpreter of the same version
NAMED_OPTIONS = {
    "--enable-optimizations": "PGO",
    "--with-lto": "LTO",
    "--enable-shared": "shared",
    "--with-pydebug": "debug",
    "--enable-experimental-jit": "JIT",
    "--with-tail-call-interp": "tail calls",
}
DIGITS = 8  # of the digest of all options


def resolve(
    word: str,
    folder: Path,
    env: Mapping[str, str],
    root: Path | None = None,
    python: Path | None = None,
) -> str:
    """The absolute path of a program; raises CollectError with the cure when there is none.

    ``root`` is the working tree that a checkout in ``folder`` is of. A program of PATH that would
    run in another Python than the active virtual environment ``python`` is refused.
    """
    if "/" in word:
        path = folder / word
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
        if path.is_dir():
            raise CollectError(f"`{word}` is a folder, not a program", lasting=True)
        if path.exists():
            raise CollectError(
                f"`{word}` is not executable: chmod +x it, or name its interpreter in `cmd`",
                lasting=True,
            )
        if missing := only_here([word], folder, root or folder):
            raise CollectError(missing, lasting=True)
        raise CollectError(
            f"`{word}` does not exist in this revision: check `cmd`, or add a `build` that"
            " makes it",
            lasting=True,
        )
    if place := shutil.which(word, path=env.get("PATH", os.defpath)):
        program = Path(place).absolute()
        if python is not None and not program.is_relative_to(python) and _is_elsewhere(program):
            raise CollectError(
                f"`{word}` is not in the virtual environment, and {program} runs in another Python:"
                " name what brings it in [python] requires, or write its path",
                lasting=True,
            )
        return str(program)
    hint = ": install it, or write its path"
    if (folder / word).exists():
        hint = f": did you mean `./{word}`?"
    raise CollectError(f"`{word}` is not on PATH{hint}", lasting=True)


def only_here(words: Sequence[str], folder: Path, root: Path) -> str:
    """The first of some words that is in the working tree, not in a checkout; with the cure."""
    for word in words:
        inside = word and not Path(word).is_absolute() and ".." not in Path(word).parts
        if inside and os.path.lexists(root / word) and not os.path.lexists(folder / word):
            name = shorten(word)
            return (
                f"`{name}` is in the working tree, but not in a checkout: let `build` make it, name"
                " it in `overlay`, or `git add` it"
            )
    return ""


def only_one(program: str, folder: Path, root: Path) -> bool:
    """Whether a program is a file of the working tree at ``root``, and not of ``folder``."""
    path = Path(program)
    return path.is_relative_to(root) and not path.is_relative_to(folder)


def _is_elsewhere(program: Path) -> bool:
    """Whether a program of PATH is a Python, runs in a certain one, or leads to one (pyenv)."""
    if INTERPRETER_NAME.fullmatch(program.name):
        return True
    try:
        with program.open("rb") as file:
            head = file.read(HEAD_BYTES).decode(errors="replace")
    except OSError:
        return False
    first = head.partition("\n")[0].removeprefix("#!").split()
    if not head.startswith("#!") or not first:
        return False
    # what asks `env` for its interpreter gets the environment's
    return bool(INTERPRETER_NAME.fullmatch(Path(first[0]).name)) or "pyenv" in head


class Interpreter(msgspec.Struct, frozen=True):
    """One interpreter: its real path outside any virtual environment, its full version (``3.13.0``,
    ``3.13.0t``), and how it was built, such as ``GCC 12.2.0 -O2 PGO #1a2b3c4d``; empty if that is
    not known.
    """

    path: Path
    version: str
    implementation: str = "CPython"
    build: str = ""

    @property
    def label(self) -> str:
        """Implementation and version, as profiles record them."""
        return f"{self.implementation} {self.version}"

    def fits(self, wanted: str) -> bool:
        """Whether this is the wanted version: ``3.11`` is any 3.11.x, ``t``: free-threaded."""
        numbers = re.sub(r"[^\d.].*", "", self.version)
        return self.version.endswith("t") == wanted.endswith("t") and f"{numbers}.".startswith(
            f"{wanted.rstrip('t')}."
        )


def find(version: str, environ: Mapping[str, str] | None = None) -> Interpreter:
    """The interpreter of a version (``3.11``, ``3.11.7``, ``3.13t``), or at a path, or of a
    command's name (``pypy3.10``).

    A version is looked for on PATH, in perfvcs's own interpreter, in pyenv's folder, and through
    uv. Raises UsageError.
    """
    env = os.environ if environ is None else environ
    if not re.fullmatch(r"\d+(\.\d+){0,2}t?", version):
        command: str | None = version
        if "/" not in version:
            command = shutil.which(version, path=env.get("PATH", os.defpath))
        if command and (interpreter := probe(Path(command), env)):
            return interpreter
        raise UsageError(
            f"[python] versions: `{version}` is not a working Python: name a version such as 3.11,"
            " or a path"
        )
    seen: dict[str, Interpreter] = {}
    for path in _candidates(version, env):
        if interpreter := probe(path, env):
            if interpreter.fits(version):
                return interpreter
            seen[interpreter.version] = interpreter
    there = f" (there is {', '.join(sorted(seen))})" if seen else ""
    raise UsageError(
        f"[python] versions: there is no Python {version} here{there}: `uv python install"
        f" {version}`, `pyenv install {version}`, or take it out of perf.toml"
    )


def probe(path: Path, environ: Mapping[str, str] | None = None) -> Interpreter | None:
    """Ask an executable what Python it is; None when it does not answer."""
    env = {**(os.environ if environ is None else environ)}
    for name in ("PYTHONHOME", "PYTHONPATH", "__PYVENV_LAUNCHER__"):
        env.pop(name, None)
    try:
        done = subprocess.run(
            [path, "-E", "-s", "-S", "-c", _PROBE],
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
            check=True,
        )
        real, version, implementation, *build = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Interpreter(Path(real), version, implementation, *(_built(*how) for how in build))


def _built(compiler: str, configured: str, flags: str) -> str:
    """How an interpreter was built: by which ``compiler``, with what it was ``configured`` with and
    the compiler's ``flags``; the digest is of all that says nothing of places.
    """
    options = re.findall(r"'[^']*'|\S+", configured)
    told = [option.strip("'") for option in options if not OF_PLACES.match(option)]
    given = [word for word in flags.split() if not OF_PLACES.match(word)]
    levels = re.findall(r"(?<!\S)-O\w+", flags)
    named = [
        name
        for option, name in NAMED_OPTIONS.items()
        if any(word.partition("=")[0] == option for word in told)
    ]
    decisive = repr((compiler, told, given)).encode("utf-8", "surrogateescape")
    mark = hashlib.sha256(decisive).hexdigest()[:DIGITS]
    words = [compiler.partition(" (")[0], *levels[-1:], *named, f"#{mark}"]
    return bounded(" ".join(filter(None, words)))


def _candidates(version: str, env: Mapping[str, str]) -> Iterator[Path]:
    """The paths of a version, likely ones first; each once, places searched when needed."""
    major, short = version.partition(".")[0], ".".join(version.rstrip("t").split(".")[:2])
    tried: set[Path] = set()
    folders = [Path(folder) for folder in env.get("PATH", os.defpath).split(os.pathsep) if folder]
    suffix = "t" if version.endswith("t") else ""
    named = [
        folder / name
        for name in (f"python{short}{suffix}", f"python{short}", f"python{major}", "python")
        for folder in folders
    ]
    for path in [*named, Path(sys.executable)]:
        if path not in tried and os.access(path, os.X_OK) and path.is_file():
            tried.add(path)
            yield path
    pyenv = env.get("PYENV_ROOT") or Path(env.get("HOME", "~")).expanduser() / ".pyenv"
    yield from sorted(
        (Path(pyenv) / "versions").glob(f"{short}*{suffix}/bin/python"),
        key=lambda path: _numbers(path.parent.parent.name),
        reverse=True,
    )
    if uv := shutil.which("uv", path=env.get("PATH", os.defpath)):
        asked = [uv, "python", "find", "--no-python-downloads", "--no-project", version]
        try:
            done = subprocess.run(
                asked, env=dict(env), capture_output=True, timeout=30, check=True, text=True
            )
        except (OSError, subprocess.SubprocessError):
            return
        yield Path(done.stdout.strip())


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


@cache
def of_program(program: str) -> Interpreter | None:
    """The interpreter that a program is, None for any other; asked once per process."""
    if not re.fullmatch(r"(python|pypy)[\d.]*t?", Path(program).name):
        return None
    return probe(Path(program))


def own_program(command: str, program: str, folder: Path) -> str:
    """The path of what a command runs in a ``folder``, whose first word is at ``program``: where
    that is ``env``, of the program behind it.
    """
    words = shlex.split(command)
    own = behind_env(words)
    if not own or own == words:
        return program
    place = folder / next(entered(shlex.join(words[: -len(own)]), 0), "")
    return str(place / own[0]) if "/" in own[0] else shutil.which(own[0]) or program
