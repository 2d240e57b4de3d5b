"""JSON of BenchmarkDotNet (https://benchmarkdotnet.org), brief or full, and its table, as
docs/exchange/benchmark-dotnet.md describes them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

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
from perfvcs.formats._table import TextTable, WrittenNumber, converted, written
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {"wall": Metric("s"), "allocated": Metric("B/op"), "loops": Metric("", "none")}
NANO = 1e9
MACHINE = {
    "ProcessorName": "cpu",
    "OsVersion": "system",
    "Architecture": "machine",
    "RuntimeVersion": "runtime",
    "Configuration": "configuration",
}
TABLE = re.compile(
    rb"(?:Type[,;])?Method[,;][^\n]{0,10000}Mean(?: \[[^\]\n]{1,20}\])?[,;]Error[,;\r\n]"
)
TITLE = re.compile(r"(\w+)(?: \[(.{1,20})\])?")
BYTES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}  # as BenchmarkDotNet writes them
# Columns of a job, which stand between the method and the parameters; those of a run's statistics
# stand behind Mean.
JOB = re.compile(
    r"Job|AnalyzeLaunchVariance|EvaluateOverhead|MaxAbsoluteError|MaxRelativeError|"
    r"MinInvokeCount|MinIterationTime|OutlierMode|Affinity|EnvironmentVariables|Jit|"
    r"LargeAddressAware|Platform|PowerPlanMode|Runtime|AllowVeryLargeObjects|Concurrent|"
    r"CpuGroups|Force|HeapAffinitizeMask|HeapCount|NoAffinitize|RetainVm|Server|Arguments|"
    r"BuildConfiguration|Clock|EngineFactory|NuGetReferences|Toolchain|IsMutator|"
    r"InvocationCount|IterationCount|IterationTime|LaunchCount|MaxIterationCount|"
    r"MaxWarmupIterationCount|MemoryRandomization|MinIterationCount|"
    r"MinWarmupIterationCount|RunStrategy|UnrollFactor|WarmupCount"
)
APART = ("Job", "Runtime", "Toolchain")  # by which jobs are told apart
NAMES = ("Type", "Method", "Namespace", "Categories")
STATISTICS = {"StdDev": "deviation", "Median": "median", "Min": "least", "Max": "largest"}


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
        return TABLE.match(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:
        """The profile; raises NoResults, and Malformed with the place."""
        if TABLE.match(document):
            return profile_of(
                document,
                "benchmark-dotnet",
                _table_readings(document, stem),
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
        wall = divided(stats.original_values, NANO)
        yield Reading(uid, {"wall": wall, "allocated": [allocated]}, size)
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


def _table_readings(document: bytes, stem: str) -> Iterator[Reading]:
    """A mean for each row; ``stem`` is the file's name, which says the type where no column does.

    Raises Malformed with the line.
    """
    table = TextTable(document, ";" if document.startswith((b"Method;", b"Type;")) else ",")
    if len({*table.titles}) < len(table.titles):
        raise Malformed("line 1: two columns have one title")
    columns = table.read(dict.fromkeys(range(len(table.titles)), str))
    rows = [dict(zip(table.titles, row, strict=True)) for row in zip(*columns, strict=True)]
    several = [name for name in APART if len({row.get(name) for row in rows}) > 1]
    units = {match[1]: match[2] or "" for match in map(TITLE.fullmatch, table.titles) if match}
    titles = {match[1]: match[0] for match in map(TITLE.fullmatch, table.titles) if match}
    parameters = _parameters(table.titles)
    for place, row in enumerate(rows, 2):
        name = f"{row.get('Type') or stem.removesuffix('-report')}.{row['Method']}"
        uid, size = sized(name.strip("."), [(title, row[title]) for title in parameters])
        runs = ", ".join(row[title] for title in several)
        uid = f"{uid} [{runs}]" if runs else uid

        def value(column: str, row: Mapping[str, str] = row, place: int = place) -> ReadingValue:
            title = titles.get(column)
            return _seconds(row[title], units[column], place) if title else None

        mean = value("Mean")
        if mean is None:
            yield Reading(uid, {})
            continue
        more = {word: value(column) for column, word in STATISTICS.items()}
        allocated = _bytes(row.get("Allocated", ""))
        yield Reading(
            uid, {**summary("wall", mean, over=1.0, **more), "allocated": [allocated]}, size
        )


def _parameters(titles: list[str]) -> list[str]:
    """The columns of parameters: what is before Mean and nothing else."""
    before = titles[: next(place for place, title in enumerate(titles) if title.startswith("Mean"))]
    return [title for title in before if not JOB.fullmatch(title) and title not in NAMES]


def _seconds(cell: str, unit: str, line: int) -> ReadingValue:
    """A time such as ``1,190.10 us``; the unit may stand in the heading alone. None for what was
    not measured.
    """
    text = cell.replace(",", "").strip().removesuffix("?").strip()
    if text in ("", "NA", "-"):
        return None
    quantity = written(text)
    if quantity is not None and not quantity.unit and unit:
        quantity = WrittenNumber(quantity.value, unit)
    seconds = converted(quantity, "s") if quantity is not None and quantity.unit else None
    if seconds is None:
        raise Malformed(f"line {line}: `{cell[:80]}` is not a time")
    return seconds


def _bytes(cell: str) -> ReadingValue:
    quantity = written(cell.replace(",", ""))
    if quantity is None or quantity.unit not in BYTES:
        return None
    return quantity.value * BYTES[quantity.unit]
