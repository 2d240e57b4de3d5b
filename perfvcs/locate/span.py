"""The commits between a good and a bad one, on a way where each follows one of its parents."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.git.ancestry import way
from perfvcs.git.command import GitError

if TYPE_CHECKING:
    from perfvcs.git.project import Project

MOST_COMMITS = 100_000


@dataclass(frozen=True)
class Span:
    """``commits`` are full ids, the good one first, the bad one last; each is a parent of the next.

    ``merges``: the parents of those behind the good one that have several.
    """

    commits: tuple[str, ...]
    merges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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

    def beside(self, number: int) -> tuple[str, ...]:
        """The parents of a merge that are not on the span, in git's order; () of another commit."""
        parents = self.merges.get(self.commits[number], ())
        return tuple(parent for parent in parents if parent != self.commits[number - 1])


def span(project: Project, good: str, bad: str) -> Span:
    """The span between two commits (full ids), by first parents as far as these lead to ``good``.

    Raises UsageError where the good one is not an ancestor of the bad one.
    """
    if good == bad:
        raise UsageError(f"both ends are {good[:10]}: name two commits, the better one first")
    found = way(project, good, bad)
    if not found:
        raise UsageError(_unrelated(project, good, bad))
    if len(found) > MOST_COMMITS:
        ends = f"{good[:10]} and {bad[:10]}"
        raise UsageError(f"{len(found):,} commits lie between {ends}: name ends closer to each other")
    merges = {one.commit: one.parents for one in found if len(one.parents) > 1}
    return Span((good, *(one.commit for one in found)), merges)


def brought(project: Project, between: Span, number: int, *, everything: bool) -> list[tuple[str, str]]:
    """The ends of what a merge brought: for each parent beside, where the lines part, and the parent.

    Without ``everything``, only what came by its first parent. A parent that brought nothing, or has
    no ancestor in common, has none.
    """
    found, on = [], between.commits[number - 1]
    for tip in between.beside(number):
        if everything or tip == between.merges[between.commits[number]][0]:
            with suppress(GitError):
                base = project.git("merge-base", on, tip)
                if base != tip:
                    found.append((base, tip))
    return found


def _unrelated(project: Project, good: str, bad: str) -> str:
    what = f"{good[:10]} is not an ancestor of {bad[:10]}"
    if way(project, bad, good):
        return f"{what} but the other way round: perf bisect {bad[:10]} {good[:10]}"
    if project.shallow:
        return f"{what} in this shallow clone: get the rest with `git fetch --unshallow`"
    try:
        base = project.git("merge-base", good, bad)
    except GitError:
        return f"{what}, and they have no common ancestor: name two commits of one line"
    return f"{what}: from where their lines part it is perf bisect {base[:10]} {bad[:10]}"
