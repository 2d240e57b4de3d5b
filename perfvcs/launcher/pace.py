"""The machine's pace while a command ran: how long a fixed piece of work took on its processor, every 20 ms."""

from __future__ import annotations

import os
from statistics import geometric_mean
from struct import iter_unpack
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

READING = 16  # bytes: time and duration, ns as int64
LARGEST_FILE = 1 << 20  # bytes of readings; a month has .7 MB
SMOOTH = 5  # readings that are averaged: one alone says little about the calls beside it


class Pace(msgspec.Struct, frozen=True):
    """Readings of the pace as the launcher wrote them; see native/pace.h for what is timed."""

    readings: bytes = b""

    @classmethod
    def of(cls, descriptor: int) -> Pace:
        """The readings in a file of the launcher."""
        content = os.pread(descriptor, LARGEST_FILE, 0)
        return cls(content[: len(content) // READING * READING])

    @property
    def mean(self) -> float | None:
        """The geometric mean of all readings, in s; None if there is none."""
        took = [reading for _, reading in iter_unpack("<qq", self.readings) if reading > 0]
        return geometric_mean(took) / 1e9 if took else None

    def at(self, time: ArrayLike) -> NDArray[np.float64]:
        """How long the fixed work took at these times (CLOCK_MONOTONIC, ns), in s; NaN if it was not read.

        By the means of five neighbouring readings, in logarithms, and straight lines between.
        """
        import numpy as np

        when = np.asarray(time, dtype=np.float64)
        found = np.frombuffer(self.readings, dtype=np.int64).reshape(-1, 2).astype(np.float64)
        found = found[found[:, 1] > 0]
        if not len(found):
            return np.full(len(when), np.nan)
        width = min(SMOOTH, len(found))
        took = np.log(found[:, 1] / 1e9)
        padded = np.pad(took, (width // 2, (width - 1) // 2), mode="edge")
        return np.exp(np.interp(when, found[:, 0], np.convolve(padded, np.full(width, 1 / width), mode="valid")))
