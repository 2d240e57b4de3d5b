"""JSON of NVBench (https://github.com/NVIDIA/nvbench), as docs/exchange/nvbench.md describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from perfvcs.formats._readings import Reading, machine, number, profile_of, sized, tells, typed
from perfvcs.profile import Environment, Metric, Profile

METRICS = {
    "gpu": Metric("s"),
    "cpu": Metric("s"),
    "batch": Metric("s"),
    "items": Metric("items/s", "higher"),
    "bandwidth": Metric("B/s", "higher"),
}
TAGS = {
    "nv/cold/time/gpu/mean": "gpu",
    "nv/cold/time/cpu/mean": "cpu",
    "nv/batch/time/gpu/mean": "batch",
    "nv/cold/bw/item_rate": "items",
    "nv/cold/bw/global/bytes_per_second": "bandwidth",
    "nv/cold/time/gpu/min": "gpu.least",
    "nv/cold/time/gpu/max": "gpu.largest",
    "nv/cold/time/gpu/stdev/absolute": "gpu.deviation",
    "nv/cold/sample_size": "gpu.samples",
}


class _Value(msgspec.Struct):
    """Numbers are texts, so that none is rounded."""

    name: str
    value: Any = None


class _Summary(msgspec.Struct):
    tag: str = ""
    data: list[_Value] = []


class _Axis(msgspec.Struct):
    name: str
    value: Any = None
    input_string: str = ""


class _State(msgspec.Struct):
    """A benchmark with values of its axes, on one device."""

    device: int | None = None
    axis_values: list[_Axis] | None = None
    summaries: list[_Summary] | None = None
    is_skipped: bool = False


class _Benchmark(msgspec.Struct):
    name: str
    states: list[_State] = []


class _File(msgspec.Struct):
    benchmarks: list[_Benchmark]
    devices: list[dict[str, Any]] | None = None
    meta: dict[str, Any] = {}


@dataclass(frozen=True)
class Nvbench:
    """One run: the mean times of each benchmark on the GPU and the CPU, for each combination of its
    axes.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its benchmarks on devices."""
        return tells(head, "benchmarks", "devices") and (
            b'"nv/' in head or tells(head, "sm_version") or tells(head, "nvbench")
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        return profile_of(
            document, "nvbench", _readings(file), METRICS, machine=_machine(file.devices or [])
        )


def _readings(file: _File) -> Iterator[Reading]:
    several = len({state.device for one in file.benchmarks for state in one.states}) > 1
    for benchmark in file.benchmarks:
        for state in benchmark.states:
            axes = [
                (axis.name, axis.input_string or str(axis.value)[:200])
                for axis in state.axis_values or ()
            ]
            uid, size = sized(benchmark.name, axes)
            if several:
                uid += f" device={state.device}"
            values = {
                TAGS[summary.tag]: [number(str(value.value)[:400]) for value in summary.data[:1]]
                for summary in state.summaries or ()
                if summary.tag in TAGS and summary.data
            }
            yield Reading(uid, {} if state.is_skipped else values, size)


def _machine(devices: list[dict[str, Any]]) -> Environment:
    """The devices' models, versions and clocks; that of the memory is a note."""
    fields = {"gpu": "name", "sm": "sm_version", "sm_clock": "sm_default_clock_rate"}
    notes = {"memory_clock": "global_memory_bus_peak_clock_rate"}
    return machine(_of_all(devices, fields), _of_all(devices, notes))


def _of_all(devices: list[dict[str, Any]], fields: dict[str, str]) -> dict[str, str]:
    """What all devices have of some fields, by our names."""
    return {
        ours: ", ".join(str(device[theirs])[:200] for device in devices if theirs in device)
        for ours, theirs in fields.items()
    }
