"""What tracemalloc recorded: peaks, and the lines of what was alive at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from perfvcs.collector import CollectError, Run
from perfvcs.collectors._shared.recording import printable, read_part
from perfvcs.collectors.memory.heap import AllocationRequest, AllocationSite, Heap, largest, short
from perfvcs.foreign import UNDECODABLE
from perfvcs.launcher.execution import name_command

ENGINE = "tracemalloc/1"
MAX_TRACE = 1 << 26  # of one process' file


class Trace(msgspec.Struct):
    """One process: bytes, and of each line its file, number, bytes and blocks alive."""

    peak: float
    leaked: float
    sites: list[tuple[str, int, float, float]]


def heap(paths: Sequence[Path], run: Run, request: AllocationRequest, warnings: list[str]) -> Heap:
    """What the interpreters of one execution allocated; raises CollectError."""
    try:
        traces = [msgspec.json.decode(read_part(path, 0, MAX_TRACE), type=Trace) for path in paths]
    except UNDECODABLE:
        raise CollectError(f"{name_command(run.argv)} changed what tracemalloc recorded: it must leave it alone") from None
    if not traces:
        raise CollectError(
            f"{name_command(run.argv)} did not end Python normally (os._exit?), so tracemalloc recorded nothing: leave "
            "that out, or install memray"
        )
    return Heap(
        engine=ENGINE,
        peak=max(one.peak for one in traces),
        leaked=sum(one.leaked for one in traces),
        sites=largest([_site(file, line, size, run.cwd) for one in traces for file, line, size, _ in one.sites], request.sites),
        warnings=warnings,
    )


def _site(file: str, line: int, size: float, folder: Path) -> AllocationSite:
    """It is called by its line: tracemalloc knows no functions."""
    place = f"{short(printable(file), folder)}:{line}"
    return AllocationSite(((place, "", ""),), leaked=size)
