"""Who uses whom among the sources of one state of the project; each file is read once and kept by
its content.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from perfvcs.git.bare import Bare, Fault
from perfvcs.git.changes import WorkingChanges
from perfvcs.git.project import Project
from perfvcs.git.stream import blob_id
from perfvcs.index.database import DAMAGE_ERRORS, Database
from perfvcs.locate.sources import LARGEST_SOURCE, language, read
from perfvcs.locate.sources.imports import Finder
from perfvcs.locate.sources.parts import Parts
from perfvcs.system.children import shared

READER = 11  # another number: what was read before is read again
SCHEMA = (
    "CREATE TABLE sources (blob TEXT PRIMARY KEY, uses BLOB NOT NULL, names BLOB NOT NULL, parts"
    " BLOB) WITHOUT ROWID"
)
FILE = "sources.db"
FILES_PER_READ = 32  # files that one git process reads
SPARE = 20_000  # files of other states that are kept
ROWS_PER_QUERY = 500  # rows that one query names
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Parts).decode


class _Row(NamedTuple):
    """One file as it is kept: the words of its imports and includes, its names with a NUL between
    them, and all parts.

    The parts are None where no parser reads it, or where they were not fetched.
    """

    blob: str
    uses: list[str]
    names: bytes
    parts: bytes | None

    @classmethod
    def kept(cls, blob: str, uses: bytes, names: bytes) -> _Row:
        """A row without its parts as the database has it; raises ValueError or TypeError if it is
        damaged.
        """
        if not isinstance(names, bytes):
            raise TypeError(f"the names of {blob} are no bytes")
        return cls(
            blob, str(uses, "utf-8", "surrogatepass").split("\0") if uses else [], names, None
        )

    @property
    def packed(self) -> tuple[str, bytes, bytes, bytes | None]:
        uses = "\0".join(self.uses).encode("utf-8", "surrogatepass")
        return self.blob, uses, self.names, self.parts


class Sources:
    """All sources of a commit, or with ``working`` of the working tree on top of it, by path."""

    def __init__(
        self, project: Project, home: Path, commit: str, working: WorkingChanges | None = None
    ) -> None:
        self._project, self._home, self._commit = project, home, commit
        self._working = working
        self._parts: dict[str, Parts | None] = {}

    @cached_property
    def _database(self) -> Database:
        return Database(
            self._home / FILE,
            SCHEMA,
            READER * 10_000 + sys.version_info[0] * 100 + sys.version_info[1],
        )

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        """What the working tree changes, by blob."""
        return {}

    @cached_property
    def files(self) -> dict[str, str]:
        """The blob of each file by its path, also of those that are not sources; those that the
        working tree changes are read.
        """
        listed = self._project.git("ls-tree", "-r", "-z", "--full-tree", self._commit)
        blobs: dict[str, str] = {}
        for line in listed.split("\0"):
            properties, _, path = line.partition("\t")
            if properties.startswith("100"):
                blobs[path] = properties.rpartition(" ")[2]
        for path in self._working.files() if self._working else ():
            place = self._project.root / path
            blobs.pop(path, None)
            if (
                place.is_file()
                and not place.is_symlink()
                and place.stat().st_size <= LARGEST_SOURCE
            ):
                content = place.read_bytes()
                blobs[path] = blob_id(content)
                self._contents[blobs[path]] = content
        return blobs

    @cached_property
    def blobs(self) -> dict[str, str]:
        """The blob of each source by its path."""
        return {path: blob for path, blob in self.files.items() if language(path)}

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """The texts of files; those that are not there, binary or too large are missing."""
        wanted = {path: self.files[path] for path in paths if path in self.files}
        asked = [blob for blob in dict.fromkeys(wanted.values()) if blob not in self._contents]
        contents = Bare(self._project.common_dir).objects(asked, LARGEST_SOURCE) if asked else []
        by_blob = {**self._contents, **dict(zip(asked, contents, strict=True))}
        wanted_contents = {path: by_blob[blob] for path, blob in wanted.items()}
        return {
            path: content.decode("utf-8", "replace")
            for path, content in wanted_contents.items()
            if isinstance(content, bytes) and b"\0" not in content
        }

    @cached_property
    def _rows(self) -> dict[str, _Row]:
        """The row of each blob; those that are not known are read in two processes, and kept."""
        return self._database.attempt(self._all_rows)

    def _all_rows(self) -> dict[str, _Row]:
        connection = self._database.connection
        kinds = {
            _key(blob, language(path)): (blob, language(path)) for path, blob in self.blobs.items()
        }
        stored = {key for (key,) in connection.execute("SELECT blob FROM sources")}
        missing = {key: kinds[key] for key in kinds.keys() - stored}
        rows = [row for chunk in shared(self._read, _chunks(missing)) for row in chunk]
        if rows:
            with self._database.transaction():
                connection.executemany(
                    "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)",
                    [row.packed for row in rows],
                )
                if len(stored) + len(rows) > len(kinds) + SPARE:
                    stale = [(key,) for key in stored - kinds.keys()]
                    connection.executemany("DELETE FROM sources WHERE blob = ?", stale)
        new_rows = {row.blob: row for row in rows}
        wanted = kinds.keys() - new_rows.keys()
        listed = (
            connection.execute("SELECT blob, uses, names FROM sources").fetchall() if wanted else []
        )
        return new_rows | {row[0]: _Row.kept(*row) for row in listed if row[0] in wanted}

    def _read(self, chunk: Mapping[str, tuple[str, str]]) -> list[_Row]:
        import gc

        collecting = gc.isenabled()
        # syntax trees have no circles, and searching them for some takes as long as reading
        gc.disable()
        try:
            asked = [blob for blob, _ in chunk.values() if blob not in self._contents]
            contents = dict(
                zip(
                    asked,
                    Bare(self._project.common_dir).objects(asked, LARGEST_SOURCE),
                    strict=True,
                )
            )
            return [
                _row(key, kind, contents.get(blob, self._contents.get(blob)))
                for key, (blob, kind) in chunk.items()
            ]
        finally:
            if collecting:
                gc.enable()

    def parts(self, path: str) -> Parts | None:
        """The parts of a file; None where no parser reads it, or there is none."""
        if path not in self._parts:
            self._parts |= self._fetched([path])
        return self._parts[path]

    def _fetched(self, paths: Sequence[str]) -> dict[str, Parts | None]:
        """The parts of some files; rows that are damaged are made anew."""

        def decoded() -> dict[str, Parts | None]:
            try:
                return dict(self._decoded(paths))
            except DAMAGE_ERRORS:
                self.__dict__.pop("_rows", None)
                raise

        return self._database.attempt(decoded)

    def _decoded(self, paths: Iterable[str]) -> Iterator[tuple[str, Parts | None]]:
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
        for start in range(0, len(keys), ROWS_PER_QUERY):
            for key, packed in self._packed(keys[start : start + ROWS_PER_QUERY]):
                for path in waiting.pop(key, ()):
                    yield path, None if packed is None else _decode(packed)
        dropped = {
            key: (self.blobs[paths[0]], language(paths[0])) for key, paths in waiting.items()
        }
        for row in self._read(dropped) if dropped else ():  # by another process, meanwhile
            for path in waiting[row.blob]:
                yield path, None if row.parts is None else _decode(row.parts)

    def _packed(self, keys: list[str]) -> list[tuple[str, bytes | None]]:
        sql = f"SELECT blob, parts FROM sources WHERE blob IN ({', '.join('?' * len(keys))})"
        return self._database.connection.execute(sql, keys).fetchall()

    def all_parts(self, paths: Iterable[str]) -> dict[str, Parts | None]:
        """The parts of several files."""
        asked = list(paths)
        self._parts |= self._fetched([path for path in asked if path not in self._parts])
        return {path: self._parts[path] for path in asked}

    @cached_property
    def _names(self) -> dict[str, bytes]:
        """All names in each file, by path: with a NUL before and behind each, which is searched
        faster than it is taken apart.
        """
        by_blob = {key: b"\0%b\0" % row.names for key, row in self._rows.items()}
        return {
            path: by_blob.get(_key(blob, language(path)), b"") for path, blob in self.blobs.items()
        }

    def naming(self, names: Iterable[str], among: Iterable[str] | None = None) -> list[str]:
        """The files in which any of some names stands, among all or some."""
        asked = [b"\0%b\0" % name.encode("utf-8", "surrogatepass") for name in names]
        names_of = self._names
        return [
            path
            for path in (names_of if among is None else among)
            if any(name in names_of.get(path, b"") for name in asked)
        ]

    @cached_property
    def has_assembly(self) -> bool:
        """Whether any of it is assembly, in files of its own or in C."""
        if any(name.lower().endswith((".s", ".asm")) for name in self.files):
            return True
        return bool(self.naming(("asm", "__asm", "__asm__")))

    def shadows(self, path: str) -> bool:
        """Whether a Python file may be taken for a module of Python's own library, or for one that
        Python loads by itself.
        """
        folder, _, name = path.rpartition("/")
        if name == "__init__.py":
            folder, _, name = folder.rpartition("/")
        module = name.partition(".")[0]
        is_library = module in sys.stdlib_module_names or module in (
            "sitecustomize",
            "usercustomize",
        )
        return is_library and f"{folder}/__init__.py".lstrip("/") not in self.blobs

    # -- uses and is used by -----------------------------------------------------------------------

    @cached_property
    def uses(self) -> dict[str, frozenset[str]]:
        """The files that each file imports or includes itself."""
        by_path: dict[str, frozenset[str]] = {}
        finder = Finder(self.blobs, self._provided)
        for path, blob in self.blobs.items():
            row = self._rows.get(_key(blob, language(path)))
            words = row.uses if row else []
            by_path[path] = frozenset(
                other for word in words for other in finder.find(path, word) if other != path
            )
        return by_path

    @cached_property
    def _provided(self) -> dict[str, list[str]]:
        """The files that define each module of Fortran."""
        by_module: dict[str, list[str]] = defaultdict(list)
        for path, parts in self.all_parts(
            path for path in self.blobs if language(path) == "fortran"
        ).items():
            for name in parts.provides if parts else ():
                by_module[name].append(path)
        return by_module

    @cached_property
    def used_by(self) -> dict[str, set[str]]:
        """The files that import or include each file themselves."""
        by_path: dict[str, set[str]] = defaultdict(set)
        for path, others in self.uses.items():
            for other in others:
                by_path[other].add(path)
        return by_path

    def users(self, path: str) -> set[str]:
        """All files that import or include a file, however far; itself too."""
        return _closure(path, self.used_by)

    def needs(self, paths: Iterable[str]) -> set[str]:
        """All files that some files import or include, however far; themselves too."""
        needed: set[str] = set()
        for path in paths:
            needed |= _closure(path, self.uses, needed)
        return needed


def _closure(start: str, edges: Mapping[str, Iterable[str]], done: Iterable[str] = ()) -> set[str]:
    reached, waiting = {start}, [start]
    before = done if isinstance(done, set) else set(done)
    while waiting:
        for other in edges.get(waiting.pop(), ()):
            if other not in reached and other not in before:
                reached.add(other)
                waiting.append(other)
    return reached


def _key(blob: str, kind: str) -> str:
    return blob if kind == "python" else f"{blob}-{kind}"


def _chunks(missing: Mapping[str, tuple[str, str]]) -> list[dict[str, tuple[str, str]]]:
    keys = list(missing)
    return [
        {key: missing[key] for key in keys[start : start + FILES_PER_READ]}
        for start in range(0, len(keys), FILES_PER_READ)
    ]


def _row(key: str, kind: str, content: bytes | Fault | None) -> _Row:
    parts = read(kind, content) if isinstance(content, bytes) else None
    if parts is None:
        return _Row(key, [], b"", None)
    names = "\0".join(sorted(parts.names)).encode("utf-8", "surrogatepass")
    return _Row(key, sorted(parts.uses), names, _encode(parts))
