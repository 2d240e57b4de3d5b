"""Calls of chosen functions with their sizes and durations: what the complexity collector asks for
and what its engines answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.commandrun import read_at_most
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError
from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# module:qualified.name; C++ names have :: instead
_PYTHON = re.compile(r"[\w.]+:[^:].*", re.DOTALL)
# the = before a size is not part of ==, <=, operator= and so on
_SIZE = re.compile(r"(?<![=<>!+\-*/%&|^~])=(?!=)")
HEADER_BYTES = 16  # bytes
FIELDS = [
    ("function", "<u4"),
    ("thread", "<u4"),
    ("number", "<u8"),
    ("size", "<f8"),
    ("duration", "<f8"),
    ("cost", "<f8"),
    ("rate", "<f8"),
]
MAX_FILES = 10_000
MOST_CALLS = 2.0**62  # numbers that files claim may add up to any
MAX_RECORDS = 5_000_000  # 240 MB
MAGIC, VERSION = b"PVCSCALL", 1
BUCKET, UNFINISHED = 1 << 31, 1 << 30
# doublings that have buckets of their own; what is beyond falls into the last
LOWEST, HIGHEST = -16, 63
BUCKETS = 3 + 4 * (HIGHEST - LOWEST + 1)


@dataclass(frozen=True)
class TracedFunction:
    """One entry of ``functions``: a function's name, and the expression of its size; None is to be
    guessed.
    """

    name: str
    size: str | None = None

    @property
    def python(self) -> bool:
        """Whether the name is one of Python's: ``module:qualified.name``."""
        return _PYTHON.fullmatch(self.name) is not None


def parse(text: str) -> TracedFunction:
    """The entry ``name`` or ``name=expression``; raises UsageError.

    >>> parse("pkg.mod:List.insert=len(self.items)")
    TracedFunction(name='pkg.mod:List.insert', size='len(self.items)')
    >>> parse("List::operator==(List const&) = this->count").size
    'this->count'
    """
    start = text.find("operator") + len("operator") + 3 if "operator" in text else 0
    match = _SIZE.search(text, start)
    name, size = (
        (text[: match.start()].strip(), text[match.end() :].strip())
        if match
        else (text.strip(), None)
    )
    if not name or size == "":
        raise UsageError(
            f"complexity: functions has {text!r}: write a function's name, or name=size such as"
            " f=len(items)"
        )
    if name.count(":") == 1 and "" in name.split(":"):
        raise UsageError(
            f"complexity: functions has {text!r}: write Python's as module:function, those of C and"
            " C++ as in the source"
        )
    return TracedFunction(name, size)


@dataclass(frozen=True)
class RecordingRequest:
    """What an engine is to record.

    ``functions`` is empty for ``auto``: the engine then finds those that take the most time and
    have a size, at most ``most`` of them. ``outermost``: of calls nested in a call of the same
    function (in the same thread) only the outermost is recorded. ``keep``: calls kept per function
    and bucket of sizes (a quarter of a doubling); of more a uniform random sample is kept, and each
    row then stands for ``rate`` calls.
    """

    functions: tuple[TracedFunction, ...]
    outermost: bool = True
    keep: int = 200
    most: int = 10


@dataclass(frozen=True)
class Calls:
    """What one execution gave: one row per kept call, as columns of equal length.

    ``names``: the functions, unique, as they are called in profiles. ``function``: index into it.
    ``size``: NaN for none. ``duration`` in seconds, net of what the recording itself takes, never
    below 0; ``cost`` is what was subtracted. ``number`` counts the recorded calls of a function
    from 0; ``rate`` is how many calls a row stands for (1 unless calls were left out). Rows of one
    function are in order of their numbers. ``pace`` is the machine's own at that moment, NaN where
    it was not read: how long a fixed piece of work took, in seconds
    (``perfvcs.launcher.execution``). ``engine`` is the way it was measured, ``warnings`` are lines
    for the user. ``left`` counts calls without a row because an exception or a long jump left them,
    or they did not end.
    """

    names: list[str]
    function: Integers
    size: Floats
    duration: Floats
    cost: Floats
    number: Integers
    rate: Floats
    pace: Floats
    engine: str
    warnings: list[str] = field(default_factory=list)
    left: int = 0


def one_sample(group: Integers, rate: Floats, keep: int) -> tuple[Flags, Floats]:
    """Which rows stay, at most ``keep`` per group, and for how many calls each row that stays
    stands.

    ``group``: a number for each row, the same for those of one function and bucket of sizes;
    ``rate``: how many calls the row stands for in its own sample. In each group all rows that stay
    have the same rate, and the sum of the rates is what it was; a group that has one rate and at
    most ``keep`` rows stays unchanged. The same rows give the same result.
    """
    if not len(group):
        return np.zeros(0, bool), np.empty(0)
    _, group = np.unique(group, return_inverse=True)
    count, total = np.bincount(group), np.bincount(group, weights=rate)
    first = np.cumsum(count) - count
    by_group = rate[np.argsort(group, kind="stable")]
    least, largest = np.minimum.reduceat(by_group, first), np.maximum.reduceat(by_group, first)
    random = np.random.default_rng(0)
    # a call was kept with the probability 1 / rate: then all of a group are with that of the
    # thinnest sample
    stays = random.random(len(group)) < rate / largest[group]
    order = np.lexsort((random.random(len(group)), ~stays, group))
    chosen = np.zeros(len(group), bool)
    chosen[order] = stays[order] & (np.arange(len(group)) - np.repeat(first, count) < keep)
    even = (least == largest) & (count <= keep)  # not summed and divided again, which would round
    return chosen, np.where(even[group], rate, (total / np.bincount(group[chosen]))[group])


class Interrupted(CollectError):
    """A program failed half way; ``calls`` is what was recorded until then."""

    def __init__(self, message: str, calls: Calls, *, lasting: bool) -> None:
        super().__init__(message, lasting=lasting)
        self.calls = calls


@dataclass(frozen=True)
class CallColumns:
    """Recorded calls of all processes of one execution, by function and in order.

    ``start`` is by CLOCK_MONOTONIC, in ns; durations (net) and costs are in seconds; ``rate`` is
    the number of calls that a row stands for.
    """

    function: Integers
    number: Integers
    start: Floats
    size: Floats
    duration: Floats
    cost: Floats
    rate: Floats


@dataclass(frozen=True)
class Records(CallColumns):
    """The calls that the hooks in interpreters recorded; ``unfinished`` has the number of calls
    that did not end, by function.
    """

    unfinished: Integers


def read(folder: Path, functions: int, keep: int) -> Records:
    """The records in the files ``calls-*.bin`` of a folder, of functions 0 to ``functions`` - 1;
    raises CollectError.

    For each function and bucket of sizes they are one uniform sample of at most ``keep``, whatever
    processes they ran in. Calls of a function are numbered from 0 in the order of the files and of
    the numbers in them; where calls were left out, by as many as each row stands for.
    """
    paths = sorted(folder.glob("calls-*.bin"))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes recorded calls: run fewer")
    parts, file, unfinished, total = [], [], np.zeros(functions, np.int64), 0
    for place, path in enumerate(paths):
        records = _rows(_content(path, total), path, functions, unfinished)
        total += len(records)
        parts.append(records)
        file.append(np.full(len(records), place))
    rows = np.concatenate([*parts, np.empty(0, FIELDS)])
    order = np.lexsort(
        (rows["number"], np.concatenate([*file, np.empty(0, int)]), rows["function"])
    )
    rows = rows[order]
    function = rows["function"].astype(np.int64)
    chosen, rate = one_sample(function * BUCKETS + _buckets(rows["size"]), rows["rate"], keep)
    rows, function, rate = rows[chosen], function[chosen], rate[chosen]
    duration = np.maximum(rows["duration"] - rows["cost"], 0) / 1e9
    return Records(
        function,
        numbers(function, rate),
        rows["number"].astype(np.float64),
        rows["size"].copy(),
        duration,
        rows["cost"] / 1e9,
        rate,
        unfinished,
    )


def _buckets(size: Floats) -> Integers:
    """The numbers of the buckets in which the recorders put sizes (``bucket_of`` in
    inside/tracer.c, ``bucket`` in perfvcs_samples).
    """
    mantissa, exponent = np.frexp(size)
    quarter = np.searchsorted(2.0 ** (np.arange(1, 4) / 4 - 1), mantissa, side="right")
    above = 3 + 4 * (np.clip(exponent.astype(np.int64) - 1, LOWEST, HIGHEST) - LOWEST) + quarter
    return np.select([np.isnan(size), size > 0], [2, above], size < 0)


def numbers(function: Integers, rate: Floats) -> Integers:
    """How many calls of the same function come before each row, by what these stand for; rows are
    sorted by function and time.
    """
    if not len(function):
        return np.empty(0, np.int64)
    before = np.cumsum(rate) - rate
    first = np.searchsorted(function, function)  # sorted by function
    return np.rint(np.minimum(before - before[first], MOST_CALLS)).astype(np.int64)


def _content(path: Path, before: int) -> bytes:
    left = (MAX_RECORDS - before) * _size() + HEADER_BYTES
    content = read_at_most(path, left)
    if len(content) > left:
        raise CollectError(
            f"over {MAX_RECORDS:,} calls were kept: lower keep, or record fewer functions or"
            " processes"
        )
    return content


def _size() -> int:
    return np.dtype(FIELDS).itemsize


def _rows(content: bytes, path: Path, functions: int, unfinished: Integers) -> NDArray[np.void]:
    """The rows of one file with their rates; adds to ``unfinished``."""
    if content[:8] != MAGIC or len(content) < HEADER_BYTES:
        raise CollectError(f"{path.name} is not a file of records: the program must leave it alone")
    version = int.from_bytes(content[8:12], "little")
    if version != VERSION:
        raise CollectError(
            f"{path.name} has version {version} of the format, not {VERSION}: remove perfvcs' cache"
            " folder"
        )
    # a process that is killed may have written the last by half
    whole = (len(content) - HEADER_BYTES) // _size()
    rows: NDArray[np.void] = np.frombuffer(content, FIELDS, whole, HEADER_BYTES).copy()
    rows = rows[rows["rate"] != 0]
    _add_rates(rows)
    number = rows["function"] & (UNFINISHED - 1)
    if (number >= functions).any():
        raise CollectError(
            f"{path.name} has calls of a function that was not chosen: the program must leave it"
            " alone"
        )
    open_calls = (rows["function"] & UNFINISHED != 0) & (rows["function"] & BUCKET == 0)
    np.add.at(
        unfinished,
        number[open_calls],
        np.minimum(rows["number"][open_calls], 1 << 40).astype(np.int64),
    )
    rows = rows[rows["function"] < UNFINISHED]
    finite = (
        np.isfinite(rows["duration"])
        & np.isfinite(rows["cost"])
        & np.isfinite(rows["rate"])
        & ~np.isinf(rows["size"])
    )
    if not (
        finite
        & (rows["duration"] >= 0)
        & (rows["cost"] >= 0)
        & (rows["rate"] >= 1)
        & (rows["rate"] < 1 << 53)
    ).all():
        raise CollectError(f"{path.name} has impossible values: the program must leave it alone")
    return rows


def _add_rates(rows: NDArray[np.void]) -> None:
    """Give the rows of buckets their rates."""
    begins = rows["function"] & BUCKET != 0
    bucket = np.cumsum(begins)  # 0: before any
    recorded = np.bincount(bucket, weights=rows["function"] < UNFINISHED, minlength=1)
    seen = np.concatenate([[0.0], rows["number"][begins].astype(float)])
    inside = (bucket > 0) & (rows["function"] < UNFINISHED)
    rows["rate"][inside] = np.maximum(1.0, seen[bucket[inside]] / recorded[bucket[inside]])
