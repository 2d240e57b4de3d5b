"""The functions that a source defines: their lines, and digests that tell whether they changed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from perfvcs.text.characters import source_lines

MODULE = "<module>"
FILE = "<file>"  # a binary file, or one that is too large to be read


MOST_ALIKE = 300  # functions of a side that are compared with those of the other one
# the share of common words from which on a lost and a new function are one that was renamed
COMMON_WORDS_SHARE = 0.6


class Definition(NamedTuple):
    """A function: its lines from ``first`` to ``last``, counted from 1; ``digest`` is the same
    where only comments and layout differ.

    ``name`` is the qualified name; a function inside a function is part of it.
    """

    name: str
    first: int
    last: int
    digest: str


class Outline(msgspec.Struct, frozen=True):
    """The functions of one file in the order of their lines; what stands outside of them belongs to
    ``<module>``.
    """

    language: str
    definitions: tuple[Definition, ...]
    outside: str = ""

    def at(self, line: int) -> str:
        """The function to which a line belongs."""
        place = bisect_left(self.definitions, line, key=lambda definition: definition.last)
        there = self.definitions[place : place + 1]
        return there[0].name if there and there[0].first <= line else MODULE

    def named(self, name: str) -> list[Definition]:
        """All definitions of a name, which may be several: a property and its setter, or one for
        each platform.
        """
        return [definition for definition in self.definitions if definition.name == name]

    def digests(self) -> dict[str, str]:
        """The digests of functions, by name: they differ where a function changed."""
        by_name: dict[str, list[str]] = {}
        for definition in self.definitions:
            by_name.setdefault(definition.name, []).append(definition.digest)
        return {name: "".join(parts) for name, parts in by_name.items()} | {MODULE: self.outside}


def located(source: str, found: Iterable[tuple[str, int, int, str]]) -> tuple[Definition, ...]:
    """Functions by name, the places in a source between which each stands, and digest."""
    ends = [place for place, character in enumerate(source) if character == "\n"]
    return tuple(
        Definition(name, bisect_left(ends, start) + 1, bisect_left(ends, end - 1) + 1, digest)
        for name, start, end, digest in found
    )


def hunk_name(first: int, last: int) -> str:
    """The name of lines in a file whose functions are not known."""
    return f"lines {first}-{last}" if last > first else f"line {first}"


def is_hunk(name: str) -> bool:
    """Whether a name is that of lines."""
    return re.fullmatch(r"lines? [0-9]+(?:-[0-9]+)?", name) is not None


class Body(NamedTuple):
    """A function as ``name (file)``, and its words."""

    name: str
    words: set[str]


def bodies(text: str, path: str, outline: Outline | None, other: Outline | None) -> Iterator[Body]:
    """The functions of one side of a file that the ``other`` has not."""
    common = {definition.name for definition in other.definitions} if other else set()
    for definition in outline.definitions if outline else ():
        if definition.name not in common:
            body = source_lines(text)[definition.first - 1 : definition.last]
            words = set(re.findall(r"\w+", "\n".join(body)))
            yield Body(f"{definition.name} ({path})", words)


def renamed(lost: Sequence[Body], made: Sequence[Body]) -> dict[str, str]:
    """The new names of functions that were lost, as far as the words of bodies tell."""
    pairs: dict[str, str] = {}
    taken: set[str] = set()
    for name, words in lost[:MOST_ALIKE]:
        alike = [
            (len(words & others) / len(words | others), other)
            for other, others in made[:MOST_ALIKE]
            if other not in taken and words | others
        ]
        share, best = max(alike, default=(0.0, ""))
        if share >= COMMON_WORDS_SHARE:
            pairs[name] = best
            taken.add(best)
    return pairs
