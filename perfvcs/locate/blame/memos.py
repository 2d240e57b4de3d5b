"""What a function of Python keeps from call to call, or from element to element, so that it is not
computed again: by a decorator, in a dictionary, or in an attribute that is set once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf
from typing import NamedTuple

DECORATORS = {
    "lru_cache": 128.0,
    "cache": inf,
    "cached_property": inf,
    "memoize": inf,
    "memoized": inf,
    "cached": inf,
}  # with the entries that they keep where they do not say so
EMPTY = frozenset({"dict", "list", "set", "defaultdict", "deque", "Counter", "OrderedDict"})
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Memo(NamedTuple):
    """One place where results are kept: its line, and how many it keeps."""

    line: int
    entries: float = inf


def memos(node: ast.AST) -> Iterator[Memo]:
    """All of a function and of those inside it, or of the statements outside of functions."""
    yield from filter(None, map(_wrapped, _inside(node)))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield from filter(None, map(_decorated, node.decorator_list))
        yield from _keyed(node)
        yield from _lazy(node)
    for inner in _inside(node):
        if isinstance(inner, FUNCTIONS) and not isinstance(node, ast.Module):
            yield from memos(inner)


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below one, without its decorators and what is inside of functions."""
    decorators = getattr(node, "decorator_list", ())
    waiting = [child for child in ast.iter_child_nodes(node) if child not in decorators]
    while waiting:
        child = waiting.pop()
        yield child
        if not isinstance(child, FUNCTIONS):
            waiting += ast.iter_child_nodes(child)


def _decorated(decorator: ast.expr) -> Memo | None:
    """What a decorator keeps; None where that is nothing, as with ``maxsize=0``."""
    call = decorator if isinstance(decorator, ast.Call) else None
    name = _last(call.func if call else decorator)
    if name not in DECORATORS:
        return None
    sizes = [word.value for word in call.keywords if word.arg == "maxsize"] if call else []
    sizes += call.args if call and name == "lru_cache" else []
    entries = DECORATORS[name]
    for size in sizes[:1]:
        value = size.value if isinstance(size, ast.Constant) else entries
        entries = float(value) if isinstance(value, int | float) else inf
    return Memo(decorator.lineno, entries) if entries > 0 else None


def _wrapped(node: ast.AST) -> Memo | None:
    """What a function keeps that is wrapped where it is used: ``find = cache(find)``."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    if isinstance(node.func, ast.Call):
        return _decorated(node.func)
    return _decorated(node.func) if isinstance(node.args[0], ast.Name | ast.Attribute) else None


def _keyed(function: ast.AST) -> Iterator[Memo]:
    """Containers in which a result is kept by a key, and is looked for before it is computed."""
    nodes = list(_inside(function))
    computed = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_computed(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    stores = {
        ast.unparse(target.value): node
        for node in nodes
        if isinstance(node, ast.Assign) and _is_computed(node.value, computed)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    }
    asked, read = set(_asked(nodes)), set(_read(nodes))
    for container, store in stores.items():
        own = any(ast.unparse(node) == container for node in ast.walk(store.value))
        if container in asked & read and not own:
            yield Memo(store.lineno)


def _is_computed(value: ast.expr, names: set[str]) -> bool:
    """Whether a value is worth keeping: a result, not a new container."""
    if isinstance(value, ast.Name):
        return value.id in names
    if isinstance(value, ast.ListComp | ast.SetComp | ast.DictComp):
        return True
    calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
    return any(call.args or _last(call.func) not in EMPTY for call in calls)


def _asked(nodes: list[ast.AST]) -> Iterator[str]:
    """The containers that may be without a key: where that is tested, or caught."""
    for node in nodes:
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            yield ast.unparse(node.comparators[0])
        elif isinstance(node, ast.Call) and _is_get(node):
            yield ast.unparse(node.func.value)  # type: ignore[attr-defined]
        elif isinstance(node, ast.Try):
            tried = (inner for statement in node.body for inner in ast.walk(statement))
            yield from (
                ast.unparse(inner.value) for inner in tried if isinstance(inner, ast.Subscript)
            )


def _read(nodes: list[ast.AST]) -> Iterator[str]:
    """The containers of which an element is taken as it is: returned, or given a name."""
    for node in nodes:
        value = node.value if isinstance(node, ast.Return | ast.Assign | ast.NamedExpr) else None
        if isinstance(value, ast.Subscript):
            yield ast.unparse(value.value)
        elif isinstance(value, ast.Call) and _is_get(value):
            yield ast.unparse(value.func.value)  # type: ignore[attr-defined]


def _is_get(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "get"


def _lazy(function: ast.AST) -> Iterator[Memo]:
    """Attributes that are computed only while they are not set."""
    for node in _inside(function):
        if not isinstance(node, ast.If):
            continue
        tested = {ast.unparse(inner) for inner in ast.walk(node.test)}
        tested |= {
            f"{ast.unparse(call.args[0])}.{ast.literal_eval(call.args[1])}"
            for call in ast.walk(node.test)
            if isinstance(call, ast.Call)
            and _last(call.func) == "hasattr"
            and isinstance(call.args[1], ast.Constant)
        }
        for statement in node.body:
            if isinstance(statement, ast.Assign) and _is_computed(statement.value, set()):
                kept = {
                    ast.unparse(target)
                    for target in statement.targets
                    if isinstance(target, ast.Attribute)
                }
                if kept & tested:
                    yield Memo(statement.lineno)


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
