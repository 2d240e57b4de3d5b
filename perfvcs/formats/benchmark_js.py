"""The text of Benchmark.js (https://benchmarkjs.com), as docs/exchange/benchmark-js.md describes
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._readings import (
    Marked,
    Reading,
    lines_of,
    number,
    profile_of,
    summary,
    unended,
)
from perfvcs.profile import Metric, Profile

METRICS = {"throughput": Metric("ops/s", "higher")}
RESULT = re.compile(
    r"([0-9,.]{1,40}) ops/sec (?:\xb1|\+/-) ?([0-9.]{1,40})% \(([0-9]{1,18}) runs? sampled\).*"
)


@dataclass(frozen=True)
class BenchmarkJs(Marked):
    """What one run printed: of each benchmark its operations in a second, with the relative error
    of the mean.
    """

    word = b" ops/sec "
    mark = re.compile(rb"^[^\n]* x [0-9,.]{1,40} ops/sec ", re.MULTILINE)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults."""
        readings = _readings(lines_of(document))
        return profile_of(document, "benchmark-js", readings, METRICS, notes=unended(document))


def _readings(lines: list[str]) -> Iterator[Reading]:
    for line in lines:
        name, _, result = line.rpartition(" x ")
        if match := RESULT.fullmatch(result):
            rate, error, runs = (number(text.replace(",", "")) for text in match.groups())
            above = None if rate is None or error is None else rate * error / 100
            yield Reading(name.strip(), summary("throughput", rate, error=above, samples=runs))
