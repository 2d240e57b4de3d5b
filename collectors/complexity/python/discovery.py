"""Which functions of a program to record: those of the project that take the most time and whose calls have sizes that differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from perfvcs.collector import CollectError, Run
from perfvcs.collectors.complexity.python.notes import Timed
from perfvcs.collectors.complexity.python.place import FunctionLocation
from perfvcs.collectors.complexity.python.questions import MAIN, definitions
from perfvcs.launcher.execution import name_command

TRIED_PER_WANTED = 3  # times as many functions are tried as are wanted, since some have no size

# What was found in this process, by folder and command: the executions of one job record the same functions.
_found: dict[tuple[Path, tuple[str, ...], int], list[FunctionLocation]] = {}


def discover(
    run: Run,
    most: int,
    timed: Callable[[], list[Timed]],
    sizes: Callable[[list[FunctionLocation]], dict[FunctionLocation, tuple[int, str]]],
) -> list[FunctionLocation]:
    """At most ``most`` functions, with their sizes as expressions; raises CollectError when there are none.

    ``timed`` executes once and times all functions, ``sizes`` executes once and records some: how many sizes each had, and what these are.
    """
    key = (run.cwd, run.argv, most)
    if key not in _found:
        slowest = _places(timed())[: TRIED_PER_WANTED * most]
        if not slowest:
            raise CollectError(
                f"{name_command(run.argv)} ran no functions of the project (Python files below {run.cwd}): name the functions to record"
            )
        known = sizes(slowest)
        varied = [place for place in slowest if known[place][0] > 1] or [place for place in slowest if known[place][0]]
        if not varied:
            raise CollectError(
                f"none of the slowest functions ({', '.join(place.uid for place in slowest[:5])}) has an argument that looks like a size: "
                f'name functions with theirs, as in functions = ["{slowest[0].uid}=len(items)"]'
            )
        _found[key] = [replace(place, size=known[place][1]) for place in varied[:most]]
    return _found[key]


def entries(places: list[FunctionLocation]) -> str:
    """A line that names functions as they can be written into perf.toml."""
    named = ", ".join(f'"{place.uid}={place.size}"' for place in places)
    return f"recorded the slowest functions with a size; to keep this choice, write functions = [{named}]"


def _places(timed: list[Timed]) -> list[FunctionLocation]:
    """The functions as places, slowest first."""
    total: dict[FunctionLocation, int] = {}
    known: dict[str, dict[int, str]] = {}
    for one in timed:
        if one.path not in known:
            known[one.path] = {line: name for name, lines in definitions(Path(one.path)).items() for line in lines}
        name = known[one.path].get(one.line)
        module = Path(one.path).stem if one.module in (MAIN, "__mp_main__", "") else one.module
        if name is not None:
            place = FunctionLocation(module, name)
            total[place] = total.get(place, 0) + one.nanoseconds
    return sorted(total, key=lambda place: -total[place])
