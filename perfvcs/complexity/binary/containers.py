"""Sizes of the C++ standard library's containers, found by the names of libstdc++'s members rather than by their places."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfvcs.complexity.binary import Unresolved
from perfvcs.complexity.binary.program import (
    Address,
    Code,
    Number,
    Operand,
    Pointer,
    Registers,
    Step,
    arithmetic,
    as_number,
    constant,
    dereference,
    load,
    member,
)
from perfvcs.complexity.binary.types import Type, text

INLINE = re.compile(r"__\w+")  # of the library's versions: std::__cxx11, std::__8, ...
COUNTED = {
    "map": "_M_node_count", "set": "_M_node_count", "multimap": "_M_node_count", "multiset": "_M_node_count",
    "unordered_map": "_M_element_count", "unordered_set": "_M_element_count", "unordered_multimap": "_M_element_count",
    "unordered_multiset": "_M_element_count", "list": "_M_size", "initializer_list": "_M_len", "valarray": "_M_size",
    "basic_string_view": "_M_len",
}  # fmt: skip
POINTERS = {"unique_ptr": "_M_head_impl", "shared_ptr": "_M_ptr"}
ADAPTERS = ("stack", "queue", "priority_queue")
OTHERS = ("vector", "deque", "basic_string", "array", "span", *ADAPTERS)
DEEPEST = 8  # structs in structs
NODE_BYTES = 512  # of a deque's blocks


def container(type_: Type) -> str | None:
    """The name of a container of std, such as ``vector``; None for all else, also for a user's class of that name."""
    name = _standard(type_)
    return name if name in COUNTED or name in OTHERS else None


def _standard(type_: Type) -> str | None:
    """The name of a class of std without its arguments."""
    if type_.kind != "struct":
        return None
    around = type_.scope
    if not around or around[0] != "std" or not all(INLINE.fullmatch(one) for one in around[1:]):
        return None
    return (text(type_.plain.die) or "").split("<")[0]


def pointee(operand: Operand) -> Address:
    """What a pointer leads to, also one of std; raises Unresolved."""
    if not isinstance(operand, Number) and (held := POINTERS.get(_standard(operand.type) or "")):
        for found in _all_inside(operand, held, 0):  # a deleter may be held under the same name
            if not isinstance(found, Number) and found.type.kind == "pointer":
                return dereference(found)
        raise Unresolved(f"{operand.type.name} is not laid out as in libstdc++: name members instead of ->")
    return dereference(operand)


def _all_inside(operand: Operand, name: str, depth: int) -> Iterator[Operand]:
    if isinstance(operand, Number | Pointer) or operand.type.kind != "struct" or depth > DEEPEST:
        return
    for one in operand.type.members:
        if one.name == name:
            yield member(operand, one)
    for one in operand.type.members:
        yield from _all_inside(member(operand, one), name, depth + 1)


def inside(operand: Operand, name: str) -> Operand | None:
    """The member of that name, in the struct or in the structs inside it."""
    return next(_all_inside(operand, name, 0), None)


def size(operand: Operand) -> Number:
    """The number of elements; raises Unresolved for what has no such, or does not store it."""
    if isinstance(operand, Number) or (name := container(operand.type)) is None:
        shown = "a number" if isinstance(operand, Number) else operand.type.name
        raise Unresolved(f"{shown} is no container of std whose size is known: name a member instead, such as ->count")
    if name in ADAPTERS:
        return size(_need(operand, "c"))
    if name in COUNTED:
        found = inside(operand, COUNTED[name])
        if found is None:
            raise Unresolved(f"{operand.type.name} does not store its size: name another expression")
        return as_number(found)
    return {"vector": _vector, "deque": _deque, "basic_string": _string, "array": _array, "span": _span}[name](operand)


def _need(operand: Operand, name: str) -> Operand:
    found = inside(operand, name)
    if found is None:
        shown = "" if isinstance(operand, Number) else operand.type.name
        raise Unresolved(f"{shown} is not laid out as in libstdc++: name members instead of size()")
    return found


def _difference(last: Operand, first: Operand, width: int) -> Number:
    if width < 1:
        raise Unresolved("its elements have no known size: name members instead of size()")
    bytes_ = Number((*load(last), *load(first), Step(Code.SUBTRACT)), "signed")
    return arithmetic(bytes_, "/", constant(width)) if width > 1 else bytes_


def _element(pointer: Operand) -> int:
    return 0 if isinstance(pointer, Number) else pointer.type.plain.target.width


def _vector(operand: Operand) -> Number:
    first, last = _need(operand, "_M_start"), _need(operand, "_M_finish")
    if not isinstance(first, Number) and first.type.kind == "struct":  # vector<bool>: iterators of words and bits
        words = _difference(_need(last, "_M_p"), _need(first, "_M_p"), 1)
        return arithmetic(arithmetic(words, "*", constant(8)), "+", as_number(_need(last, "_M_offset")))
    return _difference(last, first, _element(first))


def _deque(operand: Operand) -> Number:
    first, last = _need(operand, "_M_start"), _need(operand, "_M_finish")
    width = _element(_need(first, "_M_cur"))
    block = NODE_BYTES // width if 0 < width < NODE_BYTES else 1
    nodes = _difference(_need(last, "_M_node"), _need(first, "_M_node"), 8)
    whole = arithmetic(arithmetic(nodes, "-", constant(1)), "*", constant(block))
    ends = arithmetic(
        _difference(_need(last, "_M_cur"), _need(last, "_M_first"), width),
        "+",
        _difference(_need(first, "_M_last"), _need(first, "_M_cur"), width),
    )
    return arithmetic(whole, "+", ends)


def _string(operand: Operand) -> Number:
    stored = inside(operand, "_M_string_length")
    if stored is not None:
        return as_number(stored)
    # before C++11 a string is a pointer to characters, behind a head of length, capacity and references
    return Number((*load(_need(operand, "_M_p")), Step(Code.LOAD, 0, 8, -24)), "unsigned")


def _array(operand: Operand) -> Number:
    elements = inside(operand, "_M_elems")
    return constant(elements.type.count if isinstance(elements, Address | Registers) and elements.type.kind == "array" else 0)


def _span(operand: Operand) -> Number:
    stored = inside(operand, "_M_extent_value")
    if stored is not None:
        return as_number(stored)
    name = "" if isinstance(operand, Number) else operand.type.plain.name
    extent = re.search(r", *(\d+)[uUlL]*>$", name)
    if extent is None:
        raise Unresolved(f"{name} is not laid out as in libstdc++: name members instead of size()")
    return constant(int(extent[1]))
