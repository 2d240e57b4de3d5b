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
from perfvcs.locate.sources.grammars import language_of
from perfvcs.locate.sources.hunks import ChangedUnit, DifferingFile, Hunk, SourceDifference
from perfvcs.locate.sources.outline import last_name, scope
from perfvcs.locate.sources.parts import FILE, MODULE, is_hunk

WORD = re.compile(r"[^\W\d]\w*")
# after an object, or by the two habits of naming the members of a class in C++
ATTRIBUTE = re.compile(r"(?:\.|->)\s*([^\W\d]\w*)|\b(m_\w+|[a-z]\w*_)\b")
ASSIGNED = re.compile(r"(?:\.|->)\s*([^\W\d]\w*)\s*(?:[,:][^=\n]*)?=(?!=)")
COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)", re.MULTILINE)
HASH_COMMENT = re.compile(r"#.*")
COMMENTS = {
    **dict.fromkeys(["python", "shell", "perl", "ruby"], HASH_COMMENT),
    **dict.fromkeys(["c", "javascript", "typescript", "tsx", "java", "c#", "go", "rust"], COMMENT),
    "lua": re.compile(r"--.*"),
}
NO_COMMENT = re.compile(r"(?!)")  # of texts in other languages
NEAR = 3  # lines between hunks that git would show as one


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
        return self.unit.name == MODULE or self.is_text

    @property
    def is_text(self) -> bool:
        """Whether it is of a text whose functions are not known."""
        return is_hunk(self.unit.name)

    @property
    def beside(self) -> Part:
        """The same, but that the new lines stay behind the old ones."""
        first, count = self.hunk.new
        return replace(self, hunk=Hunk(self.hunk.old, (first - 1 if count else first, 0)))


class Blob(NamedTuple):
    """A content by git's name for it."""

    name: str


def reverted(
    difference: SourceDifference, hunks: Mapping[str, Iterable[Hunk]]
) -> dict[str, str | Blob | None]:
    """The texts of files without some hunks, by file; those that are not texts as they were."""
    sources: dict[str, str | Blob | None] = {}
    for path, taken_back in hunks.items():
        if path in difference.blobs:
            old = difference.blobs[path]
            sources[path] = Blob(old) if old else None
            continue
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

        Of a text, whose programs often run with a name that nothing gives: with what it needs,
        alone, with the hunks near it, with the whole file.
        """
        if unit.name == FILE:
            return [Reversal("", {unit.path: []})]
        own = [part for part in self.parts if part.unit is unit]
        needs = self._with_needs(own)
        if is_hunk(unit.name):
            near = self._with_needs(self._near(own))
            return _distinct(
                [
                    _reversal("with what it needs" if len(needs) > len(own) else "", unit, needs),
                    _reversal("", unit, own),
                    _reversal("with the hunks near it", unit, near),
                    self._whole(unit, near),
                ]
            )
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
        return _distinct(tries)

    def together(self, units: Iterable[ChangedUnit]) -> dict[str, list[Hunk]]:
        """The hunks of some units, and what they need, by file."""
        taken = {unit.key: unit for unit in units}
        parts = self._with_needs([part for part in self.parts if part.unit.key in taken])
        files: dict[str, list[Hunk]] = {
            unit.path: [] for unit in taken.values() if unit.name == FILE
        }
        return files | _by_file(parts)

    def _near(self, own: Iterable[Part]) -> list[Part]:
        """Some parts of a file, and those that follow each other in few lines with them."""
        near = list(own)
        beside = [part for part in self.parts if part.unit.path == near[0].unit.path]
        for parts in (beside, beside[::-1]):
            for part in parts:
                if part not in near and any(_gap(part.hunk, other.hunk) <= NEAR for other in near):
                    near.append(part)
        return near

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
                    is_code = other.is_outside and not other.is_text
                    taken[other] = other.beside if beside and is_code else other
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
    path = change.path
    comment = COMMENTS.get(language(path) or language_of(path), NO_COMMENT)
    old, new = (
        comment.sub("", "\n".join(side[first - 1 : first - 1 + count] if count else ()))
        for side, (first, count) in zip(change.sides, hunk, strict=True)
    )
    keywords = kwlist if language(path) == "python" else KEYWORDS
    words = set(WORD.findall(old)).difference(keywords), set(WORD.findall(new)).difference(keywords)
    mentions = words[0] - words[1], words[1] - words[0]
    after = change.outlines[1]
    is_gone = after is not None and not after.named(unit.name)
    gives = mentions
    is_function = unit.name != MODULE and not is_hunk(unit.name)
    if is_function:
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
        on_both_sides=is_function and not unit.is_new and not is_gone,
    )


def _may_include(path: str, other: str) -> bool:
    """Whether a file has another one's code: its own, or that of a header of C."""
    is_header = language(other) == "c" and other.rpartition(".")[2].startswith("h")
    return path == other or (language(path) == "c" and is_header)


def _gap(one: Hunk, other: Hunk) -> int:
    """The lines between two hunks of a file, by the new side."""
    first, last = sorted((one.new, other.new))
    return last[0] - sum(first)


def _distinct(reversals: Iterable[Reversal]) -> list[Reversal]:
    """Without those that take back what one before them does."""
    distinct: list[Reversal] = []
    for reversal in reversals:
        if all(reversal.hunks != other.hunks for other in distinct):
            distinct.append(reversal)
    return distinct


def _by_file(parts: Iterable[Part]) -> dict[str, list[Hunk]]:
    hunks: dict[str, list[Hunk]] = {}
    for part in parts:
        hunks.setdefault(part.unit.path, []).append(part.hunk)
    return {path: sorted(of_file) for path, of_file in hunks.items()}


def _reversal(besides: str, unit: ChangedUnit, parts: Iterable[Part]) -> Reversal:
    taken = list(parts)
    others = {part.unit.key for part in taken if part.on_both_sides}
    return Reversal(besides, _by_file(taken), frozenset(others - {unit.key}))
