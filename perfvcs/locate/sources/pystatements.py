"""The statements of a Python source: what they bind, compute and hand on."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from perfvcs.locate.sources.parts import ANNOTATIONS, DOCSTRINGS, digest

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.TryStar,
    ast.Match,
)
ANYTHING = "*"
HANDED_ON = frozenset({"__doc__", "__annotations__"})
PLAIN_ANNOTATIONS = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.List,
    ast.Starred,
    ast.BinOp,
    ast.BitOr,
    ast.expr_context,
)


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
        for assigned in targets
        for target in (assigned.elts if isinstance(assigned, ast.Tuple | ast.List) else [assigned])
    )


def last_name(node: ast.AST) -> str:
    """The last name of a dotted one; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


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
    """The names to which a statement gives a meaning, in blocks too; of an attribute or element,
    those along the way to it.
    """
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [
            alias.asname or alias.name.partition(".")[0]
            for alias in node.names
            if alias.name != ANYTHING
        ]
    if isinstance(node, BLOCKS):
        names = [
            name
            for child in ast.iter_child_nodes(node)
            if not isinstance(child, ast.stmt)
            for name in _targets(child)
        ]
        return names + [
            name for _, children in branches(node) for child in children for name in bound(child)
        ]
    if isinstance(node, ast.Expr):
        return _targets(node.value, called=True)
    return _targets(node)


def _targets(node: ast.AST, *, called: bool = False) -> list[str]:
    names: list[str] = []
    for child in ast.walk(node):
        if isinstance(child, ast.Name | ast.Attribute | ast.Subscript) and isinstance(
            child.ctx, ast.Store | ast.Del
        ):
            names += _way(child)
        elif called and isinstance(child, ast.Call):
            names += _way(child.func)
    return names


def _way(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute):
        return [*_way(node.value), node.attr]
    return _way(node.value) if isinstance(node, ast.Subscript | ast.Starred) else []


def is_computed(annotation: ast.expr) -> bool:
    """Whether an annotation does more than to name a type where it is read."""
    return not all(isinstance(node, PLAIN_ANNOTATIONS) for node in ast.walk(annotation))


def annotations_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The annotations of a function's parameters and of what it returns."""
    arguments = node.args
    every = (
        *arguments.posonlyargs,
        *arguments.args,
        *arguments.kwonlyargs,
        arguments.vararg,
        arguments.kwarg,
    )
    every_annotation = [
        argument.annotation
        for argument in every
        if argument is not None and argument.annotation is not None
    ]
    return [*every_annotation, node.returns] if node.returns else every_annotation


def told(tree: ast.AST) -> dict[str, str]:
    """The digests of docstrings and of annotations in a tree, with the names of what they belong
    to.
    """
    docstrings: list[str] = []
    annotations: list[str] = []
    for node in ast.walk(tree):
        if (
            isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Module))
            and node.body
            and is_constant(node.body[0])
        ):
            docstrings += (getattr(node, "name", ""), ast.dump(node.body[0]))
        if isinstance(node, FUNCTIONS) and (expressions := annotations_of(node)):
            annotations += (node.name, *map(ast.dump, expressions))
        elif isinstance(node, ast.AnnAssign):
            annotations.append(ast.dump(node.annotation))
    return {DOCSTRINGS: digest(docstrings), ANNOTATIONS: digest(annotations)}


def copies(node: ast.stmt) -> bool:
    """Whether a statement only hands docstrings and the like on: ``self.__doc__ =
    function.__doc__``.
    """
    targets = node.targets if isinstance(node, ast.Assign) else []
    return bool(targets) and all(
        isinstance(target, ast.Attribute) and target.attr in HANDED_ON for target in targets
    )
