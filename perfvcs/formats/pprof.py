"""Profiles of pprof (https://github.com/google/pprof), as docs/exchange/pprof.md describes them.

Its messages are read by hand: the wire format is four kinds of fields, of which strangers can make
anything, and a library would not bound how many objects a small file becomes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import ClassVar, NamedTuple

from perfvcs.formats._foreign import bounded
from perfvcs.formats._metric import usable
from perfvcs.formats._stacks import SAMPLES, STACK_UNITS, CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

SIGNATURE = re.compile(
    rb"(?:[\x48\x50\x60][\x80-\xff]{0,9}[\x00-\x7f]){0,4}\x0a[\x02-\x14]\x08[\x01-\x7f]\x10[\x01-\x7f]"
)  # the first type of samples, before which times may stand
SAMPLE_TYPE, SAMPLE, LOCATION, FUNCTION, STRING, TIME = 1, 2, 4, 5, 6, 9  # fields of a profile
VARINT, FIXED64, BYTES_FIELD, FIXED32 = 0, 1, 2, 5  # kinds of fields
NUMBER_BYTES = 10  # bytes of a number
WORD = 1 << 64
LATEST_SECOND = 253402300799  # s: the end of the year 9999


class _Location(NamedTuple):
    """The functions at an address, the innermost of those that were inlined first; ``address``
    where there is none.
    """

    address: int
    functions: list[int]


@dataclass
class _File:
    """What is read of a profile; texts are numbers of ``strings`` until everything is there."""

    strings: list[str] = field(default_factory=list)
    types: list[tuple[int, int]] = field(default_factory=list)
    functions: dict[int, tuple[int, int]] = field(default_factory=dict)
    locations: dict[int, _Location] = field(default_factory=dict)
    samples: list[memoryview] = field(default_factory=list)
    time: int = 0

    def text(self, number: int) -> str:
        if not 0 <= number < len(self.strings):
            raise Malformed(f"there is no string {number}")
        return self.strings[number]


@dataclass(frozen=True)
class Pprof:
    """One recording: every type of its samples is a metric."""

    suffixes: ClassVar[tuple[str, ...]] = (".pprof", ".pb")

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its first field."""
        return SIGNATURE.match(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed."""
        file = _read(memoryview(bounded(document)))
        metrics: dict[str, str] = {}
        for kind, unit in file.types:
            word = file.text(unit)
            name = (
                usable(file.text(kind))
                if STACK_UNITS.get(word, word)
                else _counted(file.text(kind))
            )
            if name in metrics:
                raise Malformed(f"two types of its samples are called {name}")
            metrics[name] = word
        frames = {number: _frames(file, location) for number, location in file.locations.items()}
        counted = CountedStacks(metrics)
        for sample in file.samples:
            stack: list[str] = []
            at, values = _sample(sample)
            for number in at:
                if number not in frames:
                    raise Malformed(f"a sample is at location {number}, which is not there")
                stack += frames[number]
            if len(values) != len(metrics):
                raise Malformed(f"a sample has {len(values)} values of {len(metrics)} types")
            counted.add(
                stack[::-1],
                {
                    name: float(value)
                    for name, value in zip(metrics, values, strict=True)
                    if value > 0
                },
            )
        seconds = file.time / 1e9
        started = (
            datetime.fromtimestamp(seconds, UTC).isoformat() if 0 < seconds < LATEST_SECOND else ""
        )
        return counted.profile(document, "pprof", started=started)


def _counted(kind: str) -> str:
    """The metric of a type without a unit: how often, or how many."""
    return SAMPLES if kind in ("samples", "sample") else usable(kind)


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: numbers and bytes; the others are passed over."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield tag >> 3, value
        elif kind == BYTES_FIELD:
            size, at = _varint(message, at)
            if at + size > end:
                raise Malformed("a field is cut off")
            yield tag >> 3, message[at : at + size]
            at += size
        elif kind in (FIXED64, FIXED32):
            at += 8 if kind == FIXED64 else 4
            if at > end:
                raise Malformed("a field is cut off")
        else:
            raise Malformed(f"it is not a profile of pprof: a field is of kind {kind}")


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(NUMBER_BYTES):
        if at + place >= len(message):
            raise Malformed("a number is cut off")
        byte = message[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value % WORD, at + place + 1
    raise Malformed(f"a number has over {NUMBER_BYTES} bytes")


def _read(message: memoryview) -> _File:
    file = _File()
    for number, value in _fields(message):
        if isinstance(value, int):
            file.time = value if number == TIME else file.time
        elif number == STRING:
            file.strings.append(bytes(value).decode("utf-8", "replace"))
        elif number == SAMPLE_TYPE:
            fields = _numbers(value)
            file.types.append((fields.get(1, 0), fields.get(2, 0)))
        elif number == FUNCTION:
            fields = _numbers(value)
            file.functions[fields.get(1, 0)] = fields.get(2, 0), fields.get(4, 0)
        elif number == LOCATION:
            fields = _numbers(value)
            lines = [
                _numbers(line).get(1, 0)
                for key, line in _fields(value)
                if key == LOCATION and not isinstance(line, int)
            ]
            file.locations[fields.get(1, 0)] = _Location(fields.get(3, 0), lines)
        elif number == SAMPLE:
            file.samples.append(value)
    return file


def _numbers(message: memoryview) -> dict[int, int]:
    return {number: value for number, value in _fields(message) if isinstance(value, int)}


def _sample(message: memoryview) -> tuple[list[int], list[int]]:
    """The locations, innermost first, and the values of a sample, be they packed or not."""
    columns: tuple[list[int], list[int]] = [], []
    for number, value in _fields(message):
        if number in (1, 2):
            if isinstance(value, int):
                columns[number - 1].append(value)
                continue
            at = 0
            while at < len(value):
                integer, at = _varint(value, at)
                columns[number - 1].append(integer)
    values = [value - WORD if value >= WORD // 2 else value for value in columns[1]]
    return columns[0], values


def _frames(profile: _File, location: _Location) -> list[str]:
    """The frames at a location, innermost first."""
    names = []
    for number in location.functions:
        if number not in profile.functions:
            raise Malformed(f"there is no function {number}")
        name, file = profile.functions[number]
        names.append(frame(profile.text(name), profile.text(file)))
    return names or [frame("")]
