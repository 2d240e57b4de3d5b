"""The functions that a source defines: their lines, and digests that tell whether they changed."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from typing import NamedTuple

import msgspec

MODULE = "<module>"
FILE = "<file>"  # a binary file, or one that is too large to be read


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


def digest(text: str) -> str:
    """A short name for a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def hunk_name(first: int, last: int) -> str:
    """The name of lines in a file whose functions are not known."""
    return f"lines {first}-{last}" if last > first else f"line {first}"


def is_hunk(name: str) -> bool:
    """Whether a name is that of lines."""
    return re.fullmatch(r"lines? [0-9]+(?:-[0-9]+)?", name) is not None
