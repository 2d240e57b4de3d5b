"""The parts of a source file: functions with their lines, and what stands outside of them; what
each names, and whether two versions of it are the same.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from perfvcs.text.characters import source_lines

# among the mentions of code that looks names up which stand nowhere in its text
COMPUTED = "(computed name)"
GLOBAL = "(global name)"  # the same, in its own module
LISTING = "(files)"  # of code that lists folders or imports what it finds there
OBJECT = "an object that is made when a program starts"
KEPT = "an attribute by which assembly can call it"
MACRO = "a macro that may define what runs when a program starts"
ANY_FILE = "*"  # among the uses: a macro, or a name that is composed, gives the file
FOLDERS = "(folders)"  # of code that lists folders
DOCSTRINGS = "(docstrings)"  # of code that reads them
ANNOTATIONS = "(annotations)"
SOURCES = "(sources)"  # of code that reads the sources of functions
IMPORTING = "(imports)"  # of code that imports what is named only when it runs


OPEN = frozenset("*?[{%$")  # in a part of a path that something else completes


class Function(msgspec.Struct, frozen=True, array_like=True):
    """A function, with all that is nested in it; ``digest`` does not depend on comments,
    docstrings, annotations and layout.
    """

    digest: str
    mentions: tuple[str, ...] = ()


class Statement(msgspec.Struct, frozen=True, array_like=True):
    """What stands outside of functions: in the module, or in the class ``scope``; decorators and
    defaults of a function are here too.

    ``binds``: the names that may mean something else where it changes. ``effect``: it may change
    anything besides. ``main``: it runs only where the file is the program. ``imports``: it only
    gives names to what another file defines. ``function``: the one that it defines, by its
    qualified name. ``unclear``: a macro may have made it, so that nobody knows what it defines, and
    who runs that. ``starts``: why each program that has it may run it, though nothing names it;
    ``OBJECT`` only in C++.
    """

    scope: str
    digest: str
    binds: tuple[str, ...] = ()
    mentions: tuple[str, ...] = ()
    effect: bool = False
    main: bool = False
    function: str = ""
    imports: bool = False
    unclear: bool = False
    starts: str = ""


class Parts(msgspec.Struct, frozen=True, array_like=True):
    """All parts of one file; ``uses`` are the modules that it imports, or the headers that it
    includes, as it writes them.

    ``provides``: the modules that a file of Fortran defines, or the macros of one in C. ``told``:
    digests of what the others do not depend on in Python, by the marks of those who read it:
    docstrings and annotations.
    """

    language: str
    functions: Mapping[str, Function] = {}
    statements: tuple[Statement, ...] = ()
    uses: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()
    told: Mapping[str, str] = {}

    @property
    def names(self) -> set[str]:
        """All names that any part mentions or binds."""
        names: set[str] = set()
        for function in self.functions.values():
            names.update(function.mentions)
        for statement in self.statements:
            names.update(statement.mentions, statement.binds)
        return names


class Functions:
    """The functions of a file, while it is read; several of one name are one: overloaded, or for
    several platforms.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._mentions: dict[str, set[str]] = {}

    def add(self, name: str, digest_of_definition: str, mentions: Iterable[str]) -> None:
        """One more definition, by its digest."""
        earlier = self._digests.get(name)
        self._digests[name] = (
            digest([earlier, digest_of_definition]) if earlier else digest_of_definition
        )
        self._mentions.setdefault(name, set()).update(mentions)

    @property
    def all(self) -> dict[str, Function]:
        """All that were added, by name."""
        return {
            name: Function(digest_of_function, tuple(sorted(self._mentions[name])))
            for name, digest_of_function in self._digests.items()
        }


def digest(words: Iterable[str]) -> str:
    """16 hex digits for a sequence of words."""
    return hashlib.blake2b(
        "\0".join(words).encode("utf-8", "surrogatepass"), digest_size=8
    ).hexdigest()


def words_of(text: str) -> list[str]:
    """The names in a string that may be looked up by it: of a string without spaces, its parts, and
    the last part of a path.

    Of the end of a path, as in ``name + ".md"``, also a pattern: ``*.md``.
    """
    if len(text) > 200 or not text or not text.isprintable() or " " in text:
        return []
    last = text.rpartition("/")[2]
    open_ended = [ending(last)] if last.startswith(".") or not OPEN.isdisjoint(last) else []
    return [*re.findall(r"[^\W\d]\w*", text), last, *filter(None, open_ended)]


def ending(name: str) -> str:
    """The pattern of all files that end as this one: ``*.md``; empty where it ends with no
    suffix.
    """
    match = re.search(r"\.\w+$", name)
    return f"*{match[0]}" if match else ""


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
