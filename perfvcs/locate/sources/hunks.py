"""What changed between two commits: files, hunks, and the functions that they are in.

A hunk of a text whose functions are not known is a unit by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from perfvcs.git.project import Project
from perfvcs.locate.sources.imports import is_document, is_service
from perfvcs.locate.sources.outline import outline
from perfvcs.locate.sources.parts import (
    FILE,
    MODULE,
    MOST_ALIKE,
    Body,
    Outline,
    bodies,
    hunk_name,
    is_hunk,
    renamed,
)
from perfvcs.text.characters import source_lines

MOST_FILES = 400  # texts that are read on both sides; those that the benchmark reaches come first
MOST_HUNKS = 400  # of a text without functions that are units by themselves
LARGEST_DIFFED = 1 << 20  # bytes of a text; what is larger was generated
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Hunk(NamedTuple):
    """Lines ``old`` of the old file (first line, counted from 1, and how many) became lines ``new``
    of the new one.
    """

    old: tuple[int, int]
    new: tuple[int, int]

    @property
    def lines(self) -> tuple[int, int]:
        """The first and last line in the new file; those around it where lines were only taken
        away.
        """
        first, count = self.new
        return (first, first + count - 1) if count else (max(first, 1), max(first, 1))

    @property
    def name(self) -> str:
        """What it is called where its lines are in no function."""
        return hunk_name(*self.lines)

    @property
    def size(self) -> int:
        """How many lines it takes away and brings."""
        return self.old[1] + self.new[1]


@dataclass(frozen=True)
class DifferingFile:
    """One file that differs; ``old`` and ``new`` are its texts, empty where a side does not have
    it.
    """

    path: str
    old_path: str
    old: str
    new: str
    hunks: tuple[Hunk, ...]
    mode: str = "100644"
    is_new: bool = False

    @cached_property
    def outlines(self) -> tuple[Outline | None, Outline | None]:
        """The functions of both sides."""
        return outline(self.old_path, self.old), outline(self.path, self.new)

    @property
    def is_text(self) -> bool:
        """Whether the functions of a side are not known."""
        return None in self.outlines

    @cached_property
    def sides(self) -> tuple[list[str], list[str]]:
        """The lines of both sides."""
        return source_lines(self.old), source_lines(self.new)

    def function(self, hunk: Hunk) -> str:
        """The function that a hunk is in: on the new side, or on the old one where its lines were
        taken away.
        """
        before, after = self.outlines
        first, count = hunk.new
        names = (
            {after.at(line) for line in range(first, first + count)} if after and count else set()
        )
        if not names - {MODULE} and before and hunk.old[1]:
            names |= {before.at(line) for line in range(hunk.old[0], sum(hunk.old))}
        inner = sorted(names - {MODULE})
        return inner[0] if inner else MODULE

    def without(self, hunks: Iterable[Hunk]) -> str:
        """The new text with some hunks as they were before."""
        before, after = source_lines(self.old, ends=True), source_lines(self.new, ends=True)
        placed = ((hunk.new[0] - bool(hunk.new[1]), hunk.old[0], hunk) for hunk in hunks)
        for start, _, hunk in sorted(
            placed, reverse=True
        ):  # an empty side names the line before it
            after[start : start + hunk.new[1]] = (
                before[hunk.old[0] - 1 : hunk.old[0] - 1 + hunk.old[1]] if hunk.old[1] else []
            )
        # a last line without a newline may have got others behind it
        return "".join(
            [*(line if line.endswith("\n") else f"{line}\n" for line in after[:-1]), *after[-1:]]
        )


@dataclass(frozen=True)
class ChangedUnit:
    """A changed function, what stands outside of functions in a changed file (``<module>``), a hunk
    of a text whose functions are not known, or a file that is not a text (``<file>``).

    ``means``: the change is more than comments and layout. ``is_new``: the old side has no such
    function.
    """

    path: str
    name: str
    hunks: tuple[Hunk, ...]
    means: bool = True
    is_new: bool = False

    @property
    def key(self) -> str:
        """File and name."""
        return f"{self.path}:{self.name}"

    def __str__(self) -> str:
        if self.name == FILE:
            return self.path
        if is_hunk(self.name):
            return f"{self.name} of {self.path}"
        where = f"{self.path}:{self.hunks[0].lines[0]}" if self.hunks else self.path
        return (
            f"the code outside of functions ({where})"
            if self.name == MODULE
            else f"{self.name} ({where})"
        )


@dataclass
class SourceDifference:
    """All that differs between two commits as far as it may be run or read, the ``others``, and how
    many files are left out.

    ``blobs``: the old contents of files that are not texts by git's names, empty for new files.
    """

    files: dict[str, DifferingFile] = field(default_factory=dict)
    units: dict[str, ChangedUnit] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    blobs: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    left_out: int = 0

    @property
    def meaning(self) -> list[ChangedUnit]:
        """The units whose change is more than comments and layout."""
        return [unit for unit in self.units.values() if unit.means]


class _Entry(NamedTuple):
    status: str
    old_path: str
    path: str
    old: str
    new: str
    mode: str


def difference(
    project: Project,
    a: str,
    b: str,
    *,
    skip: Callable[[str], bool] = lambda _: False,
    first: Callable[[str], bool] = lambda _: False,
) -> SourceDifference:
    """What changed from commit ``a`` to ``b``; files to ``skip`` are the same on both sides when
    measured, others come ``first``.
    """
    changes = SourceDifference()
    entries = [entry for entry in _entries(project, a, b) if not skip(entry.path)]
    able = [entry for entry in entries if _may_be_read(entry) or first(entry.path)]
    sources = sorted(filter(_is_file, able), key=lambda entry: not first(entry.path))
    taken = {entry.path for entry in sources}
    changes.others = [entry.path for entry in entries if entry.path not in taken]
    changes.left_out = len(sources[MOST_FILES:])
    content = texts(
        project, {name for entry in sources[:MOST_FILES] for name in (entry.old, entry.new)}
    )
    for entry in sources[:MOST_FILES]:
        old, new = content[entry.old], content[entry.new]
        if old is None or new is None:  # binary, or too large to be written by people
            changes.blobs[entry.path] = entry.old if entry.old.strip("0") else ""
        else:
            changes.files[entry.path] = _file(project, entry, old, new)
    for change in changes.files.values():
        changes.units.update({unit.key: unit for unit in _units(change)})
    for path in changes.blobs:
        whole = ChangedUnit(path, FILE, ())
        changes.units[whole.key] = whole
    changes.renamed = _renamed(changes.files.values())
    return changes


def _entries(project: Project, a: str, b: str) -> Iterator[_Entry]:
    words = iter(
        project.git(
            "diff", "--raw", "-z", "--no-abbrev", "--find-renames", "--no-ext-diff", a, b
        ).split("\0")
    )
    for word in words:
        if not word.startswith(":"):
            continue
        _, mode, old, new, status = word[1:].split(" ")
        path = next(words)
        renamed = next(words) if status[0] in "RC" else path
        yield _Entry(status[0], path, renamed, old, new, mode if status[0] != "D" else "100644")


def _may_be_read(entry: _Entry) -> bool:
    """Whether a file is neither for people nor for other services, as far as its name tells."""
    return not (is_document(entry.path) or is_service(entry.path))


def _is_file(entry: _Entry) -> bool:
    """Whether an entry is neither a link nor a submodule."""
    return entry.mode.startswith("100")


def _file(project: Project, entry: _Entry, old: str, new: str) -> DifferingFile:
    lost, made = (set(name) == {"0"} for name in (entry.old, entry.new))
    if lost or made:
        sides = [(1, len(source_lines(text))) if text else (0, 0) for text in (old, new)]
        hunks: tuple[Hunk, ...] = (Hunk(sides[0], sides[1]),)
    else:
        options = (
            "--unified=0",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--inter-hunk-context=0",
            "--ignore-cr-at-eol",
            "--diff-algorithm=histogram",
        )
        hunks = tuple(_hunks(project.git("diff", *options, entry.old, entry.new)))
    return DifferingFile(entry.path, entry.old_path, old, new, hunks, entry.mode, is_new=lost)


def _objects(project: Project, mode: str, blobs: Sequence[str]) -> str:
    """What ``git cat-file`` says of blobs; nothing is asked about none."""
    if not blobs:
        return ""
    return project.git("cat-file", mode, text="".join(f"{blob}\n" for blob in blobs))


def texts(project: Project, blobs: Iterable[str]) -> dict[str, str | None]:
    """The texts of blobs; empty for the blob that is none, None for one that is binary or too
    large.
    """
    by_blob: dict[str, str | None] = {blob: "" for blob in blobs if set(blob) == {"0"}}
    wanted = [blob for blob in blobs if blob not in by_blob]
    rows = (line.split(" ") for line in _objects(project, "--batch-check", wanted).splitlines())
    small = [blob for blob, _, size in rows if int(size) <= LARGEST_DIFFED]
    content = _objects(project, "--batch", small)
    data, at = content.encode("utf-8", "surrogateescape"), 0
    for blob in small:
        end = data.index(b"\n", at)
        size = int(data[at:end].rpartition(b" ")[2])
        text = data[end + 1 : end + 1 + size].decode("utf-8", "surrogateescape")
        by_blob[blob] = None if "\0" in text else text
        at = end + 2 + size
    return dict.fromkeys(wanted, None) | by_blob


def _hunks(printed: str) -> Iterator[Hunk]:
    for line in printed.split("\n"):
        if match := _HUNK.match(line):
            old, old_count, new, new_count = (
                int(number) if number is not None else 1 for number in match.groups()
            )
            yield Hunk((old, old_count), (new, new_count))


def _parts(change: DifferingFile, hunk: Hunk) -> Iterator[Hunk]:
    """A hunk cut where functions begin and end, as far as both sides have them in the same order;
    what only one side has is a hunk of its own.
    """
    before, after = change.outlines
    if before is None or after is None:
        yield hunk
        return
    outlines = zip((before, after), change.sides, hunk, strict=True)
    old, new = (_runs(outline, source, lines) for outline, source, lines in outlines)
    if max(len(old), len(new)) > MOST_ALIKE:
        yield hunk
        return
    at = hunk.old[0] + (not hunk.old[1]), hunk.new[0] + (not hunk.new[1])
    order = SequenceMatcher(None, list(old.values()), list(new.values()), autojunk=False)
    ends = list(old), list(new)
    for word, x, i, y, j in order.get_opcodes():
        if word == "equal" or (i - x, j - y) == (1, 1):
            steps = list(zip(ends[0][x:i], ends[1][y:j], strict=True))
        else:
            steps = [(end, at[1]) for end in ends[0][x:i]]
            steps += [(steps[i - x - 1][0] if i > x else at[0], end) for end in ends[1][y:j]]
        for step in steps:
            yield _between(at, step)
            at = step


def _runs(outline: Outline, source: list[str], lines: tuple[int, int]) -> dict[int, str]:
    """The functions that some lines belong to, in order, each by the line behind its part; blank
    lines are a part of what stands before them.
    """
    runs: dict[int, str] = {}
    first, count = lines
    name, is_blank = "", True
    for line in range(first, first + count):
        here = outline.at(line)
        if source[line - 1].strip() and here != name:
            if not is_blank:
                runs[line] = name
            name, is_blank = here, False
    if count:
        runs[first + count] = name or outline.at(first)
    return runs


def _between(starts: tuple[int, int], ends: tuple[int, int]) -> Hunk:
    """The hunk of the lines from ``starts`` to before ``ends``, old and new; an empty side names
    the line before it.
    """
    old, new = (
        (start, end - start) if end > start else (start - 1, 0)
        for start, end in zip(starts, ends, strict=True)
    )
    return Hunk(old, new)


def _units(change: DifferingFile) -> Iterator[ChangedUnit]:
    """The changed functions of a file, each with its hunks; of a text, its hunks."""
    if change.is_text:
        yield from _of_text(change)
        return
    hunks: dict[str, list[Hunk]] = {}
    for hunk in (part for whole in change.hunks for part in _parts(change, whole)):
        hunks.setdefault(change.function(hunk), []).append(hunk)
    before, after = change.outlines
    digests = [side.digests() if side else {} for side in (before, after)]
    for name, parts in hunks.items():
        means = not before or not after or digests[0].get(name) != digests[1].get(name)
        yield ChangedUnit(change.path, name, tuple(parts), means, is_new=name not in digests[0])


def _of_text(change: DifferingFile) -> Iterator[ChangedUnit]:
    """The hunks of a text; of more than ``MOST_HUNKS``, all as one."""
    if len(change.hunks) > MOST_HUNKS:
        whole = Hunk((1, len(change.sides[0])), (1, len(change.sides[1])))
        yield ChangedUnit(change.path, whole.name, change.hunks, is_new=change.is_new)
        return
    for hunk in change.hunks:
        old, new = (
            [line.rstrip() for line in side[max(first - 1, 0) : first - 1 + count] if line.strip()]
            for side, (first, count) in zip(change.sides, hunk, strict=True)
        )
        yield ChangedUnit(change.path, hunk.name, (hunk,), old != new, is_new=change.is_new)


def _renamed(files: Iterable[DifferingFile]) -> dict[str, str]:
    """New names of functions that were lost, as ``name (file)``."""
    lost: list[Body] = []
    made: list[Body] = []
    for change in files:
        before, after = change.outlines
        stayed = change.path == change.old_path
        lost += bodies(change.old, change.old_path, before, after if stayed else None)
        made += bodies(change.new, change.path, after, before if stayed else None)
    return renamed(lost, made)
