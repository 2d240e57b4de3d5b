"""The commits between two others, asked of git at once, and who descends from whom."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

from perfvcs.git.command import GitError
from perfvcs.git.project import Project


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
