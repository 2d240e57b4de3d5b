"""The notes of the plugin in the measured pytest, line by line, in files that the tests could have
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from perfvcs.collectors._shared.commandrun import read_at_most
from perfvcs.plugins.collector import CollectError
from perfvcs.profile.validity import MAX_INTEGER, MAX_NAME
from perfvcs.system.foreign import UNDECODABLE, printable

MAX_NOTES = 1 << 28  # of one file
MAX_FILES = 1000
MAX_ID = MAX_NAME - 100  # what is added to a test's name has its place

_Amount = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
MeterReading = tuple[_Amount, _Amount, _Amount | None]


class _Started(msgspec.Struct, tag_field="kind", tag="started"):
    version: str
    python: str


class _Collected(msgspec.Struct, tag_field="kind", tag="collected"):
    count: int


class _Begin(msgspec.Struct, tag_field="kind", tag="begin"):
    id: str


class Test(msgspec.Struct, tag_field="kind", tag="test"):
    """One test of one process: how it ended, and ``runs``, the first one first, as wall ns, CPU ns
    and bytes (None: not known).

    ``once``: why it was not repeated to the end. ``rounds``: what pytest-benchmark measured, in ns
    per call, CPU -1.
    """

    id: str
    outcome: str
    why: str = ""
    runs: list[MeterReading] = []
    once: str = ""
    rounds: list[MeterReading] = []


class _Problem(msgspec.Struct, tag_field="kind", tag="problem"):
    id: str
    why: str


class _Note(msgspec.Struct, tag_field="kind", tag="note"):
    what: str


class _Engine(msgspec.Struct, tag_field="kind", tag="engine"):
    name: str


class ReachedFunction(msgspec.Struct, tag_field="kind", tag="function", frozen=True):
    """A function of the project; ``name`` is empty if the interpreter does not report it (before
    Python 3.11).
    """

    file: str
    name: str
    line: int


class _Reached(msgspec.Struct, tag_field="kind", tag="reached"):
    id: str
    functions: list[int]
    processes: bool = False


class _LeftOut(msgspec.Struct, tag_field="kind", tag="left_out"):
    ids: list[str]


class _Finished(msgspec.Struct, tag_field="kind", tag="finished"):
    status: int


NoteLine = (
    _Started
    | _Collected
    | _Begin
    | Test
    | _Problem
    | _Note
    | _Engine
    | ReachedFunction
    | _Reached
    | _LeftOut
    | _Finished
)


@dataclass
class PytestNotes:
    """The notes of all pytest processes of one execution; ``running`` is the test that began last,
    if none ended after it.

    ``reached``: the functions that ran, by test; those outside of tests by the empty name.
    ``processes``: the tests that started processes, ``left_out`` those that were found and not run.
    """

    versions: set[str] = field(default_factory=set)
    tests: list[Test] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    remarks: set[str] = field(default_factory=set)
    reached: dict[str, set[ReachedFunction]] = field(default_factory=dict)
    processes: set[str] = field(default_factory=set)
    left_out: set[str] = field(default_factory=set)
    statuses: list[int] = field(default_factory=list)
    collected: int = 0
    running: str = ""


def read_notes(folder: Path) -> PytestNotes:
    """All notes in a folder; raises CollectError for what the plugin cannot have written."""
    notes, paths = PytestNotes(), sorted(folder.glob("notes-*.jsonl"))
    if len(paths) > MAX_FILES:
        raise CollectError(f"over {MAX_FILES:,} processes ran pytest: measure fewer at once")
    for path in paths:
        functions: list[ReachedFunction] = []
        for line in _lines(path):
            _take(notes, functions, line, path.name)
    return notes


def _lines(path: Path) -> Iterator[NoteLine]:
    content = read_at_most(path, MAX_NOTES)
    if len(content) > MAX_NOTES:
        raise CollectError(
            f"{path.name} is over {MAX_NOTES >> 20} MiB: measure fewer tests at once"
        )
    lines = content.split(b"\n")[:-1]  # a killed process may have cut the last one off
    decoder = msgspec.json.Decoder(NoteLine)
    for number, line in enumerate(lines, 1):
        try:
            yield decoder.decode(line)
        except UNDECODABLE as error:
            raise CollectError(
                f"{path.name} line {number}: {error}: the tests must leave perfvcs' files alone"
            ) from None


def _take(notes: PytestNotes, functions: list[ReachedFunction], line: NoteLine, file: str) -> None:
    match line:
        case _Started(version=version):
            notes.versions.add(printable(version))
        case _Collected(count=count):
            notes.collected += count
        case _Begin(id=name):
            notes.running = printable(name, MAX_ID)
        case Test():
            notes.running = ""
            line.id = printable(line.id, MAX_ID)
            line.why, line.once = printable(line.why), printable(line.once)
            notes.tests.append(line)
        case _Problem(id=name, why=why):
            notes.problems.append((printable(name, MAX_ID), printable(why)))
        case _Note(what=what):
            notes.remarks.add(what)
        case ReachedFunction():
            functions.append(line)
        case _Reached(id=name, functions=numbers, processes=processes):
            if numbers and not 0 <= min(numbers) <= max(numbers) < len(functions):
                raise CollectError(
                    f"{file}: functions of {printable(name, 80)} are unknown: the tests must leave"
                    " it alone"
                )
            unit = printable(name, MAX_ID)
            notes.reached.setdefault(unit, set()).update(functions[number] for number in numbers)
            notes.processes |= {unit} if processes else set()
        case _LeftOut(ids=names):
            notes.left_out |= {printable(name, MAX_ID) for name in names}
        case _Finished(status=status):
            notes.statuses.append(status)
