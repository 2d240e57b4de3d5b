"""Bins of whole numbers, such as those of iterations and samples, and the times that they stand for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING

from perfvcs.drawing.units import UnitRows
from perfvcs.profile import Profile
from perfvcs.summary import SAMPLER

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

INTERVAL = 0.1  # seconds between two samples of counters, where the job does not say


@dataclass(frozen=True)
class BinColumns:
    """Bins of whole numbers from ``first``, ``step`` of them in each; ``edges`` are where the ``count`` bins of a side begin and end.

    ``unit`` is that of the edges: seconds, or empty if they are the numbers themselves.
    """

    first: int
    step: int
    count: int
    edges: Floats
    unit: str = ""

    def place(self, numbers: Numbers) -> Numbers:
        """The bin of each number."""
        return (numbers - self.first) // self.step


def numbered(sides: Sequence[Numbers], most: int) -> list[BinColumns]:
    """Bins of the numbers of each side, as wide on every side, at most ``most`` of them; an edge is the first number of its bin."""
    import numpy as np

    first = min(int(numbers.min()) for numbers in sides if len(numbers))
    spans = [int(numbers.max()) - first + 1 if len(numbers) else 1 for numbers in sides]
    step = -(-max(spans) // most)
    counts = [-(-span // step) for span in spans]
    return [BinColumns(first, step, count, first + step * np.arange(count + 1.0)) for count in counts]


def seconds(columns: BinColumns, rows: UnitRows) -> BinColumns:
    """The same bins with edges in seconds: by the moments of the rows, or the interval between samples; as they are where both lack."""
    import numpy as np

    place, known = columns.place(rows.iteration), np.isfinite(rows.when)
    starts = np.full(columns.count, np.inf)
    np.minimum.at(starts, place[known], rows.when[known])
    bins = np.flatnonzero(np.isfinite(starts))
    if len(bins) > 1 and starts[bins[-1]] > starts[bins[0]]:
        found = np.maximum.accumulate(np.interp(np.arange(columns.count), bins, starts[bins]))
        width = (found[-1] - found[0]) / (columns.count - 1)
        return replace(columns, edges=np.append(found, found[-1] + width), unit="s")
    if known.any() or rows.profile.job.collector != SAMPLER:
        return columns
    ends = columns.edges - 1 if columns.first > 0 else columns.edges  # sample 1 is taken at the end of the first interval
    return replace(columns, edges=ends * interval(rows.profile), unit="s")


def interval(profile: Profile) -> float:
    """Seconds between two samples of counters, as the job's options say."""
    found = profile.job.options.get("interval", INTERVAL)
    usable = isinstance(found, (int, float)) and not isinstance(found, bool) and isfinite(found) and found > 0
    return float(found) if usable else INTERVAL
