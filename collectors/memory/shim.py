"""Native programs: a preloaded library counts their allocations (``collectors/memory/inside``);
this side starts it and reads its files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.commandrun import executed
from perfvcs.collectors.memory import inside
from perfvcs.collectors.memory.census import FOREIGN, heap, read
from perfvcs.collectors.memory.heap import Heap, check
from perfvcs.launcher.execution import name_command
from perfvcs.native.compiled import NotCompiled, compiled, preloadable
from perfvcs.plugins.collector import CollectError, Run

if TYPE_CHECKING:
    from perfvcs.collectors.memory import Memory

ENGINE = "allocations/1"
OPTIONS = ("-fvisibility=hidden", "-ldl", "-lpthread")
MEMORY_VARIABLE = "PERFVCS_MEMORY"


def record(run: Run, request: Memory) -> Heap:
    """Execute once and count allocations; raises CollectError."""
    library = preloaded()
    remarks = check(run.argv[0])
    folder = run.scratch / "memory"
    folder.mkdir()
    preload = ":".join(filter(None, (str(library), run.env.get("LD_PRELOAD"))))
    executed(
        run,
        env={
            **run.env,
            "LD_PRELOAD": preload,
            MEMORY_VARIABLE: str(folder),
            f"{MEMORY_VARIABLE}_DEPTH": str(request.depth),
        },
    )
    try:
        records = read(folder)
    except CollectError as error:
        raise CollectError(f"{name_command(run.argv)}: {error}") from None
    if not records:
        raise CollectError(
            f"{name_command(run.argv)} does not load what LD_PRELOAD names, or may not write files"
            " of 64 MB (ulimit -f): start the program itself, without sudo or setuid, and keep its"
            " environment"
        )
    foreign = remarks or any(
        record.flags & FOREIGN or int(record.head["mapped"]) for record in records
    )
    if foreign and not any(int(record.head["count"]) for record in records):
        raise CollectError(
            f"{name_command(run.argv)} allocates through its own allocator and never through the C"
            " library's malloc: build it without that, or use maxrss of the collector time"
        )
    return heap(records, run, request, ENGINE, remarks)


def preloaded() -> Path:
    """The compiled library, by a path that LD_PRELOAD can hold; raises CollectError."""
    try:
        library = compiled(inside.MEMORY_INSIDE / "allocations.c", flags=OPTIONS, shared=True)
    except NotCompiled as error:
        raise CollectError(
            f"memory needs a C compiler to make its recorder: {error}", lasting=True
        ) from None
    return preloadable(library)
