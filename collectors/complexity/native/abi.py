"""Where a function's arguments are when it begins, by the System V calling convention of x86-64 or
by debug information.

Source: System V Application Binary Interface, AMD64 Architecture Processor Supplement, section
3.2.3, and the Itanium C++ ABI, 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunction, Parameter
from perfvcs.collectors.complexity.native.types import DEEPEST_TYPE, Type, number, tag, text

REGISTERS = 6  # rdi rsi rdx rcx r8 r9
VECTORS = 8
# DWARF's numbers of rdi, rsi, rdx, rcx, r8, r9
DWARF_REGISTERS = {5: 0, 4: 1, 1: 2, 2: 3, 8: 4, 9: 5}
FIRST_VECTOR = 17  # DWARF's number of xmm0

UPPER = "upper"  # the second half of a vector of 16 bytes
STRENGTH = ["none", UPPER, "vector", "integer"]

Class = Literal["integer", "vector", "memory", "none"]


@dataclass(frozen=True)
class Piece:
    """Eight bytes of an argument in a register: ``integer`` 0 to 5, or ``vector`` 0 to 7."""

    kind: Class
    register: int


@dataclass(frozen=True)
class ArgumentLocation:
    """An argument: in registers, on the stack (``stack`` bytes above the return address), or, with
    ``pointer``, where these lead.

    ``constant``: what the compiler replaced it by in a copy of the function.
    """

    pieces: tuple[Piece, ...] = ()
    stack: int | None = None
    pointer: bool = False
    constant: int | None = None


def places(function: BinaryFunction) -> list[ArgumentLocation | None]:
    """Where each parameter is when the function begins; None for those that the compiler removed or
    hid.

    The debug information about the first instruction precedes the convention, which has cases that
    types do not show.
    """
    if function.optimised:
        return [_described(function, parameter) for parameter in function.parameters]
    return [
        _listed(function, parameter) or rule
        for parameter, rule in zip(function.parameters, _conventional(function), strict=True)
    ]


def _listed(function: BinaryFunction, parameter: Parameter) -> ArgumentLocation | None:
    """What a list of places says of the first instruction; a single place is often one that the
    function fills only later.
    """
    single = (
        parameter.place is None
        or parameter.place.form == "DW_FORM_exprloc"
        or parameter.constant is not None
    )
    return None if single else _described(function, parameter)


def _conventional(function: BinaryFunction) -> list[ArgumentLocation]:
    integers, vectors, stack = int(_hidden_result(function.result)), 0, 0
    locations: list[ArgumentLocation] = []
    for parameter in function.parameters:
        by_pointer = parameter.type.kind == "struct" and parameter.type.by_reference
        classes = ["integer"] if by_pointer else _classify(parameter.type)
        if classes == ["none"]:
            locations.append(ArgumentLocation())
            continue
        need_integers, need_vectors = classes.count("integer"), classes.count("vector")
        if (
            "memory" in classes
            or integers + need_integers > REGISTERS
            or vectors + need_vectors > VECTORS
        ):
            size = 8 if by_pointer else max(8, -(-parameter.type.width // 8) * 8)
            stack += -stack % (8 if by_pointer else _alignment(parameter.type))
            locations.append(ArgumentLocation(stack=stack, pointer=by_pointer))
            stack += size
            continue
        pieces = []
        for kind in classes:
            if kind == "integer":
                pieces.append(Piece("integer", integers))
                integers += 1
            elif kind == "vector":
                pieces.append(Piece("vector", vectors))
                vectors += 1
            else:
                pieces.append(Piece("none", 0))  # eight bytes of padding take no register
        locations.append(ArgumentLocation(tuple(pieces), pointer=by_pointer))
    return locations


def _hidden_result(result: Type) -> bool:
    """Whether the caller passes the address for the result as the first argument."""
    if result.kind == "struct" and result.by_reference:
        return True
    return (
        result.kind in ("struct", "array")
        and result.width > 0
        and "memory" in _classify(result)
        and not _only_extended(result)
    )


def _only_extended(type_: Type) -> bool:
    """A struct that is just a long double (or two, as of a complex one) is returned by the x87."""
    members = list(type_.members) if type_.kind == "struct" else []
    return type_.width == 16 and len(members) == 1 and _extended(members[0].type)


def _extended(type_: Type) -> bool:
    die = type_.plain.die
    return (
        die is not None
        and tag(die) == "base_type"
        and (text(die) or "") in ("long double", "_Float64x")
    )


def _classify(type_: Type) -> list[str]:
    """The class of each eight bytes, or ``["memory"]``."""
    kind, width = type_.kind, type_.width
    if kind in ("integer", "pointer", "function"):
        return ["integer"]
    if kind == "float":
        return ["memory"] if _extended(type_) else ["vector"]
    if kind == "array" and type_.vector:
        return ["vector"]
    if kind in ("other", "void"):
        return _classify_other(type_, width)
    if width == 0 or not _has_data(type_, 0):
        return ["none"]
    if width > 16:
        return ["vector"] if _one_vector(type_) else ["memory"]
    classes: list[str] = ["none"] * (-(-width // 8))
    if not _merge(type_, 0, classes, 0):
        return ["memory"]
    # an upper half is in its vector's register
    upper = "none" if classes[0] == "vector" else "vector"
    return [upper if class_ == UPPER else class_ for class_ in classes]


def _classify_other(type_: Type, width: int) -> list[str]:
    die = type_.plain.die
    encoding = number(die, "DW_AT_encoding") if die is not None else None
    name = (text(die) or "") if die is not None else ""
    if encoding == 0x03:  # complex
        return ["memory"] if width > 16 else ["vector"] * (-(-width // 8))
    if encoding == 0x04:  # _Float128, _Float16
        return ["memory"] if name == "long double" else ["vector"]
    return ["integer"] * (2 if width == 16 else 1)  # __int128, nullptr_t, pointers to members


def _one_vector(type_: Type) -> bool:
    members = type_.members
    return len(members) == 1 and members[0].type.kind == "array" and members[0].type.vector


def _has_data(type_: Type, depth: int) -> bool:
    if type_.kind == "array":
        return type_.count > 0 and _has_data(type_.target, depth + 1)
    if type_.kind != "struct" or depth > DEEPEST_TYPE:
        return True
    return any(_has_data(member.type, depth + 1) for member in type_.members) or _polymorphic(type_)


def _polymorphic(type_: Type) -> bool:
    return "DW_AT_containing_type" in type_.plain.die.attributes


def _merge(type_: Type, offset: int, classes: list[str], depth: int) -> bool:
    """Merge the classes of a value at an offset into those of its argument; False when it has to be
    in memory.
    """
    kind = type_.kind
    if depth > DEEPEST_TYPE:
        return False
    if kind == "struct":
        return all(
            _merge(member.type, offset + member.offset, classes, depth + 1)
            for member in type_.members
        )
    if kind == "array" and not type_.vector:
        width = type_.target.width
        return type_.count <= 16 and all(
            _merge(type_.target, offset + i * width, classes, depth + 1) for i in range(type_.count)
        )
    parts = _classify(type_)
    # complex: two numbers
    if kind == "other" and parts[0] == "vector" and _classify_width(type_) == 8:
        half = type_.width // 2
        for at in (offset, offset + half):
            classes[at // 8] = "integer" if classes[at // 8] == "integer" else "vector"
        return offset % half == 0
    align = _alignment(type_) if type_.width >= 8 else max(1, type_.width)
    if "memory" in parts or offset % align:
        return False
    if parts == ["vector"] and type_.width == 16:
        parts = ["vector", UPPER]
    if offset // 8 + len(parts) > len(classes):
        return False
    for at, part in enumerate(parts, offset // 8):
        classes[at] = max(part, classes[at], key=STRENGTH.index)
    return True


def _alignment(type_: Type) -> int:
    """The alignment of an argument on the stack, in bytes: 8, or 16 (and more) if the type requires
    it.
    """
    die = type_.plain.die
    asked = number(die, "DW_AT_alignment") if die is not None else None
    if asked:
        return max(8, asked)
    if type_.kind == "struct":
        return max([8, *(_alignment(member.type) for member in type_.members)])
    if type_.kind == "array":
        return max(16, type_.width) if type_.vector else _alignment(type_.target)
    if type_.kind in ("other", "float") and type_.width == 16 and _classify_width(type_) == 16:
        return 16
    return 8


def _classify_width(type_: Type) -> int:
    """The width of one element of what has 16 bytes: a complex double is two of 8."""
    die = type_.plain.die
    return 8 if die is not None and number(die, "DW_AT_encoding") == 0x03 else 16


def _described(function: BinaryFunction, parameter: Parameter) -> ArgumentLocation | None:
    """The place that the debug information gives a parameter at the function's first
    instruction.
    """
    if parameter.constant is not None:
        return ArgumentLocation(constant=parameter.constant)
    attribute = parameter.place
    debug = function.elf.debug
    if attribute is None or debug is None:
        return None
    expression: list[int] | None = None
    if attribute.form == "DW_FORM_exprloc":
        expression = attribute.value
    else:
        lists: Any = debug.location_lists()
        entries: list[Any] = (
            lists.get_location_list_at_offset(attribute.value, function.die)
            if lists is not None
            else []
        )
        base = number(function.die.cu.get_top_DIE(), "DW_AT_low_pc") or 0
        for entry in entries:
            if not hasattr(entry, "loc_expr"):
                base = getattr(entry, "base_address", base)
                continue
            start = entry.begin_offset + (0 if getattr(entry, "is_absolute", False) else base)
            if start <= function.address < entry.end_offset + (start - entry.begin_offset):
                expression = entry.loc_expr
                break
    by_pointer = parameter.type.kind == "struct" and parameter.type.by_reference
    return decode(bytes(expression or ()), by_pointer=by_pointer, frame_base=_frame_base(function))


def _frame_base(function: BinaryFunction) -> int | None:
    """What the stack's operations count from: 0 for the place behind the return address, 8 less for
    the stack pointer; None for others.
    """
    attribute = function.die.attributes.get("DW_AT_frame_base")
    value = (
        bytes(attribute.value)
        if attribute is not None and attribute.form == "DW_FORM_exprloc"
        else b""
    )
    return {b"\x9c": 0, b"\x57": -8}.get(value)


def decode(
    expression: bytes, *, by_pointer: bool, frame_base: int | None
) -> ArgumentLocation | None:
    """Registers, one or one for each eight bytes, or what the caller put on the stack; other places
    are filled only later.
    """
    pieces: list[Piece] = []
    rest = expression
    while rest:
        if 0x50 <= rest[0] <= 0x6F:
            register, rest = rest[0] - 0x50, rest[1:]
        elif rest[0] == 0x90 and len(rest) > 1:
            register, rest = rest[1], rest[2:]
        elif by_pointer and 0x70 <= rest[0] <= 0x8F and rest[1:2] == b"\0":
            register, rest = rest[0] - 0x70, rest[2:]
        else:
            return (
                _on_stack(rest, by_pointer=by_pointer, frame_base=frame_base)
                if not pieces
                else None
            )
        if register in DWARF_REGISTERS:
            pieces.append(Piece("integer", DWARF_REGISTERS[register]))
        elif FIRST_VECTOR <= register < FIRST_VECTOR + VECTORS:
            pieces.append(Piece("vector", register - FIRST_VECTOR))
        else:
            return None
        if rest and (rest[0] != 0x93 or rest[1:2] != b"\x08"):  # DW_OP_piece 8
            return None
        rest = rest[2:]
    return ArgumentLocation(tuple(pieces), pointer=by_pointer) if pieces else None


def _on_stack(
    expression: bytes, *, by_pointer: bool, frame_base: int | None
) -> ArgumentLocation | None:
    bases = {0x91: frame_base, 0x77: -8}  # DW_OP_fbreg, DW_OP_breg7 (the stack pointer)
    if not expression or (base := bases.get(expression[0])) is None:
        return None
    offset, shift = 0, 0
    for at, byte in enumerate(expression[1:], 2):
        offset |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            offset -= (1 << shift) if byte & 0x40 else 0
            whole = at == len(expression) or (by_pointer and expression[at:] == b"\x06")
            return (
                ArgumentLocation(stack=base + offset, pointer=by_pointer)
                if whole and base + offset >= 0
                else None
            )
    return None
