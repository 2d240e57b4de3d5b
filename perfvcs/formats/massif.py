"""Files of valgrind's massif (https://valgrind.org/docs/manual/ms-manual.html), as
docs/exchange/massif.md describes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar

from perfvcs.formats._readings import Reading, lines_of, profile_of, unended
from perfvcs.formats._stacks import CountedStacks
from perfvcs.formats.dhat import described
from perfvcs.profile import Metric, Profile
from perfvcs.profile.validity import Malformed
from perfvcs.system.foreign import MAX_DEPTH

# its children, its bytes, and a place, or what is too small to have one
NODE = re.compile(r"( *)n([0-9]{1,9}): ([0-9]{1,18}) (.*)", re.DOTALL)
ROOT = "(heap allocation functions)"
THRESHOLD = re.compile(r"in [0-9]+ places?, (?:all )?below massif's threshold")
SIZES = ("mem_heap_B", "mem_heap_extra_B", "mem_stacks_B")


@dataclass
class _Snapshot:
    """Bytes at one moment, and the heap's tree: its root allocates, below are its callers."""

    sizes: dict[str, float] = field(default_factory=dict)
    tree: list[tuple[int, float, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Massif:
    """One recording: the largest size of the heap, and the stacks of the snapshot with details that
    was largest.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".massif",)

    def recognises(self, name: str, head: bytes) -> bool:  # noqa: ARG002 - any name will do
        """By its first snapshot."""
        return b"\ntime_unit: " in head and b"\nsnapshot=0" in head

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line, or where it was cut off."""
        snapshots: list[_Snapshot] = []
        for place, line in enumerate(lines_of(document), 1):
            key, equals, value = line.partition("=")
            if key == "snapshot" and equals:
                snapshots.append(_Snapshot())
            elif key in SIZES and snapshots:
                snapshots[-1].sizes[key] = _bytes(value, place)
            elif snapshots and (match := NODE.fullmatch(line)):
                snapshots[-1].tree.append((len(match[1]), float(match[3]), match[4]))
        if snapshots and len(snapshots[-1].sizes) < len(SIZES):
            raise Malformed("its last snapshot has no sizes: it was cut off")
        largest = max((one.sizes["mem_heap_B"] for one in snapshots if one.sizes), default=0.0)
        detailed = [one for one in snapshots if one.tree and one.sizes]
        tree = max(detailed, key=lambda one: one.sizes["mem_heap_B"]).tree if detailed else []
        if not tree or tree[0][1] < largest:  # the largest snapshot has no details
            reading = Reading("massif", {"peak": [largest or None]})
            return profile_of(
                document, "massif", [reading], {"peak": Metric("B")}, notes=unended(document)
            )
        counted = CountedStacks({"peak": "B"})
        _add(counted, tree)
        return counted.profile(document, "massif", notes=unended(document))


def _bytes(text: str, line: int) -> float:
    if not (text.isascii() and text.isdigit() and len(text) < MAX_DEPTH):
        raise Malformed(f"line {line}: {text[:80]!r} is not a number of bytes")
    return float(text)


def _add(counted: CountedStacks, tree: list[tuple[int, float, str]]) -> None:
    """Count what each node has beyond the nodes below it, which are its callers."""
    path: list[list[float | str]] = []  # the bytes that are left, and the frame, of each level

    def close(depth: int) -> None:
        while len(path) > depth:
            left = path[-1][0]
            assert isinstance(left, float)
            if left > 0:
                stack = [str(name) for _, name in path[1:] or path]  # the root is the allocator
                counted.add(stack[::-1], {"peak": left})
            path.pop()

    for depth, size, place in tree:
        if depth > len(path) or depth > MAX_DEPTH * 16:
            raise Malformed("a tree of its heap has a node without one above it")
        close(depth)
        if path:
            left = path[-1][0]
            assert isinstance(left, float)
            path[-1][0] = left - size
        path.append([size, _named(place)])
    close(0)


def _named(place: str) -> str:
    if place.startswith(ROOT):
        return "[allocation]"
    return "[below the threshold]" if THRESHOLD.match(place) else described(place)
