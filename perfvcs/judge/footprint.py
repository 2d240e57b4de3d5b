"""The files below a folder, and what shows that one was changed."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# what interpreters and test runners keep for themselves
CACHES = ("__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".perf", ".git")
Stamp = tuple[int, int, int]  # inode, size, time of the last change (ns)
Stamps = dict[tuple[Path, str], Stamp | None]  # by folder and path; None: it is gone
MOST_FILES = 20_000  # that are looked at in one folder


def files(folder: Path) -> Iterator[str]:
    """The files below a folder, by their relative paths; not the caches of interpreters."""
    seen = count()
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in CACHES]
        for name in names:
            if next(seen) >= MOST_FILES:
                return
            yield str(Path(parent, name).relative_to(folder))


def stamps(folders: Iterable[Path]) -> Stamps:
    """What shows that a file below one of some folders was changed."""
    return {
        (folder, name): stamp
        for folder in folders
        for name in files(folder)
        if (stamp := _stamp(folder / name))
    }


def differing(before: Stamps, after: Stamps) -> set[str]:
    """The names whose stamps are not the same, or that only one has, unless there are more."""
    names = before.keys() & after
    if max(len(before), len(after)) < MOST_FILES:
        names = before.keys() | after
    return {
        name for folder, name in names if before.get((folder, name)) != after.get((folder, name))
    }


def altered(before: Stamps) -> Stamps:
    """The files that are not as they were, as they are now; not those that are new."""
    now = {(folder, name): _stamp(folder / name) for folder, name in before}
    return {place: stamp for place, stamp in now.items() if stamp != before[place]}


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_ctime_ns
