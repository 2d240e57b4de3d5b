"""The files below a folder, what shows that one was changed, and what is in them."""

from __future__ import annotations

import hashlib
import os
import stat
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

# what interpreters and test runners keep for themselves
CACHES = ("__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".perf", ".git")
OWN = (".perf", ".git")
Stamp = tuple[int, int, int]  # inode, size, time of the last change (ns)
Stamps = dict[tuple[Path, str], Stamp | None]  # by folder and path; None: it is gone
MOST_FILES = 20_000  # that are looked at in one folder
MOST_BYTES = 100_000_000  # that are read in one folder


def files(folder: Path, without: Container[str] = CACHES) -> Iterator[str]:
    """The files below a folder, by their relative paths; not those in folders of these names."""
    seen = count()
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in without]
        for name in names:
            if next(seen) >= MOST_FILES:
                return
            yield str(Path(parent, name).relative_to(folder))


def digests(folder: Path) -> dict[str, str]:
    """The digests of the files below a folder, until so many bytes are read."""
    found: dict[str, str] = {}
    left = MOST_BYTES
    for name in files(folder):
        try:
            status = (folder / name).lstat()
            left -= status.st_size
            if not stat.S_ISREG(status.st_mode) or left < 0:
                continue
            with (folder / name).open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            continue
    return found


def stamps(folders: Iterable[Path]) -> Stamps:
    """What shows that a file below one of some folders was changed; what interpreters compiled, and
    others would run, is among them.
    """
    return {
        (folder, name): stamp
        for folder in folders
        for name in files(folder, OWN)
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


def _stamp(file: Path) -> Stamp | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_ctime_ns
