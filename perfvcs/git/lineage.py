"""The commits of the project as git keeps them: their parents, and the branches in files of their
own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(rb"ref: (refs/heads/\S+)")
LineageLines = Callable[[Sequence[str]], Generator[str, None, None]]


def loose(folder: Path, name: str) -> str | None:
    """The commit of the branch ``name`` (``refs/heads/...``); None if only git can tell."""
    return _id(_line(folder / name))


def head(git_dir: Path, common_dir: Path) -> str | None:
    """The commit of HEAD, on a branch or detached; None if only git can tell."""
    line = _line(git_dir / "HEAD")
    branch = _BRANCH.fullmatch(line)
    return loose(common_dir, branch[1].decode("utf-8", "surrogateescape")) if branch else _id(line)


def _line(path: Path) -> bytes:
    try:
        return path.read_bytes().removesuffix(b"\n")
    except (OSError, ValueError):
        return b""


def _id(line: bytes) -> str | None:
    return line.decode() if _ID.fullmatch(line) else None


class Lineage:
    """Ancestors by number of steps.

    What was read is kept, so that several walks through one history cost git one.

    ``listing`` starts git: the lines of ``rev-list --parents`` for some commits, without those
    behind a ``^``.
    """

    def __init__(self, listing: LineageLines) -> None:
        self._listing = listing
        self._reading: Generator[str, None, None] | None = None
        self._parents: dict[str, list[str]] = {}
        self._ahead: dict[str, None] = {}  # parents that were not read themselves yet
        self._tip = ""  # the commit from which the last new way began

    def ancestors(self, commit: str) -> Iterator[str]:
        """The ancestors of a commit, nearest first by steps, first parents before others."""
        seen, level = {commit}, [commit]
        try:
            while level:
                following = []
                for current in level:
                    for parent in self._of(current):
                        if parent not in seen:
                            seen.add(parent)
                            following.append(parent)
                yield from following
                level = following
        finally:
            self._stop()

    def _of(self, commit: str) -> list[str]:
        if commit not in self._parents and not self._read_on(commit):
            if commit not in self._ahead:  # it is newer than what was read, as a rule
                former_tip, self._tip = self._tip, commit
                self._start([commit, f"^{former_tip}"] if former_tip else [commit])
            if not self._read_on(commit):
                self._start([*self._ahead, commit])
                self._read_on(commit)
        return self._parents[commit]

    def _start(self, wanted: Sequence[str]) -> None:
        self._stop()
        self._reading = self._listing(wanted)

    def _stop(self) -> None:
        if self._reading is not None:
            self._reading.close()
            self._reading = None

    def _read_on(self, commit: str) -> bool:
        """Read until a commit has come; whether it came."""
        for line in self._reading or ():
            child, *parents = line.split()
            if child not in self._parents:
                self._parents[child] = parents
                self._ahead.pop(child, None)
                for parent in parents:
                    if parent not in self._parents:
                        self._ahead[parent] = None
            if child == commit:
                return True
        return False
