"""Which of a program's functions a name means, and what they are called in profiles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from perfvcs.collectors._shared.frames import without_arguments
from perfvcs.collectors.complexity.native.functions import BinaryFunction, BinaryFunctions
from perfvcs.collectors.complexity.native.reading import COMPILER_FLAGS, Unresolved
from perfvcs.errors import nearest

IN_FILE = re.compile(r"(?P<file>[^:()<>]+\.[A-Za-z+]{1,4}):(?!:)(?P<name>.+)")
BESIDE_FILE = re.compile(r"(?P<name>.*\S)\s+\((?P<file>[^:()<>]+\.[A-Za-z+]{1,4})\)")


def chosen(name: str, everything: Sequence[BinaryFunctions]) -> list[BinaryFunction]:
    """The functions that a name means: all overloads and all of that name in several files, unless it says which; raises Unresolved.

    ``name`` is qualified or the end of a qualified name, with or without parameters' types and template arguments; ``file.c:name`` or
    ``name (file.c)`` means that of one file; a linker's symbol is good too.
    """
    placed = IN_FILE.fullmatch(name) or BESIDE_FILE.fullmatch(name)
    wanted = _tight(placed["name"] if placed else name)
    known = [one for functions in everything for one in functions.found]
    if placed:
        known = [one for one in known if one.file == placed["file"] or one.file.endswith("/" + placed["file"])]
    for forms in (_exact, _bare, _ends):
        found = [one for one in known if wanted in forms(one)]
        if found:
            return found
    raise Unresolved(_missing(name, wanted, known, everything))


@cache  # each name that is asked for is compared with all functions of the program
def _tight(name: str) -> str:
    """Without the spaces that mean nothing."""
    return re.sub(r" ?([^\w\s]) ?", r"\1", " ".join(name.split())).replace(" const&", "const&")


def _exact(function: BinaryFunction) -> tuple[str, ...]:
    full = _tight(function.name)
    return full, full + _tight(function.signature), function.symbol.name if function.symbol else full


def _bare(function: BinaryFunction) -> tuple[str, ...]:
    bare = _tight(without_arguments(function.name))
    return bare, bare + _tight(function.signature)


def _ends(function: BinaryFunction) -> tuple[str, ...]:
    found: list[str] = []
    for full in (function.name, without_arguments(function.name)):
        for match in re.finditer("::", full):
            end = _tight(full[match.end() :])
            found += [end, end + _tight(function.signature)]
    return tuple(found)


def _missing(name: str, wanted: str, known: Sequence[BinaryFunction], everything: Sequence[BinaryFunctions]) -> str:
    where = ", ".join(str(functions.elf.path) for functions in everything) or "the program"
    inlined = {one for functions in everything for one in functions.inlined}
    unhooked = {one for functions in everything for one in functions.unhooked}
    if _among(wanted, inlined):
        return (
            f"complexity: {name} was inlined everywhere in {where}: put __attribute__((noinline)) before it, "
            "or compile with -fno-inline"
        )
    if _among(wanted, unhooked):
        return f"complexity: {name} in {where} was not compiled with {' '.join(COMPILER_FLAGS)}: build its source with these flags too"
    names = {one.name for one in known} | inlined | unhooked
    shown = [one for one in names if not one.startswith(("std::", "__"))]
    if any(functions.split for functions in everything):
        return f"complexity: the debug information of {where} is in other files: compile without -gsplit-dwarf"
    if any(functions.elf.debug is None for functions in everything):
        return f"complexity: there is no function {name} in {where}, which has no debug information (compile with -g){nearest(name, shown)}"
    return f"complexity: there is no function {name} in {where}{nearest(name, shown)}"


def _among(wanted: str, names: Iterable[str]) -> bool:
    return any(_tight(one) == wanted or _tight(one).endswith("::" + wanted) for one in names)


def uids(functions: Sequence[BinaryFunction]) -> list[str]:
    """What each is called: its name, with its parameters' types or its file behind it where the name alone is not unique.

    Copies of one function that the compiler made share a name.
    """
    entities = [(one.name, one.signature, one.file) for one in functions]
    distinct = set(entities)
    by_name = Counter(name for name, _, _ in distinct)
    by_signature = Counter((name, signature) for name, signature, _ in distinct)
    short = Counter((name, signature, file.rsplit("/", 1)[-1]) for name, signature, file in distinct)
    found = []
    for name, signature, file in entities:
        last = file.rsplit("/", 1)[-1]
        if by_name[name] == 1:
            found.append(name)
        elif by_signature[name, signature] == 1:
            found.append(name + signature)
        else:
            same = sum(1 for other, _, where in distinct if other == name and where == file)
            place = last if short[name, signature, last] == 1 else file
            found.append(f"{name}{signature if same > 1 else ''} ({place})")
    return found
