"""JSON of BenchmarkDotNet (https://benchmarkdotnet.org), brief or full, and its table, as
docs/exchange/benchmark-dotnet.md describes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from perfvcs.formats import _dotnettable as dotnettable
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    divided,
    machine,
    profile_of,
    sized,
    summary,
    tells,
    typed,
    unended,
)
from perfvcs.profile import Metric, Profile

METRICS = {"wall": Metric("s"), "allocated": Metric("B/op"), "loops": Metric("", "none")}
NANO = 1e9
MACHINE = {
    "ProcessorName": "cpu",
    "OsVersion": "system",
    "Architecture": "machine",
    "RuntimeVersion": "runtime",
    "Configuration": "configuration",
}


class _Statistics(msgspec.Struct, rename="pascal"):
    """Nanoseconds; ``original_values`` are the results of all launches."""

    original_values: list[ReadingValue] | None = None
    mean: ReadingValue = None
    median: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    standard_deviation: ReadingValue = None
    n: ReadingValue = None


class _Measurement(msgspec.Struct, rename="pascal"):
    """One iteration; in the stage ``Result`` the overhead is taken off already."""

    iteration_mode: str = ""
    iteration_stage: str = ""
    launch_index: int = 1
    operations: float = 0
    nanoseconds: ReadingValue = None

    @property
    def counts(self) -> bool:
        """Whether it is a result, and no warm-up or pilot."""
        result = self.iteration_mode == "Workload" and self.iteration_stage == "Result"
        return result and self.nanoseconds is not None and self.operations > 0


class _Memory(msgspec.Struct, rename="pascal"):
    bytes_allocated_per_operation: ReadingValue = None


class _Benchmark(msgspec.Struct, rename="pascal"):
    full_name: str = ""
    display_info: str = ""
    short_info: str = ""
    namespace: str | None = None
    type: str | None = None
    method: str | None = None
    parameters: str | None = None
    statistics: _Statistics | None = None
    memory: _Memory | None = None
    measurements: list[_Measurement] | None = None


class _File(msgspec.Struct, rename="pascal"):
    benchmarks: list[_Benchmark]
    host_environment_info: dict[str, Any] = {}


@dataclass(frozen=True)
class BenchmarkDotnet:
    """One summary: launches are executions, their results iterations; warm-ups and pilots are left
    out.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json", ".csv")

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By what it says of the machine, or by the heading of its table."""
        if tells(head, "HostEnvironmentInfo") or tells(head, "BenchmarkDotNetVersion"):
            return True
        return dotnettable.HEADING.match(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile; raises NoResults, and Malformed with the place."""
        if dotnettable.HEADING.match(document):
            return profile_of(
                document,
                "benchmark-dotnet",
                dotnettable.readings(document, stem),
                METRICS,
                notes=unended(document),
            )
        file = typed(document, _File)
        host = file.host_environment_info
        return profile_of(
            document,
            "benchmark-dotnet",
            _all(file.benchmarks),
            METRICS,
            machine=machine(
                {ours: host.get(theirs) for theirs, ours in MACHINE.items()},
                {"version": host.get("BenchmarkDotNetVersion")},
            ),
        )


def _all(benchmarks: list[_Benchmark]) -> Iterator[Reading]:
    """The readings of all benchmarks; one that several jobs measured, of other runtimes for
    example, is a unit of each job.
    """
    units = [_named(benchmark) for benchmark in benchmarks]
    counts = Counter(units)
    for benchmark, (uid, size) in zip(benchmarks, units, strict=True):
        job = benchmark.display_info.partition(": ")[2].partition(" [")[0]
        several = job and counts[uid, size] > 1
        yield from _readings(benchmark, f"{uid} [{job}]" if several else uid, size)


def _named(benchmark: _Benchmark) -> tuple[str, float | None]:
    """The unit and its size."""
    name = ".".join(filter(None, (benchmark.namespace, benchmark.type, benchmark.method)))
    texts = (benchmark.parameters or "").replace(", ", "&").split("&")
    given = [text.partition("=") for text in texts if text]
    parameters = [(key, value) if equals else ("", key) for key, equals, value in given]
    return sized(name or benchmark.full_name or benchmark.short_info or "?", parameters)


def _readings(benchmark: _Benchmark, uid: str, size: float | None) -> Iterator[Reading]:
    """Each launch; where its iterations were not written, the results without their launches, or
    the mean.
    """
    allocated = benchmark.memory.bytes_allocated_per_operation if benchmark.memory else None
    results = [iteration for iteration in benchmark.measurements or () if iteration.counts]
    stats = benchmark.statistics or _Statistics()
    if results:
        for launch in dict.fromkeys(iteration.launch_index for iteration in results):
            of = [iteration for iteration in results if iteration.launch_index == launch]
            values = [
                iteration.nanoseconds / iteration.operations
                for iteration in of
                if iteration.nanoseconds is not None
            ]
            yield Reading(
                uid,
                {
                    "wall": divided(values, NANO),
                    "loops": [iteration.operations for iteration in of],
                    "allocated": [allocated],
                },
                size,
                max(0, launch - 1),
            )
    elif stats.original_values:
        values = divided(stats.original_values, NANO)
        yield Reading(uid, {"wall": values, "allocated": [allocated]}, size)
    else:
        columns = summary(
            "wall",
            stats.mean,
            over=NANO,
            deviation=stats.standard_deviation,
            median=stats.median,
            least=stats.min,
            largest=stats.max,
            samples=stats.n,
        )
        yield Reading(uid, {**columns, "allocated": [allocated]}, size)
