"""Files of pyperf (https://pyperf.readthedocs.io), as docs/exchange/pyperf.md describes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec

from perfvcs.formats._readings import Keyed, Reading, ReadingValue, machine, profile_of, typed
from perfvcs.profile import REPEATED, Metric, Profile

METRICS = {
    "second": ("wall", Metric("s")),
    "byte": ("memory", Metric("B")),
    "integer": ("value", Metric("")),
}
MACHINE = {
    "hostname": "host",
    "cpu_model_name": "cpu",
    "cpu_config": "cpu_config",
    "python_version": "python",
    "python_implementation": "implementation",
}


class _Run(msgspec.Struct):
    """A process; of warm-ups and values, each pair of a warm-up has the number of loops first.

    Before version 1.0 of pyperf, which was called perf, values were samples.
    """

    values: list[ReadingValue] = []
    samples: list[ReadingValue] = []
    warmups: list[tuple[ReadingValue, ReadingValue]] = []
    metadata: dict[str, Any] = {}


class _Benchmark(msgspec.Struct):
    runs: list[_Run]
    metadata: dict[str, Any] = {}
    common_metadata: dict[str, Any] = {}  # before version 1.0


class _File(msgspec.Struct):
    """A suite."""

    benchmarks: list[_Benchmark]
    metadata: dict[str, Any] = {}


@dataclass(frozen=True)
class Pyperf(Keyed):
    """One suite: runs are executions, their values iterations, warm-ups are marked and kept."""

    keys = (
        "benchmarks runs warmups",
        "benchmarks runs loops",
        "benchmarks runs values",
        "benchmarks runs common_metadata",
    )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        shared = file.metadata
        platform = str(shared.get("platform") or "")
        system, _, release = platform.partition("-")
        dates = sorted(
            str(run.metadata["date"]).replace(" ", "T")
            for benchmark in file.benchmarks
            for run in benchmark.runs
            if run.metadata.get("date")
        )
        return profile_of(
            document,
            "pyperf",
            chain.from_iterable(_readings(benchmark, shared) for benchmark in file.benchmarks),
            dict(METRICS.values()),
            machine=machine(
                {
                    **{ours: shared.get(theirs) for theirs, ours in MACHINE.items()},
                    "system": system,
                    "kernel": release,
                },
                {"command": shared.get("command"), "platform": platform},
            ),
            started=next(iter(dates), ""),
            ended=next(reversed(dates), ""),
        )


def _readings(benchmark: _Benchmark, shared: dict[str, Any]) -> Iterator[Reading]:
    """What each process of a benchmark measured; one that only looked for the number of loops has
    no values.
    """
    metadata = {**shared, **benchmark.common_metadata, **benchmark.metadata}
    metric, _ = METRICS.get(str(metadata.get("unit", "second")), METRICS["integer"])
    uid = str(metadata.get("name") or "benchmark")
    executions = [run for run in benchmark.runs if run.values or run.samples]
    if not executions:
        yield Reading(uid, {})
    for number, run in enumerate(executions):
        yield Reading(
            uid, {metric: [value for _, value in run.warmups]}, execution=number, mark=REPEATED
        )
        yield Reading(uid, {metric: run.values or run.samples}, execution=number)
