"""Files of valgrind's cachegrind (https://valgrind.org/docs/manual/cg-manual.html), as
docs/exchange/cachegrind.md describes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import lines_of
from perfvcs.formats._stacks import CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

# the line of the source, then a number for each event, a point for 0
COST = re.compile(r"[0-9]{1,18}(?: +(?:[0-9]{1,18}|\.))+")
METRIC_NAMES = {"Ir": "instructions"}


@dataclass(frozen=True)
class Cachegrind:
    """One recording: what each function cost without those that it calls, which cachegrind does not
    follow, so that each is a stack of its own.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".cachegrind",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its events and its command, without callgrind's version."""
        return (
            b"\nevents: " in head
            and b"\nfn=" in head
            and head.startswith((b"desc: ", b"cmd: "))
            and b"version: " not in head
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line, or where it was cut off."""
        events: list[str] = []
        costs: dict[str, list[float]] = {}
        file = function = ""
        whole: list[str] = []
        for place, line in enumerate(lines_of(document), 1):
            key, equals, value = line.partition("=")
            if equals and key in ("fl", "fi", "fe"):
                file = PurePosixPath(value).name
            elif equals and key == "fn":
                function = frame(value, "" if file == "???" else file)
            elif line.startswith("events:"):
                events = line.split()[1:]
            elif COST.fullmatch(line.strip()):
                _add(costs, function, line.split()[1:], events, place)
            elif line.startswith("summary:"):
                whole = line.split()[1:]
        if not whole:
            raise Malformed("it has no summary at its end: it was cut off")
        if whole != [f"{sum(column):.0f}" for column in zip(*costs.values(), strict=True)]:
            raise Malformed("its summary is not the sum of its lines: it was cut off")
        metrics = [METRIC_NAMES.get(event) or usable(event) for event in events]
        counted = CountedStacks(dict.fromkeys(metrics, ""))
        for name, values in costs.items():
            counted.add([name], dict(zip(metrics, values, strict=True)))
        return counted.profile(document, "cachegrind")


def _add(
    costs: dict[str, list[float]], function: str, texts: list[str], events: list[str], line: int
) -> None:
    """Add one line's costs to those of its function; events at the end that are 0 may be left
    out.
    """
    if not function or len(texts) > len(events):
        raise Malformed(f"line {line}: it has costs, and no function or too few events for them")
    sums = costs.setdefault(function, [0.0] * len(events))
    for number, text in enumerate(texts):
        sums[number] += 0.0 if text == "." else float(text)
