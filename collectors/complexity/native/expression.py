"""Sizes as users write them, ``list->count + 1``, compiled for the runtime; a parser of its own,
since nothing is ever evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perfvcs.collectors.complexity.native.abi import places
from perfvcs.collectors.complexity.native.containers import pointee, size
from perfvcs.collectors.complexity.native.debugfunctions import BinaryFunction
from perfvcs.collectors.complexity.native.elf import Unresolved
from perfvcs.collectors.complexity.native.program import (
    Instruction,
    Operand,
    StackNumber,
    argument,
    arithmetic,
    as_number,
    constant,
    dereference,
    finished,
    member,
)
from perfvcs.collectors.complexity.native.types import Member
from perfvcs.errors import nearest

TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+\.\d*(?:[eE][+-]?\d+)?|\d+)|(?P<name>[A-Za-z_]\w*)|(?P<sign>->|::|[-+*/()\[\].,&]))"
)
DEEPEST_BRACKETS = 12  # nested brackets
SIZES = ("size", "length")


def compile_size(function: BinaryFunction, expression: str) -> tuple[Instruction, ...]:
    """The program that computes a size from a function's arguments; raises Unresolved, naming what
    is there.
    """
    try:
        return finished(_Parser(function, expression).parse())
    except Unresolved as error:
        raise Unresolved(f"complexity: {function.name}={expression}: {error}") from None


def scope_of(function: BinaryFunction) -> dict[str, Operand | None]:
    """What an expression may name: parameters, and members of ``this``; None for what the compiler
    removed.
    """
    operands: dict[str, Operand | None] = {}
    for parameter, place in zip(function.parameters, places(function), strict=True):
        if parameter.name:
            operands[parameter.name] = None if place is None else argument(parameter.type, place)
    return operands


def member_of(operand: Operand, name: str) -> Operand:
    """A member, of the struct itself or of its bases; raises Unresolved."""
    if isinstance(operand, StackNumber) or operand.type.kind != "struct":
        shown = "a number" if isinstance(operand, StackNumber) else operand.type.name
        hint = (
            ": write -> instead of ."
            if not isinstance(operand, StackNumber) and operand.type.kind == "pointer"
            else ""
        )
        raise Unresolved(f"{shown} has no members{hint}")
    inner = _search(operand, name, 0)
    if inner is None:
        names = [candidate.name for candidate in _all(operand) if candidate.name]
        raise Unresolved(f"{operand.type.name} has no member {name}{nearest(name, names)}")
    return inner


def _search(operand: Operand, name: str, depth: int) -> Operand | None:
    if isinstance(operand, StackNumber) or depth > DEEPEST_BRACKETS:
        return None
    for candidate in operand.type.members:
        if candidate.name == name:
            return member(operand, candidate)
    for candidate in operand.type.members:
        if (candidate.base or candidate.name is None) and candidate.type.kind == "struct":
            inherited = _search(member(operand, candidate), name, depth + 1)
            if inherited is not None:
                return inherited
    return None


def _all(operand: Operand) -> list[Member]:
    return [] if isinstance(operand, StackNumber) else operand.type.members


class _Parser:
    """Recursive descent over C's expressions of names, members, indices and arithmetic."""

    def __init__(self, function: BinaryFunction, expression: str) -> None:
        self.expression = expression
        self.tokens = _tokens(expression)
        self.at = 0
        self.depth = 0
        self.names: Mapping[str, Operand | None] = scope_of(function)

    def parse(self) -> Operand:
        operand = self.sum()
        if self.at < len(self.tokens):
            raise Unresolved(
                f"{self.tokens[self.at]!r} is not understood here: write parameters, members,"
                " .size(), + - * / and numbers"
            )
        return operand

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def expect(self, token: str) -> None:
        if self.take() != token:
            raise Unresolved(f"a {token} is missing")

    def sum(self) -> Operand:
        self.depth += 1
        if self.depth > DEEPEST_BRACKETS:
            raise Unresolved("there are too many brackets")
        operand = self.product()
        while (sign := self.peek()) in ("+", "-") and sign:
            self.take()
            operand = arithmetic(as_number(operand), sign, as_number(self.product()))
        self.depth -= 1
        return operand

    def product(self) -> Operand:
        operand = self.unary()
        while (sign := self.peek()) in ("*", "/") and sign:
            self.take()
            operand = arithmetic(as_number(operand), sign, as_number(self.unary()))
        return operand

    def unary(self) -> Operand:
        signs = []
        while self.peek() in ("-", "*", "+"):
            signs.append(self.take())
        operand = self.postfix()
        for sign in reversed(signs):
            if sign == "*":
                operand = self.plain(pointee(operand))
            elif sign == "-":
                operand = arithmetic(constant(0), "-", as_number(operand))
        return operand

    def postfix(self) -> Operand:
        operand = self.primary()
        while (sign := self.peek()) in (".", "->", "["):
            self.take()
            if sign == "[":
                operand = self.index(operand)
                continue
            if sign == "->":
                operand = self.plain(pointee(operand))
            name = self.take()
            if self.peek() == "(":
                self.take()
                self.expect(")")
                if name not in SIZES:
                    raise Unresolved(
                        f"{name}() would have to be called: name a member that holds the size (only"
                        " size() of std is known)"
                    )
                operand = size(operand)
            else:
                operand = self.plain(member_of(operand, name))
        return operand

    def index(self, operand: Operand) -> Operand:
        number = self.take()
        if not number.isdigit():
            raise Unresolved("an index has to be a number")
        self.expect("]")
        first = dereference(operand)
        return self.plain(
            type(first)(first.type, first.steps, first.offset + int(number) * first.type.width)
        )

    @staticmethod
    def plain(operand: Operand) -> Operand:
        """A member that is a reference stands for what it refers to."""
        return (
            dereference(operand)
            if not isinstance(operand, StackNumber) and operand.type.reference
            else operand
        )

    def primary(self) -> Operand:
        token = self.take()
        if token == "(":
            operand = self.sum()
            self.expect(")")
            return operand
        if token[:1].isdigit():
            if "." in token:
                return constant(float(token))
            return constant(int(token, 0 if token[:2] in ("0x", "0X") else 10))
        if not re.fullmatch(r"[A-Za-z_]\w*", token):
            raise Unresolved(
                "it ends too early" if not token else f"{token!r} is not understood here"
            )
        return self.named(token)

    def named(self, name: str) -> Operand:
        if name in self.names:
            parameter = self.names[name]
            if parameter is None:
                raise Unresolved(
                    f"the compiler removed {name} from its arguments: add __attribute__((noipa)) or"
                    " -fno-ipa-sra to it"
                )
            return parameter
        this = self.names.get("this")
        if this is not None:
            implicit = _search(dereference(this), name, 0)
            if implicit is not None:
                return self.plain(implicit)
        raise Unresolved(f"there is no parameter {name}{nearest(name, self.names)}")


def _tokens(expression: str) -> list[str]:
    tokens, at = [], 0
    if len(expression) > 1000:
        raise Unresolved("it is too long")
    expression = expression.rstrip()
    while at < len(expression):
        match = TOKEN.match(expression, at)
        if match is None:
            raise Unresolved(
                f"{expression[at]!r} is not understood: write parameters, members, .size(), + - * /"
                " and numbers"
            )
        tokens.append(match[0].strip())
        at = match.end()
    return tokens
