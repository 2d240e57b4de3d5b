"""The text of Rust's own benchmarks (``cargo bench`` with ``#[bench]``,
https://doc.rust-lang.org/unstable-book/library-features/test.html), as docs/exchange/libtest.md
describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.formats._readings import Marked, Reading, ToolFormat, lines_of, number, summary
from perfvcs.profile import Metric

METRICS = {"wall": Metric("s"), "throughput": Metric("B/s", "higher")}
RESULT = re.compile(
    r" *([0-9,.]{1,40}) ns/iter \(\+/- ([0-9,.]{1,40})\)(?: = ([0-9,.]{1,40}) MB/s)?.*"
)


@dataclass(frozen=True)
class Libtest(Marked, ToolFormat):
    """What one run printed: of each benchmark the median of its samples, with how far they were
    spread.
    """

    tool = "libtest"
    metrics = METRICS
    printed = True
    word = b" ... bench: "
    mark = re.compile(rb"^test \S[^\n]* \.\.\. bench: +[0-9,.]+ ns/iter", re.MULTILINE)

    def readings(self, document: bytes) -> Iterator[Reading]:
        """The benchmarks, also those that failed."""
        for line in lines_of(document):
            if not line.startswith("test "):
                continue
            name, dots, rest = line.removeprefix("test ").partition(" ... ")
            uid, timed = name.strip(), rest.startswith("bench:")
            match = RESULT.fullmatch(rest.removeprefix("bench:")) if timed else None
            if match:
                time, spread, rate = (
                    number((text or "").replace(",", "")) for text in match.groups()
                )
                columns = summary("wall", time, over=1e9, spread=spread)
                if rate is not None:
                    columns["throughput"] = [rate * 1e6]
                yield Reading(uid, columns)
            elif dots and (rest == "FAILED" or timed):
                yield Reading(uid, {})
