"""The files of a command that may have chosen functions: its program, and libraries of the project."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from perfvcs.collector import CollectError, Run
from perfvcs.collectors.complexity.native.elf import Elf
from perfvcs.collectors.complexity.native.reading import COMPILER_FLAGS, RECORDING_CURE, Unresolved
from perfvcs.launcher.execution import not_started

MAGIC = b"\x7fELF"
SCRIPT_BYTES = 1 << 16  # bytes of a script
MOST_FILES = 20_000  # below the project's folder
SANITIZERS = ("libasan.", "libtsan.", "libhwasan.")
SKIPPED = (".git", ".perf", ".hg", "node_modules", "__pycache__")


def programs(run: Run) -> list[Path]:
    """The program that the command's first word names, else those that its other words or its script name, with their libraries.

    Libraries count when they are below the run's folder; those that a program may load while it runs only when nothing else was compiled
    with the flags. Raises Unresolved when none was.
    """
    if not os.path.lexists(run.argv[0]):
        raise CollectError(str(not_started(run.argv, errno.ENOENT)), lasting=True)
    named = _programs(run)
    for paths in (named[:1], named[1:]):
        read = {path: Elf.read(path) for path in paths}
        for elf in list(read.values()):
            for library in _libraries(elf, run, set()):
                read.setdefault(library, Elf.read(library))
        if found := [path for path, elf in read.items() if elf.hooks]:
            _bear(read.values())
            return found
    if named and Elf.read(named[0]).dynamic and (found := plugins(run, named)):  # an interpreter that loads them
        return found
    raise Unresolved(_not_built(run, [Elf.read(path) for path in named]))


def _bear(programs: Iterable[Elf]) -> None:
    """Raises Unresolved for programs that end when something is loaded before their own libraries."""
    for elf in programs:
        if any(name.startswith(SANITIZERS) for name in elf.needed):
            raise Unresolved(
                f"complexity: {elf.path} was built with -fsanitize, which does not work with the recorder: build it without"
            )


def named(run: Run) -> list[Path]:
    """The programs that the command names and that are below its folder, else that of its first word; raises Unresolved."""
    found = _programs(run)
    top = os.path.realpath(run.cwd) + os.sep
    own = [path for path in found if str(path).startswith(top)] or found[:1]
    if not own:
        raise Unresolved(_not_built(run, []))
    return own


def _programs(run: Run) -> list[Path]:
    return list(dict.fromkeys(path for path in _named(run) if is_elf(path)))


def is_elf(path: Path) -> bool:
    """Whether a file is a program or library."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC
    except OSError:
        return False


def _named(run: Run) -> Iterator[Path]:
    """The files that a command names, first word first; of a script also those that it names itself."""
    words = [run.argv[0], *run.argv[1:]]
    first = Path(run.argv[0])
    yield first.resolve()
    for word in words[1:]:
        yield from _file(word, run)
    for word in words:
        for path in _file(word, run):
            if not is_elf(path):
                yield from _in_script(path, run)
    if any(character in " ".join(words[1:]) for character in " ;|&"):  # sh -c '...'
        for word in words[1:]:
            for part in re.findall(r"[\w./+-]+", word):
                yield from _file(part, run)


def _file(word: str, run: Run) -> Iterator[Path]:
    if word and len(word) < 4096 and "\0" not in word:
        path = run.cwd / word
        try:
            if path.is_file():
                yield path.resolve()
        except OSError:
            return


def _in_script(path: Path, run: Run) -> Iterator[Path]:
    try:
        with path.open("rb") as file:
            text = file.read(SCRIPT_BYTES).decode(errors="replace")
    except OSError:
        return
    for word in dict.fromkeys(re.findall(r"[\w./+-]+", text)):
        yield from _file(word, run)


def _libraries(elf: Elf, run: Run, seen: set[Path]) -> Iterator[Path]:
    """Libraries that a file is linked with, directly or not, if they are below the run's folder."""
    top = os.path.realpath(run.cwd) + os.sep
    folders = [*elf.search, *filter(None, run.env.get("LD_LIBRARY_PATH", "").split(":"))]
    for name in elf.needed:
        candidates = [run.cwd / name] if "/" in name else [run.cwd / folder / name for folder in folders]
        for candidate in candidates:
            path = Path(os.path.realpath(candidate))
            if path in seen or not str(path).startswith(top) or not is_elf(path):
                continue
            seen.add(path)
            yield path
            yield from _libraries(Elf.read(path), run, seen)


def plugins(run: Run, known: Iterable[Path]) -> list[Path]:
    """Libraries below the run's folder that a program may load while it runs, as far as they were compiled with the flags."""
    taken, looked_at = set(known), 0
    found: list[Path] = []
    for folder, folders, files in os.walk(run.cwd):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            looked_at += 1
            if looked_at > MOST_FILES:
                return found
            path = Path(os.path.realpath(Path(folder, name)))
            if re.search(r"\.so(\.\d+)*$", name) and path not in taken and is_elf(path) and Elf.read(path).hooks:
                taken.add(path)
                found.append(path)
    return found


def _not_built(run: Run, programs: list[Elf]) -> str:
    own = [elf for elf in programs if str(elf.path).startswith(os.path.realpath(run.cwd) + os.sep)] or programs
    if not own:
        return f"complexity: {Path(run.argv[0]).name} names no program whose functions could be recorded: let cmd start the program itself"
    elf = own[0]
    if not elf.dynamic and not elf.needed:
        return f"complexity: {elf.path} is linked statically, so nothing can be loaded into it: link it without -static"
    if len(own) == 1 and elf.stripped and elf.refers:
        return f"complexity: {elf.path} is stripped, its functions cannot be found: build it without -s and do not strip it"
    return f"complexity: {elf.path} was not compiled with {' '.join(COMPILER_FLAGS)}: {RECORDING_CURE}"
