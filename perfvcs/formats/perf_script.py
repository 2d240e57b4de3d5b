"""The text of Linux perf's `perf script`, as docs/exchange/perf-script.md describes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import ClassVar, NamedTuple

from perfvcs.formats._metric import usable
from perfvcs.formats._readings import lines_of, number, unended
from perfvcs.formats._stacks import SAMPLES, CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

# sort 27811 [001] 51338.699845:    5025125 cpu-clock:u:
# behind it stands the only frame of a recording without call graphs, whose programs are indented
HEADER = re.compile(
    r" {0,16}(?P<program>[^\s].{0,200}?)(?<=[^ ]) ++"
    r"(?:[0-9]+/)?[0-9]+ +(?:\[[0-9]+\] +)?[0-9]+\.[0-9]+:"
    r" +(?:(?P<period>[0-9]+) +)?(?P<event>\S+?): *(?P<frame>[0-9a-f]+ .*\))?\s*"
)
SIGNATURE = re.compile(
    rb"^ {0,16}[^\s].{0,200}?(?<=[^ ]) ++(?:[0-9]+/)?[0-9]+ +(?:\[[0-9]+\] +)?[0-9]+\.[0-9]+: +"
    rb"(?:[0-9]+ +)?\S+: *(?:[0-9a-f]+ .*\))?\s*$",
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
        lines = lines_of(document)
        if not document.endswith(b"\n") and not lines[-1].strip():
            lines.pop()  # the beginning of a frame, and no empty line
        samples = list(_samples(lines))
        units = {metric: "ns" if metric == BUSY else "" for metric, _, _ in samples}
        counted = CountedStacks({SAMPLES: "", **units})
        for metric, weight, stack in samples:
            weights = {} if weight is None else {metric: weight}
            counted.add(stack, {SAMPLES: 1.0, **weights})
        notes = unended(document)
        if lines and _frame(lines[-1].strip()) and not notes:
            notes = [
                "no empty line ends its last stack: if the file was cut off, import a whole copy"
            ]
        return counted.profile(document, "perf-script", notes=notes)


class _Sample(NamedTuple):
    """What was sampled, how much of it the sample stands for, which not every recording says, and
    the stack, root first.
    """

    metric: str
    weight: float | None
    stack: list[str]


def _samples(lines: list[str]) -> Iterator[_Sample]:
    """All samples; one without a stack is its program.

    An empty line ends a stack. Editors take away the last one of a file, whose stack is whole all
    the same if its last line is.
    """
    above, stack, last = None, list[str](), ""
    for line in lines:
        if above is not None and not line.strip():
            yield _sample(above, stack)
            above, stack = None, []
        elif above is not None:
            stack += _frame(line.strip())
            last = line
        elif above := HEADER.fullmatch(line[:1000]):
            last = ""
            if above["frame"]:
                yield _sample(above, _frame(above["frame"]))
                above = None
    if above is not None:
        if not last.endswith(")"):
            raise Malformed("its last sample is cut off: copy it again")
        yield _sample(above, stack)


def _sample(above: re.Match[str], stack: list[str]) -> _Sample:
    event = above["event"].partition(":")[0]
    metric = BUSY if event in CLOCKS else usable(event)
    metric = f"{metric}_" if metric == SAMPLES else metric
    return _Sample(metric, number(above["period"] or ""), stack[::-1] or [above["program"]])


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
