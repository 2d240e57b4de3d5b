"""What is left behind, and whether what was stored can still be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .processes import Said
from .project import Project

# What only a killed process leaves, wherever it is. git's own half-written files stay in the store
# until `perf gc` finds them old.
SCRATCH = re.compile(
    r".*\.part|.*\.perfvcs-part|making-.*|.*\.new-.*|perfvcs-.*|\.?(post-commit|pre-push)-.*|\.perf[-.].*|.*\.tmp|.*~|.*\.lock\.new"
)
OURS = {"perfvcs-write.lock", "perfvcs-gc.lock"}


def tracebacks(said: Said) -> list[str]:
    """The traceback that a command printed."""
    text = f"{said.out}\n{said.err}"
    return [text[text.index("Traceback") :]] if "Traceback (most recent call last)" in text else []


def worktrees(project: Project) -> list[str]:
    """Worktrees that nobody works in."""
    folders = (project.home / "worktrees", project.root / ".git" / "worktrees")
    return [str(path) for folder in folders for path in folder.glob("*")]


def files(project: Project) -> list[str]:
    """Scratch files: all in the folders for that, and what is named like one elsewhere."""
    found = [
        *project.tmp.iterdir(),
        *(project.home / "tmp").glob("*"),
        *(project.home / "workloads").glob("making-*"),
    ]
    found += [
        path
        for path in _walk(project.folder)
        if SCRATCH.fullmatch(path.name) and path.name not in OURS
    ]
    return [str(path) for path in dict.fromkeys(found)]


def _walk(folder: Path) -> Iterator[Path]:
    """All files but those of git's object stores and those of TMPDIR."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in ("objects", "tmp", "refs", "worktrees"):
                yield from _walk(path)
        else:
            yield path


def unreadable(project: Project) -> list[str]:
    """What is damaged in the store."""
    return [f"fsck: {problem}" for problem in project.store.fsck()]


def litter(project: Project) -> list[str]:
    """Half-written files of git's killed processes, which `perf gc` deletes when they are old."""
    store = project.home / "store"
    patterns = (
        "objects/pack/tmp_*",
        "objects/??/tmp_obj_*",
        "objects/tmp_*",
        "fast_import_crash_*",
        "refs/**/*.lock",
    )
    return [str(path) for pattern in patterns for path in store.glob(pattern)]
