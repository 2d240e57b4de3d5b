"""What an import reads: the files of folders, the objects of an index, and the parts that make one
document together.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from perfvcs.errors import PerfError
from perfvcs.exchange import is_folder
from perfvcs.formats import UnreadableFile, content, suffixes
from perfvcs.formats.criterion import is_newest, is_part
from perfvcs.profile.validity import Malformed

MARK = b"pidx"
# of an index, and how many texts an entry has behind its path: 2 got one more later
VERSIONS = {1: (0,), 2: (6, 5)}
HASH = 20
FORMAT = "criterion"
STDIN = Path("-")
PASSED = (".git", ".perf")  # folders whose files are not profiles to be imported
# of asv, each with a field of it
DESCRIPTIONS = {"benchmarks.json": b'"param_names"', "machine.json": b'"machine"'}
DESCRIBED = 1 << 20  # bytes to inspect


class StoredObject(msgspec.Struct, frozen=True):
    """One profile that belongs to a commit: its object, and when the profile was written (UTC, ISO
    8601).
    """

    path: Path
    commit: str
    written: str


def is_object(path: Path) -> bool:
    """Whether a path is that of an object, which may be an index: two digits of a hash, then 38."""
    return bool(re.fullmatch(r"[0-9a-f]{2}/[0-9a-f]{38}", "/".join(path.absolute().parts[-2:])))


def is_index(path: Path) -> bool:
    """Whether an object is the index of a commit; one that cannot be read counts as missing."""
    try:
        return content(path, len(MARK)) == MARK
    except PerfError:
        return False


def indexed(path: Path) -> list[StoredObject]:
    """What an index lists; raises Malformed, and Unreadable where it cannot be read.

    As https://github.com/Perfexionists/perun describes it (docs/internals.rst): the mark, its
    version, the number of entries, and for each the time, the hash of the object, and the path that
    the profile had, ended by a zero byte. Of version 2, texts with their lengths.
    """
    document = content(path)
    commit = "".join(path.absolute().parts[-2:])
    store = path.resolve().parent.parent
    try:
        version, count = struct.unpack_from("<ii", document, len(MARK))
        for texts in VERSIONS.get(version, ()):
            listed = _entries(document, count, texts)
            if listed is not None:
                return [
                    StoredObject(
                        store / name[:2] / name[2:],
                        commit,
                        f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}",
                    )
                    for name, when in listed
                ]
    except struct.error:
        raise Malformed(f"{path}: the index ends too early: copy it again") from None
    if version in VERSIONS:
        raise Malformed(f"{path}: the index is damaged: copy it again")
    raise Malformed(
        f"{path}: the index is of version {version}, this reads {', '.join(map(str, VERSIONS))}"
    )


def indexes(store: Path) -> list[Path]:
    """The indexes of the store whose objects are in this folder."""
    return [path for path in sorted(store.glob("??/*")) if is_object(path) and is_index(path)]


def _entries(document: bytes, count: int, texts: int) -> list[tuple[str, int]] | None:
    """Hash and time of each entry; None if the document does not hold that many."""
    listed = []
    place = len(MARK) + 8
    for _ in range(count):
        end = document.find(b"\0", place + 4 + HASH)
        if end < 0:
            return None
        listed.append(
            (
                document[place + 4 : place + 4 + HASH].hex(),
                struct.unpack_from("<I", document, place)[0],
            )
        )
        place = end + 1
        for _ in range(texts):
            if place + 4 > len(document):
                return None
            place += 4 + struct.unpack_from("<I", document, place)[0]
        if place > len(document):
            return None
    return listed


class Source(msgspec.Struct, frozen=True):
    """A file; the commit that it is given to, whatever it says (None: none); and what an index says
    of it: its commit, and its time.

    ``parts``: the folders inside it that make one document together.
    """

    path: Path
    commit: str | None = None
    origin: str = ""
    written: str = ""
    parts: tuple[Path, ...] = ()


class ImportSources:
    """Finds the files to read in a format (None: in any); what cannot be read is given to
    ``failed``, and left out.
    """

    def __init__(self, format_name: str | None, failed: Callable[[PerfError], None]) -> None:
        self._format, self._failed = format_name, failed
        self._stores: dict[Path, dict[Path, list[StoredObject]]] = {}

    def of(self, file: Path, commit: str | None) -> Iterator[Source]:
        """The file; of a folder the files with a known suffix, sorted; of an index of Perun's store
        what it lists.
        """
        if file != STDIN and is_folder(file):
            parts: list[Path] = []
            files = sorted(self._inside(file, parts))
            if parts:
                yield Source(file, commit, parts=tuple(sorted(parts)))
            elif not files:
                self._failed(
                    UnreadableFile(
                        f"{file} has no files that end with {', '.join(suffixes(self._format))}"
                    )
                )
        else:
            files = [file]
        for path in files:
            if not self._is_object(path):
                yield Source(path, commit)
            elif is_index(path):
                yield from (
                    Source(entry.path, commit, entry.commit, entry.written)
                    for entry in self._indexed(path)
                )
            else:
                entries = self._owners(path.resolve().parent.parent).get(path.resolve(), [])
                yield from (
                    Source(entry.path, commit, entry.commit, entry.written) for entry in entries
                )
                if not entries:
                    yield Source(path, commit)

    def _inside(self, folder: Path, parts: list[Path]) -> Iterator[Path]:
        """The files of a folder that may hold profiles; ``parts`` gets the folders that make one
        together.
        """
        endings = tuple(
            suffix + packed for suffix in suffixes(self._format) for packed in ("", ".gz", ".z")
        )
        for inner, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in PASSED]
            if self._format in (None, FORMAT) and is_part(Path(inner), names):
                parts += [Path(inner)] if is_newest(Path(inner), names) else []
                continue
            paths = (Path(inner, name) for name in names)
            # of a store, its indexes say which of its objects still belong to it
            files = (
                path
                for path in paths
                if path.name.lower().endswith(endings) or (self._is_object(path) and is_index(path))
            )
            yield from (path for path in files if not _describes(path))

    def _is_object(self, path: Path) -> bool:
        return self._format in (None, "perun") and is_object(path)

    def _indexed(self, path: Path) -> list[StoredObject]:
        try:
            return indexed(path)
        except PerfError as error:
            self._failed(error)
            return []

    def _owners(self, store: Path) -> dict[Path, list[StoredObject]]:
        """What the indexes of a store say of each object, by its path."""
        if store not in self._stores:
            owners: dict[Path, list[StoredObject]] = {}
            for entry in (entry for path in indexes(store) for entry in self._indexed(path)):
                owners.setdefault(entry.path, []).append(entry)
            self._stores[store] = owners
        return self._stores[store]


def _describes(path: Path) -> bool:
    """Whether a file of a folder says what others mean, and holds no profile: asv's own of its
    benchmarks and its machines.
    """
    if (telling := DESCRIPTIONS.get(path.name)) is None:
        return False
    with suppress(PerfError):
        return telling in content(path, DESCRIBED)
    return False


def session_of(sources: Sequence[Source]) -> str:
    """The name of what was measured together, by its content: the same files give the same session
    in any order.
    """
    names = []
    for source in sources:
        with suppress(PerfError):  # reported when it is read
            names.append(
                hashlib.sha256(content(source.path)).digest() + (source.commit or "").encode()
            )
    return f"in-turns-{hashlib.sha256(b''.join(sorted(names))).hexdigest()[:12]}"
