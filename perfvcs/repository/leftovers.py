"""What is left behind: by builds and runs in checkouts, and by killed commands in ``.perf``."""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs.system import disk
from perfvcs.system.disk import entries, remove
from perfvcs.system.foreign import UNDECODABLE, content

if TYPE_CHECKING:
    from perfvcs.git.project import Project


TEMPORARY = ("TMPDIR", "TMP", "TEMP")
USUAL = "/tmp"  # where programs look without TMPDIR
# the folder of an execution; names have one length, so that every environment has the same number
# of bytes
EXECUTION_FOLDER = r"perfvcs-\d{10}-\w{8}"
MOST_COMMITS = 30  # whose builds are remembered, as many as are kept
MOST_PATHS = 1000  # of one build, and of all that jobs left
LARGEST = 1 << 24  # bytes of the file
KEPT_ASIDE = 14 * 86400  # seconds, as long as git keeps what a killed writer left
LEFTOVER_FILES = {
    "aside": ".json",
    "sessions": ".jsonl",
}  # what is kept for that long: of failures, and of sessions to be continued


class BuiltPaths(msgspec.Struct, frozen=True):
    """What the build of one commit left, and by which commands."""

    build: tuple[str, ...]
    paths: list[str]


class ArtefactRecord(msgspec.Struct):
    """The whole file: what builds left, by commit, the newest last; and what jobs left anywhere."""

    built: dict[str, BuiltPaths] = {}
    left: list[str] = []


class Artefacts:
    """What measuring is known to leave in checkouts, in the ``.perf`` folder ``home``; only who
    measures there writes it.
    """

    def __init__(self, home: Path) -> None:
        self.path = home / "artefacts.json"

    def of(self, commit: str | None) -> frozenset[str]:
        """The artefacts at a commit: those of its own build where it was built, else those of any;
        and what jobs left.
        """
        record = self._read()
        build_left = record.built.get(commit or "")
        builds = record.built.values() if build_left is None else [build_left]
        return frozenset(record.left).union(*(build.paths for build in builds))

    def is_known(self, commit: str, build: Sequence[str]) -> bool:
        """Whether it is known what these commands leave at a commit."""
        build_left = self._read().built.get(commit)
        return build_left is not None and build_left.build == tuple(build)

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
        record.built = {
            commit: BuiltPaths(built.build, list(filter(_is_text, built.paths)))
            for commit, built in record.built.items()
        }
        record.left = list(filter(_is_text, record.left))
        with suppress(OSError):  # on a full disk: whoever builds the next time notes it
            disk.write(self.path, msgspec.json.encode(record))


def _is_text(path: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in path)


def are_there(project: Project, home: Path) -> bool:
    """Whether a killed run left worktrees, also where only git has records of them, or scratch
    folders.
    """
    if entries(home / "worktrees") or entries(home / "tmp"):
        return True
    if not (project.common_dir / "worktrees").is_dir():
        return False
    from perfvcs.git.worktree import records

    return bool(records(project, home / "worktrees"))


def sweep(project: Project, home: Path) -> None:
    """Remove the worktrees, scratch folders and workloads that killed commands left; nobody may be
    measuring.
    """
    from perfvcs.git.worktree import forget
    from perfvcs.git.worktree import remove as remove_worktree

    for name in entries(home / "worktrees"):
        if not (home / "worktrees" / name).is_symlink():  # git would follow it
            remove_worktree(project, home / "worktrees" / name)
    forget(project, home / "worktrees")
    for folder in ("worktrees", "tmp"):
        for name in entries(home / folder):
            remove(home / folder / name)
    for name in entries(home / "workloads"):
        if name.startswith("making-"):
            remove(home / "workloads" / name)
    drop_abandoned(usual(os.environ))


def drop_old(home: Path) -> None:
    """Remove what failed measurements and abandoned sessions left two weeks ago or earlier."""
    left = [
        home / kind / name
        for kind, end in LEFTOVER_FILES.items()
        for name in entries(home / kind)
        if name.endswith(end)
    ]
    for path in left:
        if path.lstat().st_mtime < time.time() - KEPT_ASIDE:
            path.unlink(missing_ok=True)


def usual(env: Mapping[str, str]) -> Path:
    """The folder for temporary files."""
    return Path(env.get(TEMPORARY[0]) or USUAL)


def drop_abandoned(place: Path) -> None:
    """Remove the folders below ``place`` that nobody holds: those of killed processes, in whatever
    container they ran.
    """
    for path in list(place.glob("perfvcs-*-*")):
        with suppress(OSError):
            if not re.fullmatch(EXECUTION_FOLDER, path.name) or path.lstat().st_uid != os.getuid():
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(path)
            finally:
                os.close(descriptor)
