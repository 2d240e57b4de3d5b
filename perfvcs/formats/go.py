"""The text of ``go test -bench`` (https://pkg.go.dev/testing), as docs/exchange/go.md describes
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    lines_of,
    machine,
    number,
    profile_of,
    sized,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.units import base
from perfvcs.profile.validity import Malformed

METRICS = {
    "wall": Metric("s"),
    "allocated": Metric("B/op"),
    "allocs": Metric("allocs/op"),
    "throughput": Metric("B/s", "higher"),
}
PER_OPERATION = {"ns/op": "wall", "B/op": "allocated", "allocs/op": "allocs"}
BENCHMARK_LINE = re.compile(r"(Benchmark\S*)[ \t]+([0-9]{1,18})[ \t]+(\S.*)")
SIGNATURE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]{1,18}[ \t]+[-+0-9.eE]+ \S+", re.MULTILINE)
MACHINE_FIELDS = ("goos", "goarch", "cpu")
CPUS = re.compile(r"(.+)-([0-9]{1,6})")
RATES = {"MB/s": 1e6, "GB/s": 1e9, "B/s": 1.0}


@dataclass(frozen=True)
class Go:
    """What one or more runs of ``go test`` printed: each is an execution, and what ``-count``
    repeats in it iterations.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".bench",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By a line of a benchmark."""
        return (
            not head.lstrip().startswith((b"{", b"[", b"<")) and SIGNATURE.search(head) is not None
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        metrics, fields = dict(METRICS), dict[str, str]()
        readings = list(_readings(lines_of(document), metrics, fields))
        return profile_of(document, "go", readings, metrics, machine=machine(fields))


def _readings(
    lines: list[str], metrics: dict[str, Metric], fields: dict[str, str]
) -> Iterator[Reading]:
    """The benchmarks; a package that is announced again begins another run.

    Metrics that are new get into ``metrics``.
    """
    package, runs = "", Counter[str]()
    for place, line in enumerate(lines, 1):
        key, colon, value = line.partition(": ")
        if colon and key == "pkg":
            package = value.strip()
            runs[package] += 1
        elif colon and key in MACHINE_FIELDS:
            fields.setdefault(key, value.strip())
        elif match := BENCHMARK_LINE.fullmatch(line.rstrip()):
            uid, size = _named(match[1].removeprefix("Benchmark"), package)
            yield Reading(
                uid, _values(match[3], place, metrics), size, execution=max(0, runs[package] - 1)
            )


def _values(text: str, line: int, metrics: dict[str, Metric]) -> dict[str, list[ReadingValue]]:
    """Pairs of a number and its unit."""
    words = text.split()
    if len(words) % 2:
        raise Malformed(f"line {line}: a benchmark's results are pairs of a number and a unit")
    columns: dict[str, list[ReadingValue]] = {}
    for written, unit in zip(words[::2], words[1::2], strict=True):
        value = number(written)
        if value is None and written.lower() not in ("nan", "+inf", "-inf", "inf"):
            raise Malformed(f"line {line}: {written[:80]!r} is not a number")
        if unit in PER_OPERATION:
            metric = PER_OPERATION[unit]
            value = value / 1e9 if metric == "wall" and value is not None else value
        elif unit in RATES:
            metric, value = "throughput", None if value is None else value * RATES[unit]
        else:
            metric = usable(unit.replace("/", "_per_"))
            higher = base(unit).unit.endswith("/s")
            metrics.setdefault(metric, Metric(unit, "higher" if higher else "none"))
        columns[metric] = [value]
    return columns


def _named(name: str, package: str) -> tuple[str, float | None]:
    """A benchmark below its package, its parts with ``=`` as parameters; the number of processors
    behind it stays a part of it.
    """
    cpus = CPUS.fullmatch(name)
    name, *parts = (cpus[1] if cpus else name).split("/")
    given = [
        (key, value) if equals else ("", part)
        for part in parts
        for key, equals, value in [part.partition("=")]
    ]
    uid, size = sized(f"{package}.{name}" if package else name, given)
    return (f"{uid} cpus={cpus[2]}" if cpus else uid), size
