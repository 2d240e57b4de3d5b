"""From the files of one execution's processes to what it allocated: the sites that matter, with names, and their course."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collector import Run
from perfvcs.collectors._shared.recording import printable
from perfvcs.collectors._shared.symbols import resolve
from perfvcs.collectors.memory.heap import (
    HEAP_COLUMNS,
    OTHER_SITES,
    AllocationRequest,
    AllocationSite,
    Heap,
    HeapFrame,
    Moment,
    Stack,
    largest,
    owner,
    shares,
    short,
)
from perfvcs.collectors.memory.record import FOREIGN, FULL, RECORD_KINDS, SLOW, AllocationRecord
from perfvcs.launcher.execution import name_command

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_COURSES = 20  # functions whose course over time is kept
SMALLEST_PEAK_SHARE = 0.01  # of the peak that such a function has at some time


def heap(records: Sequence[AllocationRecord], run: Run, request: AllocationRequest, engine: str, remarks: list[str]) -> Heap:
    """What the processes allocated in all, and by site at most as many as requested."""
    import numpy as np

    most = max(range(len(records)), key=lambda number: int(records[number].head["peak"]))
    table = np.concatenate([_table(record, is_largest=number == most) for number, record in enumerate(records)])
    process = np.repeat(np.arange(len(records)), [len(record.sites) for record in records])
    place = np.concatenate([np.arange(len(record.sites)) for record in records])
    kept = shares(table, request.sites)
    stacks = _stacks([(records[process[row]], int(place[row])) for row in kept], run.cwd)
    totals = table.sum(axis=0)
    head = {name: sum(int(record.head[name]) for record in records) for name in ("bytes", "count", "mapped")}
    own = {int(place[row]): stack for row, stack in zip(kept, stacks, strict=True) if process[row] == most}
    return Heap(
        engine=engine,
        peak=float(records[most].head["peak"]),
        bytes=float(head["bytes"]),
        count=float(head["count"]),
        leaked=float(totals[HEAP_COLUMNS.index("leaked")]),
        mapped=float(head["mapped"]),
        sites=_merged([AllocationSite(stack, *row) for stack, row in zip(stacks, table[kept].tolist(), strict=True)], totals),
        course=_course(records[most], own),
        warnings=[*remarks, *_remarks(run, records)],
    )


def _table(record: AllocationRecord, *, is_largest: bool) -> NDArray[np.float64]:
    """The columns of one process' sites, of shape (sites, COLUMNS)."""
    import numpy as np

    peaks = record.peaks if is_largest else np.zeros(len(record.sites))
    return np.stack((record.sites["bytes"], record.sites["count"], peaks, record.leaked), axis=1).astype(np.float64)


def _merged(kept: Sequence[AllocationSite], totals: NDArray[np.float64]) -> list[AllocationSite]:
    """The sites of one stack as one, and one without a stack for what the sites that were not kept have."""
    rest = [float(total) - sum(getattr(site, name) for site in kept) for name, total in zip(HEAP_COLUMNS, totals, strict=True)]
    return largest([*kept, AllocationSite((), *rest)], len(kept) + 1)


def _stacks(sites: Sequence[tuple[AllocationRecord, int]], folder: Path) -> list[Stack]:
    """The stacks of some sites with names; each file is asked once. Calls for which there was no room have none."""
    wanted: dict[str, set[int]] = defaultdict(set)
    found: list[list[tuple[str, int]]] = []
    for record, number in sites:
        scan = int(record.sites[number]["scan"])
        places = []
        for address in record.addresses(number):
            module = record.module(scan, address - 1)
            places.append((module.path, address - 1 - module.bias) if module else ("", address))
        found.append(places)
        for path, address in places:
            wanted[path].add(address)
    names = {
        (path, address): _frames(path, address, lines, folder)
        for path, addresses in wanted.items()
        for address, lines in (resolve(path, addresses) if path else {one: [] for one in addresses}).items()
    }
    entries = [((RECORD_KINDS[kind], "", ""),) if (kind := int(record.sites[number]["kind"])) else () for record, number in sites]
    return [(*entry, *(frame for one in places for frame in names[one])) for entry, places in zip(entries, found, strict=True)]


def _frames(path: str, address: int, lines: Sequence[tuple[str, str, int]], folder: Path) -> tuple[HeapFrame, ...]:
    name = printable(path.rpartition("/")[2])
    if not lines:
        return ((f"{name}+{address:#x}" if name else "(unknown)", "", path),)
    return tuple((function, f"{short(file, folder)}:{line}" if file and line else "", path) for function, file, line in lines)


def _course(record: AllocationRecord, stacks: dict[int, Stack]) -> list[Moment]:
    """Bytes alive at the end of each part of the process' life, of the functions with most; those of all others are ``(other)``."""
    import numpy as np

    width, count = int(record.head["width"]), int(record.head["count"])
    bins = min(-(-count // width), record.sites["change"].shape[1]) if width else 0
    alive = np.cumsum(record.sites["change"][:, :bins], axis=1)
    functions = {number: owner(stack) for number, stack in stacks.items()}
    by_name: dict[str, NDArray[np.int64]] = defaultdict(lambda: np.zeros(bins, np.int64))
    for number, row in enumerate(alive):
        by_name[functions.get(number, OTHER_SITES)] += row
    most = {name: int(row.max(initial=0)) for name, row in by_name.items() if name != OTHER_SITES}
    least = SMALLEST_PEAK_SHARE * int(record.head["peak"])
    shown = sorted((name for name in most if most[name] >= least), key=lambda name: (-most[name], name))[:MOST_COURSES]
    rest = np.sum([row for name, row in by_name.items() if name not in shown] or [np.zeros(bins, np.int64)], axis=0)
    rows = [(name, by_name[name]) for name in shown] + ([(OTHER_SITES, rest)] if rest.any() else [])
    began = record.head["began"] / 1e9
    return [
        Moment(name, number + 1, float(live), float(began[number]))
        for name, row in rows
        for number, live in enumerate(row.tolist())
    ]


def _remarks(run: Run, records: Sequence[AllocationRecord]) -> list[str]:
    flags, command, found = 0, name_command(run.argv), []
    for record in records:
        flags |= record.flags
    if flags & FOREIGN:
        found.append(f"memory: {command} has its own malloc, which comes first: memory allocated with it is not seen")
    if flags & SLOW:
        found.append("memory: call stacks are found slowly: apt install libunwind8")
    if flags & FULL:
        found.append(
            f"memory: some call stacks did not fit and are counted as {OTHER_SITES}: lower depth, or free space for temporary files"
        )
    mapped = max(int(record.head["mapped"]) for record in records)
    if mapped > max(int(record.head["peak"]) for record in records):
        found.append(
            f"memory: {command} took {mapped:,} bytes directly from the system (mmap), more than through malloc: what its own allocator "
            "does with them is not seen"
        )
    return found
