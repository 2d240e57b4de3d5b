"""Counts what is in one side of a changed function of C or C++, by tree-sitter."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from perfvcs.locate.blame.features import LOCKS, Features

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

DECLARING = frozenset({"parameter_declaration", "for_range_loop"})
C_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
CONDITIONS = frozenset({"if_statement", "switch_statement", "conditional_expression"})
EXCEPTIONS = frozenset({"try_statement", "throw_statement", "catch_clause", "goto_statement"})
EXITS = frozenset({"break_statement", "return_statement"})
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
                if node.type in DECLARING:
                    _declared(node, line, features)
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
    elif kind in EXITS:
        features.exits += [line] if depth else []
    elif kind in EXCEPTIONS:
        features.exceptions.append(line)
    elif kind == "call_expression":
        name = _name(node.child_by_field_name("function"))
        if ASSERTION.match(name):
            features.exceptions.append(line)
        elif name:
            features.calls[name].append((depth, line))
        if LOCKS.match(name):
            features.locks.append((depth, line))
    elif kind in ("new_expression", "delete_expression"):
        features.calls[kind.partition("_")[0]].append((depth, line))
    elif kind == "template_type":
        name = _name(node)
        if name in STANDARD:
            features.containers[name].append(line)
        elif LOCKS.match(name):
            features.locks.append((depth, line))
    elif kind in DECLARING:
        _declared(node, line, features)
    elif kind == "preproc_include":
        path = node.child_by_field_name("path")
        if path is not None:
            features.imports[_text(path).strip('<>"')] = line


def _declared(node: Node, line: int, features: Features) -> None:
    """Notes whether a parameter, or the variable of a loop over a range, is a reference."""
    declarator = node.child_by_field_name("declarator")
    is_reference = declarator is not None and declarator.type == "reference_declarator"
    if declarator is not None and (is_reference or declarator.type == "identifier"):
        name = _text(declarator).lstrip("& ")
        features.references[name] = is_reference, line


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
