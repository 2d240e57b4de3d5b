"""Tables of NVIDIA Nsight Systems (``nsys stats --format csv``,
https://docs.nvidia.com/nsight-systems/UserGuide), as docs/exchange/nsys.md describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from msgspec.structs import replace

from perfvcs.formats._readings import (
    Marked,
    Reading,
    ReadingValue,
    divided,
    machine,
    number,
    profile_of,
    summary,
    text_of,
    unended,
)
from perfvcs.formats._table import rows
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import MAX_NAME

METRICS = {"wall": Metric("s"), "total": Metric("s", "none")}
# kernels have instances, calls of the API and copies are counted in other words
SUMMARY = r'^"?Time ?\(%\)"?,"?Total Time \(ns\)"?,[^\n]{0,2000}\bAvg \(ns\)'
TRACE = r'^"?Start \(ns\)"?,"?Duration \(ns\)"?,[^\n]{0,2000}\bDevice\b'  # of a GPU
HEADING = re.compile(f"{SUMMARY}|{TRACE}".encode(), re.MULTILINE)
START = re.compile(f"{SUMMARY}|{TRACE}", re.MULTILINE)
BETWEEN = re.compile(rf"\n\s*\n|\n(?={SUMMARY}|{TRACE})", re.MULTILINE)
COUNTS = ("Instances", "Num Calls", "Count", "Calls")
NAMES = ("Name", "Operation", "Range")
SHAPES = ("GridXYZ", "BlockXYZ")
SIDES = (("GrdX", "GrdY", "GrdZ"), ("BlkX", "BlkY", "BlkZ"))
INDEX = re.compile(r" \([0-9]{1,6}\)$")  # of a device, behind its model
STATISTICS = {"Med": "median", "Min": "least", "Max": "largest", "StdDev": "deviation"}


@dataclass(frozen=True)
class Nsys(Marked):
    """One report of times: the mean of each kernel, call or copy in a summary, and in
    cuda_gpu_trace, which also says the GPU, each launch.
    """

    suffixes = (".csv",)
    word = b" (ns)"
    mark = HEADING
    overlapping: ClassVar[bool] = True  # a call of the API waits for a kernel

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line of the table."""
        devices: dict[str, None] = {}
        readings = _readings(text_of(document), devices)
        profile = profile_of(document, "nsys", readings, METRICS, notes=unended(document))
        described = machine(
            {"gpu": ", ".join(sorted(devices))}, warnings=profile.environment.warnings
        )
        return replace(profile, environment=described)


def _readings(text: str, devices: dict[str, None]) -> Iterator[Reading]:
    """The rows of all tables, one behind the other with an empty line between; ``devices`` gets the
    models of those that a trace names.
    """
    for part in BETWEEN.split(text):
        heading = START.search(part)
        table = part[heading.start() :].strip() if heading else ""
        if "\n" not in table:
            continue
        if table.startswith(("Time", '"Time')):
            yield from map(_reading, rows(table.encode(), ("Avg (ns)",)))
        else:
            yield from _launches(rows(table.encode(), ("Duration (ns)", "Name", "Device")), devices)


def _launches(table: Iterator[dict[str, str]], devices: dict[str, None]) -> Iterator[Reading]:
    """The launches of each kernel and shape, or the copies, as iterations."""
    durations: dict[str, list[ReadingValue]] = {}
    for row in table:
        shapes = (
            f"({', '.join(row[side] for side in sides)})"
            for sides in SIDES
            if all(row.get(side) for side in sides)
        )
        uid = " ".join([row["Name"], *shapes])
        durations.setdefault(uid, []).append(_nanoseconds(row, "Duration"))
        if model := INDEX.sub("", row["Device"][:MAX_NAME]):
            devices[model] = None
    for uid, values in durations.items():
        yield Reading(uid or "unknown", {"wall": divided(values, 1e9)})


def _reading(row: dict[str, str]) -> Reading:
    """The summary of a kernel, call or copy."""
    names = [row[name] for name in (*NAMES, *SHAPES) if row.get(name)]
    more = {word: _nanoseconds(row, title) for title, word in STATISTICS.items()}
    count = next((number(row[name]) for name in COUNTS if row.get(name)), None)
    columns = summary("wall", _nanoseconds(row, "Avg"), over=1e9, **more, samples=count)
    total = divided([_nanoseconds(row, "Total Time")], 1e9)
    return Reading(" ".join(names) or "unknown", {**columns, "total": total})


def _nanoseconds(row: dict[str, str], title: str) -> ReadingValue:
    return number(row.get(f"{title} (ns)", ""))
