"""What an import reads: the files of folders, the objects of an index, and the parts that make one document together."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.exchange import is_folder, spread
from perfvcs.exchange.objects import StoredObject, indexed, indexes, is_index, is_object
from perfvcs.formats import UnreadableFile, content, suffixes

STDIN = Path("-")
COMPRESSED = ("", ".gz", ".z")
PASSED = (".git", ".perf")  # folders whose files are not profiles to be imported
DESCRIPTIONS = {"benchmarks.json": b'"param_names"', "machine.json": b'"machine"'}  # of asv, each with a field of it
DESCRIBED = 1 << 20  # bytes to inspect


@dataclass(frozen=True)
class Source:
    """A file; the commit that it is given to, whatever it says (None: none); and what an index says of it: its commit, and its time.

    ``parts``: the folders inside it that make one document together.
    """

    path: Path
    commit: str | None = None
    origin: str = ""
    written: str = ""
    parts: tuple[Path, ...] = ()


class ImportSources:
    """Finds the files to read in a format (None: in any); what cannot be read is given to ``failed``, and left out."""

    def __init__(self, format_name: str | None, failed: Callable[[PerfError], None]) -> None:
        self._format, self._failed = format_name, failed
        self._stores: dict[Path, dict[Path, list[StoredObject]]] = {}

    def of(self, file: Path, commit: str | None) -> Iterator[Source]:
        """The file; of a folder the files with a known suffix, sorted; of an index of Perun's store what it lists."""
        if file != STDIN and is_folder(file):
            parts: list[Path] = []
            found = sorted(self._inside(file, parts))
            if parts:
                yield Source(file, commit, parts=tuple(sorted(parts)))
            elif not found:
                self._failed(UnreadableFile(f"{file} has no files that end with {', '.join(suffixes(self._format))}"))
        else:
            found = [file]
        for path in found:
            if not self._is_object(path):
                yield Source(path, commit)
            elif is_index(path):
                yield from (Source(entry.path, commit, entry.commit, entry.written) for entry in self._indexed(path))
            else:
                entries = self._owners(path.resolve().parent.parent).get(path.resolve(), [])
                yield from (Source(entry.path, commit, entry.commit, entry.written) for entry in entries)
                if not entries:
                    yield Source(path, commit)

    def _inside(self, folder: Path, parts: list[Path]) -> Iterator[Path]:
        """The files of a folder that may hold profiles; ``parts`` gets the folders that make one together."""
        known = tuple(suffix + packed for suffix in suffixes(self._format) for packed in COMPRESSED)
        for inner, folders, names in os.walk(folder):
            folders[:] = [name for name in folders if name not in PASSED]
            if self._format in (None, spread.FORMAT) and spread.is_part(Path(inner), names):
                parts += [Path(inner)] if spread.is_newest(Path(inner), names) else []
                continue
            paths = (Path(inner, name) for name in names)
            # of a store, its indexes say which of its objects still belong to it
            found = (path for path in paths if path.name.lower().endswith(known) or (self._is_object(path) and is_index(path)))
            yield from (path for path in found if not _describes(path))

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
            found: dict[Path, list[StoredObject]] = {}
            for entry in (entry for path in indexes(store) for entry in self._indexed(path)):
                found.setdefault(entry.path, []).append(entry)
            self._stores[store] = found
        return self._stores[store]


def _describes(path: Path) -> bool:
    """Whether a file of a folder says what others mean, and holds no profile: asv's own of its benchmarks and its machines."""
    if (telling := DESCRIPTIONS.get(path.name)) is None:
        return False
    with suppress(PerfError):
        return telling in content(path, DESCRIBED)
    return False


def session_of(sources: Sequence[Source]) -> str:
    """The name of what was measured together, by its content: the same files give the same session."""
    digest = hashlib.sha256()
    for source in sources:
        with suppress(PerfError):  # reported when it is read
            digest.update(hashlib.sha256(content(source.path)).digest() + (source.commit or "").encode())
    return f"in-turns-{digest.hexdigest()[:12]}"
