"""The size of a function where none was given: what its parameters are called and what they are."""

from __future__ import annotations

import re
from collections.abc import Callable

from perfvcs.collectors.complexity.native.containers import container
from perfvcs.collectors.complexity.native.expression import compile_size
from perfvcs.collectors.complexity.native.functions import BinaryFunction, Parameter
from perfvcs.collectors.complexity.native.program import Steps
from perfvcs.collectors.complexity.native.reading import Unresolved
from perfvcs.collectors.complexity.native.types import Member, Type

# in order of preference
SIZE_NAMES = [
    re.compile(r"(n|size|len|length|count|nmemb|num|number|nelems?|n_?elements?|num_?elements?|sz|cnt)", re.IGNORECASE),
    re.compile(r"_*(m_)?(n|size|len|length|count|num|cnt|nelems?|nitems|used|elements)_*", re.IGNORECASE),
    re.compile(r"(n|num|nr|cnt|count|len|size)_\w+|\w+_(n|num|len|length|size|count|cnt)_?|\w+(Size|Count|Length|Len)|n[A-Z]\w*"),
    re.compile(r"order|degree|dim|rows|cols|height|depth|m|k", re.IGNORECASE),
]
CAPACITIES = re.compile(r"cap|alloc|max|elem_?size|item_?size|type_?size|obj_?size|stride|bytes_per", re.IGNORECASE)


def guess(function: BinaryFunction, fits: Callable[[Steps], bool] = bool) -> str | None:
    """An expression for the size, the likeliest first; None where nothing looks like one.

    In this order: an integer parameter named like a size; a container of std, or a struct with a member named like a size or one that
    is a container, by value, by reference or behind a pointer; the same of ``this`` (not in constructors, where it has no value yet);
    an integer parameter with a weaker name. Capacities and sizes of elements are not sizes. ``fits`` may refuse a size's program.
    """
    return next((one for one in _candidates(function) if _works(function, one, fits)), None)


def _works(function: BinaryFunction, expression: str, fits: Callable[[Steps], bool]) -> bool:
    try:
        return fits(compile_size(function, expression))
    except Unresolved:
        return False


def _candidates(function: BinaryFunction) -> list[str]:
    parameters = [one for one in function.parameters if one.name and not one.artificial]
    this = [one for one in function.parameters if one.artificial and one.name == "this"]
    found = [name for pattern in SIZE_NAMES[:3] for name in _integers(parameters, pattern)]
    for one in parameters:
        found += _inside(one)
    if this and not function.constructor:
        found += _inside(this[0])
    return [*found, *_integers(parameters, SIZE_NAMES[3])]


def _integers(parameters: list[Parameter], pattern: re.Pattern[str]) -> list[str]:
    return [
        one.name for one in parameters
        if one.name and pattern.fullmatch(one.name) and not CAPACITIES.search(one.name) and _whole(one.type)
    ]  # fmt: skip


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
    members = [one for one in _flat(type_, 0) if one.name]
    found = [
        f"{name}{sign}{one.name}"
        for pattern in SIZE_NAMES[:3]
        for one in members
        if pattern.fullmatch(one.name or "")
        and not CAPACITIES.search(one.name or "")
        and _whole(one.type)
        and not one.type.reference
    ]
    return found + [f"{name}{sign}{one.name}.size()" for one in members if container(one.type)]


def _flat(type_: Type, depth: int) -> list[Member]:
    """Members, with those of bases."""
    found: list[Member] = []
    for one in type_.members:
        if (one.base or one.name is None) and depth < 8 and one.type.kind == "struct":
            found += _flat(one.type, depth + 1)
        elif not one.base:
            found.append(one)
    return found
