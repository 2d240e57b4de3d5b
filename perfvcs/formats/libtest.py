"""The text of Rust's own benchmarks (``cargo bench`` with ``#[bench]``,
https://doc.rust-lang.org/unstable-book/library-features/test.html), as docs/exchange/libtest.md
describes it.
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

METRICS = {"wall": Metric("s"), "throughput": Metric("B/s", "higher")}
RESULT = re.compile(
    r" *([0-9,.]{1,40}) ns/iter \(\+/- ([0-9,.]{1,40})\)(?: = ([0-9,.]{1,40}) MB/s)?.*"
)


@dataclass(frozen=True)
class Libtest(Marked):
    """What one run printed: of each benchmark the median of its samples, with how far they were
    spread.
    """

    word = b" ... bench: "
    mark = re.compile(rb"^test \S[^\n]* \.\.\. bench: +[0-9,.]+ ns/iter", re.MULTILINE)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults."""
        readings = _readings(lines_of(document))
        return profile_of(document, "libtest", readings, METRICS, notes=unended(document))


def _readings(lines: list[str]) -> Iterator[Reading]:
    for line in lines:
        if not line.startswith("test "):
            continue
        name, dots, rest = line.removeprefix("test ").partition(" ... ")
        uid = name.strip()
        match = RESULT.fullmatch(rest.removeprefix("bench:")) if rest.startswith("bench:") else None
        if match:
            time, spread, rate = (number((text or "").replace(",", "")) for text in match.groups())
            columns = summary("wall", time, over=1e9, spread=spread)
            yield Reading(uid, columns if rate is None else columns | {"throughput": [rate * 1e6]})
        elif dots and (rest == "FAILED" or rest.startswith("bench:")):
            yield Reading(uid, {})
