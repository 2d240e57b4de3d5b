"""Counts what is in one side of a changed function: loops, calls, conditions and the like, each
with its lines; Python by ast, C and C++ by tree-sitter.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from perfvcs.locate.sources.outline import MODULE

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


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
}
CACHES = frozenset({"lru_cache", "cache", "cached_property", "memoize", "memoized", "cached"})
LOCKS = re.compile(
    r"(?i)^(?:r?lock|semaphore|mutex|acquire|release|condition|barrier|synchroni[sz]ed|lock_guard|unique_lock|pthread_mutex_\w+)$"
)
C_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
CONDITIONS = frozenset({"if_statement", "switch_statement", "conditional_expression"})
EXCEPTIONS = frozenset({"try_statement", "throw_statement", "catch_clause", "goto_statement"})
STANDARD = frozenset(
    {
        "vector",
        "list",
        "map",
        "set",
        "multimap",
        "multiset",
        "unordered_map",
        "unordered_set",
        "deque",
        "array",
        "queue",
        "stack",
        "priority_queue",
        "flat_map",
        "flat_set",
    }
)
PREPROCESSOR = frozenset({"preproc_if", "preproc_elif"})
BRANCH = re.compile(rb"(?m)^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif|else|endif)\b(?:.*\\\n)*.*")
# the fields of a loop that are evaluated before it begins
EVALUATED_ONCE = frozenset({"initializer", "right"})
ASSERTION = re.compile(r"(?i)\w*assert$")


@dataclass
class Features:
    """What counts of one side of a function, each with the lines that it is in."""

    loops: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))  # by their depth
    # by name: depth and line
    calls: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    conditions: list[int] = field(default_factory=list)
    exceptions: list[int] = field(default_factory=list)
    locks: list[int] = field(default_factory=list)
    containers: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    caches: list[int] = field(default_factory=list)
    imports: dict[str, int] = field(default_factory=dict)
    slices: list[int] = field(default_factory=list)


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
    elif isinstance(node, (ast.Try, ast.Raise, ast.Assert)):
        features.exceptions.append(line)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        features.locks += [
            line
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
    if kind := DISPLAYS.get(type(node)):
        features.containers[kind].append(line)
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        features.caches += [
            decorator.lineno for decorator in node.decorator_list if _last(decorator) in CACHES
        ]
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
    if name == "range":
        return  # a loop's own
    features.calls[name].append((depth, node.lineno))
    if kind := CONTAINERS.get(name):
        features.containers[kind].append(node.lineno)
    if LOCKS.match(name):
        features.locks.append(node.lineno)


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Call):
        return _last(node.func)
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def available() -> bool:
    """Whether tree-sitter and its grammars are installed."""
    from importlib.util import find_spec

    return all(find_spec(name) for name in ("tree_sitter", "tree_sitter_c", "tree_sitter_cpp"))


def features(path: str, text: str, lines: Collection[int]) -> Features:
    """What is in some lines of a source, counted from 1."""
    content = Features()
    if lines:
        _walk_tree(_read(path, text.encode("utf-8", "surrogatepass")), 0, frozenset(lines), content)
    return content


def _read(path: str, text: bytes) -> Node:
    """The syntax tree of a source, without its preprocessor's branches where it can be read better
    so: an `else` may follow `#endif`.
    """
    parser = _parser(cpp=not path.endswith(".c"))
    whole = parser.parse(text).root_node
    if not whole.has_error:
        return whole
    bare = parser.parse(BRANCH.sub(lambda branch: b"\n" * branch[0].count(b"\n"), text)).root_node
    return min(whole, bare, key=_unread)


def _unread(root: Node) -> int:
    """How many bytes of a tree are not understood."""
    count, waiting = 0, [root]
    while waiting:
        node = waiting.pop()
        if node.type == "ERROR":
            count += node.end_byte - node.start_byte
        elif node.has_error:
            waiting += node.children
    return count


@cache
def _parser(*, cpp: bool) -> Parser:
    import tree_sitter_c
    import tree_sitter_cpp
    from tree_sitter import Language, Parser

    return Parser(Language((tree_sitter_cpp if cpp else tree_sitter_c).language()))


def _walk_tree(root: Node, depth: int, lines: frozenset[int], features: Features) -> None:
    """Add a node and all below it; the number of loops around each node is its depth."""
    first, last = min(lines), max(lines)
    waiting = [(root, depth)]
    while waiting:
        node, around = waiting.pop()
        line = node.start_point[0] + 1
        if line > last or node.end_point[0] + 1 < first:
            continue
        inner = around
        if line in lines:
            if node.type in C_LOOPS:
                inner += 1
                features.loops[inner].append(line)
            else:
                _add(node, line, around, features)
        for number in range(node.child_count - 1, -1, -1):
            child = node.child(number)
            if child is None or not child.is_named:
                continue
            field = node.field_name_for_child(number)
            if not (node.type in PREPROCESSOR and field == "condition"):
                waiting.append(
                    (child, around if inner > around and field in EVALUATED_ONCE else inner)
                )


def _add(node: Node, line: int, depth: int, features: Features) -> None:
    kind = node.type
    if kind in CONDITIONS or (kind == "binary_expression" and _operator(node) in ("&&", "and")):
        features.conditions.append(line)
    elif kind in EXCEPTIONS:
        features.exceptions.append(line)
    elif kind == "call_expression":
        name = _name(node.child_by_field_name("function"))
        if ASSERTION.match(name):
            features.exceptions.append(line)
        elif name:
            features.calls[name].append((depth, line))
        if LOCKS.match(name):
            features.locks.append(line)
    elif kind in ("new_expression", "delete_expression"):
        features.calls[kind.partition("_")[0]].append((depth, line))
    elif kind == "template_type":
        name = _name(node)
        if name in STANDARD:
            features.containers[name].append(line)
        elif LOCKS.match(name):
            features.locks.append(line)
    elif kind == "preproc_include":
        path = node.child_by_field_name("path")
        if path is not None:
            features.imports[_text(path).strip('<>"')] = line


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def _name(node: Node | None) -> str:
    """The last name of what is called: of ``a->b.c(...)`` and ``A::c<T>(...)``, ``c``."""
    while node is not None and node.type not in (
        "identifier",
        "field_identifier",
        "type_identifier",
    ):
        node = node.child_by_field_name("field") or node.child_by_field_name("name")
    return _text(node) if node is not None else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
