"""Which of a program's functions a name means, and what they are called in profiles."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from perfvcs.collectors._shared.frames import without_arguments
from perfvcs.collectors.complexity.native.containers import container
from perfvcs.collectors.complexity.native.debugfunctions import (
    BinaryFunction,
    BinaryFunctions,
    Parameter,
)
from perfvcs.collectors.complexity.native.elf import COMPILER_FLAGS, Unresolved
from perfvcs.collectors.complexity.native.expression import compile_size
from perfvcs.collectors.complexity.native.program import Steps
from perfvcs.collectors.complexity.native.types import Member, Type
from perfvcs.errors import nearest

# in order of preference
SIZE_NAMES = [
    re.compile(
        r"(n|size|len|length|count|nmemb|num|number|nelems?|n_?elements?|num_?elements?|sz|cnt)",
        re.IGNORECASE,
    ),
    re.compile(
        r"_*(m_)?(n|size|len|length|count|num|cnt|nelems?|nitems|used|elements)_*", re.IGNORECASE
    ),
    re.compile(
        r"(n|num|nr|cnt|count|len|size)_\w+|\w+_(n|num|len|length|size|count|cnt)_?|\w+(Size|Count|Length|Len)|n[A-Z]\w*"
    ),
    re.compile(r"order|degree|dim|rows|cols|height|depth|m|k", re.IGNORECASE),
]
CAPACITIES = re.compile(
    r"cap|alloc|max|elem_?size|item_?size|type_?size|obj_?size|stride|bytes_per", re.IGNORECASE
)
IN_FILE = re.compile(r"(?P<file>[^:()<>]+\.[A-Za-z+]{1,4}):(?!:)(?P<name>.+)")
BESIDE_FILE = re.compile(r"(?P<name>.*\S)\s+\((?P<file>[^:()<>]+\.[A-Za-z+]{1,4})\)")


def guess(function: BinaryFunction, fits: Callable[[Steps], bool] = bool) -> str | None:
    """An expression for the size, the likeliest first; None where nothing looks like one.

    In this order: an integer parameter named like a size; a container of std, or a struct with a
    member named like a size or one that is a container, by value, by reference or behind a pointer;
    the same of ``this`` (not in constructors, where it has no value yet); an integer parameter with
    a weaker name. Capacities and sizes of elements are not sizes. ``fits`` may refuse a size's
    program.
    """
    return next(
        (candidate for candidate in _candidates(function) if _works(function, candidate, fits)),
        None,
    )


def _works(function: BinaryFunction, expression: str, fits: Callable[[Steps], bool]) -> bool:
    try:
        return fits(compile_size(function, expression))
    except Unresolved:
        return False


def _candidates(function: BinaryFunction) -> list[str]:
    parameters = [
        parameter
        for parameter in function.parameters
        if parameter.name and not parameter.artificial
    ]
    this = [
        parameter
        for parameter in function.parameters
        if parameter.artificial and parameter.name == "this"
    ]
    expressions = [name for pattern in SIZE_NAMES[:3] for name in _integers(parameters, pattern)]
    for parameter in parameters:
        expressions += _inside(parameter)
    if this and not function.constructor:
        expressions += _inside(this[0])
    return [*expressions, *_integers(parameters, SIZE_NAMES[3])]


def _integers(parameters: list[Parameter], pattern: re.Pattern[str]) -> list[str]:
    return [
        parameter.name
        for parameter in parameters
        if parameter.name
        and pattern.fullmatch(parameter.name)
        and not CAPACITIES.search(parameter.name)
        and _whole(parameter.type)
    ]


def _whole(type_: Type) -> bool:
    return (type_.plain.target if type_.reference else type_).counts


def _inside(parameter: Parameter) -> list[str]:
    """Expressions for what a parameter has inside."""
    type_, name, sign = parameter.type, parameter.name or "", "."
    if type_.kind == "pointer":
        sign = "." if type_.reference else "->"
        type_ = type_.plain.target
    if type_.kind != "struct":
        return []
    if container(type_):
        return [f"{name}{sign}size()"]
    members = [member for member in _flat(type_, 0) if member.name]
    expressions = [
        f"{name}{sign}{member.name}"
        for pattern in SIZE_NAMES[:3]
        for member in members
        if pattern.fullmatch(member.name or "")
        and not CAPACITIES.search(member.name or "")
        and _whole(member.type)
        and not member.type.reference
    ]
    return expressions + [
        f"{name}{sign}{member.name}.size()" for member in members if container(member.type)
    ]


def _flat(type_: Type, depth: int) -> list[Member]:
    """Members, with those of bases."""
    members: list[Member] = []
    for member in type_.members:
        if (member.base or member.name is None) and depth < 8 and member.type.kind == "struct":
            members += _flat(member.type, depth + 1)
        elif not member.base:
            members.append(member)
    return members


def chosen(name: str, everything: Sequence[BinaryFunctions]) -> list[BinaryFunction]:
    """The functions that a name means: all overloads and all of that name in several files, unless
    it says which; raises Unresolved.

    ``name`` is qualified or the end of a qualified name, with or without parameters' types and
    template arguments; ``file.c:name`` or ``name (file.c)`` means that of one file; a linker's
    symbol is good too.
    """
    placed = IN_FILE.fullmatch(name) or BESIDE_FILE.fullmatch(name)
    wanted = _tight(placed["name"] if placed else name)
    candidates = [function for functions in everything for function in functions.found]
    if placed:
        candidates = [
            function
            for function in candidates
            if function.file == placed["file"] or function.file.endswith("/" + placed["file"])
        ]
    for forms in (_exact, _bare, _ends):
        meant = [function for function in candidates if wanted in forms(function)]
        if meant:
            return meant
    raise Unresolved(_missing(name, wanted, candidates, everything))


@cache  # each name that is asked for is compared with all functions of the program
def _tight(name: str) -> str:
    """Without the spaces that mean nothing."""
    return re.sub(r" ?([^\w\s]) ?", r"\1", " ".join(name.split())).replace(" const&", "const&")


def _exact(function: BinaryFunction) -> tuple[str, ...]:
    full = _tight(function.name)
    return (
        full,
        full + _tight(function.signature),
        function.symbol.name if function.symbol else full,
    )


def _bare(function: BinaryFunction) -> tuple[str, ...]:
    bare = _tight(without_arguments(function.name))
    return bare, bare + _tight(function.signature)


def _ends(function: BinaryFunction) -> tuple[str, ...]:
    endings: list[str] = []
    for full in (function.name, without_arguments(function.name)):
        for match in re.finditer("::", full):
            end = _tight(full[match.end() :])
            endings += [end, end + _tight(function.signature)]
    return tuple(endings)


def _missing(
    name: str,
    wanted: str,
    candidates: Sequence[BinaryFunction],
    everything: Sequence[BinaryFunctions],
) -> str:
    where = ", ".join(str(functions.elf.path) for functions in everything) or "the program"
    inlined = {inner_name for functions in everything for inner_name in functions.inlined}
    unhooked = {inner_name for functions in everything for inner_name in functions.unhooked}
    if _among(wanted, inlined):
        return (
            f"complexity: {name} was inlined everywhere in {where}: put __attribute__((noinline))"
            " before it, or compile with -fno-inline"
        )
    if _among(wanted, unhooked):
        return (
            f"complexity: {name} in {where} was not compiled with {' '.join(COMPILER_FLAGS)}: build"
            " its source with these flags too"
        )
    names = {candidate.name for candidate in candidates} | inlined | unhooked
    shown = [candidate for candidate in names if not candidate.startswith(("std::", "__"))]
    if any(functions.split for functions in everything):
        return (
            f"complexity: the debug information of {where} is in other files: compile without"
            " -gsplit-dwarf"
        )
    if any(functions.elf.debug is None for functions in everything):
        return (
            f"complexity: there is no function {name} in {where}, which has no debug information"
            f" (compile with -g){nearest(name, shown)}"
        )
    return f"complexity: there is no function {name} in {where}{nearest(name, shown)}"


def _among(wanted: str, names: Iterable[str]) -> bool:
    return any(
        _tight(candidate) == wanted or _tight(candidate).endswith("::" + wanted)
        for candidate in names
    )


def uids(functions: Sequence[BinaryFunction]) -> list[str]:
    """What each is called: its name, with its parameters' types or its file behind it where the
    name alone is not unique.

    Copies of one function that the compiler made share a name.
    """
    entities = [(function.name, function.signature, function.file) for function in functions]
    distinct = set(entities)
    by_name = Counter(name for name, _, _ in distinct)
    by_signature = Counter((name, signature) for name, signature, _ in distinct)
    short = Counter(
        (name, signature, file.rsplit("/", 1)[-1]) for name, signature, file in distinct
    )
    texts = []
    for name, signature, file in entities:
        last = file.rsplit("/", 1)[-1]
        if by_name[name] == 1:
            texts.append(name)
        elif by_signature[name, signature] == 1:
            texts.append(name + signature)
        else:
            same = sum(1 for other, _, where in distinct if other == name and where == file)
            place = last if short[name, signature, last] == 1 else file
            texts.append(f"{name}{signature if same > 1 else ''} ({place})")
    return texts
