"""Perun's store of objects: compressed profiles under their hash, and beside them an index for every commit that has any."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.formats import content
from perfvcs.validity import Malformed

MARK = b"pidx"
VERSIONS = {1: (0,), 2: (6, 5)}  # of an index, and how many texts an entry has behind its path: 2 got one more later
HASH = 20


@dataclass(frozen=True)
class StoredObject:
    """One profile that belongs to a commit: its object, and when the profile was written (UTC, ISO 8601)."""

    path: Path
    commit: str
    written: str


def is_object(path: Path) -> bool:
    """Whether a path is that of an object, which may be an index: two digits of a hash, then 38."""
    return bool(re.fullmatch(r"[0-9a-f]{2}/[0-9a-f]{38}", "/".join(path.absolute().parts[-2:])))


def is_index(path: Path) -> bool:
    """Whether an object is the index of a commit; one that cannot be read is none."""
    try:
        return content(path, len(MARK)) == MARK
    except PerfError:
        return False


def indexed(path: Path) -> list[StoredObject]:
    """What an index lists; raises Malformed, and Unreadable where it cannot be read.

    As https://github.com/Perfexionists/perun describes it (docs/internals.rst): the mark, its version, the number of entries, and for each
    the time, the hash of the object, and the path that the profile had, ended by a zero byte. Of version 2, texts with their lengths.
    """
    document = content(path)
    commit = "".join(path.absolute().parts[-2:])
    store = path.resolve().parent.parent
    try:
        version, count = struct.unpack_from("<ii", document, len(MARK))
        for texts in VERSIONS.get(version, ()):
            found = _entries(document, count, texts)
            if found is not None:
                return [
                    StoredObject(store / name[:2] / name[2:], commit, f"{datetime.fromtimestamp(when, UTC):%Y-%m-%dT%H:%M:%SZ}")
                    for name, when in found
                ]  # fmt: skip
    except struct.error:
        raise Malformed(f"{path}: the index ends too early: copy it again") from None
    if version in VERSIONS:
        raise Malformed(f"{path}: the index is damaged: copy it again")
    raise Malformed(f"{path}: the index is of version {version}, this reads {', '.join(map(str, VERSIONS))}")


def indexes(store: Path) -> list[Path]:
    """The indexes of the store whose objects are in this folder."""
    return [path for path in sorted(store.glob("??/*")) if is_object(path) and is_index(path)]


def _entries(document: bytes, count: int, texts: int) -> list[tuple[str, int]] | None:
    """Hash and time of each entry; None if the document does not hold that many."""
    found = []
    place = len(MARK) + 8
    for _ in range(count):
        end = document.find(b"\0", place + 4 + HASH)
        if end < 0:
            return None
        found.append((document[place + 4 : place + 4 + HASH].hex(), struct.unpack_from("<I", document, place)[0]))
        place = end + 1
        for _ in range(texts):
            if place + 4 > len(document):
                return None
            place += 4 + struct.unpack_from("<I", document, place)[0]
        if place > len(document):
            return None
    return found
