"""CPU profiles of Chrome and Node.js (.cpuprofile), as docs/exchange/cpuprofile.md describes
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from perfvcs.formats._readings import Keyed, typed
from perfvcs.formats._stacks import SAMPLES, CountedStacks, frame
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

BUSY = "busy"
MOST_LEVELS = 100_000  # levels of a stack


class _CallFrame(msgspec.Struct):
    functionName: str
    url: str = ""


class _Node(msgspec.Struct):
    id: int
    callFrame: _CallFrame
    children: list[int] = []


class _File(msgspec.Struct):
    """Microseconds; a time is that before its sample."""

    nodes: list[_Node]
    samples: list[int] = []
    timeDeltas: list[float] = []


@dataclass(frozen=True)
class Cpuprofile(Keyed):
    """One recording: samples of one thread, each with the time since the one before."""

    suffixes = (".cpuprofile",)
    keys = ("nodes callFrame functionName",)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        if len(file.timeDeltas) != len(file.samples):
            raise Malformed(f"it has {len(file.samples)} samples and {len(file.timeDeltas)} times")
        nodes = {node.id: node for node in file.nodes}
        above = {child: node.id for node in file.nodes for child in node.children}
        seen: dict[int, tuple[int, float]] = {}
        # the time until the next sample is spent where this one was taken
        for sample, until in zip(file.samples, [*file.timeDeltas, 0.0][1:], strict=True):
            count, time = seen.get(sample, (0, 0.0))
            seen[sample] = count + 1, time + max(0.0, until)
        counted = CountedStacks({SAMPLES: "", BUSY: "us"})
        for sample, (count, time) in seen.items():
            stack = _stack(sample, nodes, above)
            if stack != ["(idle)"]:
                counted.add(stack, {SAMPLES: float(count), BUSY: time})
        return counted.profile(document, "cpuprofile")


def _stack(sample: int, nodes: Mapping[int, _Node], above: Mapping[int, int]) -> list[str]:
    names: list[str] = []
    at: int | None = sample
    while at is not None:
        if at not in nodes:
            raise Malformed(f"$.nodes has no node {at}")
        if len(names) > min(len(nodes), MOST_LEVELS):
            raise Malformed("$.nodes are children of each other")
        call = nodes[at].callFrame
        names.append(frame(call.functionName or "(anonymous)", call.url.removeprefix("file://")))
        at = above.get(at)
    return [name for name in reversed(names) if name != "(root)"]
