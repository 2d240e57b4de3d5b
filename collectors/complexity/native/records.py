"""The files that the runtime leaves, one per process (inside/fentry/arena.h), as rows."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.commandrun import read_at_most
from perfvcs.collectors.complexity.calls import CallColumns, numbers, one_sample
from perfvcs.plugins.collector import CollectError
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAGIC, VERSION = b"PVCSFENT", 1
SEGMENT = 1 << 20
LARGEST_RECORDING = 256 * SEGMENT  # of one file
BLOCK_MAGIC = 0x4B4C4250  # BLOCK in arena.h
PROCESS, THREAD, CHUNK = 1, 2, 3
BLOCK_HEAD = struct.Struct("<IIQ")
ABOUT = struct.Struct("<8sIIQQQQQQQQQ")  # after the head of the first block
COUNTERS = struct.Struct("<IIQQQQ")
PART = struct.Struct("<IIIIQQ")
CALL_RECORD = [("start", "<u8"), ("size", "<u8"), ("ticks", "<u8"), ("cost", "<u8")]
TICK_BITS = 62  # of the start; the kind of the size stands above
NONE, SIGNED, UNSIGNED, REAL = range(4)
BUCKETS = 516  # of a function, as in inside/fentry/sizes.h
MAX_FILES = 10_000
MAX_CALLS = 5_000_000


@dataclass
class Losses:
    """Calls that are not among the rows.

    Without memory, without a slot, left by an exception or jump, moved between stacks, or made
    while a signal interrupted the recorder.
    """

    memory: int = 0
    full: int = 0
    unwound: int = 0
    switched: int = 0
    missed: int = 0


@dataclass(frozen=True)
class CallRows(CallColumns):
    """The calls that the runtime recorded, and how many it lost."""

    losses: Losses = field(default_factory=Losses)


@dataclass(frozen=True)
class _Clock:
    """What the ticks of a process are: ``scale`` seconds each, and CLOCK_MONOTONIC was ``ns`` at
    ``tick``.
    """

    scale: float = 1e-9
    tick: int = 0
    ns: int = 0

    def at(self, start: NDArray[np.uint64]) -> Floats:
        """CLOCK_MONOTONIC in ns, at the starts of records."""
        since = (start & np.uint64((1 << TICK_BITS) - 1)).astype(np.int64) - self.tick
        return np.asarray(self.ns + since * (self.scale * 1e9), dtype=np.float64)


@dataclass(frozen=True)
class _Part:
    """The calls kept of a function for one bucket of sizes in one thread, each representing
    ``rate`` calls.
    """

    function: int
    rate: float
    rows: NDArray[np.void]
    clock: _Clock


@dataclass
class _Reservoir:
    function: int
    seen: int = 0
    parts: list[tuple[int, NDArray[np.void]]] = field(default_factory=list)


def read(folder: Path, functions: int, keep: int) -> CallRows:
    """The rows of functions 0 to ``functions`` - 1; raises CollectError for files that are not as
    the runtime writes them.

    For each function and bucket of sizes they are one uniform sample of at most ``keep``, whatever
    threads and processes they ran in. Calls of a function are numbered from 0 in the order in which
    they began; where calls were left out, by as many as each row stands for.
    """
    paths = sorted(folder.glob("fentry-*.bin"))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes recorded calls: run fewer")
    losses, total = Losses(), 0
    parts: list[_Part] = []
    for path in paths:
        clock, reservoirs = _file(_content(path), path, functions, losses)
        for reservoir in reservoirs:
            rows = _kept(reservoir, keep)
            total += len(rows)
            if total > MAX_CALLS:
                raise CollectError(
                    f"over {MAX_CALLS:,} calls were kept: lower keep, or record fewer functions or"
                    " processes"
                )
            if len(rows):
                parts.append(
                    _Part(reservoir.function, max(1.0, reservoir.seen / len(rows)), rows, clock)
                )
    return _columns(parts, keep, losses)


def _columns(parts: list[_Part], keep: int, losses: Losses) -> CallRows:
    lengths = [len(part.rows) for part in parts]
    rows = np.concatenate([*(part.rows for part in parts), np.empty(0, CALL_RECORD)])
    function = np.repeat(np.array([part.function for part in parts], np.int64), lengths)
    rate = np.repeat(np.array([part.rate for part in parts], np.float64), lengths)
    scale = np.repeat(np.array([part.clock.scale for part in parts], np.float64), lengths)
    starts = np.concatenate([*(part.clock.at(part.rows["start"]) for part in parts), np.empty(0)])
    order = np.lexsort((starts, function))
    chosen, rate = one_sample(function[order] * BUCKETS + _buckets(rows[order]), rate[order], keep)
    order, rate = order[chosen], rate[chosen]
    rows, function, scale = rows[order], function[order], scale[order]
    return CallRows(
        function,
        numbers(function, rate),
        starts[order],
        _sizes(rows),
        rows["ticks"] * scale,
        rows["cost"] * scale,
        rate,
        losses,
    )


def _sizes(rows: NDArray[np.void]) -> Floats:
    """The sizes as numbers, by the kind in the two highest bits of the start; NaN for none and for
    what is not finite.
    """
    kind = rows["start"] >> TICK_BITS
    raw = rows["size"]
    sizes: Floats = np.select(
        [kind == SIGNED, kind == UNSIGNED, kind == REAL],
        [raw.view("<i8").astype(float), raw.astype(float), raw.view("<f8")],
        np.nan,
    )
    sizes[~np.isfinite(sizes)] = np.nan
    return sizes


def _buckets(rows: NDArray[np.void]) -> Integers:
    """The numbers of the buckets in which the runtime put the sizes (``bucket`` in
    inside/fentry/sizes.h).
    """
    kind, raw = rows["start"] >> TICK_BITS, rows["size"]
    real = kind == REAL
    negative = (kind != UNSIGNED) & (raw >> 63 == 1)
    whole = np.where(negative, -raw, raw)
    # what would round up to the next doubling
    whole &= np.where(whole >> 53 != 0, ~np.uint64(0x7FF), ~np.uint64(0))
    bits = np.where(real, raw, whole.astype(float).view("<u8"))
    quarter = (bits >> 50 & 0x1FFF).astype(
        np.int64
    ) - 4 * 1023  # exponent and two digits behind the point; of reals from 1/256 on
    buckets = 2 + np.clip(quarter + np.where(real, 4 * 8, 0), 0, 255) + np.where(negative, 256, 0)
    buckets[np.where(real, raw << 1, raw) == 0] = 1
    buckets[kind == NONE] = 0
    return buckets


def _kept(reservoir: _Reservoir, keep: int) -> NDArray[np.void]:
    capacity = sum(len(rows) for _, rows in reservoir.parts)
    count = min(reservoir.seen, keep, capacity)
    rows = np.concatenate(
        [
            *(rows for _, rows in sorted(reservoir.parts, key=lambda part: part[0])),
            np.empty(0, CALL_RECORD),
        ]
    )
    return rows[:count]


def _content(path: Path) -> bytes:
    content = read_at_most(path, LARGEST_RECORDING)
    if len(content) > LARGEST_RECORDING:
        raise CollectError(
            f"{path.name} is larger than the runtime makes it: the program must leave it alone"
        )
    return content


def _file(
    content: bytes, path: Path, functions: int, losses: Losses
) -> tuple[_Clock, list[_Reservoir]]:
    """Its clock, and the reservoirs of one file."""
    process: list[int] | None = None  # without the magic
    reservoirs: dict[int, _Reservoir] = {}
    for kind, body in _blocks(content, path):
        if kind == PROCESS and process is None:
            magic, *process = ABOUT.unpack_from(body)
            if magic != MAGIC or process[0] != VERSION:
                raise _wrong(path, "is of another version")
            losses.memory += process[-1]
        elif kind == THREAD:
            _, _, *counts = COUNTERS.unpack_from(body)
            for name, count in zip(("full", "unwound", "switched", "missed"), counts, strict=True):
                setattr(losses, name, getattr(losses, name) + count)
        elif kind == CHUNK:
            function, _thread, number, _part, seen, first = PART.unpack_from(body)
            if function >= functions:
                raise _wrong(path, "has calls of a function that was not chosen")
            reservoir = reservoirs.setdefault(number, _Reservoir(function))
            reservoir.seen = max(reservoir.seen, seen)
            reservoir.parts.append(
                (first, np.frombuffer(body, CALL_RECORD, (len(body) - PART.size) // 32, PART.size))
            )
    return (_clock(process, path) if process is not None else _Clock()), list(reservoirs.values())


def _wrong(path: Path, what: str) -> CollectError:
    return CollectError(f"{path.name} {what}: the program must leave it alone")


def _clock(process: list[int], path: Path) -> _Clock:
    first_tick, first_ns, last_tick, last_ns = process[2:6]
    if process[9]:  # ticks are ns
        return _Clock()
    if last_tick <= first_tick or last_ns <= first_ns:
        raise _wrong(path, "has no times")
    return _Clock((last_ns - first_ns) / (last_tick - first_tick) * 1e-9, first_tick, first_ns)


def _blocks(content: bytes, path: Path) -> list[tuple[int, memoryview]]:
    """Kind and body of each block; the space behind the last one of a segment is empty."""
    blocks = []
    view = memoryview(content)
    for segment in range(0, len(content), SEGMENT):
        at, end = segment, min(segment + SEGMENT, len(content))
        while at + BLOCK_HEAD.size <= end:
            magic, kind, size = BLOCK_HEAD.unpack_from(view, at)
            if magic != BLOCK_MAGIC:
                break
            least = {PROCESS: ABOUT.size, THREAD: COUNTERS.size, CHUNK: PART.size}.get(
                kind, 1 << 30
            ) + BLOCK_HEAD.size
            if not least <= size <= end - at:
                raise _wrong(path, "is damaged")
            blocks.append((kind, view[at + BLOCK_HEAD.size : at + size]))
            at += size
    return blocks
