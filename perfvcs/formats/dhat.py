"""JSON of DHAT, of valgrind (https://valgrind.org/docs/manual/dh-manual.html) and of the Rust crate
dhat, as docs/exchange/dhat.md describes it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import msgspec

from perfvcs.formats._readings import Keyed, typed
from perfvcs.formats._stacks import CountedStacks, frame
from perfvcs.plugins import Natural
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

ADDRESS = re.compile(r"0x[0-9A-Fa-f]{1,16}: ")
LINE = re.compile(r"(?::[0-9]{1,9}){1,2}")  # the line, and the column in Rust
OWN = "(vgpreload_dhat-"  # valgrind's functions, which stand for malloc and the like
PLACE = re.compile(r"(.*) \((?:in )?([^()]*)\)", re.DOTALL)


class _Point(msgspec.Struct):
    """A place that allocates: bytes and blocks in all, bytes when the heap was largest, and the
    stack, innermost frame first.
    """

    fs: list[Natural]
    tb: float = 0
    tbk: float = 0
    gb: float = 0


class _File(msgspec.Struct):
    pps: list[_Point]
    ftbl: list[str]
    mode: str = "heap"


@dataclass(frozen=True)
class Dhat(Keyed):
    """One recording: the bytes and blocks that each stack allocated, and its bytes when the heap
    was largest. A stack ends in what called the allocator.
    """

    suffixes = (".dhat",)
    keys = ("dhatFileVersion",)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the place."""
        file = typed(document, _File)
        if not file.mode.endswith("heap"):
            raise Malformed(f"$.mode is {file.mode[:80]!r}: only heaps are read")
        frames = [*map(described, file.ftbl)]
        counted = CountedStacks({"allocated": "B", "allocations": "", "peak": "B"})
        for place, point in enumerate(file.pps):
            try:
                stack = [frames[number] for number in reversed(point.fs)]
                while len(stack) > 1 and OWN in stack[-1]:
                    stack.pop()
            except IndexError:
                raise Malformed(f"$.pps[{place}] has a frame that is not in $.ftbl") from None
            counted.add(stack, {"allocated": point.tb, "allocations": point.tbk, "peak": point.gb})
        return counted.profile(document, "dhat")


def described(text: str) -> str:
    """``0x10916C: make (sort.c:4)`` without what changes with every build: the address and the
    line.
    """
    place = ADDRESS.sub("", text[:10_000], count=1)
    match = PLACE.fullmatch(place)
    if match is None:
        return frame(place)
    file = match[2]
    numbers = file.find(":")
    if numbers > 0 and LINE.fullmatch(file, numbers):
        file = file[:numbers]
    return frame(match[1], PurePosixPath(file).name)
