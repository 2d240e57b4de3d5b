"""From the files of one execution's processes to what it allocated: the sites that matter, with
names, and their course.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfvcs.collectors._shared.commandrun import read_part
from perfvcs.collectors._shared.symbols import CodePlace, resolve
from perfvcs.collectors.memory.heap import (
    HEAP_COLUMNS,
    OTHER_SITES,
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
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run
from perfvcs.system.foreign import printable
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.collectors.memory import Memory


MAGIC, VERSION = b"PVCSHEAP", 1
BINS, SITES, POOL, HEADER = 32, 1 << 16, 1 << 22, 4096
FORKED, FOREIGN, SLOW, FULL = 1, 2, 4, 8
RECORD_KINDS = (
    "(unknown)",
    "malloc",
    "calloc",
    "realloc",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "valloc",
    "pvalloc",
    "reallocarray",
)
HEAD_FIELDS = [
    ("magic", "S8"),
    ("version", "<u4"),
    ("pid", "<u4"),
    ("count", "<u8"),
    ("bytes", "<u8"),
    ("live", "<u8"),
    ("peak", "<u8"),
    ("epochs", "<u8"),
    ("inherited", "<u8"),
    ("mapped", "<u8"),
    ("missed", "<u8"),
    ("width", "<u8"),
    ("sites", "<u4"),
    ("flags", "<u4"),
    ("pool", "<u8"),
    ("began", "<u8", (BINS,)),
]
SITE = [
    ("hash", "<u8"),
    ("stack", "<u8"),
    ("depth", "<u4"),
    ("kind", "<u2"),
    ("scan", "<u2"),
    ("count", "<u8"),
    ("bytes", "<u8"),
    ("live", "<u8"),
    ("blocks", "<u8"),
    ("peak", "<u8"),
    ("epoch", "<u8"),
    ("inherited", "<u8"),
    ("inherited_blocks", "<u8"),
    ("change", "<i8", (BINS,)),
]
MAX_FILES = 10_000
MAX_MAP = 1 << 24  # bytes of a process' list of modules
MOST_COURSES = 20  # functions whose course over time is kept
SMALLEST_PEAK_SHARE = 0.01  # of the peak that such a function has at some time


@dataclass(frozen=True)
class Module:
    """A file that was mapped from ``low`` to ``high``, ``bias`` above the addresses that it names
    itself.
    """

    bias: int
    low: int
    high: int
    path: str


@dataclass(frozen=True)
class AllocationRecord:
    """One process: its header, its sites (arrays of the layout's records), all stacks' addresses,
    and its modules by their scan.
    """

    head: Any
    sites: NDArray[np.void]
    pool: NDArray[np.uint64]
    modules: dict[int, list[Module]]

    @property
    def flags(self) -> int:
        """What the process reported about itself."""
        return int(self.head["flags"])

    @property
    def peaks(self) -> Integers:
        """Bytes of each site when the process had most."""
        now = self.sites["epoch"] == self.head["epochs"]
        return np.where(now, self.sites["peak"], self.sites["live"]).astype(np.int64)

    @property
    def leaked(self) -> Integers:
        """Bytes of each site that this process allocated and did not free."""
        return self.sites["live"].astype(np.int64) - self.sites["inherited"].astype(np.int64)

    def addresses(self, number: int) -> list[int]:
        """The return addresses of one site, innermost first."""
        site = self.sites[number]
        return [
            int(address)
            for address in self.pool[int(site["stack"]) : int(site["stack"]) + int(site["depth"])]
        ]

    def module(self, scan: int, address: int) -> Module | None:
        """The module in which an address was at the time of a scan."""
        return next(
            (
                module_
                for module_ in self.modules.get(scan, ())
                if module_.low <= address < module_.high
            ),
            None,
        )


def read(folder: Path) -> list[AllocationRecord]:
    """What the processes of one execution left; raises CollectError."""
    paths = sorted(folder.glob("memory-*.bin"))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes were started: measure fewer at once")
    return [_read(path) for path in paths]


def _read(path: Path) -> AllocationRecord:
    def refuse(why: str) -> CollectError:
        return CollectError(f"{path.name} {why}: the program must leave it alone")

    header = np.dtype(HEAD_FIELDS).itemsize
    content = read_part(path, 0, header)
    if len(content) < header or content[:8] != MAGIC:
        raise refuse("is not a file of allocations")
    head = np.frombuffer(content, HEAD_FIELDS, 1)[0]
    if head["version"] != VERSION:
        raise CollectError(
            f"{path.name} has version {head['version']} of the format, not {VERSION}: remove"
            " perfvcs' cache folder"
        )
    number, pooled, record = int(head["sites"]), int(head["pool"]), np.dtype(SITE).itemsize
    if number > SITES or pooled > POOL:
        raise refuse("counts more than it can hold")
    content = read_part(path, HEADER, number * record)
    pool = read_part(path, HEADER + SITES * record, pooled * 8)
    if len(content) < number * record or len(pool) < pooled * 8:
        raise refuse("was cut off")
    sites = np.frombuffer(content, SITE, number)
    if number and (
        (sites["stack"] + sites["depth"]).max() > pooled or sites["kind"].max() >= len(RECORD_KINDS)
    ):
        raise refuse("has stacks that are not in it")
    return AllocationRecord(
        head, sites, np.frombuffer(pool, "<u8", pooled), _modules(path.with_suffix(".map"))
    )


def _modules(path: Path) -> dict[int, list[Module]]:
    """The modules by the number of the scan that found them; lines that make no sense are those of
    a process killed while writing.
    """
    by_scan: dict[int, list[Module]] = {}
    content = read_part(path, 0, MAX_MAP) if path.exists() else b""
    for line in content.split(b"\0")[:-1]:
        words = os.fsdecode(line).split(" ", 4)
        if len(words) == 5:
            try:
                scan, bias, low, high = int(words[0]), *(int(word, 16) for word in words[1:4])
            except ValueError:
                continue
            by_scan.setdefault(scan, []).append(Module(bias, low, high, words[4]))
    return by_scan


def heap(
    records: Sequence[AllocationRecord], run: Run, request: Memory, engine: str, remarks: list[str]
) -> Heap:
    """What the processes allocated in all, and by site at most as many as requested."""
    most = max(range(len(records)), key=lambda number: int(records[number].head["peak"]))
    table = np.concatenate(
        [_table(record, is_largest=number == most) for number, record in enumerate(records)]
    )
    process = np.repeat(np.arange(len(records)), [len(record.sites) for record in records])
    place = np.concatenate([np.arange(len(record.sites)) for record in records])
    largest_rows = shares(table, request.sites)
    stacks = _stacks([(records[process[row]], int(place[row])) for row in largest_rows], run.cwd)
    totals = table.sum(axis=0)
    head = {
        name: sum(int(record.head[name]) for record in records)
        for name in ("bytes", "count", "mapped")
    }
    largest_process = {
        int(place[row]): stack
        for row, stack in zip(largest_rows, stacks, strict=True)
        if process[row] == most
    }
    return Heap(
        engine=engine,
        peak=float(records[most].head["peak"]),
        bytes=float(head["bytes"]),
        count=float(head["count"]),
        leaked=float(totals[HEAP_COLUMNS.index("leaked")]),
        mapped=float(head["mapped"]),
        sites=_merged(
            [
                AllocationSite(stack, *row)
                for stack, row in zip(stacks, table[largest_rows].tolist(), strict=True)
            ],
            totals,
        ),
        course=_course(records[most], largest_process),
        warnings=[*remarks, *_remarks(run, records)],
    )


def _table(record: AllocationRecord, *, is_largest: bool) -> Floats:
    """The columns of one process' sites, of shape (sites, COLUMNS)."""
    peaks = record.peaks if is_largest else np.zeros(len(record.sites))
    return np.stack(
        (record.sites["bytes"], record.sites["count"], peaks, record.leaked), axis=1
    ).astype(np.float64)


def _merged(sites: Sequence[AllocationSite], totals: Floats) -> list[AllocationSite]:
    """The sites of one stack as one, and one without a stack for what the sites that were not kept
    have.
    """
    rest = [
        float(total) - sum(getattr(site, name) for site in sites)
        for name, total in zip(HEAP_COLUMNS, totals, strict=True)
    ]
    return largest([*sites, AllocationSite((), *rest)], len(sites) + 1)


def _stacks(sites: Sequence[tuple[AllocationRecord, int]], folder: Path) -> list[Stack]:
    """The stacks of some sites with names; each file is asked once.

    Calls for which there was no room have none.
    """
    wanted: dict[str, set[int]] = defaultdict(set)
    located: list[list[tuple[str, int]]] = []
    for record, number in sites:
        scan = int(record.sites[number]["scan"])
        places = []
        for address in record.addresses(number):
            module = record.module(scan, address - 1)
            places.append((module.path, address - 1 - module.bias) if module else ("", address))
        located.append(places)
        for path, address in places:
            wanted[path].add(address)
    names: dict[tuple[str, int], tuple[HeapFrame, ...]] = {}
    for path, addresses in wanted.items():
        lines_of = resolve(path, addresses) if path else {}
        for address in addresses:
            names[path, address] = _frames(path, address, lines_of.get(address, []), folder)
    stacks: list[Stack] = []
    for (record, number), places in zip(sites, located, strict=True):
        kind = int(record.sites[number]["kind"])
        entry = (HeapFrame(RECORD_KINDS[kind], "", ""),) if kind else ()
        stacks.append((*entry, *chain.from_iterable(names[place] for place in places)))
    return stacks


def _frames(
    path: str, address: int, lines: Sequence[CodePlace], folder: Path
) -> tuple[HeapFrame, ...]:
    name = printable(path.rpartition("/")[2])
    if not lines:
        return (HeapFrame(f"{name}+{address:#x}" if name else "(unknown)", "", path),)
    return tuple(
        HeapFrame(function, f"{short(file, folder)}:{line}" if file and line else "", path)
        for function, file, line in lines
    )


def _course(record: AllocationRecord, stacks: dict[int, Stack]) -> list[Moment]:
    """Bytes alive at the end of each part of the process' life, of the functions with most; those
    of all others are ``(other)``.
    """
    width, count = int(record.head["width"]), int(record.head["count"])
    bins = min(-(-count // width), record.sites["change"].shape[1]) if width else 0
    alive = np.cumsum(record.sites["change"][:, :bins], axis=1)
    functions = {number: owner(stack) for number, stack in stacks.items()}
    by_name: dict[str, Integers] = defaultdict(lambda: np.zeros(bins, np.int64))
    for number, row in enumerate(alive):
        by_name[functions.get(number, OTHER_SITES)] += row
    most = {name: int(row.max(initial=0)) for name, row in by_name.items() if name != OTHER_SITES}
    least = SMALLEST_PEAK_SHARE * int(record.head["peak"])
    shown = sorted(
        (name for name in most if most[name] >= least), key=lambda name: (-most[name], name)
    )[:MOST_COURSES]
    rest = np.sum(
        [row for name, row in by_name.items() if name not in shown] or [np.zeros(bins, np.int64)],
        axis=0,
    )
    rows = [(name, by_name[name]) for name in shown] + ([(OTHER_SITES, rest)] if rest.any() else [])
    began = record.head["began"] / 1e9
    return [
        Moment(name, number + 1, float(live), float(began[number]))
        for name, row in rows
        for number, live in enumerate(row.tolist())
    ]


def _remarks(run: Run, records: Sequence[AllocationRecord]) -> list[str]:
    flags, command, remarks = 0, name_command(run.argv), []
    for record in records:
        flags |= record.flags
    if flags & FOREIGN:
        remarks.append(
            f"memory: {command} has its own malloc, which comes first: memory allocated with it is"
            " not seen"
        )
    if flags & SLOW:
        remarks.append("memory: call stacks are found slowly: apt install libunwind8")
    if flags & FULL:
        remarks.append(
            f"memory: some call stacks did not fit and are counted as {OTHER_SITES}: lower depth,"
            " or free space for temporary files"
        )
    mapped = max(int(record.head["mapped"]) for record in records)
    if mapped > max(int(record.head["peak"]) for record in records):
        remarks.append(
            f"memory: {command} took {mapped:,} bytes directly from the system (mmap), more than"
            " through malloc: what its own allocator does with them is not seen"
        )
    return remarks
