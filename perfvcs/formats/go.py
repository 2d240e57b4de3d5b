"""The text of ``go test -bench`` (https://pkg.go.dev/testing), as docs/exchange/go.md describes
it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import ClassVar, NamedTuple

from perfvcs.formats._metric import direction, usable
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    lines_of,
    machine,
    number,
    profile_of,
    sized,
    unended,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {
    "wall": Metric("s"),
    "allocated": Metric("B/op"),
    "allocs": Metric("allocs/op"),
    "throughput": Metric("B/s", "higher"),
}
PER_OPERATION = {"ns/op": "wall", "B/op": "allocated", "allocs/op": "allocs"}
BENCHMARK_LINE = re.compile(r"(Benchmark\S*)[ \t]+([0-9]{1,18})[ \t]+(\S.*)")
PAIR = re.compile(r"(?:[-+0-9.eE]+|[-+]?Inf|NaN)[ \t]+\S")
# with -v, or where it prints something itself, a benchmark's name and its result are on two lines
NAME_LINE = re.compile(r"(Benchmark(?![a-z])\S*)(?: *\t.*)?")
RESULT_LINE = re.compile(r"[ \t]*[0-9]{1,18}[ \t]+([0-9.eE+-]+[ \t]+ns/op.*)")
FAILED = re.compile(r"--- FAIL: (Benchmark\S*)(?: .*)?")  # the others of its package go on
PACKAGE_END = re.compile(r"(?:ok|FAIL)[ \t]+(\S+)[ \t].*")
SIGNATURE = re.compile(rb"^Benchmark\S*[ \t]+[0-9]{1,18}[ \t]+[-+0-9.eE]+ \S+", re.MULTILINE)
PACKAGE = re.compile(rb"^pkg: \S", re.MULTILINE)
CPUS = re.compile(r"(.+)-([0-9]{1,6})")
RATES = {"MB/s": 1e6, "GB/s": 1e9, "B/s": 1.0}


@dataclass(frozen=True)
class Go:
    """What one or more runs of ``go test`` printed: each is an execution, and what ``-count``
    repeats in it iterations.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".bench",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By a line of a benchmark, or by a package and a result."""
        if head.lstrip().startswith((b"{", b"[", b"<")):
            return False
        return SIGNATURE.search(head) is not None or (
            PACKAGE.search(head) is not None and b" ns/op" in head
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        metrics, fields = dict(METRICS), dict[str, str]()
        found = [*readings(lines_of(document), metrics, fields)]
        return profile_of(
            document, "go", found, metrics, machine=machine(fields), notes=unended(document)
        )


def readings(
    lines: list[str], metrics: dict[str, Metric], fields: dict[str, str]
) -> Iterator[Reading]:
    """The benchmarks; a package that is announced again begins another run.

    Before Go 1.9 only the last line of a package named it. Metrics that are new get into
    ``metrics``.
    """
    package, runs = _Package(), Counter[str]()
    for place, line in enumerate(map(str.rstrip, lines), 1):
        key, colon, value = line.partition(": ")
        if colon and key == "pkg":
            yield from package.readings(runs, metrics)
            package = _Package(value.strip())
        elif colon and key in ("goos", "goarch", "cpu"):
            fields.setdefault(key, value.strip())
        elif match := PACKAGE_END.fullmatch(line):
            package.name = package.name or match[1]
            yield from package.readings(runs, metrics)
            package = _Package()
        else:
            package.take(line, place)
    yield from package.readings(runs, metrics)


@dataclass
class _Package:
    """What one run of a package printed: the results, and the benchmarks that it began."""

    name: str = ""
    results: list[_Result] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    def take(self, line: str, place: int) -> None:
        """A line, which may have a result, or the name of a benchmark that has it further below."""
        match = BENCHMARK_LINE.fullmatch(line)
        if match and PAIR.match(match[3]):
            self.results.append(_Result(match[1], match[3], place))
        elif match := NAME_LINE.fullmatch(line) or FAILED.fullmatch(line):
            self.begun.append(match[1])
        elif self.begun and (match := RESULT_LINE.fullmatch(line)):
            self.results.append(_Result(self.begun[-1], match[1], place))

    def readings(self, runs: Counter[str], metrics: dict[str, Metric]) -> Iterator[Reading]:
        """The benchmarks, also those without a result; ``runs`` counts the package."""
        if not self.results and not self.begun:
            return
        execution = runs[self.name]
        runs[self.name] += 1
        done = set[str]()
        for result in self.results:
            uid, size = _named(result.name.removeprefix("Benchmark"), self.name)
            values = _values(result.pairs, result.line, metrics)
            yield Reading(uid, values, size, execution=execution)
            bare = CPUS.fullmatch(result.name)
            # above its parts a benchmark has no result of its own
            done |= {
                result.name,
                *accumulate((bare[1] if bare else result.name).split("/"), _joined),
            }
        for name in self.begun:
            if name not in done:
                yield Reading(_named(name.removeprefix("Benchmark"), self.name)[0], {})


class _Result(NamedTuple):
    """A benchmark's name as it is written, its pairs of a number and a unit, and the line."""

    name: str
    pairs: str
    line: int


def _joined(above: str, below: str) -> str:
    return f"{above}/{below}"


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
            metrics.setdefault(metric, Metric(unit, direction(unit)))
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
