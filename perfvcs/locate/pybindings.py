"""Which names a Python statement gives a meaning, and what stands in what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match,
)  # fmt: skip
ANYTHING = "*"


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a body that say what happens."""
    return body[1:] if body and is_constant(body[0]) else body


def is_constant(node: ast.AST) -> bool:
    """Whether a statement is nothing but a constant: a docstring, or ``...``."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def is_plain(node: Any) -> bool:
    """Whether a statement only gives names a meaning."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return not any(alias.name == ANYTHING for alias in node.names)
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
    return all(
        isinstance(target, ast.Name)
        for one in targets
        for target in (one.elts if isinstance(one, ast.Tuple | ast.List) else [one])
    )


def last_name(node: ast.AST) -> str:
    """The last name of a dotted one; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def branches(node: Any) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The bodies of a block, by their names."""
    for name in ("body", "orelse", "finalbody"):
        if children := getattr(node, name, []):
            yield name, children
    for number, handler in enumerate(getattr(node, "handlers", ())):
        yield f"handler{number}", handler.body
    for number, case in enumerate(getattr(node, "cases", ())):
        yield f"case{number}", case.body


def bound(node: ast.AST) -> list[str]:
    """The names to which a statement gives a meaning, in blocks too; of an attribute or element, those along the way to it."""
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names if alias.name != ANYTHING]
    if isinstance(node, BLOCKS):
        own = [name for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt) for name in _targets(child)]
        return own + [name for _, children in branches(node) for child in children for name in bound(child)]
    if isinstance(node, ast.Expr):
        return _targets(node.value, called=True)
    return _targets(node)


def _targets(node: ast.AST, *, called: bool = False) -> list[str]:
    found: list[str] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript) and isinstance(child.ctx, ast.Store | ast.Del):
            found += _way(child)
        elif called and isinstance(child, ast.Call):
            found += _way(child.func)
    return found


def _way(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_way(node.value), node.attr]
    return _way(node.value) if isinstance(node, ast.Subscript | ast.Starred) else []
