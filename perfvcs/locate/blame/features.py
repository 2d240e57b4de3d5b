"""Counts what is in one side of a changed function: loops, calls, conditions and the like, each
with its lines.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from perfvcs.locate.blame.memos import DECORATORS, Memo, memos
from perfvcs.locate.sources.definitions import MODULE

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
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
