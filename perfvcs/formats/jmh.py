"""JSON of JMH (https://github.com/openjdk/jmh), as docs/exchange/jmh.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from perfvcs.formats._metric import Written, quantity, usable
from perfvcs.formats._readings import (
    Keyed,
    Reading,
    ReadingValue,
    machine,
    profile_of,
    sized,
    summary,
    typed,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed


class _Score(msgspec.Struct):
    """``rawData`` has the iterations of each fork; of sampled times, ``rawDataHistogram`` has pairs
    of a value and how often it was.
    """

    scoreUnit: str = ""
    score: ReadingValue = None
    scoreError: ReadingValue | str = None
    rawData: list[list[ReadingValue]] | None = None
    rawDataHistogram: list[list[list[tuple[float, float]]]] | None = None


class _Benchmark(msgspec.Struct):
    benchmark: str
    mode: str
    primaryMetric: _Score
    params: dict[str, str] = {}
    secondaryMetrics: dict[str, _Score] = {}
    threads: float = 1
    jmhVersion: str = ""
    jdkVersion: str = ""
    vmName: str = ""
    vmVersion: str = ""
    jvmArgs: list[str] = []


@dataclass(frozen=True)
class Jmh(Keyed):
    """One result file: forks are executions, their measured iterations are iterations."""

    keys = ("benchmark mode forks", "jmhVersion")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        benchmarks = typed(document, list[_Benchmark])
        metrics = dict[str, Metric]()
        readings = [
            reading
            for number, benchmark in enumerate(benchmarks)
            for reading in _readings(benchmark, f"$[{number}]", metrics)
        ]
        first: Any = benchmarks[0] if benchmarks else _Benchmark("", "", _Score())
        fields = {
            "jdk": first.jdkVersion,
            "vm": f"{first.vmName} {first.vmVersion}".strip(),
            "jvm_args": " ".join(first.jvmArgs),
        }
        return profile_of(
            document, "jmh", readings, metrics, machine=machine(fields, {"jmh": first.jmhVersion})
        )


def _readings(
    benchmark: _Benchmark, location: str, metrics: dict[str, Metric]
) -> Iterator[Reading]:
    uid, size = sized(benchmark.benchmark, benchmark.params.items())
    if benchmark.mode != "avgt":
        uid += f" [{benchmark.mode}]"
    if benchmark.threads != 1:
        uid += f" threads={benchmark.threads:g}"
    primary = benchmark.primaryMetric
    whole = quantity(primary.scoreUnit, "higher" if benchmark.mode == "thrpt" else "lower")
    columns: dict[str, tuple[Written, _Score]] = {"": (whole, primary)}
    for name, score in benchmark.secondaryMetrics.items():
        columns[name] = quantity(score.scoreUnit, "none", usable(name)), score
    forks: dict[int, dict[str, list[ReadingValue]]] = {}
    for measured, score in columns.values():
        if measured.metric in metrics and metrics[measured.metric] != measured.definition:
            raise Malformed(
                f"{location}: `{measured.metric[:80]}` is in {metrics[measured.metric].unit} and in"
                f" {measured.definition.unit}"
            )
        metrics[measured.metric] = measured.definition
        for number, values in enumerate(_forks(score, measured.metric)):
            for metric, column in values.items():
                moved = (
                    column
                    if metric.endswith(".samples")
                    else [measured.moved(value) for value in column]
                )
                forks.setdefault(number, {})[metric] = moved
    for number, values in forks.items():
        yield Reading(uid, values, size, execution=number)


def _forks(score: _Score, metric: str) -> Iterator[dict[str, list[ReadingValue]]]:
    """The values of each fork: iterations, the means of iterations that were sampled, or the score
    alone.
    """
    if score.rawData:
        yield from ({metric: values} for values in score.rawData)
    elif score.rawDataHistogram:
        for fork in score.rawDataHistogram:
            means: list[ReadingValue] = []
            counts: list[ReadingValue] = []
            for histogram in fork:
                weights = [max(0.0, count) for _, count in histogram]
                total = sum(weights, 0.0)
                whole = sum(
                    value * weight for (value, _), weight in zip(histogram, weights, strict=True)
                )
                means.append(whole / total if total else None)
                counts.append(total)
            yield {metric: means, f"{metric}.samples": counts}
    else:
        error = score.scoreError if isinstance(score.scoreError, float) else None
        yield summary(metric, score.score, error=error)
