"""Tables of NVIDIA Nsight Systems (``nsys stats --format csv``,
https://docs.nvidia.com/nsight-systems/UserGuide), as docs/exchange/nsys.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    number,
    profile_of,
    summary,
    text_of,
    unended,
)
from perfvcs.formats._table import rows
from perfvcs.profile import Metric, Profile

METRICS = {"wall": Metric("s"), "total": Metric("s", "none")}
# kernels have instances, calls of the API and copies are counted in other words
HEADING = re.compile(
    rb"^\"?Time ?\(%\)\"?,\"?Total Time \(ns\)\"?,[^\n]{0,2000}\bAvg \(ns\)", re.MULTILINE
)
START = re.compile(r"^\"?Time ?\(%\)")
COUNTS = ("Instances", "Num Calls", "Count", "Calls")
NAMES = ("Name", "Operation", "Range")
SHAPES = ("GridXYZ", "BlockXYZ")
STATISTICS = {"Med": "median", "Min": "least", "Max": "largest", "StdDev": "deviation"}


@dataclass(frozen=True)
class Nsys:
    """One report of times, such as cuda_gpu_kern_sum: the mean of each kernel, call or copy."""

    suffixes: ClassVar[tuple[str, ...]] = (".csv",)
    overlapping: ClassVar[bool] = True  # a call of the API waits for a kernel

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the heading, which comes behind what nsys says of its work."""
        return HEADING.search(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line of the table."""
        return profile_of(
            document, "nsys", _readings(text_of(document)), METRICS, notes=unended(document)
        )


def _readings(text: str) -> Iterator[Reading]:
    """The rows of all tables, one behind the other with an empty line between."""
    table: list[str] = []
    for line in [*text.split("\n"), ""]:
        if START.match(line):
            table = [line]
        elif table and line.strip():
            table.append(line)
        elif table:
            if len(table) > 1:
                yield from map(_reading, rows("\n".join(table).encode(), ("Avg (ns)",)))
            table = []


def _reading(row: dict[str, str]) -> Reading:
    names = [row[name] for name in (*NAMES, *SHAPES) if row.get(name)]

    def seconds(title: str) -> ReadingValue:
        nanoseconds = number(row.get(f"{title} (ns)", ""))
        return None if nanoseconds is None else nanoseconds / 1e9

    more = {word: seconds(title) for title, word in STATISTICS.items()}
    count = next((number(row[name]) for name in COUNTS if row.get(name)), None)
    columns = summary("wall", seconds("Avg"), **more, samples=count)
    return Reading(" ".join(names) or "unknown", {**columns, "total": [seconds("Total Time")]})
