"""JSON of Google Benchmark (https://github.com/google/benchmark), as
docs/exchange/google-benchmark.md describes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import Keyed, Reading, machine, profile_of, shaped, sized, typed
from perfvcs.profile import Metric, Profile
from perfvcs.profile.units import base
from perfvcs.profile.validity import Malformed

METRICS = {"wall": Metric("s"), "cpu": Metric("s")}
# what it says of a benchmark besides its counters
CONTEXT_FIELDS = {
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "time_unit",
    "label",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
    "aggregate_name",
    "aggregate_unit",
    "real_time",
    "cpu_time",
    "complexity_n",
    "big_o",
    "rms",
    "cpu_coefficient",
    "real_coefficient",
}
MOST_NAMED = 5  # benchmarks that ended with an error
RATE_NAME = re.compile(r"(?:\w+_)?(?P<what>bytes|items)_per_second")
SETTING = re.compile(
    r"(?:iterations|repeats|min_time|min_warmup_time|warmup):.*|real_time|process_time|manual_time"
)
ARGUMENT = re.compile(r"(?:([^:]+):)?(.*)", re.DOTALL)


class _Benchmark(msgspec.Struct):
    """What is the same for all; times are in ``time_unit``."""

    name: str
    run_name: str = ""
    run_type: str = "iteration"
    time_unit: str = "ns"
    label: str = ""
    real_time: float | None = None
    cpu_time: float | None = None
    error_occurred: bool = False
    error_message: str = ""
    skipped: bool | str | None = None


class _File(msgspec.Struct):
    benchmarks: list[dict[str, Any]]
    context: dict[str, Any] = {}


@dataclass(frozen=True)
class GoogleBenchmark(Keyed):
    """One program's output: repetitions are iterations of one process, counters are metrics,
    aggregates are left out.

    Where only aggregates were written, each mean is a value of its own.
    """

    keys = ("context benchmarks num_cpus", "context benchmarks real_time")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        metrics = dict(METRICS)
        whole = {
            benchmark.run_name or benchmark.name
            for benchmark in map(_about, file.benchmarks)
            if benchmark.run_type == "iteration"
        }
        readings = [
            reading
            for number, row in enumerate(file.benchmarks)
            for reading in _readings(row, f"$.benchmarks[{number}]", whole, metrics)
        ]
        failed = [
            f"{benchmark.name} ended with an error: {benchmark.error_message or 'no reason given'}"
            for benchmark in map(_about, file.benchmarks)
            if benchmark.error_occurred
        ]
        context = file.context
        fields = {
            "host": context.get("host_name"),
            "cpus": context.get("num_cpus"),
            "library": context.get("library_build_type"),
        }
        return profile_of(
            document,
            "google-benchmark",
            readings,
            metrics,
            machine=machine(fields, {"program": context.get("executable")}, failed[:MOST_NAMED]),
            started=str(context.get("date") or ""),
        )


def _about(row: dict[str, Any]) -> _Benchmark:
    return shaped(row, _Benchmark, "$.benchmarks[...]")


def _readings(
    row: dict[str, Any], location: str, whole: set[str], metrics: dict[str, Metric]
) -> Iterator[Reading]:
    """One repetition, or a mean where the repetitions were not written; metrics that are new get
    into ``metrics``.
    """
    benchmark = shaped(row, _Benchmark, location)
    mean = (
        row.get("aggregate_name") == "mean" and (benchmark.run_name or benchmark.name) not in whole
    )
    if not (benchmark.run_type == "iteration" or mean):
        return
    if benchmark.error_occurred or benchmark.skipped:
        uid, size = _named(benchmark.run_name or benchmark.name, benchmark.label)
        if not benchmark.error_occurred:  # that is said with its reason
            yield Reading(uid, {}, size)
        return
    times = base(benchmark.time_unit)
    if times.unit != "s":
        raise Malformed(f"{location}.time_unit is not a unit of time: {benchmark.time_unit[:80]}")
    uid, size = _named(benchmark.run_name or benchmark.name, benchmark.label)
    values = {"wall": benchmark.real_time, "cpu": benchmark.cpu_time}
    values = {
        metric: None if value is None else value * times.times / times.over
        for metric, value in values.items()
    }
    for counter, value in row.items():
        if counter not in CONTEXT_FIELDS and type(value) in (int, float):
            metric = usable(counter)
            rate = RATE_NAME.fullmatch(counter)
            # nobody says whether more of a counter is better, but for rates
            definition = Metric("", "none")
            if rate:
                definition = Metric("B/s" if rate["what"] == "bytes" else "items/s", "higher")
            metrics.setdefault(metric, definition)
            values[metric] = shaped(value, float, f"{location}.{counter[:80]}")
    yield Reading(uid, {metric: [value] for metric, value in values.items()}, size)


def _named(run: str, label: str) -> tuple[str, float | None]:
    """A benchmark's name without what only sets how it is run: ``BM_Sort/256/iterations:200`` is
    BM_Sort at 256.
    """
    name, *parts = run.split("/")
    given = []
    for part in parts:
        if SETTING.fullmatch(part):
            continue
        if part.startswith("threads:"):
            name += f" {part.replace(':', '=')}"
            continue
        match = ARGUMENT.fullmatch(part)
        given.append((match[1] or "", match[2]) if match else ("", part))
    uid, size = sized(name, given)
    return f"{uid} [{label}]" if label else uid, size
