"""What to take back of a difference to see what one function's change costs: its hunks, and as
little else as makes the version work.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from keyword import kwlist
from typing import NamedTuple

from perfvcs.locate.blame.cause import WHOLE_FILE
from perfvcs.locate.sources import language
from perfvcs.locate.sources.chunks import KEYWORDS
from perfvcs.locate.sources.definitions import MODULE
from perfvcs.locate.sources.hunks import ChangedUnit, DifferingFile, Hunk, SourceDifference
from perfvcs.locate.sources.outline import last_name, scope

WORD = re.compile(r"[^\W\d]\w*")
# after an object, or by the two habits of naming the members of a class in C++
ATTRIBUTE = re.compile(r"(?:\.|->)\s*([^\W\d]\w*)|\b(m_\w+|[a-z]\w*_)\b")
ASSIGNED = re.compile(r"(?:\.|->)\s*([^\W\d]\w*)\s*(?:[,:][^=\n]*)?=(?!=)")
HASH_COMMENT = re.compile(r"#.*")  # of Python and shell; others write them as C does
COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)", re.MULTILINE)


class Reversal(NamedTuple):
    """Hunks that are taken back together, by file.

    ``besides`` says what is more than the function's own, and ``units`` are the keys of the other
    functions among them that both sides have.
    """

    besides: str
    hunks: dict[str, list[Hunk]]
    units: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class Part:
    """A hunk of a unit by its names, each for the old and the new lines: those that only this side
    mentions, and those that others can mention because of it on this side only.
    """

    unit: ChangedUnit
    hunk: Hunk
    words: set[str]  # of both sides
    mentions: tuple[set[str], set[str]]
    gives: tuple[set[str], set[str]]
    attributes: set[str]
    on_both_sides: bool = True

    @property
    def is_outside(self) -> bool:
        """Whether it stands outside of functions."""
        return self.unit.name == MODULE

    @property
    def beside(self) -> Part:
        """The same, but that the new lines stay behind the old ones."""
        first, count = self.hunk.new
        return replace(self, hunk=Hunk(self.hunk.old, (first - 1 if count else first, 0)))


def reverted(
    difference: SourceDifference, hunks: Mapping[str, Iterable[Hunk]]
) -> dict[str, str | None]:
    """The texts of files without some hunks, by file."""
    sources: dict[str, str | None] = {}
    for path, taken_back in hunks.items():
        change = difference.files[path]
        text = change.without(taken_back)
        sources[path] = None if change.is_new and not text else text
    return sources


class Reversals:
    """All that may be taken back of a difference."""

    def __init__(self, difference: SourceDifference) -> None:
        self.difference = difference
        self.parts = [
            _part(difference.files[unit.path], unit, hunk)
            for unit in difference.meaning
            for hunk in unit.hunks
        ]
        self._words: dict[str, tuple[set[str], set[str]]] = {}  # of both sides, by file
        self._giving: defaultdict[str, list[Part]] = defaultdict(list)
        self._using: defaultdict[str, list[Part]] = defaultdict(list)
        for part in self.parts:
            for name in part.gives[0]:
                self._giving[name].append(part)
            for name in part.mentions[1]:
                self._using[name].append(part)

    def of(self, unit: ChangedUnit) -> list[Reversal]:
        """What to take back to see what a unit's change costs, the least first.

        1. The unit alone.
        2. With what it needs: what gave a name that its old lines mention, and what mentions a name
           that only its new lines give. Outside of functions the new lines stay, where that works.
        3. With the parts of its class that mention an attribute which its hunks mention.
        4. With its uses: the hunks that mention its name, such as calls with other arguments.
        5. With the code outside of functions in its file (of C, also in headers), and the functions
           there that came or went.
        6. With the whole file.
        """
        own = [part for part in self.parts if part.unit is unit]
        needs = self._with_needs(own)
        in_class = self._with_needs([*own, *self._in_class(unit, own)])
        used = self._with_needs([*in_class, *self._uses(unit)])
        around = self._with_needs([*used, *self._around(unit)])
        tries = [
            _reversal("", unit, own),
            _reversal("with what it needs", unit, self._with_needs(own, beside=True)),
            _reversal("with what it needs", unit, needs),
            _reversal("with what it uses in its class", unit, in_class),
            _reversal("with its uses", unit, used),
            _reversal("with the code outside of functions", unit, around),
            self._whole(unit, around),
        ]
        distinct: list[Reversal] = []
        for reversal in tries:
            if all(reversal.hunks != other.hunks for other in distinct):
                distinct.append(reversal)
        return distinct

    def _whole(self, unit: ChangedUnit, around: Iterable[Part]) -> Reversal:
        inside = [part for part in self.parts if part.unit.path == unit.path]
        reversal = _reversal(WHOLE_FILE, unit, dict.fromkeys([*inside, *around]))
        reversal.hunks[unit.path] = sorted(self.difference.files[unit.path].hunks)
        return reversal

    def _with_needs(self, parts: Iterable[Part], *, beside: bool = False) -> list[Part]:
        """The parts, and all that has to be taken back with any of them; ``beside``: outside of
        functions, old lines come back beside the new ones.
        """
        taken = {part: part for part in parts}
        waiting = list(taken)
        while waiting:
            part = waiting.pop()
            needed = [
                giver
                for name in part.mentions[0]
                for giver in self._giving[name]
                if self._reaches(giver, part, name, 0)
            ]
            if taken[part] is part:
                needed += [
                    user
                    for name in part.gives[1]
                    for user in self._using[name]
                    if self._reaches(part, user, name, 1)
                ]
            for other in needed:
                if other not in taken:
                    taken[other] = other.beside if beside and other.is_outside else other
                    waiting.append(other)
        return list(taken.values())

    def _reaches(self, giver: Part, user: Part, name: str, side: int) -> bool:
        """Whether a name that one part gives may be the one that the other mentions: outside of
        functions of another file only if that file has it on no other line of the other side.
        """
        path = giver.unit.path
        if path == user.unit.path or not giver.is_outside:
            return True
        if path not in self._words:
            change = self.difference.files[path]
            self._words[path] = set(WORD.findall(change.old)), set(WORD.findall(change.new))
        return name not in self._words[path][1 - side]

    def _in_class(self, unit: ChangedUnit, own: Iterable[Part]) -> Iterator[Part]:
        attributes = {name for part in own for name in part.attributes}
        for part in self.parts if scope(unit.name) else ():
            fellow = part.unit.path == unit.path and scope(part.unit.name) == scope(unit.name)
            if fellow and not attributes.isdisjoint(part.attributes):
                yield part

    def _uses(self, unit: ChangedUnit) -> Iterator[Part]:
        made = last_name(unit.name) in ("__init__", "__new__")
        name = last_name(scope(unit.name) if made else unit.name)
        for part in self.parts:
            if name in part.words:
                yield part

    def _around(self, unit: ChangedUnit) -> Iterator[Part]:
        for part in self.parts:
            path = part.unit.path
            inside = path == unit.path and not part.on_both_sides
            if inside or (part.is_outside and _may_include(unit.path, path)):
                yield part


def _part(change: DifferingFile, unit: ChangedUnit, hunk: Hunk) -> Part:
    has_hash = language(change.path) == "python" or change.path.endswith(("sh", "bash"))
    comment = HASH_COMMENT if has_hash else COMMENT
    old, new = (
        comment.sub("", "\n".join(side[first - 1 : first - 1 + count] if count else ()))
        for side, (first, count) in zip(change.sides, hunk, strict=True)
    )
    keywords = kwlist if language(change.path) == "python" else KEYWORDS
    words = set(WORD.findall(old)).difference(keywords), set(WORD.findall(new)).difference(keywords)
    mentions = words[0] - words[1], words[1] - words[0]
    after = change.outlines[1]
    is_gone = after is not None and not after.named(unit.name)
    gives = mentions
    if unit.name != MODULE:
        gives = set(ASSIGNED.findall(old)), set(ASSIGNED.findall(new))
        gives[0].update([last_name(unit.name)] if is_gone else ())
        gives[1].update([last_name(unit.name)] if unit.is_new else ())
    return Part(
        unit,
        hunk,
        words[0] | words[1],
        mentions,
        (gives[0] - gives[1], gives[1] - gives[0]),
        {after or alone for after, alone in ATTRIBUTE.findall(f"{old}\n{new}")},
        on_both_sides=unit.name != MODULE and not unit.is_new and not is_gone,
    )


def _may_include(path: str, other: str) -> bool:
    """Whether a file has another one's code: its own, or that of a header of C."""
    is_header = language(other) == "c" and other.rpartition(".")[2].startswith("h")
    return path == other or (language(path) == "c" and is_header)


def _reversal(besides: str, unit: ChangedUnit, parts: Iterable[Part]) -> Reversal:
    hunks: dict[str, list[Hunk]] = {}
    others: set[str] = set()
    for part in parts:
        hunks.setdefault(part.unit.path, []).append(part.hunk)
        others.update([part.unit.key] if part.on_both_sides else ())
    taken = {path: sorted(of_file) for path, of_file in hunks.items()}
    return Reversal(besides, taken, frozenset(others - {unit.key}))
