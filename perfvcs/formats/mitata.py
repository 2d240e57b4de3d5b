"""JSON of mitata (https://github.com/evanwashere/mitata), as docs/exchange/mitata.md describes
it.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    sized,
    summary,
    typed,
)
from perfvcs.profile import Metric, Profile

METRICS = {"wall": Metric("s"), "heap": Metric("B", "none")}


class _Heap(msgspec.Struct):
    avg: ReadingValue = None


class _Stats(msgspec.Struct):
    """Nanoseconds of a call; samples are in the order of their size."""

    samples: list[ReadingValue] | None = None
    avg: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    p50: ReadingValue = None
    p75: ReadingValue = None
    p99: ReadingValue = None
    heap: _Heap | None = None


class _Run(msgspec.Struct):
    """One benchmark with its arguments; one that failed has no statistics."""

    name: str
    stats: _Stats | None = None
    args: dict[str, Any] = {}


class _Trial(msgspec.Struct):
    runs: list[_Run]
    alias: str = ""
    group: int | None = None


class _Layout(msgspec.Struct):
    name: str | None = None


class _File(msgspec.Struct):
    benchmarks: list[_Trial]
    layout: list[_Layout] = []
    context: dict[str, Any] = {}


@dataclass(frozen=True)
class Mitata(Keyed):
    """One run (``format: "json"``): samples are iterations of one execution, or the mean stands for
    them.
    """

    keys = ("benchmarks runs stats layout", "benchmarks runs stats alias")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        context, cpu = file.context, file.context.get("cpu")
        fields = {
            "cpu": cpu.get("name") if isinstance(cpu, dict) else None,
            "machine": context.get("arch"),
            "runtime": f"{context.get('runtime', '')} {context.get('version', '')}".strip(),
        }
        return profile_of(document, "mitata", _readings(file), METRICS, machine=machine(fields))


def _readings(file: _File) -> Iterator[Reading]:
    for trial in file.benchmarks:
        place = trial.group if trial.group is not None else -1
        group = file.layout[place].name if 0 <= place < len(file.layout) else None
        for run in trial.runs:
            uid, size = (
                sized(trial.alias, run.args.items())
                if run.args and trial.alias
                else (run.name, None)
            )
            yield Reading(
                f"{group} > {uid}" if group else uid, _columns(run.stats) if run.stats else {}, size
            )


def _columns(stats: _Stats) -> dict[str, list[ReadingValue]]:
    heap: dict[str, list[ReadingValue]] = (
        {"heap": [stats.heap.avg]} if stats.heap and stats.heap.avg is not None else {}
    )
    if stats.samples:
        return {"wall": divided(stats.samples, 1e9), **heap}
    columns = summary(
        "wall",
        stats.avg,
        over=1e9,
        median=stats.p50,
        least=stats.min,
        largest=stats.max,
        p75=stats.p75,
        p99=stats.p99,
    )
    return columns | heap
