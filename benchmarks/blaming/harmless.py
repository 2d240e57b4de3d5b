"""Changes of a working tree that change nothing: comments, docstrings, blank lines, unused
functions and locals, and the order of functions.

All of them move what follows: code in a compiled program, objects on the heap of Python.
"""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from perfvcs.locate.sources import language
from perfvcs.locate.sources.outline import outline

KINDS = ("comment", "docstring", "blank lines", "unused function", "unused local", "order")
TRIES = 60  # functions that are drawn until the change fits one
UNUSED = {
    "python": "def _unused_{0}(value):\n    return value * {0} + 1\n\n\n",
    "c": "static __attribute__((noinline, used)) int unused_{0}(int x) {{ return x * {0} + 1; }}\n",
}
COMMENTS = {"python": "# It is what it was: {0}.\n", "c": "/* It is what it was: {0}. */\n"}
LOCALS = {"python": "_unused = {0}\n", "c": "int unused = {0}; (void)unused;\n"}


def plant(place: Path, known: dict[str, Any], chance: Random, kind: str) -> bool:
    """Make a change of this kind in a function that the benchmark runs, or beside it; whether one
    of many that are drawn fits.
    """
    reached = sorted(known["functions"])
    for _ in range(TRIES):
        path, _, name = chance.choice(reached).partition(":")
        text = (place / path).read_text()
        changed = _changed(path, text, name, kind, chance.randint(2, 999))
        if changed and _compiles(path, changed):
            (place / path).write_text(changed)
            return True
    return False


def _changed(path: str, text: str, name: str, kind: str, number: int) -> str:
    """The text of a file with the change; empty where it does not fit the function."""
    tongue = language(path)
    lines, found = text.splitlines(keepends=True), outline(path, text)
    if found is None or tongue not in UNUSED or not found.named(name):
        return ""
    definition = found.named(name)[0]
    first = definition.first - 1
    if kind == "comment":
        return _with(lines, first, _indent(lines[first]) + COMMENTS[tongue].format(number))
    if kind == "blank lines":
        return _with(lines, first, "\n" * (1 + number % 4))
    if kind == "unused function":
        outer = _indent(lines[first]) or lines[first].startswith("@")
        return "" if outer else _with(lines, first, UNUSED[tongue].format(number))
    if kind == "order":
        return _swapped(lines, [(one.first - 1, one.last) for one in found.definitions], first)
    body = _python_body(text, name) if tongue == "python" else _native_body(lines, first)
    if body is None or (kind == "docstring" and tongue != "python"):
        return ""
    if kind == "docstring":
        return _with(lines, body - 1, f'{_indent(lines[body - 1])}"""Does {number} things."""\n')
    return _with(lines, body - 1, _indent(lines[body - 1]) + LOCALS[tongue].format(number))


def _with(lines: list[str], place: int, added: str) -> str:
    return "".join([*lines[:place], added, *lines[place:]])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _python_body(text: str, name: str) -> int | None:
    """The line at which a function of the module, or of a class, begins to do something, if it has
    no docstring.
    """
    places: list[Any] = [ast.parse(text)]
    for part in name.split("."):
        places = [
            child
            for node in places
            for child in node.body
            if getattr(child, "name", "") == part and hasattr(child, "body")
        ]
    nodes = [node for node in places if isinstance(node, ast.FunctionDef)]
    if not nodes or ast.get_docstring(nodes[0]) or nodes[0].body[0].lineno == nodes[0].lineno:
        return None
    return nodes[0].body[0].lineno


def _native_body(lines: list[str], first: int) -> int | None:
    """The line after the brace that opens a function."""
    for number in range(first, min(first + 6, len(lines) - 1)):
        if lines[number].rstrip().endswith("{"):
            return number + 2
    return None


def _swapped(lines: list[str], spans: list[tuple[int, int]], first: int) -> str:
    """A function at the top of the file changes its place with the next one."""
    for (begin, end), (start, stop) in pairwise(spans):
        gap = "".join(lines[end:start])
        if begin != first or gap.strip():
            continue
        heads = lines[begin], lines[start]
        if any(_indent(head) or head.startswith(("@", "}")) for head in heads):
            return ""
        moved = [*lines[:begin], *lines[start:stop], gap, *lines[begin:end], *lines[stop:]]
        return "".join(moved)
    return ""


def _compiles(path: str, text: str) -> bool:
    """Whether Python can read it; what a compiler says of C is seen when it is built."""
    if language(path) != "python":
        return True
    try:
        compile(text, path, "exec")
    except SyntaxError:
        return False
    return True
