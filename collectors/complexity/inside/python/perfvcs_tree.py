"""Syntax trees by what is built into the interpreter: the program may have a module of its own
called ``ast``, or none loaded yet.
"""

from __future__ import annotations

import _ast

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator
    from typing import Any, TypeVar

    T = TypeVar("T", bound=ast.AST)


def parse(source: bytes | str, path: str = "<size>", mode: str = "exec") -> Any:
    """The tree of a source; raises SyntaxError and ValueError."""
    return compile(source, path, mode, _ast.PyCF_ONLY_AST, dont_inherit=True)


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes directly in a node."""
    for field in node._fields:
        value = getattr(node, field, None)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, _ast.AST):
                yield child


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all that are in it."""
    todo = [node]
    while todo:
        node = todo.pop()
        todo += children(node)
        yield node


def located(node: T, place: ast.AST) -> T:
    """The node, with all of its nodes that are new at the place of another: tracebacks show the
    program's lines and columns.
    """
    for part in walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            for name in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
                setattr(part, name, getattr(place, name, None))
    return node


def documented(body: list[ast.stmt]) -> bool:
    """Whether a body begins with a docstring."""
    first = body[0]
    return (
        isinstance(first, _ast.Expr)
        and isinstance(first.value, _ast.Constant)
        and isinstance(first.value.value, str)
    )


class Transformer:
    """Replaces nodes by what the method ``visit_<class>`` gives, where there is one."""

    def visit(self, node: ast.AST) -> Any:
        """What takes the place of a node."""
        return getattr(self, f"visit_{type(node).__name__}", self.generic_visit)(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Visit all nodes directly in a node, and keep it."""
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                value[:] = [
                    self.visit(child) if isinstance(child, _ast.AST) else child for child in value
                ]
            elif isinstance(value, _ast.AST):
                setattr(node, field, self.visit(value))
        return node
