"""What killed commands and failed measurements leave in ``.perf``, and when it goes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.descriptors import entries, remove

if TYPE_CHECKING:
    from perfvcs.git.project import Project

KEPT_ASIDE = 14 * 86400  # seconds, as long as git keeps what a killed writer left
LEFTOVER_FILES = {
    "aside": ".json",
    "sessions": ".jsonl",
}  # what is kept for that long: of failures, and of sessions to be continued


def sweep(project: Project, home: Path) -> None:
    """Remove the worktrees, scratch folders and workloads that killed commands left; nobody may be measuring."""
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


def drop_old(home: Path) -> None:
    """Remove what failed measurements and abandoned sessions left two weeks ago or earlier."""
    left = [home / kind / name for kind, end in LEFTOVER_FILES.items() for name in entries(home / kind) if name.endswith(end)]
    for path in left:
        if path.lstat().st_mtime < time.time() - KEPT_ASIDE:
            path.unlink(missing_ok=True)
