"""Sizes of the C++ standard library's containers, by the names of libstdc++'s and libc++'s members
rather than by their places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfvcs.collectors.complexity.native.elf import Unresolved
from perfvcs.collectors.complexity.native.program import (
    Address,
    Code,
    Instruction,
    Operand,
    Registers,
    StackNumber,
    StackPointer,
    arithmetic,
    as_number,
    constant,
    dereference,
    load,
    member,
)
from perfvcs.collectors.complexity.native.types import Type, text

INLINE = re.compile(r"__\w+")  # of the library's versions: std::__cxx11, std::__8, ...
# the member that holds the number, in libstdc++, and in libc++ of several ages
TREE = ("_M_node_count", "__pair3_", "__size_")
HASH = ("_M_element_count", "__p2_", "__size_")
COUNTED = {
    "map": TREE,
    "set": TREE,
    "multimap": TREE,
    "multiset": TREE,
    "unordered_map": HASH,
    "unordered_set": HASH,
    "unordered_multimap": HASH,
    "unordered_multiset": HASH,
    "list": ("_M_size", "__size_alloc_", "__size_"),
    "initializer_list": ("_M_len", "__size_"),
    "valarray": ("_M_size",),
    "basic_string_view": ("_M_len", "__size", "__size_"),
}
PAIR, PAIRED = "__compressed_pair", "__value_"  # libc++'s pairs that store no empty member
SMART_POINTERS = {"unique_ptr": ("_M_head_impl", "__ptr_"), "shared_ptr": ("_M_ptr", "__ptr_")}
ADAPTERS = ("stack", "queue", "priority_queue")
OTHER_CONTAINERS = ("vector", "deque", "basic_string", "array", "span", *ADAPTERS)
DEEPEST_STRUCT = 8  # structs in structs
NODE_BYTES = 512  # of a deque's blocks


def container(type_: Type) -> str | None:
    """The name of a container of std, such as ``vector``; None for all else, also for a user's
    class of that name.
    """
    name = _standard(type_)
    return name if name in COUNTED or name in OTHER_CONTAINERS else None


def _standard(type_: Type) -> str | None:
    """The name of a class of std without its arguments."""
    if type_.kind != "struct":
        return None
    around = type_.scope
    if not around or around[0] != "std" or not all(INLINE.fullmatch(space) for space in around[1:]):
        return None
    return (text(type_.plain.die) or "").split("<")[0]


def pointee(operand: Operand) -> Address:
    """What a pointer leads to, also one of std; raises Unresolved."""
    if not isinstance(operand, StackNumber) and (
        held := SMART_POINTERS.get(_standard(operand.type) or "")
    ):
        for name in held:
            for held_pointer in _all_inside(
                operand, name, 0
            ):  # a deleter may be held under the same name
                stored = _unpaired(held_pointer)
                if not isinstance(stored, StackNumber) and stored.type.kind == "pointer":
                    return dereference(stored)
        raise Unresolved(
            f"{operand.type.name} is not laid out as in libstdc++ or libc++: name members instead"
            " of ->"
        )
    return dereference(operand)


def _all_inside(operand: Operand, name: str, depth: int) -> Iterator[Operand]:
    if (
        isinstance(operand, StackNumber | StackPointer)
        or operand.type.kind != "struct"
        or depth > DEEPEST_STRUCT
    ):
        return
    for inner in operand.type.members:
        if inner.name == name:
            yield member(operand, inner)
    for inner in operand.type.members:
        yield from _all_inside(member(operand, inner), name, depth + 1)


def inside(operand: Operand, name: str) -> Operand | None:
    """The member of that name, in the struct or in the structs inside it."""
    return next(_all_inside(operand, name, 0), None)


def _unpaired(operand: Operand) -> Operand:
    """The first of a pair of libc++; any other value unchanged."""
    paired = (
        not isinstance(operand, StackNumber)
        and operand.type.kind == "struct"
        and _standard(operand.type) == PAIR
    )
    return (inside(operand, PAIRED) or operand) if paired else operand


def _first(operand: Operand, *names: str) -> Operand | None:
    """The first of these members that is there."""
    member_operand = next(
        (candidate for name in names if (candidate := inside(operand, name)) is not None), None
    )
    return None if member_operand is None else _unpaired(member_operand)


def size(operand: Operand) -> StackNumber:
    """The number of elements; raises Unresolved for what has no such, or does not store it."""
    if isinstance(operand, StackNumber) or (name := container(operand.type)) is None:
        shown = "a number" if isinstance(operand, StackNumber) else operand.type.name
        raise Unresolved(
            f"{shown} is not a container of std with a known size: name a member instead, such as"
            " ->count"
        )
    if name in ADAPTERS:
        return size(_need(operand, "c"))
    if name in COUNTED:
        count = _first(operand, *COUNTED[name])
        if count is None and name == "valarray":
            return _vector(operand)
        if count is None:
            raise Unresolved(
                f"{operand.type.name} does not store its size: name another expression"
            )
        return as_number(count)
    return {
        "vector": _vector,
        "deque": _deque,
        "basic_string": _string,
        "array": _array,
        "span": _span,
    }[name](operand)


def _need(operand: Operand, *names: str) -> Operand:
    needed = _first(operand, *names)
    if needed is None:
        shown = "" if isinstance(operand, StackNumber) else operand.type.name
        raise Unresolved(
            f"{shown} is not laid out as in libstdc++ or libc++: name members instead of size()"
        )
    return needed


def _difference(last: Operand, first: Operand, width: int) -> StackNumber:
    if width < 1:
        raise Unresolved("its elements have no known size: name members instead of size()")
    bytes_ = StackNumber((*load(last), *load(first), Instruction(Code.SUBTRACT)), "signed")
    return arithmetic(bytes_, "/", constant(width)) if width > 1 else bytes_


def _element(pointer: Operand) -> int:
    return 0 if isinstance(pointer, StackNumber) else pointer.type.plain.target.width


def _vector(operand: Operand) -> StackNumber:
    if (stored := inside(operand, "__size_")) is not None:  # libc++'s vector<bool>
        return as_number(_unpaired(stored))
    first, last = _need(operand, "_M_start", "__begin_"), _need(operand, "_M_finish", "__end_")
    # vector<bool>: iterators of words and bits
    if not isinstance(first, StackNumber) and first.type.kind == "struct":
        words = _difference(_need(last, "_M_p"), _need(first, "_M_p"), 1)
        return arithmetic(
            arithmetic(words, "*", constant(8)), "+", as_number(_need(last, "_M_offset"))
        )
    return _difference(last, first, _element(first))


def _deque(operand: Operand) -> StackNumber:
    if (stored := inside(operand, "__size_")) is not None:  # libc++
        return as_number(_unpaired(stored))
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


def _string(operand: Operand) -> StackNumber:
    stored = inside(operand, "_M_string_length")
    if stored is not None:
        return as_number(stored)
    short = inside(operand, "__s")
    if short is not None:
        return _short_or_long(short, _need(operand, "__l"))
    # before C++11 a string is a pointer to characters, behind a head of length, capacity and
    # references
    return StackNumber(
        (*load(_need(operand, "_M_p")), Instruction(Code.LOAD, 0, 8, -24)), "unsigned"
    )


def _short_or_long(short: Operand, long: Operand) -> StackNumber:
    """libc++'s string: a bit tells where the length is, and the length of a short one stands above
    it.
    """
    marked, length = inside(short, "__is_long_"), as_number(_need(short, "__size_"))
    if marked is None:  # before LLVM 15
        which = StackNumber((*length.steps, Instruction(Code.BITS, 0, 1)), "signed")
        length = StackNumber((*length.steps, Instruction(Code.SHIFT, value=1)), "signed")
    else:
        which = as_number(marked)
    other = arithmetic(constant(1), "-", which)
    return arithmetic(
        arithmetic(which, "*", as_number(_need(long, "__size_"))),
        "+",
        arithmetic(other, "*", length),
    )


def _array(operand: Operand) -> StackNumber:
    elements = _first(operand, "_M_elems", "__elems_")
    return constant(
        elements.type.count
        if isinstance(elements, Address | Registers) and elements.type.kind == "array"
        else 0
    )


def _span(operand: Operand) -> StackNumber:
    stored = _first(operand, "_M_extent_value", "__size", "__size_")
    if stored is not None:
        return as_number(stored)
    name = "" if isinstance(operand, StackNumber) else operand.type.plain.name
    extent = re.search(r", *(\d+)[uUlL]*>$", name)
    if extent is None:
        raise Unresolved(
            f"{name} is not laid out as in libstdc++ or libc++: name members instead of size()"
        )
    return constant(int(extent[1]))
