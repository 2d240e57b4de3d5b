"""The commits between a good and a bad one, along first parents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.git.command import GitError

if TYPE_CHECKING:
    from perfvcs.git.project import Project

MOST_COMMITS = 100_000


@dataclass(frozen=True)
class Span:
    """``commits`` are full ids, the good one first and the bad one last; ``merges`` are those of them that have several parents."""

    commits: tuple[str, ...]
    merges: frozenset[str] = frozenset()

    @property
    def good(self) -> str:
        """The good end."""
        return self.commits[0]

    @property
    def bad(self) -> str:
        """The bad end."""
        return self.commits[-1]

    @property
    def last(self) -> int:
        """The number of the bad end; the good one has 0."""
        return len(self.commits) - 1


def span(project: Project, good: str, bad: str) -> Span:
    """The span between two commits (full ids); raises UsageError where the good one is not an ancestor of the bad one."""
    if good == bad:
        raise UsageError(f"both ends are {good[:10]}: name two commits, the better one first")
    if not _contains(project, bad, good):
        raise UsageError(_unrelated(project, good, bad))
    listed = project.git("rev-list", "--first-parent", "--parents", "--reverse", f"^{good}", bad).splitlines()
    if len(listed) > MOST_COMMITS:
        raise UsageError(f"{len(listed):,} commits lie between {good[:10]} and {bad[:10]}: name ends closer to each other")
    rows = [line.split() for line in listed]
    return Span((good, *(row[0] for row in rows)), frozenset(row[0] for row in rows if len(row) > 2))


def branch(project: Project, merge: str) -> tuple[str, str] | None:
    """The ends of what a merge brought: where it left the first parent's line, and its tip; None where they have nothing in common."""
    first, second = project.git("rev-parse", f"{merge}^1", f"{merge}^2").split()
    try:
        base = project.git("merge-base", first, second)
    except GitError:
        return None
    return None if base == second else (base, second)


def _contains(project: Project, commit: str, ancestor: str) -> bool:
    try:
        project.git("merge-base", "--is-ancestor", ancestor, commit)
    except GitError:
        return False
    return True


def _unrelated(project: Project, good: str, bad: str) -> str:
    what = f"{good[:10]} is not an ancestor of {bad[:10]}"
    if _contains(project, good, bad):
        return f"{what} but the other way round: perf bisect {bad[:10]} {good[:10]}"
    if project.shallow:
        return f"{what} in this shallow clone: get the rest with `git fetch --unshallow`"
    try:
        base = project.git("merge-base", good, bad)
    except GitError:
        return f"{what}, and they have no common ancestor: name two commits of one line"
    return f"{what}: from where their lines part it is perf bisect {base[:10]} {bad[:10]}"
