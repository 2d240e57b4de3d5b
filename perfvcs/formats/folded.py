"""Folded (collapsed) stacks, a stack and its count on each line, as docs/exchange/folded.md
describes them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.formats._readings import lines_of, number, unended
from perfvcs.formats._stacks import SAMPLES, CountedStacks, unfolded
from perfvcs.profile import Profile
from perfvcs.profile.validity import Malformed

FOLDED_LINE = re.compile(rb"(?:[^\s{][^\n]*)? [0-9]+(?:\.[0-9]+)?")


@dataclass(frozen=True)
class Folded:
    """One recording: ``main;sort;swap 12``, root first, as stackcollapse scripts, py-spy and
    async-profiler write it.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".folded", ".collapsed")

    def recognises(self, name: str, head: bytes) -> bool:
        """By lines that end with a count, one of which has several frames; or by the suffix."""
        lines = head.split(b"\n")[: 20 if b"\n" in head else 1]
        whole = [line.rstrip(b"\r") for line in lines[:-1]] or lines
        all_match = all(FOLDED_LINE.fullmatch(line) for line in whole) and any(
            b";" in line for line in whole
        )
        return all_match or name.lower().removesuffix(".gz").endswith(self.suffixes)

    def decode(self, document: bytes, stem: str = "") -> Profile:  # noqa: ARG002 - the job is the tool's
        """The profile; raises NoResults, and Malformed with the line."""
        stacks, twice, lines = CountedStacks({SAMPLES: ""}), 0, 0
        for place, line in enumerate(lines_of(document), 1):
            if not line.strip():
                continue
            stack, _, text = line.rpartition(" ")
            count = number(text)
            if count is None or count < 0 or not line.endswith(f" {text}"):
                raise Malformed(f"line {place} does not end with a count")
            lines += 1
            twice += number(stack.rpartition(" ")[2]) is not None
            stacks.add(stack.split(";") if stack else [], {SAMPLES: count})
        if lines and twice == lines:
            raise Malformed(
                "its lines have two counts, as difffolded.pl writes them: import each side's file"
            )
        return stacks.profile(document, "folded", notes=unended(document))

    def encode(self, profile: Profile) -> bytes:
        """A line for each stack, with the first metric that stacks have; times are in microseconds.

        Raises Malformed without stacks.
        """
        sampled = unfolded(profile)
        times = 1e6 if sampled.unit == "s" else 1.0
        lines = [
            f"{';'.join(map(_plain, stack))} {round(value * times)}\n"
            for stack, value in sampled.stacks
        ]
        return "".join(lines).encode("utf-8", "backslashreplace")


def _plain(name: str) -> str:
    """A frame without what separates frames and lines."""
    return name.replace(";", ":").replace("\n", " ")
