"""The commits between two others: who descends from whom, and a way from one to the other."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from perfvcs.git.command import GitError
from perfvcs.git.project import Project


class WayCommit(NamedTuple):
    """A commit on a way through a history (a full id), and its parents: one stands before it."""

    commit: str
    parents: tuple[str, ...]


def way(project: Project, ancestor: str, commit: str) -> list[WayCommit]:
    """The commits that lead from an ancestor to a commit (full ids), oldest first, itself the last.

    The one before each, or the ancestor, is a parent of it: the first of its parents that descends
    from the ancestor, or is it. Empty where the ancestor is none.
    """
    ask = ("rev-list", "--ancestry-path", "--parents", f"^{ancestor}", commit)
    rows = (line.split() for line in project.git(*ask).splitlines())
    descending = {row[0]: tuple(row[1:]) for row in rows}
    found: list[WayCommit] = []
    current = commit
    while current in descending:
        found.append(WayCommit(current, descending[current]))
        leading = (one for one in descending[current] if one == ancestor or one in descending)
        current = next(leading, ancestor)
    return found[::-1]


@dataclass(frozen=True)
class Ancestry:
    """The commits that ``target`` has gained since ``baseline`` (full ids).

    git is asked at the first question, once for all commits between the two; about others each time.
    """

    project: Project
    baseline: str
    target: str
    _above: dict[str, set[str]] = field(default_factory=dict)

    def gained(self, commit: str) -> bool:
        """Whether the target contains a commit that the baseline does not."""
        return commit in self._between

    def contains(self, commit: str, other: str) -> bool:
        """Whether a commit is another one or has it among its ancestors; not where either is unknown here."""
        if commit == other:
            return True
        if other in self._between and (commit == self.baseline or commit in self._between):
            return commit != self.baseline and other in self._ancestors(commit)
        with suppress(GitError):
            self.project.git("merge-base", "--is-ancestor", other, commit)
            return True
        return False

    @cached_property
    def _between(self) -> dict[str, list[str]]:
        """The commits that the target has gained, with their parents."""
        listed = self.project.git("rev-list", "--parents", self.target, f"^{self.baseline}")
        return {commit: parents for commit, *parents in map(str.split, listed.splitlines())}

    def _ancestors(self, commit: str) -> set[str]:
        """Those of the commits between that a commit among them has as ancestors."""
        if commit not in self._above:
            found: set[str] = set()
            waiting = [commit]
            while waiting:
                new = [parent for parent in self._between[waiting.pop()] if parent in self._between and parent not in found]
                found.update(new)
                waiting += new
            self._above[commit] = found
        return self._above[commit]
