"""What to record in a command's program and libraries: places, programs for sizes, and names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perfvcs.collectors.complexity.calls import TracedFunction
from perfvcs.collectors.complexity.native.expression import compile_size
from perfvcs.collectors.complexity.native.functions import BinaryFunction, BinaryFunctions
from perfvcs.collectors.complexity.native.guess import guess
from perfvcs.collectors.complexity.native.names import chosen, uids
from perfvcs.collectors.complexity.native.program import Steps
from perfvcs.collectors.complexity.native.reading import Unresolved

MOST_AUTOMATIC = 20_000  # functions of a program that are considered


@dataclass(frozen=True)
class HookSite:
    """A hook of a chosen function: where it returns to, the function's number, and the program of its size."""

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


def select(entries: Sequence[TracedFunction], everything: Sequence[BinaryFunctions]) -> TraceSelection:
    """The functions that entries name, with their sizes; raises Unresolved."""
    choices: dict[tuple[Path, int], _Choice] = {}
    warnings: list[str] = []
    for entry in entries:
        found = chosen(entry.name, everything)
        errors: list[str] = []
        for function in found:
            key = (function.elf.path, function.address)
            try:
                made = _choose(function, entry.size)
            except Unresolved as error:
                errors.append(str(error))
                made = _Choice(function, None, (), guessed=False)
            if key not in choices or entry.size is not None:
                choices[key] = made
        if len(errors) == len(found) and errors:
            raise Unresolved(errors[0])
        warnings += [f"{error}: its size is not recorded" for error in errors]
    return _selection(list(choices.values()), everything, warnings)


def automatic(everything: Sequence[BinaryFunctions], folder: Path) -> TraceSelection:
    """All functions of sources below a folder for which a size can be guessed; raises Unresolved when there are none."""
    top = os.path.realpath(folder) + os.sep
    found = []
    for function in [one for functions in everything for one in functions.found][:MOST_AUTOMATIC]:
        if os.path.realpath(function.file).startswith(top) and (made := _choose(function, None)).size is not None:
            found.append(made)
    if not found:
        raise Unresolved(
            "complexity: no function of the program has parameters or members that look like a size: name them as function=expression"
        )
    return _selection(found, everything, [])


def _choose(function: BinaryFunction, size: str | None) -> _Choice:
    if size is not None:
        return _Choice(function, size, compile_size(function, size), guessed=False)
    guessed = guess(function)
    return _Choice(function, guessed, compile_size(function, guessed) if guessed else (), guessed=guessed is not None)


def _selection(choices: list[_Choice], everything: Sequence[BinaryFunctions], warnings: list[str]) -> TraceSelection:
    names: list[str] = []
    sizes: list[str | None] = []
    numbers: dict[str, int] = {}
    sites: dict[Path, list[HookSite]] = {}
    for uid, one in zip(uids([one.function for one in choices]), choices, strict=True):
        if uid not in numbers:
            numbers[uid] = len(names)
            names.append(uid)
            sizes.append(one.size)
        elif sizes[numbers[uid]] is None:
            sizes[numbers[uid]] = one.size
        function = one.function
        sites.setdefault(function.elf.path, []).append(HookSite(function.elf.hooks[function.address][1], numbers[uid], one.steps))
    objects = []
    for functions in everything:
        elf = functions.elf
        own = sites.get(elf.path, [])
        taken = {site.offset for site in own}
        others = sorted(start for start, end in elf.hooks.values() if end not in taken)
        objects.append(Object(elf.path, elf.device, elf.inode, tuple(own), tuple(others)))
    missing = [name for name, size in zip(names, sizes, strict=True) if size is None]
    guessed = {uid: one.size for uid, one in zip(uids([one.function for one in choices]), choices, strict=True) if one.guessed}
    said = list(warnings)
    if guessed:
        said.append("complexity: sizes were guessed: " + ", ".join(f"{uid}={size}" for uid, size in sorted(guessed.items())))
    said += [f"complexity: {name} has no parameter that looks like a size: write {name}=expression" for name in missing]
    return TraceSelection(names, sizes, objects, said)
