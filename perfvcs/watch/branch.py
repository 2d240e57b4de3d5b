"""A branch of a remote that is watched: where it is now, and a checkout of it that nobody else touches."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from perfvcs.git.project import Project, UnknownRevision
from perfvcs.git.remote import Remote
from perfvcs.git.worktree import lasting
from perfvcs.store.document import fold

WATCH_FOLDER = "watch"  # in .perf
FETCH_SECONDS = 600.0  # seconds that a remote may take to send what is new
PROMPT = 30.0  # seconds that it may take to name its main branch


@dataclass(frozen=True)
class Branch:
    """A branch of a remote, seen from a project; everything about it is below ``folder``."""

    project: Project
    remote: Remote
    name: str
    folder: Path

    @classmethod
    def of(cls, project: Project, home: Path, remote: str | None, name: str | None) -> Branch:
        """By names, or the usual remote and its main branch; raises NoRemote, NoBranch, RemoteFailed."""
        found = Remote.find(project, remote)
        branch = name or found.default_branch(PROMPT)
        mark = hashlib.sha256(f"{found.known_as}\0{branch}".encode(errors="replace")).hexdigest()[:8]
        return cls(project, found, branch, home / WATCH_FOLDER / f"{fold(branch) or 'branch'}-{mark}")

    @property
    def reference(self) -> str:
        """The project's reference for the commits that were fetched."""
        return f"refs/perf/watched/{self.folder.name}"

    def fetch(self) -> None:
        """Get what is new there; raises RemoteFailed, NoBranch."""
        self.remote.follow(self.name, self.reference, FETCH_SECONDS)

    def tip(self) -> str:
        """The newest commit of the last fetch; empty before the first."""
        try:
            return self.project.resolve(self.reference)
        except UnknownRevision:
            return ""

    def newest(self, tip: str, count: int) -> Sequence[str]:
        """The newest commits along the first parents, oldest first."""
        return list(islice(self.project.walk(tip, straight=True), count))[::-1]

    def checkout(self, tip: str) -> Project:
        """A working tree of a commit, whose perf.toml and overlays say what is measured; raises CheckoutError."""
        return lasting(self.project, tip, self.folder / "tree")

    def tend(self) -> None:
        """Let git pack what fetching has left, now and not while something is measured."""
        self.project.git("-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false", "gc", "--auto", "--quiet")
