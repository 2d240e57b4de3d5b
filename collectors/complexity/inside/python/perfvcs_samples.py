"""Bounded samples of calls, by function and bucket of sizes, for the recorder in Python."""

from __future__ import annotations

from _struct import Struct
from math import exp, floor, frexp, log, log1p, nan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _random import Random
    from typing import Any

RECORD = Struct("<IIQdddd")
# added to a function's number: the record tells how many of its calls did not end
UNFINISHED = 1 << 30
MASK = (1 << 64) - 1
SKIPPED_CALLS = 1000  # calls that are left out without asking the sample
SIZES = 10_000  # different sizes whose samples are remembered
# quarters of a doubling, as mantissas of frexp
STEPS: tuple[float, ...] = tuple(2.0 ** (step / 4 - 1) for step in range(4))


def bucket(size: float) -> int:
    """The number of the bucket of a size: four for each doubling, and one each for zero, negative
    sizes and NaN.

    >>> bucket(8.0) - bucket(4.0), bucket(7.0) == bucket(7.5)
    (4, True)
    """
    if size > 0:
        mantissa, exponent = frexp(size)
        return 4 * max(-15, min(64, exponent)) + sum([mantissa >= step for step in STEPS]) + 100
    if size == 0:
        return 0
    return 1 if size < 0 else 2


class ReservoirSample:
    """A uniform random sample of at most ``keep`` rows out of all that came; skips as in Li 1994
    (algorithm L).

    ``skips`` has an item for each of the next calls that are left out: taking one is all that is to
    be done for these.
    """

    __slots__ = ("keep", "more", "random", "rows", "skips", "total", "weight")

    def __init__(self, keep: int, random: Random) -> None:
        self.keep = keep
        self.random = random
        # size, start, duration, cost; in seconds
        self.rows: list[tuple[float, float, float, float]] = []
        self.skips: list[None] = []
        self.more = 0  # calls to be left out after those
        self.total = 0  # calls that came, and all that are to be left out
        self.weight = 1.0

    @property
    def seen(self) -> int:
        """Calls that came."""
        return self.total - self.more - len(self.skips)

    def offer(self, row: tuple[float, float, float, float]) -> bool:
        """Take a row, or leave it out as planned; returns whether it was taken."""
        if self.more and not self.skips:
            count = min(self.more, SKIPPED_CALLS)
            self.more -= count
            self.skips += [None] * count
        if self.skips:
            self.skips.pop()
            return False
        if len(self.rows) < self.keep:
            self.rows.append(row)
        else:
            self.rows[int(self.random.random() * self.keep)] = row
        self.total += 1
        if len(self.rows) == self.keep:
            self.weight *= exp(log(1 - self.random.random()) / self.keep)
            left_out = floor(log(1 - self.random.random()) / log1p(-self.weight))
            self.more += left_out
            self.total += left_out
        return True


class FunctionSamples:
    """What was recorded of one function: a sample per bucket of sizes; ``begun`` counts generators
    not ended.
    """

    def __init__(self, index: int, keep: int, random: Random) -> None:
        self.index = index
        self.keep = keep
        self.random = random
        self.kept: dict[int, ReservoirSample] = {}
        self.skips: dict[float, list[None]] = {}  # of the samples, by size
        self.begun = 0
        # calls of a generator or coroutine that have begun and not ended, by their frames
        self.live: dict[int, Any] = {}
        self.latest = 0.0  # duration of the call that was taken last

    def offer(self, size: float, start: float, duration: float, cost: float) -> None:
        """Offer a call to the sample of its size, and let the next one of this size go on
        without.
        """
        try:
            value = float(size)
        except OverflowError:  # an integer of hundreds of digits
            value = nan
        key = bucket(value)
        if key not in self.kept:
            self.kept[key] = ReservoirSample(self.keep, self.random)
        sample = self.kept[key]
        if sample.offer((value, start, duration, cost)):
            self.latest = duration
        if size not in self.skips:
            if len(self.skips) >= SIZES:
                self.skips.clear()
            self.skips[size] = sample.skips

    def clear(self) -> None:
        """Forget everything, as a forked child has to; what is running belongs to the parent."""
        self.kept.clear()
        self.skips.clear()
        self.begun = 0
        for handle in self.live.values():
            handle.recorded = False

    def records(self) -> bytes:
        """The samples as records of the file."""
        packed = []
        for sample in list(self.kept.values()):  # other threads go on meanwhile
            rows = list(sample.rows)
            rate = max(1.0, sample.seen / len(rows)) if rows else 1.0
            packed += [
                RECORD.pack(
                    self.index, 0, int(start * 1e9) & MASK, size, duration * 1e9, cost * 1e9, rate
                )
                for size, start, duration, cost in rows
            ]
        if self.begun > 0:
            packed.append(RECORD.pack(UNFINISHED | self.index, 0, self.begun, nan, 0.0, 0.0, 1.0))
        return b"".join(packed)
