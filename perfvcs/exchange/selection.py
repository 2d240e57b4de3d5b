"""Which commits' profiles an exchange is about."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

import msgspec

from perfvcs.errors import UsageError
from perfvcs.git.project import Project


class ProfileSelection(msgspec.Struct, frozen=True):
    """Profiles of some commits: the ``last`` N ancestors of HEAD that have any, those committed ``since`` a moment, or both."""

    project: Project
    last: int | None = None
    since: str | None = None

    @classmethod
    def of(cls, project: Project, last: int | None, since: str | None) -> ProfileSelection:
        """The selection that options name; raises UsageError."""
        if since is not None:
            try:
                since = datetime.fromisoformat(since).isoformat()
            except ValueError:
                raise UsageError(f"{since!a:.40} is not a date: write it like 2026-11-20, or 2026-11-20T09:30") from None
        return cls(project, last, since)

    def of_paths(self, paths: Iterable[str]) -> set[str]:
        """Those of some paths of profiles that are chosen."""
        found = set(paths)
        if self.last is None and self.since is None:
            return found
        commits = {path.split("/")[1] for path in found}
        if self.since is not None:
            listed = self.project.git("rev-list", "--all", "HEAD", f"--since={self.since}")
            commits.intersection_update(listed.split())
        if self.last is not None:
            commits = set(islice((commit for commit in self.project.walk("HEAD") if commit in commits), self.last))
        return {path for path in found if path.split("/")[1] in commits}
