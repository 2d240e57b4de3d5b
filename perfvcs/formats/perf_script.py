"""The text of Linux perf's `perf script`, as docs/exchange/perf-script.md describes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import lines_of, number
from perfvcs.formats._stacks import SAMPLES, CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

# sort 27811 [001] 51338.699845:    5025125 cpu-clock:u:
HEADER = re.compile(
    r"(?P<program>\S.{0,200}?) +(?:[0-9]+/)?[0-9]+ +(?:\[[0-9]+\] +)?[0-9]+\.[0-9]+:"
    r" +(?:(?P<period>[0-9]+) +)?(?P<event>\S+?):\s*"
)
SIGNATURE = re.compile(
    rb"^\S.{0,200}? +(?:[0-9]+/)?[0-9]+ +(?:\[[0-9]+\] +)?[0-9]+\.[0-9]+: +(?:[0-9]+ +)?\S+:\s*$",
    re.MULTILINE,
)
CLOCKS = ("cpu-clock", "task-clock")  # whose periods are nanoseconds
BUSY = "busy"
ADDRESS = re.compile(r"[0-9a-f]+")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")


@dataclass(frozen=True)
class PerfScript:
    """One recording with call graphs (``perf record -g``): samples, and the time or the events that
    they stand for.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".perfscript",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By the line above a stack."""
        return not head.startswith((b"{", b"[", b"<")) and SIGNATURE.search(head) is not None

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed where the text is cut off."""
        samples = list(_samples(lines_of(document)))
        units = {metric: "ns" if metric == BUSY else "" for metric, _, _ in samples}
        counted = CountedStacks({SAMPLES: "", **units})
        for metric, weight, stack in samples:
            counted.add(stack, {SAMPLES: 1.0, metric: weight})
        return counted.profile(document, "perf-script")


class _Sample(NamedTuple):
    """What was sampled, how much of it the sample stands for, and the stack, root first."""

    metric: str
    weight: float
    stack: list[str]


def _samples(lines: list[str]) -> Iterator[_Sample]:
    """All samples; one without a stack is its program."""
    above, stack = None, list[str]()
    for line in lines:
        if above is not None and not line.strip():
            event = above["event"].partition(":")[0]
            metric = BUSY if event in CLOCKS else usable(event)
            metric = f"{metric}_" if metric == SAMPLES else metric
            yield _Sample(
                metric, number(above["period"] or "") or 1.0, stack[::-1] or [above["program"]]
            )
            above, stack = None, []
        elif above is not None:
            stack += _frame(line.strip())
        else:
            above = HEADER.fullmatch(line[:1000])
    if above is not None:
        raise Malformed(
            "its last sample is cut off: copy it again, or end it with an empty line if it is whole"
        )


def _frame(line: str) -> list[str]:
    """``1158 inner+0x2f (/home/me/work)`` as a frame, in a list that is empty for another line."""
    place, _, image = line.rpartition(" (")
    address, space, symbol = place.partition(" ")
    if not (space and image.endswith(")") and ADDRESS.fullmatch(address)):
        return []
    return [
        frame(
            OFFSET.sub("", symbol),
            PurePosixPath(image[:-1]).name if image[:-1] != "[unknown]" else "",
        )
    ]
