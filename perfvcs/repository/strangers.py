"""Profiles of commits that are not in the repository, as files of other machines have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.git.ancestry import CommitDates
from perfvcs.text.words import counted, listed, plural

if TYPE_CHECKING:
    from perfvcs.repository import Repository


def elsewhere(repository: Repository) -> str:
    """How many there are, of which commits, and the cure, as the end of a message that nothing is
    stored here; empty where there are none.
    """
    dates = CommitDates(repository.project.root)
    try:
        missing = sorted(commit for commit in repository.index.commits() if not dates.of(commit))
    finally:
        dates.close()
    count = sum(repository.index.counts(missing).values())
    if not count:
        return ""
    commits = listed([commit[:10] for commit in missing])
    return (
        f"; {counted(count, 'profile')} {plural(count, 'is', 'are')} stored for commits that are"
        f" not in this repository ({commits}): fetch them, or import with --commit or --map"
    )
