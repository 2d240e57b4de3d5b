"""Files of valgrind's callgrind (https://valgrind.org/docs/manual/cl-format.html), as
docs/exchange/callgrind.md describes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import PurePosixPath
from typing import ClassVar

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import lines_of
from perfvcs.formats._stacks import CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

# positions are also the same as before, or relative to it
NUMBER = r"(?:\*|[-+]?(?:0x[0-9a-f]{1,16}|[0-9]{1,18}))"
COST = re.compile(f"{NUMBER}(?: {NUMBER})*")
NUMBERED_NAME = re.compile(r"(\([0-9]{1,9}\))(?: (.*))?", re.DOTALL)
METRIC_NAMES = {"Ir": "instructions"}
Costs = dict[tuple[str, str], list[float]]  # of functions and their images, by event


@dataclass
class _State:
    """What the lines say up to here: names by their numbers, the place that costs belong to, and
    their events.
    """

    names: dict[str, dict[str, str]] = field(default_factory=dict)
    place: dict[str, str] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    positions: int = 1
    callee: dict[str, str] = field(default_factory=dict)
    # whether the next line is the cost of a call, which the callee has already
    called: bool = False

    @property
    def function(self) -> tuple[str, str]:
        return self.place.get("fn", ""), self.place.get("ob", "")

    @property
    def is_recursive(self) -> bool:
        return self.function == (
            self.callee.get("fn", ""),
            self.callee.get("ob", self.place.get("ob", "")),
        )

    def named(self, kind: str, value: str) -> str:
        """The name behind a number, which is written out once."""
        match = NUMBERED_NAME.fullmatch(value)
        if match is None:
            return value
        names = self.names.setdefault(kind, {})
        if match[2] is not None:
            names[match[1]] = match[2]
        if match[1] not in names:
            raise ValueError(f"the number {match[1]} is not defined")
        return names[match[1]]


@dataclass(frozen=True)
class Callgrind:
    """One recording: the cost of each function without and with those that it calls.

    Callgrind writes no stacks, so that each is one frame.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".callgrind",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its first line, or by its events."""
        return head.startswith(b"# callgrind format") or (
            b"\nevents: " in head and b"\nfn=" in head and b"version: " in head
        )

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        state, costs, calls, ended = _State(), Costs(), Costs(), False
        for place, line in enumerate(lines_of(document), 1):
            try:
                ended = _take(state, costs, calls, line.strip()) or ended
            except ValueError as error:
                raise Malformed(f"line {place}: {error}") from None
        if not ended:
            raise Malformed("it has no totals at its end: it was cut off")
        metrics = [METRIC_NAMES.get(event) or usable(event) for event in state.events]
        counted = CountedStacks(dict.fromkeys(metrics, ""))
        # a later part may have other events
        whole = [sum(values) for values in zip_longest(*costs.values(), fillvalue=0.0)]
        nothing = [0.0] * len(metrics)
        for function, image in dict.fromkeys([*costs, *calls]):
            exclusive, others = (
                costs.get((function, image), nothing),
                calls.get((function, image), nothing),
            )
            # a call that leads back to its function counts what is below it again
            inclusive = [
                min(sum(both), most) for *both, most in zip(exclusive, others, whole, strict=False)
            ]
            name = frame(function, PurePosixPath(image).name)
            counted.add(
                [name],
                dict(zip(metrics, exclusive, strict=False)),
                dict(zip(metrics, inclusive, strict=False)),
            )
        return counted.profile(document, "callgrind")


def _take(state: _State, costs: Costs, calls: Costs, line: str) -> bool:
    """One line; whether it is the last one that a whole file has."""
    if COST.fullmatch(line):
        if not (state.called and state.is_recursive):
            values = [float(int(text, 0)) for text in line.split(" ")[state.positions :]]
            sums = (calls if state.called else costs).setdefault(
                state.function, [0.0] * len(state.events)
            )
            for number, cost in enumerate(values[: len(sums)]):
                sums[number] += cost
        if state.called:
            state.called, state.callee = False, {}
        return False
    key, equals, value = line.partition("=")
    if equals and key in ("fn", "ob"):
        state.place[key] = state.named(key, value)
    elif equals and key in ("cfn", "cob"):
        state.callee[key[1:]] = state.named(key[1:], value)
    elif equals and key == "calls":
        state.called = True
    elif line.startswith("events:"):
        state.events = line.split()[1:]
    elif line.startswith("positions:"):
        state.positions = max(1, len(line.split()) - 1)
    return line.startswith("totals:")
