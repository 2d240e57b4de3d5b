"""Samples that a program appended to the file in PERFVCS_SAMPLES; docs/samples.md is the
specification.
"""

from __future__ import annotations

import math
import os
import stat
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

import msgspec

from perfvcs.errors import PerfError
from perfvcs.profile import Metric
from perfvcs.profile.validity import MAX_NAME, METRIC_NAME, RESERVED
from perfvcs.system.foreign import UNDECODABLE, at_most, printable

SAMPLES_VARIABLE = "PERFVCS_SAMPLES"
MAX_BYTES = 64 << 20
MAX_LINES = 1_000_000
MAX_METRICS = 32  # of the program's own; each is a column as long as all samples together
MAX_UNIT = 64
MOST_NOTES, MAX_NOTE = 5, 300  # notes of an execution that are kept, and characters of one
DECLARATION = ("metric", "unit", "better", "deterministic")

Better = Literal["lower", "higher", "none"]
Field = bool | str | int | float | None


class MalformedSamples(PerfError):
    """A program reported garbage; the message names the line."""

    exit_code = 5


class ReportedSamples(msgspec.Struct):
    """The samples as columns of equal length; ``metrics`` describes every key of ``values``,
    ``notes`` are the program's own words. ``mark``: of rows that are left out of verdicts; empty:
    none is.
    """

    uid: list[str] = msgspec.field(default_factory=list)
    size: list[float | None] = msgspec.field(default_factory=list)
    iteration: list[int] = msgspec.field(default_factory=list)
    values: dict[str, list[float | None]] = msgspec.field(default_factory=dict)
    metrics: dict[str, Metric] = msgspec.field(default_factory=dict)
    notes: list[str] = msgspec.field(default_factory=list)
    mark: list[int] = msgspec.field(default_factory=list)


def read_samples(path: Path, metrics: Mapping[str, Metric], taken: str) -> ReportedSamples:
    """The samples in a file, none when it does not exist.

    ``metrics`` are the metrics whose unit and direction are fixed, ``taken`` is the one uid that
    samples may not have. Iterations number the samples of one uid and size in the order of the
    file. Raises MalformedSamples.
    """
    content = _content(path)
    lines = content.split(b"\n")
    if len(lines) > MAX_LINES + 1:
        raise MalformedSamples(
            f"{SAMPLES_VARIABLE} has over {MAX_LINES:,} lines: report less often or run fewer"
            " iterations"
        )
    decoder = msgspec.json.Decoder(dict[str, Field])
    reader = _Reader(metrics, taken)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            try:
                fields = decoder.decode(line)
            except UNDECODABLE as error:
                raise ValueError(_garbage(error, cut_off=number == len(lines))) from None
            if fields.keys() == {"note"}:
                reader.note(fields["note"])
            elif "metric" in fields:
                reader.declare(fields)
            else:
                reader.sample(fields)
        except ValueError as error:
            raise MalformedSamples(
                f"{SAMPLES_VARIABLE} line {number}: {printable(str(error), 400)}: {_shorten(line)}"
            ) from None
    return reader.finish()


def _content(path: Path) -> bytes:
    try:
        # The program could have put anything there: a pipe must not block us, a link not lead us
        # elsewhere.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise MalformedSamples(
            f"{SAMPLES_VARIABLE} cannot be read: {error.strerror}: the program must append to the"
            " file, not replace it"
        ) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise MalformedSamples(
            f"{SAMPLES_VARIABLE} is no longer a file: the program must append to it, not replace it"
        )
    with open(descriptor, "rb") as file:
        content = at_most(file, MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise MalformedSamples(
            f"{SAMPLES_VARIABLE} is over {MAX_BYTES >> 20} MiB: report less often or run fewer"
            " iterations"
        )
    return content


def _garbage(error: Exception, *, cut_off: bool) -> str:
    """The reason why a line is not an object of strings and numbers."""
    if cut_off:
        return "the last line is cut off (each has to end with a newline, written by one call)"
    if isinstance(error, msgspec.ValidationError):
        return str(error).replace("`", "").replace("null", "nothing")
    return "not valid UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON ({error})"


def _shorten(line: bytes) -> str:
    return printable(" ".join(line[:400].decode(errors="replace").split()), 80)


class _Reader:
    """Turns lines into columns; raises ValueError."""

    def __init__(self, metrics: Mapping[str, Metric], taken: str) -> None:
        self.known = metrics
        self.taken = taken
        self.samples = ReportedSamples()
        self.declared: dict[str, Metric] = {}
        self.numbers: defaultdict[tuple[str, float | None], int] = defaultdict(int)
        self.noted = 0

    def note(self, text: Field) -> None:
        """Take a note, cut to a line; only the number of notes after the first ones is kept."""
        if not isinstance(text, str) or not text.strip():
            raise ValueError("note is not a text")
        self.noted += 1
        if self.noted <= MOST_NOTES:
            self.samples.notes.append(printable(" ".join(text[:MAX_NOTE].split())))

    def declare(self, fields: Mapping[str, Field]) -> None:
        """Take the unit and direction of a metric; it may come before or after its samples."""
        name, unit, better = fields["metric"], fields.get("unit", ""), fields.get("better", "lower")
        unknown = [key for key in fields if key not in DECLARATION]
        if unknown:
            raise ValueError(
                f"a declaration has metric, unit, better and deterministic, not {unknown[0]!r}"
            )
        if not isinstance(name, str):
            raise ValueError("metric is not a string")
        _check_name(name)
        if not isinstance(unit, str) or len(unit) > MAX_UNIT or not unit.isprintable():
            raise ValueError(f"unit is not a string of at most {MAX_UNIT} printable characters")
        if better not in get_args(Better):
            raise ValueError("better is not one of lower, higher, none")
        if not isinstance(exact := fields.get("deterministic", False), bool):
            raise ValueError("deterministic is neither true nor false")
        if exact and name in self.known:
            raise ValueError(f"{name} is measured by perfvcs, and not exact")
        kind = "deterministic" if exact else "sampled"
        metric = Metric(unit, better, kind)  # type: ignore[arg-type]  # just checked
        before = self.known.get(name) or self.declared.get(name)
        if before is not None and (before.unit, before.better) != (metric.unit, metric.better):
            raise ValueError(f"{name} is in {before.unit!r} with better {before.better} already")
        if name not in self.known and before is not None and before.kind != metric.kind:
            raise ValueError(f"{name} is {before.kind} already")
        self.declared.setdefault(name, metric)
        if len(self.declared) > MAX_METRICS:
            raise ValueError(f"over {MAX_METRICS} metrics")

    def sample(self, fields: dict[str, Field]) -> None:
        rows = self.samples
        uid, size = fields.pop("uid", None), _number("size", fields.pop("size", None))
        if not isinstance(uid, str) or not uid or len(uid) > MAX_NAME:
            raise ValueError(f"uid is not a string of 1 to {MAX_NAME:,} characters")
        if uid == self.taken:
            raise ValueError(f"{uid!r} is the uid of the whole process: choose another one")
        measured = {
            name: number
            for name, value in fields.items()
            if (number := _number(name, value)) is not None
        }
        if not measured:
            raise ValueError("no metric with a value")
        for name in measured:
            if name not in rows.values:
                _check_name(name)
                rows.values[name] = [None] * len(rows.uid)
                if len(rows.values) > MAX_METRICS + len(self.known):
                    raise ValueError(f"over {MAX_METRICS} metrics")
        for name, column in rows.values.items():
            column.append(measured.get(name))
        rows.uid.append(uid)
        rows.size.append(size)
        rows.iteration.append(self.numbers[uid, size])
        self.numbers[uid, size] += 1

    def finish(self) -> ReportedSamples:
        """The columns with their metrics; those that nobody declared have no unit, and lower is
        better.
        """
        metrics = {**self.declared, **self.known}
        if self.noted > MOST_NOTES:
            self.samples.notes.append(f"and {self.noted - MOST_NOTES:,} more notes")
        self.samples.metrics = {name: metrics.get(name, Metric("")) for name in self.samples.values}
        return self.samples


def _number(name: str, value: Field) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool):
        raise ValueError(f"{name} is not a number: got bool")
    if isinstance(value, str):
        raise ValueError(f"{name} is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} is not finite")
    return number


def _check_name(name: str) -> None:
    if name in RESERVED or name in DECLARATION:
        raise ValueError(f"{name!r} is reserved and cannot be a metric")
    if not METRIC_NAME.fullmatch(name):
        raise ValueError(
            f"{name[:80]!r} cannot name a metric (a letter, then up to 63 letters, digits or _ ."
            " : -)"
        )
