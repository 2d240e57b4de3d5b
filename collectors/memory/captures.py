"""What memray recorded, read by an interpreter that has it: files of memray are for the version
that wrote them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

import msgspec

from perfvcs.collectors._shared.commandrun import read_part
from perfvcs.collectors._shared.symbols import CodePlace
from perfvcs.collectors.memory import reading
from perfvcs.collectors.memory.heap import (
    AllocationSite,
    Heap,
    HeapFrame,
    Moment,
    RecordingInterpreter,
    Stack,
    largest,
    short,
)
from perfvcs.launcher.execution import name_command
from perfvcs.launcher.preparation import CommandFailed
from perfvcs.launcher.preparation import run as run_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import UNDECODABLE, printable

if TYPE_CHECKING:
    from perfvcs.collectors.memory import Memory

ENGINE = "tracemalloc/1"
MAX_TRACE = 1 << 26  # of one process' file
READING_SECONDS = 600.0  # seconds for the files of one execution
CAPTURE_KINDS = {
    2: "PyMem_Malloc",
    3: "PyMem_Calloc",
    4: "PyMem_Realloc",
    6: "malloc",
    7: "realloc",
    8: "calloc",
    9: "posix_memalign",
    10: "aligned_alloc",
    11: "memalign",
    12: "valloc",
    13: "pvalloc",
    14: "mmap",
}


class Trace(msgspec.Struct):
    """One process: bytes, and of each line its file, number, bytes and blocks alive."""

    peak: float
    leaked: float
    sites: list[tuple[str, int, float, float]]


def traced_heap(paths: Sequence[Path], run: Run, request: Memory, warnings: list[str]) -> Heap:
    """What the interpreters of one execution allocated; raises CollectError."""
    try:
        traces = [msgspec.json.decode(read_part(path, 0, MAX_TRACE), type=Trace) for path in paths]
    except UNDECODABLE:
        raise CollectError(
            f"{name_command(run.argv)} changed what tracemalloc recorded: it must leave it alone"
        ) from None
    if not traces:
        raise CollectError(
            f"{name_command(run.argv)} did not end Python normally (os._exit?), so tracemalloc"
            " recorded nothing: leave that out, or install memray"
        )
    return Heap(
        engine=ENGINE,
        peak=max(trace.peak for trace in traces),
        leaked=sum(trace.leaked for trace in traces),
        sites=largest(
            [
                _site(file, line, size, run.cwd)
                for trace in traces
                for file, line, size, _ in trace.sites
            ],
            request.sites,
        ),
        warnings=warnings,
    )


def _site(file: str, line: int, size: float, folder: Path) -> AllocationSite:
    """It is called by its line: tracemalloc knows no functions."""
    place = f"{short(printable(file), folder)}:{line}"
    return AllocationSite((HeapFrame(place, "", ""),), leaked=size)


class Capture(msgspec.Struct):
    """The reader's result for one file: totals, lines (place, bytes, calls), and stacks (bytes,
    allocator, places).
    """

    error: str = ""
    peak: float = 0
    leaked: float = 0
    bytes: float = 0
    count: float = 0
    lines: list[tuple[str, str, int, float, float]] = []
    at_peak: list[tuple[float, int, list[CodePlace]]] = []
    at_end: list[tuple[float, int, list[CodePlace]]] = []
    moments: list[tuple[float, float]] = []


def captured_heap(
    paths: Sequence[Path], reader: RecordingInterpreter, run: Run, request: Memory
) -> Heap:
    """What the interpreters of one execution allocated; raises CollectError."""
    return combined(_read(paths, reader, run, request), run, request)


def combined(printed: bytes, run: Run, request: Memory) -> Heap:
    """The reader's results, one per file; raises CollectError."""
    try:
        captures = [msgspec.json.decode(line, type=Capture) for line in printed.splitlines()]
    except UNDECODABLE as error:
        raise _unreadable(run, str(error)) from None
    if not captures:
        raise _unreadable(run, "")
    readable = [capture for capture in captures if not capture.error]
    if not readable:
        raise CollectError(
            f"{name_command(run.argv)}: memray's file cannot be read:"
            f" {printable(captures[0].error, 200)}: run it again"
        )
    top = max(readable, key=lambda capture: capture.peak)
    lost = len(captures) - len(readable)
    return Heap(
        engine={False: "memray/1", True: "memray+exact/1"}[request.exact],
        peak=top.peak,
        bytes=sum(capture.bytes for capture in readable),
        count=sum(capture.count for capture in readable),
        leaked=sum(capture.leaked for capture in readable),
        sites=_sites(readable, top, run.cwd, request.sites),
        course=[
            Moment("", number + 1, live, time) for number, (time, live) in enumerate(top.moments)
        ],
        warnings=(
            [f"memory: memray's files of {lost} processes cannot be read and are left out"]
            if lost
            else []
        ),
    )


def _read(paths: Sequence[Path], reader: RecordingInterpreter, run: Run, request: Memory) -> bytes:
    """The reader's lines, at least one."""
    command = [
        reader.executable or run.argv[0],
        "-I",
        reading.__file__,
        reader.memray,
        str(request.sites),
        str(request.depth),
        *map(str, paths),
    ]
    problem = ""
    with TemporaryFile(dir=run.scratch) as output:
        try:
            run_command(
                command, cwd=run.scratch, env=run.env, timeout=READING_SECONDS, output=output
            )
        except CommandFailed as error:
            problem = str(error)
        output.seek(0)
        printed = output.read()
    if not printed.strip():
        raise _unreadable(run, problem)
    return printed


def _unreadable(run: Run, printed: str) -> CollectError:
    last = (printed.strip().splitlines() or ["it said nothing"])[-1]
    return CollectError(
        f"{name_command(run.argv)}: what memray recorded cannot be read ({printable(last, 200)}):"
        ' update memray there, or set recorder = "tracemalloc"'
    )


def _sites(
    captures: Sequence[Capture], top: Capture, folder: Path, most: int
) -> list[AllocationSite]:
    """Lines with all they allocated, and the stacks of what was alive at the peak and at the end;
    each the largest ones.
    """
    lines: defaultdict[Stack, list[float]] = defaultdict(lambda: [0.0, 0.0])
    stacks: defaultdict[Stack, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for capture in captures:
        for function, file, line, size, count in capture.lines:
            total = lines[_stack([CodePlace(function, file, line)], folder)]
            total[0] += size
            total[1] += count
        at_peak = capture.at_peak if capture is top else []
        for column, records in enumerate((at_peak, capture.at_end)):
            for size, kind, places in records:
                allocator = HeapFrame(CAPTURE_KINDS.get(kind, "(unknown)"), "", "")
                stacks[allocator, *_stack(places, folder)][column] += size
    return [
        *largest(
            [
                AllocationSite(stack, bytes=size, count=count)
                for stack, (size, count) in lines.items()
            ],
            most,
        ),
        *largest(
            [
                AllocationSite(stack, peak=peak, leaked=leaked)
                for stack, (peak, leaked) in stacks.items()
            ],
            most,
        ),
    ]


def _stack(places: Sequence[CodePlace], folder: Path) -> Stack:
    return tuple(
        HeapFrame(printable(function), f"{short(printable(file), folder)}:{line}", "")
        for function, file, line in places
    )
