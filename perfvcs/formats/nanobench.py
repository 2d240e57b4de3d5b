"""JSON of nanobench (https://nanobench.ankerl.com), as docs/exchange/nanobench.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from perfvcs.formats._readings import Keyed, Reading, ReadingValue, ToolFormat, summary, typed
from perfvcs.profile import Metric

COUNTERS = {
    "instructions": "instructions",
    "cpucycles": "cycles",
    "contextswitches": "context_switches",
    "pagefaults": "page_faults",
    "branchinstructions": "branches",
    "branchmisses": "branch_misses",
}
METRICS = {
    "wall": Metric("s"),
    "loops": Metric("", "none"),
    **dict.fromkeys(COUNTERS.values(), Metric("", "none")),
}


class _Measurement(msgspec.Struct):
    """An epoch: ``elapsed`` and the counters are of one iteration; counters are 0 where the system
    gives none.
    """

    elapsed: ReadingValue = None
    iterations: ReadingValue = None
    instructions: ReadingValue = None
    cpucycles: ReadingValue = None
    contextswitches: ReadingValue = None
    pagefaults: ReadingValue = None
    branchinstructions: ReadingValue = None
    branchmisses: ReadingValue = None


class _Result(msgspec.Struct):
    name: str
    title: str = ""
    complexityN: ReadingValue = None
    median: ReadingValue = msgspec.field(default=None, name="median(elapsed)")
    error: ReadingValue = msgspec.field(default=None, name="medianAbsolutePercentError(elapsed)")
    measurements: list[_Measurement] = []


class _File(msgspec.Struct):
    results: list[_Result]


@dataclass(frozen=True)
class Nanobench(Keyed, ToolFormat):
    """What its JSON template renders: epochs are iterations of one execution; ``complexityN`` is
    the size.
    """

    tool = "nanobench"
    metrics = METRICS
    keys = ("epochs minEpochTime", "median(elapsed)")

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The benchmarks; raises Malformed with the place."""
        return map(_reading, typed(document, _File).results)


def _reading(result: _Result) -> Reading:
    uid = f"{result.title} > {result.name}" if result.title else result.name
    size = result.complexityN if result.complexityN is not None and result.complexityN > 0 else None
    if not result.measurements:
        error = (
            None if result.error is None or result.median is None else result.error * result.median
        )
        return Reading(uid, summary("wall", result.median, error=error), size)
    columns: dict[str, list[Any]] = {
        "wall": [measurement.elapsed for measurement in result.measurements],
        "loops": [measurement.iterations for measurement in result.measurements],
    }
    for theirs, ours in COUNTERS.items():
        if any(column := [getattr(measurement, theirs) for measurement in result.measurements]):
            columns[ours] = column
    return Reading(uid, columns, size)
