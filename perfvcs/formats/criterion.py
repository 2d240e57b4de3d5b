"""Messages of cargo-criterion, which the folder of Criterion becomes, too, as
docs/exchange/criterion.md describes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from perfvcs.formats._foreign import MAX_FOREIGN
from perfvcs.formats._metric import quantity
from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    lines_of,
    number,
    profile_of,
    summary,
    tells,
    typed,
)
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {"wall": Metric("s"), "loops": Metric("", "none")}
COMPLETE = "benchmark-complete"
NEWEST = "new"
# of a benchmark: its last run, what that was compared with, and how both differ
RUN_FOLDERS = (NEWEST, "base", "change")
ESTIMATES = "estimates.json"  # in each of them
NAME, SAMPLE = "benchmark.json", "sample.json"


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


def is_part(folder: Path, names: Sequence[str]) -> bool:
    """Whether a folder with files of these names is one of a benchmark of Criterion, whose single
    files are not profiles.
    """
    return folder.name in RUN_FOLDERS and ESTIMATES in names


def is_newest(folder: Path, names: Sequence[str]) -> bool:
    """Whether it holds what the last run measured."""
    return folder.name == NEWEST and NAME in names and SAMPLE in names


def joined(folders: Sequence[Path]) -> bytes:
    """One document of the benchmarks in these folders; raises Malformed that names the folder, and
    as ``content`` does.
    """
    from perfvcs.formats import content

    lines: list[bytes] = []
    size = 0
    for folder in folders:
        name, sample = content(folder / NAME), content(folder / SAMPLE)
        size += len(name) + len(sample)
        if size > MAX_FOREIGN:
            raise Malformed(
                f"{folder}: the files up to here have over {MAX_FOREIGN:,} bytes: import the"
                " folders one by one"
            )
        try:
            lines.append(message_of(name, sample))
        except Malformed as error:
            raise Malformed(f"{folder}: {error}") from None
    return b"".join(sorted(lines))


def newest(root: Path) -> list[Path]:
    """The samples of the last run of each benchmark below ``target/criterion``."""
    return sorted(path for path in root.glob(f"**/{NEWEST}/{SAMPLE}") if path.is_file())


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
