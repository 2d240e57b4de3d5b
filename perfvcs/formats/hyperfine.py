"""Exports of hyperfine (https://github.com/sharkdp/hyperfine), JSON and CSV, as
docs/exchange/hyperfine.md describes them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev
from typing import ClassVar

import msgspec

from perfvcs.formats._readings import (
    Reading,
    ReadingValue,
    machine,
    profile_of,
    sized,
    summary,
    tells,
    text_of,
    typed,
    unended,
)
from perfvcs.formats._table import TextTable
from perfvcs.formats._table import number as cell
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed

METRICS = {
    "wall": Metric("s"),
    "user": Metric("s", "none"),
    "system": Metric("s", "none"),
    "memory": Metric("B"),
}
HEADING = b"command,mean,stddev,median,user,system,min,max"
PARAMETER = "parameter_"
PLACEHOLDER = re.compile(r"\{(\w{1,64})\}")


class _Command(msgspec.Struct):
    """Seconds; ``user`` and ``system`` are means. Newer versions have the bytes of each run."""

    command: str
    mean: ReadingValue = None
    stddev: ReadingValue = None
    median: ReadingValue = None
    user: ReadingValue = None
    system: ReadingValue = None
    min: ReadingValue = None
    max: ReadingValue = None
    times: list[ReadingValue] | None = None
    memory_usage_byte: list[ReadingValue] | None = None
    exit_codes: list[int | None] | None = None
    parameters: dict[str, str] = {}


class _File(msgspec.Struct):
    results: list[_Command]


@dataclass(frozen=True)
class Hyperfine:
    """One export: a run of a command is an execution."""

    suffixes: ClassVar[tuple[str, ...]] = (".json", ".csv")

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the heading of its tables, or by the fields of a command."""
        return head.startswith(HEADING) or (
            tells(head, "results", "command") and tells(head, "mean")
        )

    def encode(self, profile: Profile) -> bytes:
        """The JSON of the commands of `perf compare`: a result per unit and size, with every run;
        user and system time are not known apart. Raises Malformed where there is no wall time.
        """
        if profile.metrics.get("wall") != METRICS["wall"]:
            raise Malformed("hyperfine's files hold wall time in seconds, and this has none")
        results = [_result(profile, places) for places in _by_command(profile)]
        return msgspec.json.format(msgspec.json.encode({"results": results})) + b"\n"

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        commands = (
            _table(document) if document.startswith(HEADING) else typed(document, _File).results
        )
        failed = sum(1 for command in commands for code in command.exit_codes or () if code)
        warnings = [f"{failed} runs of a command ended with an error"] if failed else []
        return profile_of(
            document,
            "hyperfine",
            map(_reading, commands),
            METRICS,
            machine=machine({}, warnings=warnings),
            notes=unended(document) if document.startswith(HEADING) else (),
        )


def _reading(command: _Command) -> Reading:
    """The runs, or what the table says of them; the mean times of the processor stand in the first
    run.
    """
    uid, size = _named(command.command, command.parameters)
    means = {"user": [command.user], "system": [command.system]}
    if not command.times:
        columns = summary(
            "wall",
            command.mean,
            deviation=command.stddev,
            median=command.median,
            least=command.min,
            largest=command.max,
            samples=None,
        )
        return Reading(uid, {**columns, **means}, size)
    count = len(command.times)
    memory = {"memory": command.memory_usage_byte[:count]} if command.memory_usage_byte else {}
    return Reading(uid, {"wall": command.times, **memory, **means}, size, execution=range(count))


def _by_command(profile: Profile) -> list[list[int]]:
    """The numbers of the rows of each unit and size."""
    rows = profile.resources
    places: dict[tuple[int, float | None], list[int]] = defaultdict(list)
    for place, uid in enumerate(rows.uid):
        places[uid, rows.size[place] if rows.size else None].append(place)
    return list(places.values())


def _result(profile: Profile, places: Sequence[int]) -> dict[str, object]:
    """A command as hyperfine writes it."""
    rows = profile.resources
    size = rows.size[places[0]] if rows.size else None
    template = rows.names[rows.uid[places[0]]]
    columns = {
        name: [column[place] for place in places if column[place] is not None]
        for name, column in rows.metrics.items()
    }
    times = [value for value in columns["wall"] if value is not None]
    if not times:
        raise Malformed(f"{template[:80]!r} has no run: measure it again")
    braces = PLACEHOLDER.findall(template) if size is not None else []
    command = template.replace(f"{{{braces[0]}}}", f"{size:g}") if braces else template
    memory = columns.get("memory") or columns.get("maxrss")
    return {
        "command": command,
        "mean": fmean(times),
        "stddev": stdev(times) if len(times) > 1 else None,
        "median": median(times),
        "user": next(iter(columns.get("user", [])), None),
        "system": next(iter(columns.get("system", [])), None),
        "min": min(times),
        "max": max(times),
        "times": times,
        **({"memory_usage_byte": [*map(round, filter(None, memory))]} if memory else {}),
        **({"parameters": {braces[0]: f"{size:g}"}} if braces else {}),
    }


def _named(command: str, parameters: Mapping[str, str]) -> tuple[str, ReadingValue]:
    """The unit and its size: the command without the value of the parameter that is the size."""
    _, size = sized("", parameters.items())
    if size is None:
        return command, None
    (name, text), *_ = [
        (key, given) for key, given in parameters.items() if sized("", [("", given)])[1] == size
    ]
    words = [f"{{{name}}}" if word == text else word for word in command.split(" ")]
    return " ".join(words), size


def _table(document: bytes) -> list[_Command]:
    table = TextTable(text_of(document).encode())
    parameters = {
        place: title.removeprefix(PARAMETER)
        for place, title in enumerate(table.titles)
        if title.startswith(PARAMETER)
    }
    numbers = {
        place: title
        for place, title in enumerate(table.titles)
        if title in _Command.__struct_fields__ and place
    }
    columns = dict(
        zip(
            [0, *numbers, *parameters],
            table.read({0: str} | dict.fromkeys(numbers, cell) | dict.fromkeys(parameters, str)),
            strict=True,
        )
    )
    return [
        _Command(
            command,
            **{title: columns[place][row] for place, title in numbers.items()},
            parameters={title: columns[place][row] for place, title in parameters.items()},
        )
        for row, command in enumerate(columns[0])
    ]
