"""Who uses whom among the sources of one state of the project; each file is read once and kept by its content."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from perfvcs.fork import shared
from perfvcs.git.bare import Bare, Fault
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.git.stream import blob_id
from perfvcs.index.database import Database
from perfvcs.locate.parts import Parts
from perfvcs.locate.sources import LARGEST_SOURCE, language, read

READER = 5  # another number: what was read before is read again
SCHEMA = "CREATE TABLE sources (blob TEXT PRIMARY KEY, uses BLOB NOT NULL, names BLOB NOT NULL, parts BLOB) WITHOUT ROWID"
FILE = "sources.db"
CHUNK = 32  # files that one git process reads
SPARE = 20_000  # files of other states that are kept
ASKED = 500  # rows that one query names
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Parts).decode


class _Row(NamedTuple):
    """One file as it is kept: lists with a NUL between their elements, and all parts; these are None where no parser reads it."""

    blob: str
    uses: bytes
    names: bytes
    parts: bytes | None


class Sources:
    """All sources of a commit, or with ``working`` of the working tree on top of it, by path."""

    def __init__(self, project: Project, home: Path, commit: str, working: WorkingChanges | None = None) -> None:
        self._project, self._home, self._commit = project, home, commit
        self._working = working
        self._parts: dict[str, Parts | None] = {}

    @cached_property
    def _database(self) -> Database:
        return Database(self._home / FILE, SCHEMA, READER * 10_000 + sys.version_info[0] * 100 + sys.version_info[1])

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        """What the working tree changes, by blob."""
        return {}

    @cached_property
    def blobs(self) -> dict[str, str]:
        """The blob of each source by its path."""
        listed = self._project.git("ls-tree", "-r", "-z", "--full-tree", self._commit)
        found: dict[str, str] = {}
        for line in listed.split("\0"):
            about, _, path = line.partition("\t")
            if about.startswith("100") and language(path):
                found[path] = about.rpartition(" ")[2]
        for path in self._working.files() if self._working else ():
            place = self._project.root / path
            found.pop(path, None)
            if language(path) and place.is_file() and not place.is_symlink() and place.stat().st_size <= LARGEST_SOURCE:
                content = place.read_bytes()
                found[path] = blob_id(content)
                self._contents[found[path]] = content
        return found

    @cached_property
    def _rows(self) -> dict[str, _Row]:
        """The row of each blob; those that are not known are read in two processes, and kept."""
        return self._database.attempt(self._all_rows)

    def _all_rows(self) -> dict[str, _Row]:
        connection = self._database.connection
        kinds = {_key(blob, language(path)): (blob, language(path)) for path, blob in self.blobs.items()}
        known = {key for (key,) in connection.execute("SELECT blob FROM sources")}
        missing = {key: kinds[key] for key in kinds.keys() - known}
        rows = [row for chunk in shared(self._read, _chunks(missing)) for row in chunk]
        if rows:
            with self._database.transaction():
                connection.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)", rows)
                if len(known) + len(rows) > len(kinds) + SPARE:
                    stale = [(key,) for key in known - kinds.keys()]
                    connection.executemany("DELETE FROM sources WHERE blob = ?", stale)
        found = {row.blob: row for row in rows}
        wanted = kinds.keys() - found.keys()
        listed = connection.execute("SELECT blob, uses, names, NULL FROM sources").fetchall() if wanted else []
        return found | {row[0]: _Row(*row) for row in listed if row[0] in wanted}

    def _read(self, chunk: Mapping[str, tuple[str, str]]) -> list[_Row]:
        import gc

        collecting = gc.isenabled()
        gc.disable()  # syntax trees have no circles, and searching them for some takes as long as reading
        try:
            asked = [blob for blob, _ in chunk.values() if blob not in self._contents]
            contents = dict(zip(asked, Bare(self._project.common_dir).objects(asked, LARGEST_SOURCE), strict=True))
            return [_row(key, kind, contents.get(blob, self._contents.get(blob))) for key, (blob, kind) in chunk.items()]
        finally:
            if collecting:
                gc.enable()

    def parts(self, path: str) -> Parts | None:
        """The parts of a file; None where no parser reads it, or there is none."""
        if path not in self._parts:
            self._parts.update(dict(self._fetched([path])))
        return self._parts[path]

    def _fetched(self, paths: Iterable[str]) -> Iterator[tuple[str, Parts | None]]:
        rows = self._rows
        waiting: dict[str, list[str]] = defaultdict(list)
        for path in paths:
            blob = self.blobs.get(path)
            row = rows.get(_key(blob, language(path))) if blob else None
            if row is None:
                yield path, None
            elif row.parts is not None:
                yield path, _decode(row.parts)
            else:
                waiting[row.blob].append(path)
        keys = list(waiting)
        for start in range(0, len(keys), ASKED):
            for key, packed in self._packed(keys[start : start + ASKED]):
                for path in waiting.pop(key, ()):
                    yield path, None if packed is None else _decode(packed)
        for paths_left in waiting.values():  # another process dropped them meanwhile
            for path in paths_left:
                yield path, None

    def _packed(self, keys: list[str]) -> list[tuple[str, bytes | None]]:
        sql = f"SELECT blob, parts FROM sources WHERE blob IN ({', '.join('?' * len(keys))})"
        return self._database.attempt(lambda: self._database.connection.execute(sql, keys).fetchall())

    def all_parts(self, paths: Iterable[str]) -> dict[str, Parts | None]:
        """The parts of several files."""
        asked = list(paths)
        self._parts.update(dict(self._fetched(path for path in asked if path not in self._parts)))
        return {path: self._parts[path] for path in asked}

    @cached_property
    def _names(self) -> dict[str, bytes]:
        """All names in each file, by path: with a NUL before and behind each, which is searched faster than it is taken apart."""
        by_blob = {key: b"\0%b\0" % row.names for key, row in self._rows.items()}
        return {path: by_blob.get(_key(blob, language(path)), b"") for path, blob in self.blobs.items()}

    def naming(self, names: Iterable[str], among: Iterable[str] | None = None) -> list[str]:
        """The files in which any of some names stands, among all or some."""
        asked = [b"\0%b\0" % name.encode("utf-8", "surrogatepass") for name in names]
        own = self._names
        return [path for path in (own if among is None else among) if any(name in own.get(path, b"") for name in asked)]

    # -- uses and is used by -----------------------------------------------------------------------------------------------------------

    @cached_property
    def uses(self) -> dict[str, frozenset[str]]:
        """The files that each file imports or includes itself."""
        found: dict[str, frozenset[str]] = {}
        finder = _Finder(self.blobs, self._provided)
        for path, blob in self.blobs.items():
            row = self._rows.get(_key(blob, language(path)))
            words = row.uses.decode("utf-8", "surrogatepass").split("\0") if row and row.uses else []
            found[path] = frozenset(other for word in words for other in finder.find(path, word) if other != path)
        return found

    @cached_property
    def _provided(self) -> dict[str, list[str]]:
        """The files that define each module of Fortran."""
        found: dict[str, list[str]] = defaultdict(list)
        for path, parts in self.all_parts(path for path in self.blobs if language(path) == "fortran").items():
            for name in parts.provides if parts else ():
                found[name].append(path)
        return found

    @cached_property
    def used_by(self) -> dict[str, set[str]]:
        """The files that import or include each file themselves."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, others in self.uses.items():
            for other in others:
                found[other].add(path)
        return found

    def users(self, path: str) -> set[str]:
        """All files that import or include a file, however far; itself too."""
        return _closure(path, self.used_by)

    def needs(self, paths: Iterable[str]) -> set[str]:
        """All files that some files import or include, however far; themselves too."""
        found: set[str] = set()
        for path in paths:
            found |= _closure(path, self.uses, found)
        return found


class _Finder:
    """The files that the words of an import or include can mean; several where that depends on settings."""

    def __init__(self, paths: Iterable[str], provided: Mapping[str, list[str]]) -> None:
        self._provided = provided
        self._modules: dict[str, list[str]] = defaultdict(list)
        self._headers: dict[str, list[str]] = defaultdict(list)
        self._absolute: dict[str, list[str]] = {}
        every = set(paths)
        self._packages = {path.rpartition("/")[0] for path in every if path.endswith("/__init__.py")}
        for path in every:
            if language(path) == "python":
                parts = _dotted(path).split(".")
                for start in range(len(parts)):
                    if "/".join(parts[:start]) not in self._packages:
                        self._modules[".".join(parts[start:])].append(path)
                self._modules["/" + _dotted(path)].append(path)
            else:
                self._headers[path.rpartition("/")[2].lower()].append(path)

    def find(self, path: str, word: str) -> Iterator[str]:
        kind = language(path)
        if kind == "python":
            yield from self._imported(path, word)
        elif kind == "fortran" and word in self._provided:
            yield from self._provided[word]
        else:
            tail = os.path.normpath(word).lstrip("./").lower()
            for other in self._headers.get(tail.rpartition("/")[2], ()):
                if f"/{other.lower()}".endswith(f"/{tail}"):
                    yield other

    def _imported(self, path: str, word: str) -> Iterator[str]:
        """A module, and the packages around it, which are loaded before it."""
        name = word.lstrip(".")
        if level := len(word) - len(name):
            folder = PurePosixPath(path).parent
            for _ in range(level - 1):
                folder = folder.parent
            base = "" if str(folder) == "." else str(folder).replace("/", ".")
            full = ".".join(part for part in (base, name) if part)
            for start in range(len(base.split(".")) if base else 0, len(full.split(".")) + 1):
                yield from self._modules.get("/" + ".".join(full.split(".")[:start]), ())
            return
        if word not in self._absolute:  # which is the same for all files
            parts = name.split(".")
            self._absolute[word] = [
                path for end in range(1, len(parts) + 1) for path in self._modules.get(".".join(parts[:end]), ())
            ]
        yield from self._absolute[word]


def _dotted(path: str) -> str:
    """The dotted name of a Python file below the root; a package is named by its folder."""
    plain = path.rpartition(".")[0].removesuffix("/__init__")
    return ("" if plain == "__init__" else plain).replace("/", ".")


def _closure(start: str, edges: Mapping[str, Iterable[str]], known: Iterable[str] = ()) -> set[str]:
    found, waiting = {start}, [start]
    before = known if isinstance(known, set) else set(known)
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in found and other not in before:
                found.add(other)
                waiting.append(other)
    return found


def _key(blob: str, kind: str) -> str:
    return blob if kind == "python" else f"{blob}-{kind}"


def _chunks(missing: Mapping[str, tuple[str, str]]) -> list[dict[str, tuple[str, str]]]:
    keys = list(missing)
    return [{key: missing[key] for key in keys[start : start + CHUNK]} for start in range(0, len(keys), CHUNK)]


def _row(key: str, kind: str, content: bytes | Fault | None) -> _Row:
    parts = read(kind, content) if isinstance(content, bytes) else None
    if parts is None:
        return _Row(key, b"", b"", None)
    uses, names = ("\0".join(sorted(words)).encode("utf-8", "surrogatepass") for words in (parts.uses, parts.names))
    return _Row(key, uses, names, _encode(parts))
