"""JSON of JMH (https://github.com/openjdk/jmh), as docs/exchange/jmh.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    Written,
    machine,
    profile_of,
    quantity,
    sized,
    summary,
    tells,
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
class Jmh:
    """One result file: forks are executions, their measured iterations are iterations."""

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its version, or its fields of a benchmark."""
        return tells(head, "benchmark", "mode", "forks") or tells(head, "jmhVersion")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        found = typed(document, list[_Benchmark])
        known = dict[str, Metric]()
        readings = [
            reading
            for number, one in enumerate(found)
            for reading in _readings(one, f"$[{number}]", known)
        ]
        about: Any = found[0] if found else _Benchmark("", "", _Score())
        fields = {
            "jdk": about.jdkVersion,
            "vm": f"{about.vmName} {about.vmVersion}".strip(),
            "jvm_args": " ".join(about.jvmArgs),
        }
        return profile_of(
            document, "jmh", readings, known, machine=machine(fields, {"jmh": about.jmhVersion})
        )


def _readings(benchmark: _Benchmark, location: str, known: dict[str, Metric]) -> Iterator[Reading]:
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
    for about, score in columns.values():
        if about.metric in known and known[about.metric] != about.about:
            raise Malformed(
                f"{location}: `{about.metric[:80]}` is in {known[about.metric].unit} and in"
                f" {about.about.unit}"
            )
        known[about.metric] = about.about
        for number, values in enumerate(_forks(score, about.metric)):
            for metric, column in values.items():
                moved = (
                    column
                    if metric.endswith(".samples")
                    else [about.moved(value) for value in column]
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
            counts: list[ReadingValue] = [
                sum((max(0.0, count) for _, count in pairs), 0.0) for pairs in fork
            ]
            means = [
                sum(value * max(0.0, times) for value, times in pairs) / count if count else None
                for pairs, count in zip(fork, counts, strict=True)
            ]
            yield {metric: means, f"{metric}.samples": counts}
    else:
        yield summary(
            metric,
            score.score,
            error=score.scoreError if isinstance(score.scoreError, float) else None,
        )
