"""Remarks about the functions after an execution: those that do not exist, were not called, or have
doubtful sizes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from perfvcs.collectors.complexity.calls import Records
from perfvcs.collectors.complexity.python.notes import FunctionLocation, RecorderNotes, Timed
from perfvcs.errors import nearest
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import content
from perfvcs.system.numeric import np

MAX_SOURCE = 16 << 20  # bytes of a module that is read for its names
MAIN = "__main__"
TRIED_PER_WANTED = 3  # times as many functions are tried as are wanted, since some have no size
# What was found in this process, by folder and command: the executions of one job record the same
# functions.
_found: dict[tuple[Path, tuple[str, ...], int], list[FunctionLocation]] = {}


def check_defined(places: Sequence[FunctionLocation], notes: RecorderNotes) -> None:
    """Raises CollectError for the first function that no interpreter met, with the nearest that
    there is.
    """
    for number, place in enumerate(places):
        if number not in notes.defined:
            raise CollectError(
                _why_not(
                    place,
                    notes,
                    [other for index, other in enumerate(places) if index in notes.defined],
                ),
                lasting=True,
            )


def _why_not(
    function: FunctionLocation, notes: RecorderNotes, met: Sequence[FunctionLocation]
) -> str:
    """Why a function was not met, and what to do; ``met`` are those that were."""
    path = notes.modules.get(function.module) or notes.modules.get(MAIN)
    for name in (function.module, MAIN):
        if name in notes.failed:
            return f"{function.uid}: its module cannot be recorded: {notes.failed[name]}"
    if function.module in notes.untouched:
        return (
            f"{function.uid}: its module {notes.untouched[function.module]}: choose functions of"
            " another"
        )
    if path is None or (function.module not in (*notes.modules, MAIN, Path(path).stem)):
        return (
            f"{function.uid}: the program did not import {function.module}: correct the name (that"
            f" of a script is {MAIN} or its file's name without .py), or have the command use it"
        )
    lines_by_name = definitions(Path(path))
    lines = lines_by_name.get(function.name)
    namesakes = (other for other in met if other.name == function.name)
    twin = next(
        (
            other
            for other in namesakes
            if function.module == other.module or MAIN in (function.module, other.module)
        ),
        None,
    )
    if lines and twin is not None and function.line in (0, *lines):
        return f"{function.uid} is the same function as {twin.uid}: name it once"
    if lines:
        return (
            f"{function.uid}: {function.name} is defined in line {', '.join(map(str, lines))} of"
            f" {path}: give that line, or none"
        )
    return f"there is no function {function.name} in {path}{nearest(function.name, lines_by_name)}"


def definitions(path: Path) -> dict[str, list[int]]:
    """The functions of a source file by qualified name, with the lines where they begin; none where
    it cannot be read.

    One with decorators has lines for these too.
    """
    by_name: dict[str, list[int]] = {}
    try:
        for name, node in _walk(ast.parse(content(path, MAX_SOURCE)), ""):
            by_name.setdefault(name, []).extend(
                sorted({node.lineno, *(decorator.lineno for decorator in node.decorator_list)})
            )
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return by_name


def _walk(
    tree: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
            yield from _walk(node, f"{prefix}{node.name}.<locals>.")
        else:
            yield from _walk(
                node, f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix
            )


def remarks(
    places: Sequence[FunctionLocation], notes: RecorderNotes, records: Records
) -> list[str]:
    """Lines about functions that were not called or did not end, and about sizes that failed or
    were guessed with doubt.
    """
    count = len(places)
    called = np.bincount(records.function, weights=records.rate, minlength=count)
    unknown = np.bincount(
        records.function, weights=records.rate * np.isnan(records.size), minlength=count
    )
    remark_lines = []
    for number, place in enumerate(places):
        calls, without = round(called[number]), round(unknown[number])
        if unfinished := int(records.unfinished[number]):
            remark_lines.append(
                f"{unfinished} of the calls of {place.uid} did not end, and are not recorded: it is"
                " a generator or coroutine"
            )
        elif not calls:
            remark_lines.append(
                f"{place.uid} was never called: leave it out, or have the command call it"
            )
        if without and place.size is not None:
            error = notes.errors.get(number, "it is not a number")
            remark_lines.append(
                f"{place.uid}: its size {place.size} failed in {without} of {calls} calls: {error}"
            )
        if place.size is None:
            remark_lines += _guessed(place, notes.guesses.get(number, {}), without, calls)
        if len(lines := sorted(notes.defined[number])) > 1:
            remark_lines.append(
                f"{place.uid} is defined in lines {', '.join(map(str, lines))}, recorded as one:"
                f" choose as in {place.uid}@{lines[-1]}"
            )
    return remark_lines


def _guessed(
    function: FunctionLocation, guesses: dict[str, bool], without: int, calls: int
) -> list[str]:
    """The remark about a guessed size."""
    if without and without == calls:
        return [
            f"{function.uid}: no argument looks like a size: give one, as in"
            f" {function.uid}=len(items)"
        ]
    if len(guesses) > 1 or any(guesses.values()):
        texts = " and ".join(guesses)
        return [
            f"{function.uid}: its size was guessed as {texts}, and could be another: write"
            f" {function.uid}={next(iter(guesses))} to fix it"
        ]
    return []


def discover(
    run: Run,
    most: int,
    timed: Callable[[], list[Timed]],
    sizes: Callable[[list[FunctionLocation]], dict[FunctionLocation, tuple[int, str]]],
) -> list[FunctionLocation]:
    """At most ``most`` functions, with their sizes as expressions; raises CollectError when there
    are none.

    ``timed`` executes once and times all functions, ``sizes`` executes once and records some: how
    many sizes each had, and what these are.
    """
    key = (run.cwd, run.argv, most)
    if key not in _found:
        slowest = _places(timed())[: TRIED_PER_WANTED * most]
        if not slowest:
            raise CollectError(
                f"{name_command(run.argv)} ran no functions of the project (Python files below"
                f" {run.cwd}): name the functions to record"
            )
        sizes_of = sizes(slowest)
        varied = [place for place in slowest if sizes_of[place][0] > 1] or [
            place for place in slowest if sizes_of[place][0]
        ]
        if not varied:
            raise CollectError(
                f"none of the slowest functions ({', '.join(place.uid for place in slowest[:5])})"
                " has an argument that looks like a size: "
                f'name functions with theirs, as in functions = ["{slowest[0].uid}=len(items)"]'
            )
        _found[key] = [replace(place, size=sizes_of[place][1]) for place in varied[:most]]
    return _found[key]


def entries(places: list[FunctionLocation]) -> str:
    """A line that names functions as they can be written into perf.toml."""
    named = ", ".join(f'"{place.uid}={place.size}"' for place in places)
    return (
        "recorded the slowest functions with a size; to keep this choice, write functions ="
        f" [{named}]"
    )


def _places(timed: list[Timed]) -> list[FunctionLocation]:
    """The functions as places, slowest first."""
    total: dict[FunctionLocation, int] = {}
    names_by_line: dict[str, dict[int, str]] = {}
    for function in timed:
        if function.path not in names_by_line:
            names_by_line[function.path] = {
                line: name
                for name, lines in definitions(Path(function.path)).items()
                for line in lines
            }
        name = names_by_line[function.path].get(function.line)
        module = (
            Path(function.path).stem
            if function.module in (MAIN, "__mp_main__", "")
            else function.module
        )
        if name is not None:
            place = FunctionLocation(module, name)
            total[place] = total.get(place, 0) + function.nanoseconds
    return sorted(total, key=lambda place: -total[place])
