"""Compilers that add our flags, for builds that do not know about them."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

COMPILER_NAME = re.compile(r"([\w.]+-)*(cc|c\+\+|gcc|g\+\+|clang|clang\+\+)(-\d[\d.]*)?")
SOURCE_SUFFIXES = ("c", "C", "cc", "cp", "cpp", "cxx", "CPP", "c++")
VARIABLES = ("CC", "CXX")
SCRIPT = """\
#!/bin/sh
# Adds flags wherever code is made: with -flto that is also where it is linked. Other linking gets none, since -pg would link in
# a profiler's start-up. gcc bears no -fomit-frame-pointer beside -pg.
PATH={path}
export PATH
making=
for word in "$@"; do
    case $word in
        -c | -S | -flto | -flto=* | {sources}) making=1 ;;
    esac
done
[ "$making" ] || exec {compiler} "$@"
for word in "$@"; do
    shift
    [ "$word" = -fomit-frame-pointer ] || set -- "$@" "$word"
done
exec {compiler} "$@" {flags}
"""


def wrapped(env: Mapping[str, str], flags: Sequence[str], folder: Path) -> dict[str, str]:
    """The environment in which every C and C++ compiler on PATH compiles with ``flags`` added; their wrappers are put in ``folder``.

    Setting CFLAGS would not do: it replaces what a build that reads it has as its own, optimisation among them, and one that assigns
    it does not see ours.
    """
    path = env.get("PATH", os.defpath)
    found: dict[str, str] = {}
    for place in path.split(os.pathsep):
        for name in _compilers(place):
            found.setdefault(name, str(Path(place, name).absolute()))
    folder.mkdir(parents=True, exist_ok=True)
    patterns = " | ".join(f"*.{suffix}" for suffix in SOURCE_SUFFIXES)
    for name, compiler in found.items():
        script = folder / name
        script.write_text(
            SCRIPT.format(path=shlex.quote(path), sources=patterns, compiler=shlex.quote(compiler), flags=shlex.join(flags))
        )
        script.chmod(0o755)
    named = {name: _renamed(env[name], found, folder) for name in VARIABLES if name in env}
    return dict(env) | named | {"PATH": os.pathsep.join((str(folder.absolute()), path))}


def _compilers(folder: str) -> list[str]:
    try:
        return [file.name for file in Path(folder).iterdir() if COMPILER_NAME.fullmatch(file.name) and os.access(file, os.X_OK)]
    except OSError:  # PATH may name what is not there
        return []


def _renamed(command: str, compilers: Mapping[str, str], folder: Path) -> str:
    """The command of CC or CXX, with a wrapper in place of a compiler named by its path."""
    program, _, rest = command.partition(" ")
    if Path(program).is_absolute() and compilers.get(Path(program).name) == program:
        return f"{folder.absolute() / Path(program).name} {rest}".strip()
    return command
