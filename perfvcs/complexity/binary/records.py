"""The files that the runtime leaves, one per process (native/fentry/arena.h), as rows."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors import CollectError
from perfvcs.complexity.recording import read_at_most

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC, VERSION = b"PVCSFENT", 1
SEGMENT = 1 << 20
LARGEST = 256 * SEGMENT  # of one file
BLOCK = 0x4B4C4250
PROCESS, THREAD, CHUNK = 1, 2, 3
HEAD = struct.Struct("<IIQ")
ABOUT = struct.Struct("<8sIIQQQQQQQQQ")  # after the head of the first block
COUNTERS = struct.Struct("<IIQQQQ")
PART = struct.Struct("<IIIIQQ")
RECORD = [("number", "<u8"), ("size", "<u8"), ("ticks", "<u8"), ("cost", "<u8")]
NUMBER_BITS = 62
MAX_FILES = 10_000
MAX_ROWS = 5_000_000


@dataclass
class Losses:
    """Calls that are not among the rows.

    Without memory, without a slot, left by an exception or jump, moved between stacks, or made while a signal interrupted the recorder.
    """

    memory: int = 0
    full: int = 0
    unwound: int = 0
    switched: int = 0
    missed: int = 0


@dataclass(frozen=True)
class Rows:
    """Columns of all processes, by function and in order; durations (net) and costs in seconds."""

    function: NDArray[np.int64]
    number: NDArray[np.int64]
    size: NDArray[np.float64]
    duration: NDArray[np.float64]
    cost: NDArray[np.float64]
    rate: NDArray[np.float64]
    losses: Losses = field(default_factory=Losses)


@dataclass
class _Reservoir:
    function: int
    thread: int
    seen: int = 0
    parts: list[tuple[int, NDArray[np.void]]] = field(default_factory=list)


def read(folder: Path, functions: int, keep: int) -> Rows:
    """The rows of functions 0 to ``functions`` - 1; raises CollectError for files that are not as the runtime writes them.

    Calls of a function are numbered in each thread; those of several threads and processes follow one another.
    """

    paths = sorted(folder.glob("fentry-*.bin"), key=lambda path: (path.stat().st_mtime_ns, path.name))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes recorded calls: run fewer")
    losses, total = Losses(), 0
    parts: list[tuple[int, int, float, NDArray[np.void], float]] = []  # function, thread's place, rate, rows, seconds per tick
    threads: dict[tuple[int, int], int] = {}
    for place, path in enumerate(paths):
        scale, reservoirs = _file(_content(path), path, functions, losses)
        for one in reservoirs:
            rows = _kept(one, keep)
            total += len(rows)
            if total > MAX_ROWS:
                raise CollectError(f"over {MAX_ROWS:,} calls were kept: lower keep, or record fewer functions or processes")
            if len(rows):
                thread = threads.setdefault((place, one.thread), len(threads))
                parts.append((one.function, thread, max(1.0, one.seen / len(rows)), rows, scale))
    return _columns(parts, losses)


def _columns(parts: list[tuple[int, int, float, NDArray[np.void], float]], losses: Losses) -> Rows:
    import numpy as np

    lengths = [len(part[3]) for part in parts]
    rows = np.concatenate([*(part[3] for part in parts), np.empty(0, RECORD)])
    function = np.repeat(np.array([part[0] for part in parts], np.int64), lengths)
    thread = np.repeat(np.array([part[1] for part in parts], np.int64), lengths)
    rate = np.repeat(np.array([part[2] for part in parts], np.float64), lengths)
    scale = np.repeat(np.array([part[4] for part in parts], np.float64), lengths)
    own = (rows["number"] & ((1 << NUMBER_BITS) - 1)).astype(np.int64)
    order = np.lexsort((own, thread, function))
    rows, function, thread, rate, scale, own = rows[order], function[order], thread[order], rate[order], scale[order], own[order]
    return Rows(
        function, _numbered(function, thread, own), _sizes(rows), rows["ticks"] * scale, rows["cost"] * scale, rate, losses
    )


def _numbered(function: NDArray[np.int64], thread: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers per function, those of one thread behind those of the thread before."""
    import numpy as np

    if not len(own):
        return own
    starts = np.flatnonzero(np.concatenate([[True], (np.diff(function) != 0) | (np.diff(thread) != 0)]))
    last = np.concatenate([starts[1:], [len(own)]]) - 1
    counts = own[last] + 1
    before = np.cumsum(counts) - counts
    heads = function[starts]
    first = np.searchsorted(heads, heads)  # the function's first thread
    offset = before - before[first]
    numbered: NDArray[np.int64] = own + np.repeat(offset, last - starts + 1)
    return numbered


def _sizes(rows: NDArray[np.void]) -> NDArray[np.float64]:
    """The sizes as numbers, by the kind in the two highest bits of the number; NaN for none and for what is not finite."""
    import numpy as np

    kind = rows["number"] >> NUMBER_BITS
    raw = rows["size"]
    found: NDArray[np.float64] = np.select(
        [kind == 1, kind == 2, kind == 3], [raw.view("<i8").astype(float), raw.astype(float), raw.view("<f8")], np.nan
    )
    found[~np.isfinite(found)] = np.nan
    return found


def _kept(one: _Reservoir, keep: int) -> NDArray[np.void]:
    import numpy as np

    capacity = sum(len(rows) for _, rows in one.parts)
    count = min(one.seen, keep, capacity)
    rows = np.concatenate([*(rows for _, rows in sorted(one.parts, key=lambda part: part[0])), np.empty(0, RECORD)])
    return rows[:count]


def _content(path: Path) -> bytes:
    content = read_at_most(path, LARGEST)
    if len(content) > LARGEST:
        raise CollectError(f"{path.name} is larger than the runtime makes it: the program must leave it alone")
    return content


def _file(content: bytes, path: Path, functions: int, losses: Losses) -> tuple[float, list[_Reservoir]]:
    """Seconds per tick, and the reservoirs of one file."""
    import numpy as np

    about: list[int] | None = None  # without the magic
    found: dict[int, _Reservoir] = {}
    for kind, body in _blocks(content, path):
        if kind == PROCESS and about is None:
            magic, *about = ABOUT.unpack_from(body)
            if magic != MAGIC or about[0] != VERSION:
                raise _wrong(path, "is of another version")
            losses.memory += about[-1]
        elif kind == THREAD:
            _, _, *counts = COUNTERS.unpack_from(body)
            for name, count in zip(("full", "unwound", "switched", "missed"), counts, strict=True):
                setattr(losses, name, getattr(losses, name) + count)
        elif kind == CHUNK:
            function, thread, number, _part, seen, first = PART.unpack_from(body)
            if function >= functions:
                raise _wrong(path, "has calls of a function that nobody asked for")
            one = found.setdefault(number, _Reservoir(function, thread))
            one.seen = max(one.seen, seen)
            one.parts.append((first, np.frombuffer(body, RECORD, (len(body) - PART.size) // 32, PART.size)))
    return (_scale(about, path) if about is not None else 1e-9), list(found.values())


def _wrong(path: Path, what: str) -> CollectError:
    return CollectError(f"{path.name} {what}: the program must leave it alone")


def _scale(about: list[int], path: Path) -> float:
    first_tick, first_ns, last_tick, last_ns = about[2:6]
    if about[9]:
        return 1e-9
    if last_tick <= first_tick or last_ns <= first_ns:
        raise _wrong(path, "has no times")
    return (last_ns - first_ns) / (last_tick - first_tick) * 1e-9


def _blocks(content: bytes, path: Path) -> list[tuple[int, memoryview]]:
    """Kind and body of each block; the space behind the last one of a segment is empty."""
    found = []
    view = memoryview(content)
    for segment in range(0, len(content), SEGMENT):
        at, end = segment, min(segment + SEGMENT, len(content))
        while at + HEAD.size <= end:
            magic, kind, size = HEAD.unpack_from(view, at)
            if magic != BLOCK:
                break
            least = {PROCESS: ABOUT.size, THREAD: COUNTERS.size, CHUNK: PART.size}.get(kind, 1 << 30) + HEAD.size
            if not least <= size <= end - at:
                raise _wrong(path, "is damaged")
            found.append((kind, view[at + HEAD.size : at + size]))
            at += size
    return found
