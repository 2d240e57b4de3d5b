"""The text of Gungraun (https://github.com/gungraun/gungraun), formerly iai-callgrind, and of iai,
as docs/exchange/gungraun.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import (
    Marked,
    Reading,
    ReadingValue,
    lines_of,
    number,
    profile_of,
    unended,
)
from perfvcs.profile import Metric, Profile

# of what less is better; hits of a cache are counted instead of others, and only recorded
METRICS = {
    "instructions": Metric(""),
    "estimated_cycles": Metric(""),
    "allocated": Metric("B"),
    "allocations": Metric(""),
    "peak": Metric("B"),
}
METRIC_NAMES = {
    "Instructions": "instructions",
    "Estimated Cycles": "estimated_cycles",
    "Total bytes": "allocated",
    "Total blocks": "allocations",
    "At t-gmax bytes": "peak",
}
# the value of this run, then that of the last one behind a bar
COUNTED = re.compile(r" {2}([A-Z][A-Za-z0-9 +_-]{0,60}): +([0-9,.]{1,40})(?:[| ].*)?")


@dataclass(frozen=True)
class Gungraun(Marked):
    """What one run printed: exact counts of each benchmark."""

    word = b"  Instructions: "
    mark = re.compile(rb"^ {2}Instructions: +[0-9,]+", re.MULTILINE)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults."""
        metrics = dict(METRICS)
        readings = [*_readings(lines_of(document), metrics)]
        return profile_of(document, "gungraun", readings, metrics, notes=unended(document))


def _readings(lines: list[str], metrics: dict[str, Metric]) -> Iterator[Reading]:
    """The benchmarks: a name that is not indented, and counts below it; only the first of a name,
    for comparisons with other benchmarks follow. Metrics that are new get into ``metrics``.
    """
    uid, columns = "", dict[str, list[ReadingValue]]()
    for line in lines:
        if match := COUNTED.fullmatch(line.rstrip()):
            metric = METRIC_NAMES.get(match[1]) or usable(match[1])
            metrics.setdefault(metric, Metric("", "none"))
            columns.setdefault(metric, [number(match[2].replace(",", ""))])
        elif line.strip() and not line.startswith(" "):
            if columns:
                yield Reading(uid or "benchmark", columns)
            uid, columns = line.strip(), {}
    if columns:
        yield Reading(uid or "benchmark", columns)
