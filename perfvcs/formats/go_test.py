"""The events of ``go test -json`` (https://pkg.go.dev/cmd/test2json), as docs/exchange/go-test.md
describes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar

import msgspec

from perfvcs.formats import go
from perfvcs.formats._readings import Marked, Reading, ReadingValue, lines_of, machine, profile_of
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed
from perfvcs.system.foreign import UNDECODABLE

ENDS = ("pass", "fail", "skip")


class _Event(msgspec.Struct, rename="pascal"):
    """Something that a test or its package did; ``elapsed`` is in seconds."""

    action: str
    package: str = ""
    test: str = ""
    output: str = ""
    elapsed: ReadingValue = None
    time: str = ""


@dataclass(frozen=True)
class GoTest(Marked):
    """One run: the duration of each test that passed, and the results of benchmarks."""

    suffixes = ()  # they are usually called .json, and are none
    word = b'"Package":'
    mark = re.compile(
        rb'^\{(?=.{0,300}"Time":)(?=.{0,300}"Action":).{0,300}"Package":', re.MULTILINE
    )
    overlapping: ClassVar[bool] = True  # a test takes as long as the tests in it

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        tests: list[Reading] = []
        outputs: dict[str, list[str]] = {}
        started = ""
        for place, line in enumerate(lines_of(document), 1):
            event = _event(line, place)
            if event is None:
                continue
            started = started or event.time
            if event.output:
                outputs.setdefault(event.package, []).append(event.output)
            if event.test and event.action in ENDS:
                name = ".".join(filter(None, (event.package, event.test)))
                passed = event.action == "pass" and event.elapsed is not None
                tests.append(Reading(name, {"wall": [event.elapsed]} if passed else {}))
        metrics, fields = dict(go.METRICS), dict[str, str]()
        texts = ["".join(output).split("\n") for output in outputs.values()]
        benchmarks = [*chain.from_iterable(go.readings(text, metrics, fields) for text in texts)]
        return profile_of(
            document,
            "go-test",
            [*tests, *_measured(benchmarks)],
            metrics,
            machine=machine(fields),
            started=started,
        )


def _measured(benchmarks: list[Reading]) -> Iterator[Reading]:
    """Benchmarks with a result; one without any is a name in a log."""
    return (reading for reading in benchmarks if reading.values)


def _event(line: str, place: int) -> _Event | None:
    """The event on a line; None for an empty one, and for what a build printed."""
    if not line.startswith("{"):
        return None
    try:
        return msgspec.json.decode(line, type=_Event)
    except UNDECODABLE as error:
        raise Malformed(f"line {place}: {error}") from None
