"""Files of speedscope (https://www.speedscope.app), as docs/exchange/speedscope.md describes
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import msgspec

from perfvcs.formats._metric import written
from perfvcs.formats._readings import typed
from perfvcs.formats._stacks import SAMPLES, CountedStacks, frame, unfolded
from perfvcs.plugins import Natural
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
METRIC_NAMES = {"bytes": "allocated", "none": SAMPLES}  # of metrics; all other units are of time


class _Frame(msgspec.Struct):
    name: str
    file: str | None = None


class _Shared(msgspec.Struct):
    frames: list[_Frame]


class _Event(msgspec.Struct):
    type: str
    frame: Natural
    at: float


class _Thread(msgspec.Struct):
    """One thread: samples with their weights, or the moments at which frames open (O) and close
    (C).
    """

    type: str
    unit: str = "none"
    samples: list[list[Natural]] = []
    weights: list[float | None] = []
    events: list[_Event] = []


class _File(msgspec.Struct):
    shared: _Shared
    profiles: list[_Thread]


@dataclass(frozen=True)
class Speedscope:
    """One recording, all of its threads together."""

    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its schema."""
        return SCHEMA.encode() in head

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        frames = [frame(function.name, function.file or "") for function in file.shared.frames]
        units = {thread.unit for thread in file.profiles}
        if len(units) > 1:
            raise Malformed(f"its profiles are in several units: {', '.join(sorted(units))[:200]}")
        unit = units.pop() if units else "none"
        metric = METRIC_NAMES.get(unit, "busy")
        counted = CountedStacks({SAMPLES: "", metric: unit})
        for number, thread in enumerate(file.profiles):
            for stack, weight in _stacks(thread, f"$.profiles[{number}]"):
                try:
                    names = [frames[at] for at in stack]
                except IndexError:
                    raise Malformed(
                        f"$.profiles[{number}] has a frame that is not in $.shared.frames"
                    ) from None
                sampled = {SAMPLES: 1.0} if thread.samples else {}
                counted.add(names, sampled | {metric: weight})
        return counted.profile(document, "speedscope")

    def encode(self, profile: Profile) -> bytes:
        """One thread with all stacks and their weights; raises Malformed without stacks."""
        sampled = unfolded(profile)
        numbers: dict[str, int] = {}
        samples = [
            [numbers.setdefault(name, len(numbers)) for name in stack]
            for stack, _ in sampled.stacks
        ]
        weights = [value for _, value in sampled.stacks]
        unit = {"s": "seconds", "B": "bytes"}.get(sampled.unit, "none")
        thread = {
            "type": "sampled",
            "name": profile.job.label,
            "unit": unit,
            "startValue": 0,
            "endValue": sum(weights),
            "samples": samples,
            "weights": weights,
        }
        shared = {"frames": [{"name": name} for name in numbers]}
        return written(
            {
                "$schema": SCHEMA,
                "shared": shared,
                "profiles": [thread],
                "name": profile.job.label,
                "exporter": "perfvcs",
            }
        )


def _stacks(thread: _Thread, location: str) -> Iterator[tuple[list[int], float]]:
    if thread.type == "sampled":
        if len(thread.weights) not in (0, len(thread.samples)):
            raise Malformed(
                f"{location} has {len(thread.samples)} samples and {len(thread.weights)} weights"
            )
        yield from zip(
            thread.samples,
            (weight or 0.0 for weight in thread.weights or [1.0] * len(thread.samples)),
            strict=True,
        )
        return
    opened: list[int] = []
    for event, after in pairwise([*thread.events, None]):
        if event is None:
            return
        if event.type == "O":
            opened.append(event.frame)
        elif not opened or opened.pop() != event.frame:
            raise Malformed(f"{location}.events close a frame that is not the innermost one")
        if opened and after is not None and after.at > event.at:
            yield list(opened), after.at - event.at
