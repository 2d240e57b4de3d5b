"""Build artefacts: the untracked paths that building and running revisions leave behind, known from earlier checkouts.

``.perf/artefacts.json`` notes them as paths below the project's root, folders that hold nothing else with a slash at their end. Users
build by hand, too: an untracked file at such a path is not a change of theirs. The file may be deleted at any time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from perfvcs import wholefile
from perfvcs.foreign import UNDECODABLE, content

FILE = "artefacts.json"
MOST_COMMITS = 30  # whose builds are remembered, as many as are kept
MOST_PATHS = 1000  # of one build, and of all that jobs left
LARGEST = 1 << 24  # bytes of the file


class BuiltPaths(msgspec.Struct, frozen=True):
    """What the build of one commit left, and by which commands."""

    build: tuple[str, ...]
    paths: list[str]


class ArtefactRecord(msgspec.Struct):
    """The whole file: what builds left, by commit, the newest last; and what jobs left anywhere."""

    built: dict[str, BuiltPaths] = {}
    left: list[str] = []


class Artefacts:
    """What measuring is known to leave in checkouts, in the ``.perf`` folder ``home``; only who measures there writes it."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE

    def of(self, commit: str | None) -> frozenset[str]:
        """The artefacts at a commit: those of its own build where it was built, else those of any; and what jobs left."""
        record = self._read()
        own = record.built.get(commit or "")
        builds = record.built.values() if own is None else [own]
        return frozenset(record.left).union(*(build.paths for build in builds))

    def is_known(self, commit: str, build: Sequence[str]) -> bool:
        """Whether it is known what these commands leave at a commit."""
        own = self._read().built.get(commit)
        return own is not None and own.build == tuple(build)

    def built(self, commit: str, build: Sequence[str], paths: Collection[str]) -> None:
        """Note what the build of a commit left; the oldest ones are forgotten."""
        record = self._read()
        record.built.pop(commit, None)
        record.built[commit] = BuiltPaths(tuple(build), sorted(paths)[:MOST_PATHS])
        record.built = dict(list(record.built.items())[-MOST_COMMITS:])
        self._write(record)

    def left(self, paths: Collection[str]) -> None:
        """Note what the jobs of a session left; what was not seen for longest is forgotten."""
        record = self._read()
        if new := set(paths).difference(record.left):
            record.left = [*record.left, *sorted(new)][-MOST_PATHS:]
            self._write(record)

    def _read(self) -> ArtefactRecord:
        try:
            return msgspec.json.decode(content(self.path, LARGEST), type=ArtefactRecord)
        except (OSError, *UNDECODABLE):
            return ArtefactRecord()

    def _write(self, record: ArtefactRecord) -> None:
        # a name that is not UTF-8 has no place in JSON, and stays a change
        record.built = {commit: BuiltPaths(one.build, list(filter(_is_text, one.paths))) for commit, one in record.built.items()}
        record.left = list(filter(_is_text, record.left))
        with suppress(OSError):  # on a full disk: whoever builds the next time notes it
            wholefile.write(self.path, msgspec.json.encode(record))


def _is_text(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)
