"""What one state of the project changes against another, file by file: functions, statements outside of them, and other files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from perfvcs.git.bare import Bare, Fault
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.locate import files
from perfvcs.locate.parts import Parts, Statement
from perfvcs.locate.sources import LARGEST_SOURCE, language, read

FILE_MODES = ("100644", "100755", "100664")
SUBMODULE = "160000"


class FilePair(NamedTuple):
    """A file on both sides; an empty blob: not there. ``here``: the newer side is on disk."""

    path: str
    old: str
    new: str
    modes: tuple[str, str]
    here: Path | None = None


@dataclass(frozen=True)
class FileChange:
    """What happened to one file.

    ``functions``: the qualified names of those that changed, came or went. ``statements``: those outside of functions that differ.
    ``why``: the reason why anything may notice it, for what is not a source, or cannot be read; empty otherwise.
    """

    path: str
    added: bool = False
    removed: bool = False
    functions: frozenset[str] = frozenset()
    statements: tuple[Statement, ...] = ()
    why: str = ""
    document: bool = False

    @property
    def matters(self) -> bool:
        """Whether anything but comments, layout and documents changed."""
        return bool(self.functions or self.statements or self.why)


@dataclass(frozen=True)
class Changes:
    """What one state changes against another."""

    files: tuple[FileChange, ...]

    @cached_property
    def functions(self) -> frozenset[str]:
        """The functions that changed, came or went, as ``file:qualified name``: what ``reached`` of a profile calls them."""
        return frozenset(f"{file.path}:{name}" for file in self.files for name in file.functions)

    @property
    def unseen(self) -> list[FileChange]:
        """Files of which nobody can say who notices them, with the reason."""
        return [file for file in self.files if file.why]

    @property
    def loaded(self) -> frozenset[str]:
        """Files with statements outside of functions that changed: their modules, headers and classes may be others."""
        return frozenset(file.path for file in self.files if file.statements)

    @property
    def nothing(self) -> bool:
        """Whether no benchmark can notice any of it: documents, comments, layout."""
        return not any(file.matters for file in self.files)


def changes(project: Project, old: str, new: str, *, working: WorkingChanges | None = None) -> Changes:
    """What commit ``new`` (full ids), or with ``working`` the working tree on top of it, changes against commit ``old``."""
    entries = list(_entries(project, old, new, working))
    known = _contents(project, entries)
    return Changes(tuple(sorted((_change(entry, *known[entry.path]) for entry in entries), key=lambda change: change.path)))


def _entries(project: Project, old: str, new: str, working: WorkingChanges | None) -> Iterator[FilePair]:
    parts = project.git("diff-tree", "-r", "-z", "--no-renames", "--full-index", old, new).split("\0")
    found: dict[str, FilePair] = {}
    for raw, path in zip(parts[:-1:2], parts[1::2], strict=False):
        modes, blobs = raw.removeprefix(":").split(" ")[:2], raw.split(" ")[2:4]
        before, after = ("" if not blob.strip("0") else blob for blob in blobs)
        found[path] = FilePair(path, before, after, (modes[0], modes[1]))
    if working is not None:
        names = [name for name in working.files() if name.partition("/")[0] != ".perf"]
        listed = project.git("ls-tree", "-r", "-z", "--full-tree", old, "--", *names) if names else ""
        base = {line.partition("\t")[2]: line.partition("\t")[0].split(" ") for line in listed.split("\0") if line}
        for name in names:
            mode, _, blob = base.get(name, ["000000", "", ""])
            place = project.root / name
            there = os.path.lexists(place)
            kind = "120000" if place.is_symlink() else SUBMODULE if place.is_dir() else "100644"
            found[name] = FilePair(
                name, blob, "here" if there else "", (mode, kind if there else "000000"), place if there else None
            )
    yield from found.values()


def _contents(project: Project, entries: Sequence[FilePair]) -> dict[str, tuple[bytes | None, bytes | None]]:
    """The contents of both sides of each file; None where there is none, or it is not read: links, submodules, large files."""
    wanted = {
        blob: b""
        for entry in entries
        for blob, mode in zip((entry.old, entry.new), entry.modes, strict=True)
        if blob not in ("", "here") and mode in FILE_MODES and _is_read(entry.path)
    }
    blobs = dict(zip(wanted, Bare(project.common_dir).objects(wanted, LARGEST_SOURCE), strict=True)) if wanted else {}

    def content(blob: str, mode: str, here: Path | None) -> bytes | None:
        if here is not None:
            try:
                return here.read_bytes() if mode in FILE_MODES and here.stat().st_size <= LARGEST_SOURCE else None
            except OSError:
                return None
        found = blobs.get(blob)
        return None if isinstance(found, Fault) else found

    return {
        entry.path: (
            content(entry.old, entry.modes[0], None),
            content(entry.new, entry.modes[1], entry.here if entry.new else None),
        )
        for entry in entries
    }


def _is_read(path: str) -> bool:
    return bool(language(path)) or path.rpartition("/")[2] in ("pyproject.toml", "setup.cfg", "tox.ini", "setup.py")


def _change(entry: FilePair, before: bytes | None, after: bytes | None) -> FileChange:
    path, added, removed = entry.path, not entry.old, not entry.new
    if SUBMODULE in entry.modes:
        return FileChange(path, added, removed, why="a submodule moved")
    if any(mode not in (*FILE_MODES, "000000") for mode in entry.modes):
        return FileChange(path, added, removed, why="it is a link")
    if before is not None and before == after:
        return FileChange(path)
    reason = files.why(path)
    if (kind := language(path)) and not files.is_build(path) and not files.is_document(path):
        return _source_change(path, kind, before, after, added=added, removed=removed)
    if reason and not added and not removed and before is not None and after is not None:
        matter = files.settings(path, before), files.settings(path, after)
        if None not in matter and matter[0] == matter[1]:
            return FileChange(path)
    return FileChange(path, added, removed, why=reason, document=not reason)


def _source_change(path: str, kind: str, before: bytes | None, after: bytes | None, *, added: bool, removed: bool) -> FileChange:
    sides: list[Parts] = []
    for content, absent in ((before, added), (after, removed)):
        parts = Parts(kind) if absent else None if content is None else read(kind, content)
        if parts is None:
            return FileChange(path, added, removed, why="no parser reads it")
        sides.append(parts)
    old, new = sides
    names = old.functions.keys() | new.functions.keys()
    functions = frozenset(name for name in names if _digest(old, name) != _digest(new, name))
    return FileChange(path, added, removed, functions, tuple(_statements(old, new)))


def _digest(parts: Parts, name: str) -> str:
    function = parts.functions.get(name)
    return function.digest if function else ""


def _statements(old: Parts, new: Parts) -> Iterator[Statement]:
    """The statements that only one side has, or that stand in another order where that matters."""
    counts = Counter((one.scope, one.digest) for one in new.statements)
    counts.subtract((one.scope, one.digest) for one in old.statements)
    different = {key for key, count in counts.items() if count}
    yield from dict.fromkeys(one for one in (*old.statements, *new.statements) if (one.scope, one.digest) in different)
    orders = [
        [one for one in side.statements if (one.scope, one.digest) not in different and _stands_in_order(one, side.language)]
        for side in (old, new)
    ]
    yield from dict.fromkeys(second for first, second in zip(*orders, strict=True) if first.digest != second.digest)


def _stands_in_order(statement: Statement, kind: str) -> bool:
    """Whether it matters what stands before a statement: not for imports and definitions of functions in Python."""
    return kind != "python" or not (statement.imports or statement.function)
