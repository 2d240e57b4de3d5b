"""The text of Benchmark.js (https://benchmarkjs.com), as docs/exchange/benchmark-js.md describes
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._readings import Marked, Reading, ToolFormat, lines_of, number, summary
from perfvcs.profile import Metric

METRICS = {"throughput": Metric("ops/s", "higher")}
# what beautify-benchmark puts around each part of a line, also where nobody looks
COLOUR = re.compile(rb"\x1b\[[0-9;]{0,20}m")
RESULT = re.compile(
    r"([0-9,.]{1,40}) ops/sec (?:\xb1|\+/-) ?([0-9.]{1,40})% \(([0-9]{1,18}) runs? sampled\).*"
)


@dataclass(frozen=True)
class BenchmarkJs(Marked, ToolFormat):
    """What one run printed: of each benchmark its operations in a second, with the relative error
    of the mean.
    """

    tool = "benchmark-js"
    metrics = METRICS
    printed = True
    word = b" ops/sec "
    mark = re.compile(
        rb"^[^\n]* x (?:\x1b\[[0-9;]{0,20}m| ){0,9}[0-9,.]{1,40}"
        rb"(?:\x1b\[[0-9;]{0,20}m)? ops/sec ",
        re.MULTILINE,
    )

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The rate of each benchmark."""
        for line in lines_of(COLOUR.sub(b"", document)):
            name, _, result = line.rpartition(" x ")
            if match := RESULT.fullmatch(result.strip()):
                rate, error, runs = (number(text.replace(",", "")) for text in match.groups())
                above = None if rate is None or error is None else rate * error / 100
                columns = summary("throughput", rate, error=above, samples=runs)
                yield Reading(name.strip(), columns)
