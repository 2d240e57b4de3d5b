"""What every reader of a benchmark tool does alike: values in one unit, parameters, and rows with
their repetitions numbered through.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import Any, ClassVar, TypeVar

import msgspec

from perfvcs import environment
from perfvcs.formats._foreign import UNKNOWN, NoResults, bounded, collected, numbers_only
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.validity import MAX_NAME, Malformed
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.text.words import counted, listed

COMMIT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
FIRST_YEAR = 1970  # of measurements; years before 1000 are not even written with four digits
NOTED = frozenset({"host", "memory"})  # of what a tool says of a machine
RELEASE = re.compile(r"(?<=\d)[-+_]")  # behind the numbers of 6.1.0-28-amd64
KEY = re.compile(rb'"([\w()]{1,99})"\s*:')  # of a JSON object
COUNT = "samples"  # how many values there were
CUT_OFF = "Input data was truncated"  # what msgspec says

Kind = TypeVar("Kind")
ReadingValue = float | None


class Marked:
    """A format whose files show a mark near their beginning. It has no ``suffixes`` where too many
    other files have the same.

    The ``word`` is in each mark: a file without it is not searched for the mark, line by line.
    """

    suffixes: ClassVar[tuple[str, ...]] = ()
    word: ClassVar[bytes] = b""
    mark: ClassVar[re.Pattern[bytes]]

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its mark."""
        return self.word in head and self.mark.search(head) is not None


class Keyed:
    """A format of JSON whose files have near their beginning all ``keys`` of one of these lists."""

    suffixes: ClassVar[tuple[str, ...]] = (".json",)
    keys: ClassVar[tuple[str, ...]]

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its keys."""
        return any(tells(head, *keys.split()) for keys in self.keys)


class ToolFormat(ABC):
    """A format of one tool: a document is ``readings`` of its ``metrics``; ``tool`` names the job.

    Of what is ``printed`` the last line may be cut off, which is noted.
    """

    tool: ClassVar[str]
    metrics: ClassVar[Mapping[str, Metric]] = {"wall": Metric("s")}
    printed: ClassVar[bool] = False

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        notes = unended(document) if self.printed else []
        return profile_of(document, self.tool, self.readings(document), self.metrics, notes=notes)

    @abstractmethod
    def readings(self, document: bytes) -> Iterable[Reading]:
        """What a document has; raises Malformed with the place."""


class Reading(msgspec.Struct, frozen=True):
    """Values of a unit, a column for each metric; columns that are too short have no more values.

    ``mark`` is the rows'.

    ``execution`` is that of all rows, which are its iterations, or counts one for each row.
    """

    uid: str
    values: Mapping[str, Sequence[ReadingValue]]
    size: float | None = None
    execution: int | range = 0
    mark: int = 0


def typed(document: bytes, kind: type[Kind]) -> Kind:
    """A JSON document as a structure; NaN and infinities, which Python's own writer lets pass, are
    None. Raises Malformed.
    """
    try:
        return msgspec.json.decode(numbers_only(bounded(document)), type=kind)
    except RecursionError:
        raise Malformed("it is nested too deep") from None
    except UNDECODABLE as error:
        reason = str(error)
        raise Malformed("it was cut off: copy it again" if reason == CUT_OFF else reason) from None


def lines_of(document: bytes) -> list[str]:
    """The lines of a text, without their ends; raises Malformed as ``text_of`` does."""
    # str.splitlines also splits inside names
    lines = text_of(document).removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines]


def text_of(document: bytes) -> str:
    """A text; raises Malformed with the line that is not UTF-8."""
    try:
        return bounded(document).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Malformed(f"line {document.count(10, 0, error.start) + 1} is not UTF-8") from None


def unended(document: bytes) -> list[str]:
    """What to know of a text whose last line has no end: editors take it away, and so does a copy
    that stops too early.
    """
    if document.endswith(b"\n"):
        return []
    return ["its last line has no end: if the file was cut off, import a whole copy"]


def shaped(value: Any, kind: type[Kind], location: str) -> Kind:
    """A part of a document as a structure; raises Malformed with the place."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise Malformed(str(error).replace("`$", f"`{location[:MAX_NAME]}")) from None


def profile_of(
    document: bytes,
    tool: str,
    readings: Iterable[Reading],
    metrics: Mapping[str, Metric],
    *,
    commit: str = UNKNOWN,
    name: str = "",
    machine: Environment | None = None,
    started: str = "",
    ended: str = "",
    notes: Sequence[str] = (),
) -> Profile:
    """The profile of a tool's document: the metrics that have values, in the order of ``metrics``,
    and those of its summaries.

    ``commit`` may be shortened or empty, and is unknown then. ``notes`` are what to know of the
    document; units without a value become one of them. Raises NoResults where there are no values.
    """
    silent: dict[str, None] = {}
    rows = resources(readings, silent)
    if not len(rows):
        raise NoResults("it has no results: nothing was measured, or everything failed")
    commit = commit.lower()
    environment = machine or Environment()
    warnings = [*environment.warnings, *notes, *_without_value([*silent])]
    return Profile(
        commit=commit if COMMIT_ID.fullmatch(commit) else UNKNOWN,
        job=Job(name or tool, tool, "", engine=tool),
        collected=collected(document, tool, moment(started), moment(ended)),
        environment=msgspec.structs.replace(environment, warnings=warnings),
        design=Design(executions=len(set(rows.execution))),
        metrics={metric: about(metric, metrics) for metric in rows.metrics},
        resources=rows,
    )


def _without_value(names: Sequence[str]) -> list[str]:
    """A sentence about units without a value, which a benchmark that failed is."""
    if not names:
        return []
    return [f"{counted(len(names), 'unit')} without a value: {listed(sorted(names))}"]


def resources(readings: Iterable[Reading], silent: dict[str, None]) -> Resources:
    """The rows of all readings; what a unit has of one size and execution is numbered through as
    its iterations.

    ``silent`` gets the units of readings without a value.
    """
    names: dict[str, int] = {}
    rows = Resources(mark=[], metrics={})
    sizes: list[ReadingValue] = []
    done: set[str] = set()
    for reading in readings:
        before, count = len(rows.uid), max(map(len, reading.values.values()), default=0)
        if not any(map(_has_value, reading.values.values())):
            silent[_at(reading)] = None
            continue
        done.add(_at(reading))
        rows.uid += [names.setdefault(reading.uid[:MAX_NAME], len(names))] * count
        rows.execution += (
            reading.execution
            if isinstance(reading.execution, range)
            else [reading.execution] * count
        )
        rows.mark += [reading.mark] * count  # type: ignore[operator]
        sizes += [reading.size] * count
        for metric, column in reading.values.items():
            values = rows.metrics.setdefault(metric, [])
            values += [None] * (before - len(values))
            values += column
    for name in done.intersection(silent):
        del silent[name]
    for values in rows.metrics.values():
        values.extend([None] * (len(rows.uid) - len(values)))
    rows.metrics = {name: values for name, values in rows.metrics.items() if _has_value(values)}
    rows.names = list(names)
    rows.size = sizes if _has_value(sizes) else None
    rows.mark = rows.mark if any(rows.mark or ()) else None
    iterations = _iterations(rows)
    rows.iteration = iterations if any(iterations) else None
    return rows


def _at(reading: Reading) -> str:
    return reading.uid if reading.size is None else f"{reading.uid}/{reading.size:g}"


def _has_value(column: Iterable[ReadingValue]) -> bool:
    return any(value is not None for value in column)


def _iterations(rows: Resources) -> list[int]:
    """How many rows of the same unit, execution and size are above each; without numpy, whose
    import takes longer than a small file.
    """
    keys: list[Sequence[Any]] = [rows.uid, rows.execution]
    seen: dict[tuple[Any, ...], int] = {}
    numbers = []
    for key in zip(*keys if rows.size is None else (*keys, rows.size), strict=True):
        number = seen.get(key, 0)
        numbers.append(number)
        seen[key] = number + 1
    return numbers


def about(metric: str, metrics: Mapping[str, Metric]) -> Metric:
    """A metric of the format, or of the summary of one."""
    if metric in metrics:
        return metrics[metric]
    of, _, word = metric.rpartition(".")
    return Metric("" if word == COUNT else metrics[of].unit, "none")


def divided(values: Iterable[ReadingValue], over: float) -> list[ReadingValue]:
    """Values in a unit that is ``over`` times as large."""
    return [None if value is None else value / over for value in values]


def summary(
    metric: str, mean: ReadingValue, *, over: float = 1.0, **more: ReadingValue
) -> dict[str, list[ReadingValue]]:
    """One row of a value that stands for many, with what else its tool says of these; all are
    divided by ``over`` but the number of samples.

    The words are ``deviation``, ``spread``, ``error``, ``median``, ``least``, ``largest``, ``low``,
    ``high``, ``p75`` and other percentiles, and ``samples``: parts of a metric's name, never
    judged.
    """
    columns = {metric: divided([mean], over)}
    for word, value in more.items():
        if value is not None:
            columns[f"{metric}.{word}"] = [value if word == COUNT else value / over]
    return columns


def sized(name: str, given: Iterable[tuple[str, object]]) -> tuple[str, float | None]:
    """A unit and its size out of a benchmark and its parameters: one that is a number is the size,
    the others stand in brackets.

    >>> sized("sort", [("n", "100"), ("kind", "list")]), sized("add", [("", "1"), ("", "2")])
    (('sort(kind=list)', 100.0), ('add(1, 2)', None))
    """
    texts = [(label, value if isinstance(value, str) else _plain(value)) for label, value in given]
    numbers = [place for place, (_, text) in enumerate(texts) if number(text) is not None]
    place = numbers[0] if len(numbers) == 1 else -1
    others = [
        f"{label}={text}" if label else text
        for at, (label, text) in enumerate(texts)
        if at != place
    ]
    uid = f"{name}({', '.join(others)})" if others else name
    return uid, number(texts[place][1]) if place >= 0 else None


def _plain(value: object) -> str:
    try:
        return msgspec.json.encode(value).decode()[:MAX_NAME]
    except (TypeError, ValueError, OverflowError, RecursionError):
        return "?"


def number(text: str) -> float | None:
    """The finite number that a text is; None for any other."""
    try:
        value = float(text) if "_" not in text else None
    except ValueError:
        return None
    return value if value is not None and isfinite(value) else None


def moment(text: str) -> str:
    """A time in ISO 8601 as profiles have it, in UTC; one without a zone is taken for UTC; empty
    for what is not a time.

    >>> moment("2026-11-23T10:38:57.98+01:00"), moment("2026-11-23 10:38"), moment("yesterday")
    ('2026-11-23T09:38:57Z', '2026-11-23T10:38:00Z', '')
    """
    try:
        instant = datetime.fromisoformat(text)
        instant = instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return f"{instant:%Y-%m-%dT%H:%M:%SZ}" if instant.year >= FIRST_YEAR else ""


def machine(
    fields: Mapping[str, object],
    notes: Mapping[str, object] | None = None,
    warnings: Sequence[str] = (),
) -> Environment:
    """The environment out of what a tool says of the machine; what is empty is left out.

    What changes from run to run of one kind of machine is a note, as docs/measuring.md has it: the
    name of the host, the memory, and all of the kernel's release but its numbers.
    """
    stated, noted = (
        {key[:MAX_NAME]: _said(value) for key, value in given.items() if value not in (None, "")}
        for given in (fields, notes or {})
    )
    for key in NOTED.intersection(stated):
        noted[key] = stated.pop(key)
    if release := stated.get("kernel"):
        noted["kernel"] = release
        stated["kernel"] = RELEASE.split(release, maxsplit=1)[0]
    return Environment(
        stated, environment.fingerprint(stated) if stated else "", noted, list(warnings)
    )


def _said(value: object) -> str:
    try:
        return str(value)[:MAX_NAME]
    except (ValueError, RecursionError):  # a number of thousands of digits
        return "?"


def tells(head: bytes, *keys: str) -> bool:
    """Whether the beginning of a JSON document has all of some keys."""
    found = _keys(head)
    return all(key.encode() in found for key in keys)


@lru_cache(maxsize=1)  # all readers are asked of one beginning
def _keys(head: bytes) -> frozenset[bytes]:
    return frozenset(KEY.findall(head))
