"""What a job requires of the host that measures it: an expression such as ``avx2 and memory >
16GB``.

The expressions are Python's, without calls and attributes, as the library simpleeval evaluates
them.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.jobs.config import BadConfig
from perfvcs.jobs.content import SIZE_UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.environment.host import Facts

LONGEST, SHOWN = 1000, 80  # characters
QUANTITY = re.compile(rf"\b(\d+(?:\.\d+)?)\s*({'|'.join(SIZE_UNITS)})\b")
TOKENS = (  # of an expression
    ast.Expression,
    ast.BoolOp,
    ast.boolop,
    ast.Compare,
    ast.cmpop,
    ast.UnaryOp,
    ast.unaryop,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.Tuple,
    ast.List,
)
FAMILY = re.compile(r"[a-z]+\d+")  # of flags: avx512 stands for any of avx512f, avx512bw, ...


def is_met(text: str, facts: Facts, origin: str) -> bool:
    """Whether a host meets an expression; an empty one is always met.

    Raises BadConfig, which begins with the ``origin`` of the text.
    """
    if not text.strip():
        return True
    try:
        from simpleeval import EvalWithCompoundTypes, InvalidExpression
    except ImportError:
        raise UsageError(f"{origin}: `hosts` needs simpleeval: pip install simpleeval") from None
    evaluator = EvalWithCompoundTypes(names=lambda node: _value(node.id, facts), functions={})
    try:
        return bool(evaluator.eval(_in_bytes(text, origin)))
    except (
        InvalidExpression,
        SyntaxError,
        TypeError,
        ValueError,
        ArithmeticError,
        RecursionError,
        MemoryError,
    ) as error:
        reason = (
            "it is not an expression"
            if isinstance(error, SyntaxError)
            else str(error).partition("\n")[0][:200]
        )
        raise BadConfig(
            f"{origin}: hosts = {text[:SHOWN]!r} cannot be evaluated: {reason}; write for example"
            " avx2 and memory > 16GB"
        ) from None


def lacking(text: str, hosts: Sequence[Facts], origin: str) -> str:
    """The message that no host meets an expression, with the reason for the first; empty if one
    does. Raises BadConfig.
    """
    if any(is_met(text, host, origin) for host in hosts):
        return ""
    why = f" ({hosts[0].host}: {unmet(text, hosts[0])})" if hosts else ""
    return (
        f"no host meets hosts = {text[:SHOWN]!r}{why}: correct it in perf.toml, or add such a host"
    )


def unmet(text: str, facts: Facts) -> str:
    """In words, why a host does not meet an expression: its values of what the expression names."""
    names = dict.fromkeys(
        re.findall(r"[A-Za-z_]\w*", QUANTITY.sub("0", re.sub(r"'[^']*'|\"[^\"]*\"", "", text)))
    )
    asked = [
        name
        for name in names
        if name not in ("and", "or", "not", "in", "if", "else", "True", "False")
    ]
    return (
        ", ".join(f"{name} is {_said(name, facts)}" for name in asked)
        or "it names nothing of a host"
    )


def _value(name: str, facts: Facts) -> object:
    """A fact, or whether the processor has a flag of this name, or one of this family."""
    if name in facts.named:
        return facts.named[name]
    return name in facts.flags or bool(
        FAMILY.fullmatch(name) and any(flag.startswith(name) for flag in facts.flags)
    )


def _said(name: str, facts: Facts) -> str:
    value = _value(name, facts)
    if name == "memory":
        return f"{facts.memory / SIZE_UNITS['GB']:.1f}GB"
    if isinstance(value, bool):
        return "there" if value else "missing"
    return str(value)


def _in_bytes(text: str, origin: str) -> str:
    """The expression with numbers of bytes in the place of ``16GB`` and the like."""
    if len(text) > LONGEST:
        raise BadConfig(f"{origin}: `hosts` has over {LONGEST} characters: shorten it")
    expression = QUANTITY.sub(
        lambda part: str(round(float(part[1]) * SIZE_UNITS[part[2]])), text.strip()
    )
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if not isinstance(node, TOKENS):
            raise ValueError(f"{type(node).__name__} is not a part of it")
    return expression
