"""Tasks of tinybench (https://github.com/tinylibs/tinybench) as JSON, as docs/exchange/tinybench.md
describes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from perfvcs.formats._readings import (
    Keyed,
    Reading,
    ReadingValue,
    divided,
    machine,
    profile_of,
    shaped,
    summary,
    typed,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {"wall": Metric("s")}


class Statistics(msgspec.Struct):
    """The statistics of one task, also of vitest, which runs tinybench; their names differ between
    versions.
    """

    samples: list[ReadingValue] | None = None
    mean: ReadingValue = None
    sd: ReadingValue = None
    median: ReadingValue = None
    p50: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    p75: ReadingValue = None
    p99: ReadingValue = None
    sampleCount: ReadingValue = None
    samplesCount: ReadingValue = None


def columns(stats: Statistics) -> dict[str, list[ReadingValue]]:
    """The samples as iterations; where they were not written, the mean."""
    if stats.samples:
        return {"wall": divided(stats.samples, 1e3)}
    return summary(
        "wall",
        stats.mean,
        over=1e3,
        deviation=stats.sd,
        median=stats.p50 if stats.median is None else stats.median,
        least=stats.min,
        largest=stats.max,
        p75=stats.p75,
        p99=stats.p99,
        samples=stats.samplesCount if stats.sampleCount is None else stats.sampleCount,
    )


class _Result(Statistics):
    """Older versions have the statistics of the latency here."""

    latency: Statistics | None = None
    runtime: str = ""
    runtimeVersion: str = ""


class _Task(msgspec.Struct):
    name: str
    result: _Result | None = None


@dataclass(frozen=True)
class Tinybench(Keyed):
    """Names and results of the tasks of one bench: samples are iterations of one execution, or the
    mean stands for them.
    """

    keys = ("latency totalTime", "latency throughput period")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        entries = typed(document, Any)
        if isinstance(entries, list) and any(
            isinstance(entry, dict) and "latency" in entry for entry in entries
        ):
            raise Malformed(
                "its results have no names: write bench.tasks.map(({ name, result }) => ({ name,"
                " result })) instead of bench.results"
            )
        tasks = shaped(entries, list[_Task], "$")
        readings = [
            Reading(task.name, columns(task.result.latency or task.result) if task.result else {})
            for task in tasks
        ]
        runtimes = [
            f"{task.result.runtime} {task.result.runtimeVersion}".strip()
            for task in tasks
            if task.result is not None
        ]
        return profile_of(
            document,
            "tinybench",
            readings,
            METRICS,
            machine=machine({"runtime": next(filter(None, runtimes), "")}),
        )
