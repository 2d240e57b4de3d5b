"""The table that BenchmarkDotNet writes by default, Sorting-report.csv: a mean for each benchmark,
in a unit of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from perfvcs.formats._readings import Reading, ReadingValue, sized, summary
from perfvcs.formats._table import TextTable, WrittenNumber, converted, written
from perfvcs.profile.validity import Malformed

HEADING = re.compile(
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
RUNS = ("Job", "Runtime", "Toolchain")  # by which jobs are told apart
NAMES = ("Type", "Method", "Namespace", "Categories")
STATISTICS = {"StdDev": "deviation", "Median": "median", "Min": "least", "Max": "largest"}


def readings(document: bytes, stem: str) -> Iterator[Reading]:
    """A mean for each row; ``stem`` is the file's name, which says the type where no column does.

    Raises Malformed with the line.
    """
    table = TextTable(document, ";" if document.startswith((b"Method;", b"Type;")) else ",")
    if len({*table.titles}) < len(table.titles):
        raise Malformed("line 1: two columns have one title")
    columns = table.read(dict.fromkeys(range(len(table.titles)), str))
    rows = [dict(zip(table.titles, row, strict=True)) for row in zip(*columns, strict=True)]
    several = [name for name in RUNS if len({row.get(name) for row in rows}) > 1]
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
        yield Reading(uid, {**summary("wall", mean, **more), "allocated": [allocated]}, size)


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
