"""Files of pytest-benchmark (https://pytest-benchmark.readthedocs.io), as
docs/exchange/pytest-benchmark.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

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
from perfvcs.profile import Environment, Metric, Profile
from perfvcs.profile.validity import Malformed

if TYPE_CHECKING:
    from perfvcs.formats._metric import RoundValues

METRICS = {"wall": Metric("s")}
WRITTEN_VERSION = "5.0.0"  # the version of pytest-benchmark whose files are written


class _Stats(msgspec.Struct):
    """Seconds; ``data`` has the rounds where they were saved."""

    mean: ReadingValue = None
    stddev: ReadingValue = None
    median: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    rounds: ReadingValue = None
    data: list[ReadingValue] | None = None


class _Benchmark(msgspec.Struct):
    name: str
    stats: _Stats
    fullname: str = ""
    params: dict[str, Any] | None = None


class _File(msgspec.Struct):
    benchmarks: list[_Benchmark]
    machine_info: dict[str, Any] = {}
    commit_info: dict[str, Any] | None = None
    datetime: str = ""


@dataclass(frozen=True)
class PytestBenchmark(Keyed):
    """All benchmarks of one run of pytest: rounds are iterations of one execution."""

    keys = ("machine_info python_implementation_version", "commit_info benchmarks")

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        commit = file.commit_info or {}
        return profile_of(
            document,
            "pytest-benchmark",
            _readings(file),
            METRICS,
            commit=str(commit.get("id") or ""),
            started=file.datetime,
            machine=_machine(file.machine_info, commit),
        )

    def encode(self, profile: Profile) -> bytes:
        """A benchmark for each unit and size, with its first metric of time; all values are rounds.

        Raises Malformed without times.
        """
        from perfvcs.formats._metric import benchmarks, written

        times = [
            benchmark
            for benchmark in benchmarks(profile)
            if benchmark.definition.unit == "s" and benchmark.definition.better == "lower"
        ]
        if not times:
            raise Malformed("the profile has no times, and pytest-benchmark holds nothing else")
        first = times[0].metric
        fields, when = profile.environment.fields, profile.collected.started
        document = {
            "machine_info": {
                "node": fields.get("host", ""),
                "machine": fields.get("machine", ""),
                "system": fields.get("system", ""),
            },
            "commit_info": {"id": profile.commit, "dirty": profile.dirty is not None},
            "benchmarks": [_written(benchmark) for benchmark in times if benchmark.metric == first],
            "datetime": when,
            "version": WRITTEN_VERSION,
        }
        return written(document)


def _written(rounds: RoundValues) -> dict[str, Any]:
    import statistics

    size = None if rounds.size is None else f"{rounds.size:g}"
    name = rounds.uid if size is None else f"{rounds.uid}[{size}]"
    stats = {
        "min": min(rounds.values),
        "max": max(rounds.values),
        "mean": rounds.mean,
        "median": statistics.median(rounds.values),
        "stddev": statistics.stdev(rounds.values) if len(rounds.values) > 1 else 0,
        "rounds": len(rounds.values),
        "iterations": 1,
        "data": rounds.values,
    }
    return {
        "group": None,
        "name": name,
        "fullname": name,
        "params": None if size is None else {"size": rounds.size},
        "param": size,
        "extra_info": {},
        "options": {},
        "stats": stats,
    }


def _readings(file: _File) -> Iterator[Reading]:
    for benchmark in file.benchmarks:
        name = benchmark.fullname or benchmark.name
        params = benchmark.params or {}
        if params:  # which stand in brackets behind the name, as pytest writes them
            name = name.partition("[")[0]
        uid, size = sized(name, params.items())
        stats = benchmark.stats
        if stats.data:
            yield Reading(uid, {"wall": stats.data}, size)
            continue
        columns = summary(
            "wall",
            stats.mean,
            deviation=stats.stddev,
            median=stats.median,
            least=stats.min,
            largest=stats.max,
            samples=stats.rounds,
        )
        yield Reading(uid, columns, size)


def _machine(info: dict[str, Any], commit: dict[str, Any]) -> Environment:
    cpu = info.get("cpu")
    brand = cpu.get("brand_raw") or cpu.get("brand") if isinstance(cpu, dict) else cpu
    fields = {
        "cpu": brand,
        "host": info.get("node"),
        "kernel": info.get("release"),
        "machine": info.get("machine"),
        "python": (
            f"{info.get('python_implementation', '')} {info.get('python_version', '')}".strip()
        ),
        "system": info.get("system"),
    }
    changed = ["measured with uncommitted changes"] if commit.get("dirty") else []
    return machine(fields, {"branch": commit.get("branch")}, changed)
