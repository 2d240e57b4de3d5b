"""The qualified names of functions: a comprehension belongs to what encloses it, and older interpreters report only the line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType

from perfvcs.collector import CollectError
from perfvcs.collectors._shared.functions import MODULE, NAMELESS_CODE, trimmed
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
        code = compile(read_at_most(path, MAX_SOURCE), str(path), "exec", dont_inherit=True)
    except (CollectError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {inner.co_firstlineno: inner.co_qualname for inner in _all(code) if inner.co_name not in (MODULE, *NAMELESS_CODE)}


def _all(code: CodeType) -> Iterator[CodeType]:
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _all(value)
