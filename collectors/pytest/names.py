"""The qualified names of functions: a comprehension belongs to what encloses it, and older interpreters report only the line."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from perfvcs.collector import CollectError
from perfvcs.collectors._shared.functions import MODULE, trimmed
from perfvcs.collectors._shared.recording import read_at_most
from perfvcs.collectors.pytest.notes import ReachedFunction, printable
from perfvcs.validity import MAX_NAME

UNRUN_FUNCTION = "(left out)"  # the only function of a test that was found and not run, since it was not asked for
MAX_SOURCE = 16 << 20  # bytes


def qualified(functions: Iterable[ReachedFunction], root: Path) -> set[str]:
    """Functions as ``file:qualified name``, file below the project's root; those whose line has no name are their module."""
    found, known = set(), dict[str, dict[int, str]]()
    for function in functions:
        name = function.name
        if not name:
            if function.file not in known:
                known[function.file] = _names(root / function.file)
            name = known[function.file].get(function.line, MODULE)
        found.add(printable(f"{function.file}:{trimmed(name)}")[:MAX_NAME])
    return found


def _names(path: Path) -> dict[int, str]:
    """The qualified name of the code that begins at each line, the innermost one's where several do; none where it is no such source."""
    if ".." in path.parts:
        return {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(read_at_most(path, MAX_SOURCE))  # compiling takes a time quadratic in functions that are equal
    except (CollectError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(_defined(tree, ""))


def _defined(node: ast.AST, scope: str) -> Iterator[tuple[int, str]]:
    """The first line and the qualified name of each function and class below a node, those around others first."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{scope}{child.name}"
            yield min([child.lineno, *(one.lineno for one in child.decorator_list)]), name
            yield from _defined(child, f"{name}." if isinstance(child, ast.ClassDef) else f"{name}.<locals>.")
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from _defined(child, scope)
