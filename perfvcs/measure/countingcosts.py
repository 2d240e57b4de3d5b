"""What counting the work of a job costs, by the counter and by the units that it has."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from perfvcs.collectors._shared.commandrun import is_python
from perfvcs.jobs.cell import Cell
from perfvcs.jobs.harness import repeats
from perfvcs.measure.unitseconds import UnitSeconds
from perfvcs.text.words import COUNTS

RUNS = 2  # of each unit in a counted execution, about
# seconds for each benchmark that its harness repeats: it is started twice, and once more to find
# how often; measured 2.0 to 4.3 s of a processor for tests of Go of 3 to 9 MB
REPEATING = 3.0


class Counter(NamedTuple):
    """A collector that counts work: its options, how many times as long an execution takes, and the
    seconds that each takes beside that.

    Measured with a C program of 37 million instructions and a Python program of 14 million
    bytecodes: 25 and 3.2 times.
    """

    collector: str
    options: dict[str, object]
    slower: float
    start: float
    under: str


NATIVE = Counter("instructions", {"tool": "cachegrind", "repeat": 0}, 30, 0.5, "valgrind")
PYTHON = Counter("bytecode", {"warm": False, "least": 0.01}, 5, 0.2, "the counter of bytecodes")
COUNTERS = dict(zip(COUNTS, (NATIVE, PYTHON), strict=True))


def of_execution(
    cell: Cell, counter: Counter, runs: float, seconds: float, has: UnitSeconds | None
) -> float:
    """What counting one execution takes (s) that takes so many ``seconds`` otherwise, of which the
    program ``runs`` so many: only these become slower.

    1. A program without units is slower as a whole.
    2. A benchmark that its harness repeats is counted in two executions of its own.
    3. Units are counted, and what a suite in Python does around them is as quick as ever.
    4. A program that calls perfvcs by itself is counted once more, as a whole.
    """
    whole = counter.slower * runs + seconds - runs
    if has is None:
        return whole
    inside = of_units(cell, counter, has)
    suite = is_pytest(cell) or cell.reads is not None or "perfvcs_asv" in cell.cmd
    return inside + (of_suite(cell, counter, has, seconds) if suite else whole)


def of_units(cell: Cell, counter: Counter, has: UnitSeconds) -> float:
    """What counting units takes in one execution (s)."""
    if repeats(words_of(cell), cell.reads):
        return RUNS * has.once + REPEATING * has.number
    return counter.slower * RUNS * has.once


def of_suite(cell: Cell, counter: Counter, has: UnitSeconds, seconds: float) -> float:
    """What a suite does besides its units (s)."""
    if counter is NATIVE or repeats(words_of(cell), cell.reads):
        return 0.0
    return max(0.0, seconds - has.measured)


def is_pytest(cell: Cell) -> bool:
    """Whether a job's units are tests of pytest."""
    return cell.collector_name == "pytest" or "pytest" in (cell.reads.format if cell.reads else "")


def words_of(cell: Cell) -> list[str]:
    """The command's words, as far as they do not depend on the workload."""
    return ["/bin/sh", "-c"] if cell.shell else shlex.split(cell.cmd)


def runs_python(cell: Cell) -> bool:
    """Whether the command is a Python program, as far as its words tell."""
    if is_pytest(cell) or cell.python is not None:
        return True
    return is_python(shlex.split(cell.cmd)[0])
