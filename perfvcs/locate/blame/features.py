"""Counts what is in one side of a changed function: loops, calls, conditions and the like, each
with its lines.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple

from perfvcs.locate.sources.parts import MODULE
from perfvcs.locate.sources.pystatements import last_name

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


LOOPS = (ast.For, ast.AsyncFor, ast.While)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
CONTAINERS = {
    "list": "list",
    "set": "set",
    "frozenset": "set",
    "dict": "dict",
    "tuple": "tuple",
    "deque": "deque",
    "defaultdict": "dict",
    "OrderedDict": "dict",
    "Counter": "dict",
    "array": "array",
    "heapq": "heap",
    "bytearray": "bytearray",
}
DISPLAYS = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.GeneratorExp: "generator",
}
LOCKS = re.compile(
    r"(?i)^(?:r?lock|semaphore|mutex|acquire|release|condition|barrier|synchroni[sz]ed|lock_guard|unique_lock|pthread_mutex_\w+)$"
)


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
    name = last_name(call.func if call else decorator)
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
    return any(call.args or last_name(call.func) not in EMPTY for call in calls)


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
            and last_name(call.func) == "hasattr"
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


@dataclass
class Features:
    """What counts of one side of a function, each with the lines that it is in."""

    loops: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # by their depth
    # by name: depth and line
    calls: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    conditions: list[int] = field(default_factory=list)
    exceptions: list[int] = field(default_factory=list)
    locks: list[tuple[int, int]] = field(default_factory=list)  # depth and line
    containers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    caches: list[Memo] = field(default_factory=list)
    imports: dict[str, int] = field(default_factory=dict)
    slices: list[int] = field(default_factory=list)
    decorators: dict[str, int] = field(default_factory=dict)
    exits: list[int] = field(default_factory=list)  # from inside of loops, before they end
    # parameters and variables of loops by name: whether each is a reference, and its line
    references: dict[str, tuple[bool, int]] = field(default_factory=dict)


def python(text: str, name: str) -> Features | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    content, nodes = Features(), _named(tree.body, name.split(".")) if name != MODULE else [tree]
    for node in nodes:
        _walk(node, 0, content, whole=name == MODULE)
        content.caches += memos(node)
    return content if nodes else None


def _named(body: Sequence[ast.AST], parts: Sequence[str]) -> list[ast.AST]:
    named: list[ast.AST] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == parts[0]:
                named += _named(node.body, parts[1:]) if len(parts) > 1 else [node]
        else:
            named += _named(
                [
                    child
                    for child in ast.iter_child_nodes(node)
                    if isinstance(child, (ast.stmt, ast.excepthandler))
                ],
                parts,
            )
    return named


def _walk(node: ast.AST, depth: int, features: Features, *, whole: bool) -> None:
    line = getattr(node, "lineno", 0)
    if whole and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return  # what stands outside of functions
    inner = depth
    if isinstance(node, (*LOOPS, *COMPREHENSIONS)):
        inner += len(node.generators) if isinstance(node, COMPREHENSIONS) else 1
        features.loops[inner].append(line)
    elif isinstance(node, ast.Call):
        _call(node, depth, features)
    elif isinstance(node, (ast.If, ast.IfExp, ast.Match)):
        features.conditions.append(line)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):  # `or` gives defaults, too
        features.conditions += [line] * (len(node.values) - 1)
    elif isinstance(node, (ast.Break, ast.Return)):
        features.exits += [line] if depth else []
    elif isinstance(node, (ast.Try, ast.Raise, ast.Assert)):
        features.exceptions.append(line)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        features.locks += [
            (depth, line)
            for item in node.items
            if LOCKS.match(_last(item.context_expr)) or "lock" in _last(item.context_expr).lower()
        ]
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        features.imports.update({alias.name: line for alias in node.names})
    elif (
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Slice)
        and node.slice.lower is node.slice.upper is None
    ):
        features.slices.append(line)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        features.decorators |= {_last(one): one.lineno for one in node.decorator_list}
    if kind := DISPLAYS.get(type(node)):
        features.containers[kind].append(line)
    once = _once(node)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.comprehension):
            for part in ast.iter_child_nodes(child):
                _walk(part, depth if part is once else inner, features, whole=whole)
        else:
            _walk(child, depth if child is once else inner, features, whole=whole)


def _once(node: ast.AST) -> ast.expr | None:
    """What a loop or a comprehension evaluates once, before it begins."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return node.iter
    return node.generators[0].iter if isinstance(node, COMPREHENSIONS) else None


def _call(node: ast.Call, depth: int, features: Features) -> None:
    name = _last(node.func)
    if not name:
        return
    if name == "range" or name in DECORATORS:
        return  # a loop's own, or a cache's
    features.calls[name].append((depth, node.lineno))
    if kind := CONTAINERS.get(name):
        features.containers[kind].append(node.lineno)
    if LOCKS.match(name):
        features.locks.append((depth, node.lineno))


def _last(node: ast.AST) -> str:
    return _last(node.func) if isinstance(node, ast.Call) else last_name(node)
