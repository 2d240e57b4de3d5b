"""What one state of the project changes against another, file by file: functions, statements
outside of them, and other files.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

from perfvcs.git.bare import Bare, Fault
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.locate.sources import LARGEST_SOURCE, imports, language, read
from perfvcs.locate.sources.parts import Parts, Statement
from perfvcs.system.children import shared

FILE_MODES = ("100644", "100755", "100664")
SUBMODULE = "160000"
RAW = ("-r", "-z", "--no-renames", "--full-index")
UNREAD = "not read"  # why a source may change anything of which only that is known that it changed
COMMITS_PER_READ = 8  # commits that one process reads at a time
VERSIONS_KEPT = 32  # of sources, each of which the next commit that changes the file needs again


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

    ``functions``: the qualified names of those that changed, came or went. ``statements``: those
    outside of functions that differ. ``why``: the reason why anything may notice it, for what is
    not a source, or cannot be read; empty otherwise. ``told``: the marks of those who read what
    else differs: docstrings, annotations. ``moved``: imports in Python that stand in another order,
    by what they name.
    """

    path: str
    added: bool = False
    removed: bool = False
    functions: frozenset[str] = frozenset()
    statements: tuple[Statement, ...] = ()
    why: str = ""
    document: bool = False
    told: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()

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
        """The functions that changed, came or went, as ``file:qualified name``: what ``reached`` of
        a profile calls them.
        """
        return frozenset(f"{file.path}:{name}" for file in self.files for name in file.functions)

    @property
    def unseen(self) -> list[FileChange]:
        """Files of which nobody can say who notices them, with the reason."""
        return [file for file in self.files if file.why]

    @property
    def loaded(self) -> frozenset[str]:
        """Files with statements outside of functions that changed: their modules, headers and
        classes may be others.
        """
        return frozenset(file.path for file in self.files if file.statements)


def changes(
    project: Project, old: str, new: str, *, working: WorkingChanges | None = None
) -> Changes:
    """What commit ``new`` (full ids), or with ``working`` the working tree on top of it, changes
    against commit ``old``.
    """
    entries = list(_entries(project, old, new, working))
    return _made(entries, _blobs(project, entries))


def each(
    project: Project, pairs: Sequence[tuple[str, str]], most: int | None = None
) -> list[Changes]:
    """What the second commit (full ids) of each of some pairs changes against the first; no two
    pairs have the same second one.

    At most about ``most`` bytes of sources are read, those of the commits with the least to be read
    first. Of the others it is known which files they change, and not how.
    """
    rows = list(_rows(project, pairs))
    read = _read_within(project, rows, most)

    def of_chunk(chunk: range) -> list[Changes]:
        wanted = (entry for number in read.intersection(chunk) for entry in rows[number])
        blobs = _blobs(project, wanted)
        made = (_made if number in read else _unread for number in chunk)
        return [make(rows[number], blobs) for make, number in zip(made, chunk, strict=True)]

    every = range(len(rows))
    chunks = [every[start : start + COMMITS_PER_READ] for start in every[::COMMITS_PER_READ]]
    return [made for chunk in shared(of_chunk, chunks) for made in chunk]


def _rows(project: Project, pairs: Sequence[tuple[str, str]]) -> Iterator[list[FilePair]]:
    """The files that the second commit of each pair changes; git is asked once."""
    # the second of a line is taken for the parent of the first
    ask = "".join(f"{new} {old}\n" for old, new in pairs)
    listed = project.git("diff-tree", "--stdin", "--always", *RAW, text=ask)
    by_commit: dict[str, list[FilePair]] = {commit: [] for _, commit in pairs}
    fields = iter(listed.split("\0"))
    commit = ""
    for field in fields:
        if field.startswith(":"):
            by_commit[commit].append(_pair(field, next(fields)))
        elif field:
            commit = field.strip()
    yield from by_commit.values()


def _read_within(project: Project, rows: Sequence[list[FilePair]], most: int | None) -> set[int]:
    """The numbers of the commits whose sources are read."""
    if most is None:
        return set(range(len(rows)))
    sources = [[entry for entry in row if language(entry.path)] for row in rows]
    wanted = [{blob for entry in row for blob in (entry.old, entry.new) if blob} for row in sources]
    sizes = _sizes(project, sorted(set().union(*wanted)))
    numbers: set[int] = set()
    counted: set[str] = set()
    costs = [sum(sizes[blob] for blob in blobs) for blobs in wanted]
    for number in sorted(range(len(rows)), key=costs.__getitem__):
        most -= sum(sizes[blob] for blob in wanted[number] - counted)
        if most < 0:
            break
        counted |= wanted[number]
        numbers.add(number)
    return numbers


def _sizes(project: Project, blobs: Sequence[str]) -> dict[str, int]:
    """The bytes of each blob; 0 of one that is missing."""
    if not blobs:
        return {}
    ask = "".join(f"{blob}\n" for blob in blobs)
    listed = project.git("cat-file", "--batch-check=%(objectsize)", text=ask).split("\n")
    sizes = (int(size) if size.isdigit() else 0 for size in listed)
    return dict(zip(blobs, sizes, strict=True))


def _made(entries: Iterable[FilePair], blobs: Mapping[str, bytes | Fault]) -> Changes:
    changed = (_change(entry, *_sides(entry, blobs)) for entry in entries)
    return Changes(tuple(sorted(changed, key=lambda change: change.path)))


def _unread(entries: Iterable[FilePair], _: Mapping[str, bytes | Fault]) -> Changes:
    """``_source_change`` of files of which nothing is read."""
    files = _made(entries, {}).files
    noticed = [bool(file.why and language(file.path)) for file in files]
    pairs = zip(files, noticed, strict=True)
    return Changes(tuple(replace(file, why=UNREAD) if seen else file for file, seen in pairs))


def _entries(
    project: Project, old: str, new: str, working: WorkingChanges | None
) -> Iterator[FilePair]:
    parts = project.git("diff-tree", *RAW, old, new).split("\0")
    entries = {path: _pair(raw, path) for raw, path in zip(parts[:-1:2], parts[1::2], strict=False)}
    if working is not None:
        names = [name for name in working.files() if name.partition("/")[0] != ".perf"]
        listed = (
            project.git("ls-tree", "-r", "-z", "--full-tree", old, "--", *names) if names else ""
        )
        base = {
            line.partition("\t")[2]: line.partition("\t")[0].split(" ")
            for line in listed.split("\0")
            if line
        }
        for name in names:
            mode, _, blob = base.get(name, ["000000", "", ""])
            file = project.root / name
            if os.path.lexists(file):
                entries[name] = FilePair(name, blob, "here", (mode, _mode(file)), file)
            else:
                entries[name] = FilePair(name, blob, "", (mode, "000000"), None)
    yield from entries.values()


def _mode(file: Path) -> str:
    """Git's mode of what is in a working tree."""
    if file.is_symlink():
        return "120000"
    return SUBMODULE if file.is_dir() else "100644"


def _pair(raw: str, path: str) -> FilePair:
    """A file by a line of git's raw format."""
    before, after, old, new, *_ = raw.removeprefix(":").split(" ")
    old, new = (blob if blob.strip("0") else "" for blob in (old, new))
    return FilePair(path, old, new, (before, after))


def _blobs(project: Project, entries: Iterable[FilePair]) -> dict[str, bytes | Fault]:
    """The contents of the files that are read, by blob: not of links, submodules, large files."""
    wanted = {
        blob: b""
        for entry in entries
        for blob, mode in zip((entry.old, entry.new), entry.modes, strict=True)
        if blob not in ("", "here") and mode in FILE_MODES and _is_read(entry.path)
    }
    if not wanted:
        return {}
    contents = Bare(project.common_dir).objects(wanted, LARGEST_SOURCE)
    return dict(zip(wanted, contents, strict=True))


def _sides(
    entry: FilePair, blobs: Mapping[str, bytes | Fault]
) -> tuple[bytes | None, bytes | None]:
    """The contents of both sides of a file; None where there is none, or it is not read."""

    def content(blob: str, mode: str, here: Path | None) -> bytes | None:
        if here is not None:
            try:
                return (
                    here.read_bytes()
                    if mode in FILE_MODES and here.stat().st_size <= LARGEST_SOURCE
                    else None
                )
            except OSError:
                return None
        document = blobs.get(blob)
        return None if isinstance(document, Fault) else document

    before = content(entry.old, entry.modes[0], None)
    return before, content(entry.new, entry.modes[1], entry.here if entry.new else None)


def _is_read(path: str) -> bool:
    return bool(language(path)) or path.rpartition("/")[2] in (
        "pyproject.toml",
        "setup.cfg",
        "tox.ini",
        "setup.py",
    )


def _change(entry: FilePair, before: bytes | None, after: bytes | None) -> FileChange:
    path, added, removed = entry.path, not entry.old, not entry.new
    if SUBMODULE in entry.modes:
        return FileChange(path, added, removed, why="a submodule moved")
    if any(mode not in (*FILE_MODES, "000000") for mode in entry.modes):
        return FileChange(path, added, removed, why="it is a link")
    if before is not None and before == after:
        return FileChange(path)
    reason = imports.why(path)
    if (kind := language(path)) and not imports.is_build(path) and not imports.is_document(path):
        return _source_change(path, kind, before, after, added=added, removed=removed)
    if reason and not added and not removed and before is not None and after is not None:
        matter = imports.settings(path, before), imports.settings(path, after)
        if None not in matter and matter[0] == matter[1]:
            return FileChange(path, document=True)
    return FileChange(path, added, removed, why=reason, document=not reason)


def _source_change(
    path: str, kind: str, before: bytes | None, after: bytes | None, *, added: bool, removed: bool
) -> FileChange:
    sides: list[Parts] = []
    for content, absent in ((before, added), (after, removed)):
        parts = Parts(kind) if absent else None
        if content is not None and not absent:
            parts = _parts(kind, content)
        if parts is None:
            return FileChange(path, added, removed, why="no parser reads it")
        sides.append(parts)
    old, new = sides
    names = old.functions.keys() | new.functions.keys()
    functions = frozenset(name for name in names if _digest(old, name) != _digest(new, name))
    statements = tuple(_statements(old, new))
    documented = frozenset(
        mark for mark in {**old.told, **new.told} if old.told.get(mark) != new.told.get(mark)
    )
    return FileChange(
        path, added, removed, functions, statements, told=documented, moved=_moved(old, new)
    )


@lru_cache(VERSIONS_KEPT)
def _parts(kind: str, content: bytes) -> Parts | None:
    return read(kind, content)


def _digest(parts: Parts, name: str) -> str:
    function = parts.functions.get(name)
    return function.digest if function else ""


def _statements(old: Parts, new: Parts) -> Iterator[Statement]:
    """The statements that only one side has, or that stand in another order where that matters."""
    counts = Counter((statement.scope, statement.digest) for statement in new.statements)
    counts.subtract((statement.scope, statement.digest) for statement in old.statements)

    def differs(statement: Statement) -> bool:
        return counts[statement.scope, statement.digest] != 0

    def ordered(parts: Parts) -> list[Statement]:
        common = filterfalse(differs, parts.statements)
        return [statement for statement in common if _stands_in_order(statement, parts.language)]

    yield from dict.fromkeys(filter(differs, (*old.statements, *new.statements)))
    pairs = zip(ordered(old), ordered(new), strict=True)
    yield from dict.fromkeys(after for before, after in pairs if before.digest != after.digest)


def _is_executed(statement: Statement) -> bool:
    return statement.imports or statement.effect


def _moved(old: Parts, new: Parts) -> frozenset[str]:
    """What imports name that stand in another order in Python, among themselves or about what has
    effects.
    """
    if new.language != "python":
        return frozenset()
    before, after = (list(filter(_is_executed, side.statements)) for side in (old, new))
    common = {statement.digest for statement in before} & {statement.digest for statement in after}

    def is_common(statement: Statement) -> bool:
        return statement.digest in common

    pairs = zip(filter(is_common, before), filter(is_common, after), strict=False)
    apart = [statement for pair in pairs if pair[0].digest != pair[1].digest for statement in pair]
    imports = [statement for statement in apart if statement.imports]
    return frozenset(name for statement in imports for name in statement.mentions)


def _stands_in_order(statement: Statement, kind: str) -> bool:
    """Whether it matters what stands before a statement: not for imports and definitions of
    functions in Python.
    """
    return kind != "python" or not (statement.imports or statement.function)
