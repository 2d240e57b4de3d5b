"""Messages of cargo-criterion, which the folder of Criterion becomes, too, as
docs/exchange/criterion.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import msgspec

from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    lines_of,
    number,
    profile_of,
    quantity,
    summary,
    tells,
    typed,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {"wall": Metric("s"), "loops": Metric("", "none")}
COMPLETE = "benchmark-complete"


class _Estimate(msgspec.Struct):
    estimate: ReadingValue = None


class Message(msgspec.Struct, omit_defaults=True):
    """What is read of a message: the iterations of each sample, and the time that they took
    together.
    """

    reason: str
    id: str = ""
    iteration_count: list[float] = []
    measured_values: list[ReadingValue] = []
    unit: str = "ns"
    mean: _Estimate | None = None


class BenchmarkName(msgspec.Struct):
    """What is read of benchmark.json in Criterion's folder."""

    full_id: str


class SampleFile(msgspec.Struct):
    """What is read of sample.json."""

    iters: list[float]
    times: list[ReadingValue]


@dataclass(frozen=True)
class Criterion:
    """All benchmarks of one run: samples are iterations of one execution, each the mean of its
    calls.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By a message's reason; by the fields of a sample, which is refused with a cure."""
        return (
            b'"benchmark-complete"' in head
            or b'"group-complete"' in head
            or tells(head, "sampling_mode", "iters")
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        if tells(document[:1000], "sampling_mode", "iters"):
            raise Malformed(
                "it does not name its benchmark: import the folder target/criterion, or the output"
                " of `cargo criterion --message-format=json`"
            )
        metrics = dict(METRICS)
        readings = [
            reading
            for place, line in enumerate(lines_of(document), 1)
            if line.strip()
            for reading in _readings(_message(line, place), place, metrics)
        ]
        return profile_of(document, "criterion", readings, metrics)


def message_of(name: bytes, sample: bytes) -> bytes:
    """The line that says what a benchmark's files benchmark.json and sample.json say; raises
    Malformed.
    """
    sample_file = typed(sample, SampleFile)
    return (
        msgspec.json.encode(
            Message(
                COMPLETE, typed(name, BenchmarkName).full_id, sample_file.iters, sample_file.times
            )
        )
        + b"\n"
    )


def _message(line: str, number: int) -> Message:
    try:
        return typed(line.encode(), Message)
    except Malformed as error:
        raise Malformed(f"line {number}: {error}") from None


def _readings(message: Message, index: int, metrics: dict[str, Metric]) -> Iterator[Reading]:
    if message.reason != COMPLETE:
        return
    uid, _, last = message.id.rpartition("/")
    size = number(last) if uid else None
    uid = message.id if size is None else uid
    measured = quantity(message.unit, "lower")
    if metrics.setdefault(measured.metric, measured.definition) != measured.definition:
        raise Malformed(f"line {index}: `{measured.metric[:80]}` is in another unit before")
    if not message.measured_values:
        mean = message.mean.estimate if message.mean else None
        yield Reading(uid, summary(measured.metric, measured.moved(mean)), size)
        return
    if len(message.iteration_count) != len(message.measured_values):
        raise Malformed(
            f"line {index}: it has {len(message.measured_values)} values and"
            f" {len(message.iteration_count)} numbers of calls"
        )
    per_call = [
        value / count if value is not None and count > 0 else None
        for value, count in zip(message.measured_values, message.iteration_count, strict=True)
    ]
    yield Reading(
        uid,
        {
            measured.metric: [measured.moved(value) for value in per_call],
            "loops": [*message.iteration_count],
        },
        size,
    )
