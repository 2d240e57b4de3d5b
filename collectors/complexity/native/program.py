"""Programs for the runtime's stack machine (inside/fentry/sizes.h), put together from operands with
types.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from perfvcs.collectors.complexity.native.abi import ArgumentLocation, Piece
from perfvcs.collectors.complexity.native.elf import Unresolved
from perfvcs.collectors.complexity.native.types import Member, Type

SIGNED_FLAG, REAL_FLAG = 0x100, 0x200
DEPTH = 16  # of the runtime's stack
LONGEST_CHAIN = 200  # steps


Code = IntEnum(  # as ``enum code`` in sizes.h
    "Code",
    "END REGISTER VECTOR STACK CONSTANT LOAD ADD SUBTRACT MULTIPLY DIVIDE DIVIDE_UNSIGNED"
    " SHIFT BITS TO_REAL TO_REAL_UNSIGNED ADD_REAL SUBTRACT_REAL MULTIPLY_REAL DIVIDE_REAL"
    " IF_ZERO JUMP COPY",
    start=0,
)


class Instruction(NamedTuple):
    """One instruction."""

    code: Code
    argument: int = 0
    width: int = 0
    value: int = 0


Steps = tuple[Instruction, ...]
PUSHED = (Code.REGISTER, Code.VECTOR, Code.STACK, Code.CONSTANT, Code.COPY)
INTEGER = {"+": Code.ADD, "-": Code.SUBTRACT, "*": Code.MULTIPLY}
REAL = {"+": Code.ADD_REAL, "-": Code.SUBTRACT_REAL, "*": Code.MULTIPLY_REAL, "/": Code.DIVIDE_REAL}
TAKEN = (Code.IF_ZERO, Code.DIVIDE, Code.DIVIDE_UNSIGNED, *INTEGER.values(), *REAL.values())
PUSHES = dict.fromkeys(PUSHED, 1) | dict.fromkeys(TAKEN, -1)  # numbers on the stack


@dataclass(frozen=True)
class StackNumber:
    """A number on the stack: an integer with or without a sign, or a double."""

    steps: Steps
    kind: str  # signed, unsigned, real


@dataclass(frozen=True)
class Address:
    """A value in memory: ``steps`` push an address, and the value is ``offset`` bytes after it."""

    type: Type
    steps: Steps
    offset: int = 0
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class Registers:
    """An argument of up to 16 bytes in registers, or a part of it from ``offset`` on."""

    type: Type
    pieces: tuple[Piece, ...]
    offset: int = 0
    bits: tuple[int, int] | None = None


@dataclass(frozen=True)
class StackPointer:
    """An address on the stack that is a value itself: the result of arithmetic."""

    type: Type
    steps: Steps


Operand = StackNumber | Address | Registers | StackPointer


def argument(type_: Type, location: ArgumentLocation) -> Operand:
    """The operand of a parameter; a reference is what it refers to."""
    if location.constant is not None and type_.kind == "integer":
        return constant(location.constant)
    if location.stack is not None:
        here: Operand = Address(type_, (Instruction(Code.STACK, value=location.stack),))
        if location.pointer:
            here = Address(
                type_,
                (Instruction(Code.STACK, value=location.stack), Instruction(Code.LOAD, width=8)),
            )
    elif location.pointer:
        here = Address(type_, (Instruction(Code.REGISTER, location.pieces[0].register, 8),))
    else:
        here = Registers(type_, location.pieces)
    return dereference(here) if type_.reference else here


def dereference(operand: Operand) -> Address:
    """What a pointer or reference leads to, or an array's first element."""
    type_ = operand.type if not isinstance(operand, StackNumber) else None
    if type_ is not None and isinstance(operand, Address) and type_.kind == "array":
        return Address(type_.target, operand.steps, operand.offset)
    if type_ is None or type_.kind != "pointer":
        raise Unresolved(f"{_name(operand)} is not a pointer: leave * and -> out")
    return Address(type_.plain.target, load(operand))


def load(operand: Operand) -> Steps:
    """Steps that push the value of a number or pointer."""
    if isinstance(operand, StackNumber | StackPointer):
        return operand.steps
    type_ = operand.type
    if isinstance(operand, Address) and type_.kind == "array":
        return (
            *operand.steps,
            *(
                (Instruction(Code.CONSTANT, value=operand.offset), Instruction(Code.ADD))
                if operand.offset
                else ()
            ),
        )
    width = _width(type_)
    if operand.bits is not None:
        return _load_bits(operand, operand.bits, signed=type_.signed)
    if isinstance(operand, Address):
        return (*operand.steps, Instruction(Code.LOAD, 0, width, operand.offset))
    which, inside = divmod(operand.offset, 8)
    if which >= len(operand.pieces):
        raise Unresolved(
            f"{type_.name} is in no register that can be read: choose another expression"
        )
    piece = operand.pieces[which]
    if piece.kind == "none" or (piece.kind == "vector" and (inside or not width & REAL_FLAG)):
        raise Unresolved(
            "the second half of a vector register cannot be read: choose another expression"
        )
    if piece.kind == "vector":
        return (Instruction(Code.VECTOR, piece.register, width),)
    if width & REAL_FLAG:
        raise Unresolved(
            "a floating-point number inside an integer register cannot be read: choose another"
            " expression"
        )
    if not inside:
        return (Instruction(Code.REGISTER, piece.register, width),)
    return (
        Instruction(Code.REGISTER, piece.register, 8),
        Instruction(Code.SHIFT, value=8 * inside),
        Instruction(Code.BITS, 0, _bits(type_)),
    )


def _load_bits(operand: Address | Registers, bits: tuple[int, int], *, signed: bool) -> Steps:
    place, width = bits
    flag = SIGNED_FLAG if signed else 0
    if isinstance(operand, Address):
        bytes_ = next(size for size in (1, 2, 4, 8) if 8 * size >= place + width)
        steps: Steps = (*operand.steps, Instruction(Code.LOAD, 0, bytes_, operand.offset))
    else:
        piece = operand.pieces[operand.offset // 8]
        place += 8 * (operand.offset % 8)
        steps = (Instruction(Code.REGISTER, piece.register, 8),)
    return (*steps, Instruction(Code.SHIFT, value=place), Instruction(Code.BITS, 0, width | flag))


def _bits(type_: Type) -> int:
    return 8 * type_.width | (SIGNED_FLAG if type_.kind == "integer" and type_.signed else 0)


def _width(type_: Type) -> int:
    if type_.kind == "pointer":
        return 8
    if type_.kind == "integer":
        return type_.width | (SIGNED_FLAG if type_.signed else 0)
    if type_.kind == "float" and type_.width in (4, 8):
        return type_.width | REAL_FLAG
    raise Unresolved(
        f"{type_.name} is not a number: add a member such as .n, or .size() where it is a container"
        " of std"
    )


def _name(operand: Operand) -> str:
    return "a number" if isinstance(operand, StackNumber) else operand.type.name


def member(operand: Operand, member: Member) -> Operand:
    """A member of a struct."""
    if isinstance(operand, Address):
        return Address(member.type, operand.steps, operand.offset + member.offset, member.bits)
    if isinstance(operand, Registers):
        return Registers(member.type, operand.pieces, operand.offset + member.offset, member.bits)
    raise Unresolved(f"{_name(operand)} has no members: leave . and -> out")


def as_number(operand: Operand) -> StackNumber:
    """A number for arithmetic; raises Unresolved for structs and pointers."""
    if isinstance(operand, StackNumber):
        return operand
    if isinstance(operand, StackPointer) or operand.type.kind == "pointer":
        if operand.type.reference:
            return as_number(dereference(operand))
        raise Unresolved("a pointer is not a size: add a member such as ->n, or a * in front of it")
    if operand.type.kind == "array":
        raise Unresolved("an array is not a size: add an index such as [0]")
    steps = load(operand)
    type_ = operand.type
    if type_.kind == "float":
        return StackNumber(steps, "real")
    # as in C, what is narrower than int becomes an int
    return StackNumber(steps, "signed" if type_.signed or type_.width < 4 else "unsigned")


def constant(value: float) -> StackNumber:
    """A literal."""
    if isinstance(value, int):
        if not -(1 << 63) <= value < 1 << 64:
            raise Unresolved(f"{value} is too large")
        wrapped = value - (1 << 64) if value >= 1 << 63 else value
        return StackNumber(
            (Instruction(Code.CONSTANT, value=wrapped),),
            "signed" if value < 1 << 63 else "unsigned",
        )
    import struct

    return StackNumber(
        (Instruction(Code.CONSTANT, value=struct.unpack("<q", struct.pack("<d", value))[0]),),
        "real",
    )


def arithmetic(left: StackNumber, sign: str, right: StackNumber) -> StackNumber:
    """``left sign right`` by C's rules, with all integers 64 bits wide: division cuts off, and one
    double makes both doubles.
    """
    if "real" in (left.kind, right.kind):
        steps = (
            *left.steps,
            *right.steps,
            *_to_real(left, 1),
            *_to_real(right, 0),
            Instruction(REAL[sign]),
        )
        return StackNumber(steps, "real")
    kind = "unsigned" if "unsigned" in (left.kind, right.kind) and sign != "-" else "signed"
    code = INTEGER.get(sign) or (Code.DIVIDE if kind == "signed" else Code.DIVIDE_UNSIGNED)
    return StackNumber((*left.steps, *right.steps, Instruction(code)), kind)


def _to_real(number: StackNumber, below: int) -> Steps:
    if number.kind == "real":
        return ()
    return (
        Instruction(Code.TO_REAL_UNSIGNED if number.kind == "unsigned" else Code.TO_REAL, below),
    )


def finished(size: Operand) -> Steps:
    """The whole program; raises Unresolved where the runtime's stack is too small."""
    number = as_number(size)
    kind = {"signed": 1, "unsigned": 2, "real": 3}[number.kind]
    depth = 0
    for step in number.steps:
        depth += PUSHES.get(step.code, 0)
        if depth > DEPTH:
            raise Unresolved("its size has too many brackets: write a simpler expression")
    if len(number.steps) > LONGEST_CHAIN:
        raise Unresolved("its size is too long: write a simpler expression")
    return (*number.steps, Instruction(Code.END, kind))
