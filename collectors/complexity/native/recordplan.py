"""What to record in a command's program and libraries: places, programs for sizes, and names."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.collectors.complexity.calls import TracedFunction
from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunction, BinaryFunctions
from perfvcs.collectors.complexity.native.elf import COMPILER_FLAGS, RECORDING_CURE, Elf, Unresolved
from perfvcs.collectors.complexity.native.expression import compile_size
from perfvcs.collectors.complexity.native.names import chosen, guess, uids
from perfvcs.collectors.complexity.native.program import Steps
from perfvcs.launcher.execution import not_started
from perfvcs.plugins.collector import CollectError, Run

MAGIC = b"\x7fELF"  # elf.h
SCRIPT_BYTES = 1 << 16  # bytes of a script
MOST_FILES = 20_000  # below the project's folder
SKIPPED = (".git", ".perf", ".hg", "node_modules", "__pycache__")
MOST_AUTOMATIC = 20_000  # functions of a program that are considered


def programs(run: Run) -> list[Path]:
    """The program that the command's first word names, else those that its other words or its
    script name, with their libraries.

    Libraries count when they are below the run's folder; those that a program may load while it
    runs only when nothing else was compiled with the flags. Raises Unresolved when none was.
    """
    if not os.path.lexists(run.argv[0]):
        raise CollectError(str(not_started(run.argv, errno.ENOENT)), lasting=True)
    named = _programs(run)
    for paths in (named[:1], named[1:]):
        read = {path: Elf.read(path) for path in paths}
        for elf in list(read.values()):
            for library in _libraries(elf, run, set()):
                read.setdefault(library, Elf.read(library))
        if recordable := [path for path, elf in read.items() if elf.hooks]:
            _bear(read.values())
            return recordable
    # an interpreter that loads them
    if named and Elf.read(named[0]).dynamic and (recordable := plugins(run, named)):
        return recordable
    raise Unresolved(_not_built(run, [Elf.read(path) for path in named]))


def _bear(programs: Iterable[Elf]) -> None:
    """Raises Unresolved for programs that end when something is loaded before their own
    libraries.
    """
    for elf in programs:
        if any(name.startswith(("libasan.", "libtsan.", "libhwasan.")) for name in elf.needed):
            raise Unresolved(
                f"complexity: {elf.path} was built with -fsanitize, which does not work with the"
                " recorder: build it without"
            )


def named(run: Run) -> list[Path]:
    """The programs that the command names and that are below its folder, else that of its first
    word; raises Unresolved.
    """
    commands = _programs(run)
    top = os.path.realpath(run.cwd) + os.sep
    projects = [path for path in commands if str(path).startswith(top)] or commands[:1]
    if not projects:
        raise Unresolved(_not_built(run, []))
    return projects


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
    """The files that a command names, first word first; of a script also those that it names
    itself.
    """
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
        candidates = (
            [run.cwd / name] if "/" in name else [run.cwd / folder / name for folder in folders]
        )
        for candidate in candidates:
            path = Path(os.path.realpath(candidate))
            if path in seen or not str(path).startswith(top) or not is_elf(path):
                continue
            seen.add(path)
            yield path
            yield from _libraries(Elf.read(path), run, seen)


def plugins(run: Run, loaded: Iterable[Path]) -> list[Path]:
    """Libraries below the run's folder that a program may load while it runs, as far as they were
    compiled with the flags.
    """
    taken, looked_at = set(loaded), 0
    libraries: list[Path] = []
    for folder, folders, files in os.walk(run.cwd):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(files):
            looked_at += 1
            if looked_at > MOST_FILES:
                return libraries
            path = Path(os.path.realpath(Path(folder, name)))
            if (
                re.search(r"\.so(\.\d+)*$", name)
                and path not in taken
                and is_elf(path)
                and Elf.read(path).hooks
            ):
                taken.add(path)
                libraries.append(path)
    return libraries


def _not_built(run: Run, programs: list[Elf]) -> str:
    projects = [
        elf for elf in programs if str(elf.path).startswith(os.path.realpath(run.cwd) + os.sep)
    ] or programs
    if not projects:
        return (
            f"complexity: {Path(run.argv[0]).name} names no program whose functions could be"
            " recorded: let cmd start the program itself"
        )
    elf = projects[0]
    if not elf.dynamic and not elf.needed:
        return (
            f"complexity: {elf.path} is linked statically, so nothing can be loaded into it: link"
            " it without -static"
        )
    if len(projects) == 1 and elf.stripped and elf.refers:
        return (
            f"complexity: {elf.path} is stripped, its functions cannot be found: build it without"
            " -s and do not strip it"
        )
    return (
        f"complexity: {elf.path} was not compiled with {' '.join(COMPILER_FLAGS)}: {RECORDING_CURE}"
    )


@dataclass(frozen=True)
class HookSite:
    """A hook of a chosen function: where it returns to, the function's number, and the program of
    its size.
    """

    offset: int
    function: int
    steps: Steps = ()


@dataclass(frozen=True)
class Object:
    """A program or library with its chosen hooks, and where the others stand."""

    path: Path
    device: int
    inode: int
    sites: tuple[HookSite, ...]
    others: tuple[int, ...]


@dataclass(frozen=True)
class TraceSelection:
    """What the runtime is to do; ``sizes`` are the expressions by function, None for none."""

    names: list[str]
    sizes: list[str | None]
    objects: list[Object]
    warnings: list[str] = field(default_factory=list)


@dataclass
class _Choice:
    function: BinaryFunction
    size: str | None
    steps: Steps
    guessed: bool


def select(
    entries: Sequence[TracedFunction], everything: Sequence[BinaryFunctions]
) -> TraceSelection:
    """The functions that entries name, with their sizes; raises Unresolved."""
    choices: dict[tuple[Path, int], _Choice] = {}
    warnings: list[str] = []
    for entry in entries:
        meant = chosen(entry.name, everything)
        errors: list[str] = []
        for function in meant:
            key = (function.elf.path, function.address)
            try:
                made = _choose(function, entry.size)
            except Unresolved as error:
                errors.append(str(error))
                made = _Choice(function, None, (), guessed=False)
            if key not in choices or entry.size is not None:
                choices[key] = made
        if len(errors) == len(meant) and errors:
            raise Unresolved(errors[0])
        warnings += [f"{error}: its size is not recorded" for error in errors]
    return _selection(list(choices.values()), everything, warnings)


def automatic(everything: Sequence[BinaryFunctions], folder: Path) -> TraceSelection:
    """All functions of sources below a folder for which a size can be guessed; raises Unresolved
    when there are none.
    """
    top = os.path.realpath(folder) + os.sep
    selected = []
    for function in [candidate for functions in everything for candidate in functions.found][
        :MOST_AUTOMATIC
    ]:
        if (
            os.path.realpath(function.file).startswith(top)
            and (made := _choose(function, None)).size is not None
        ):
            selected.append(made)
    if not selected:
        raise Unresolved(
            "complexity: no function of the program has parameters or members that look like a"
            " size: name them as function=expression"
        )
    return _selection(selected, everything, [])


def _choose(function: BinaryFunction, size: str | None) -> _Choice:
    if size is not None:
        return _Choice(function, size, compile_size(function, size), guessed=False)
    guessed = guess(function)
    return _Choice(
        function,
        guessed,
        compile_size(function, guessed) if guessed else (),
        guessed=guessed is not None,
    )


def _selection(
    choices: list[_Choice], everything: Sequence[BinaryFunctions], warnings: list[str]
) -> TraceSelection:
    names: list[str] = []
    sizes: list[str | None] = []
    numbers: dict[str, int] = {}
    sites: dict[Path, list[HookSite]] = {}
    for uid, choice in zip(uids([choice.function for choice in choices]), choices, strict=True):
        if uid not in numbers:
            numbers[uid] = len(names)
            names.append(uid)
            sizes.append(choice.size)
        elif sizes[numbers[uid]] is None:
            sizes[numbers[uid]] = choice.size
        function = choice.function
        sites.setdefault(function.elf.path, []).append(
            HookSite(function.elf.hooks[function.address][1], numbers[uid], choice.steps)
        )
    objects = []
    for functions in everything:
        elf = functions.elf
        recorded = sites.get(elf.path, [])
        taken = {site.offset for site in recorded}
        others = sorted(start for start, end in elf.hooks.values() if end not in taken)
        objects.append(Object(elf.path, elf.device, elf.inode, tuple(recorded), tuple(others)))
    missing = [name for name, size in zip(names, sizes, strict=True) if size is None]
    guessed = {
        uid: choice.size
        for uid, choice in zip(uids([choice.function for choice in choices]), choices, strict=True)
        if choice.guessed
    }
    remarks = list(warnings)
    if guessed:
        remarks.append(
            "complexity: sizes were guessed: "
            + ", ".join(f"{uid}={size}" for uid, size in sorted(guessed.items()))
        )
    remarks += [
        f"complexity: {name} has no parameter that looks like a size: write {name}=expression"
        for name in missing
    ]
    return TraceSelection(names, sizes, objects, remarks)
