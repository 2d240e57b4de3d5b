"""The files below a folder, what shows that one was changed, and what is in them."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Container, Iterable, Iterator
from itertools import count
from pathlib import Path

from perfvcs.system.disk import Stamp, stamp

# what interpreters and test runners keep for themselves
CACHES = ("__pycache__", ".pytest_cache", ".hypothesis", ".mypy_cache", ".perf", ".git")
OWN = (".perf", ".git")
Stamps = dict[Path, dict[str, Stamp | None]]  # by folder and path; None: it is gone
MOST_FILES = 20_000  # that are looked at in one folder
MOST_BYTES = 100_000_000  # that are read in one folder


def files(folder: Path, without: Container[str] = CACHES) -> Iterator[str]:
    """The files below a folder, by their relative paths; not those in folders of these names."""
    seen = count()
    start = len(f"{folder}/")
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in without)
        for name in sorted(names):
            if next(seen) >= MOST_FILES:
                return
            yield f"{parent}/{name}"[start:]


def digests(folder: Path) -> dict[str, str]:
    """The digests of the files below a folder, until so many bytes are read; empty for a file that
    was not read.
    """
    found: dict[str, str] = {}
    left = MOST_BYTES
    for name in files(folder):
        try:
            status = (folder / name).lstat()
            if not stat.S_ISREG(status.st_mode):
                continue
            found[name] = ""
            if status.st_size > left:
                continue
            left -= status.st_size
            with (folder / name).open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            continue
    return found


def is_deletion(file: Path) -> bool:
    """Whether this stands in a layer for a file that is gone: overlayfs has such a device there."""
    try:
        status = file.lstat()
    except OSError:
        return False
    return stat.S_ISCHR(status.st_mode) and status.st_rdev == 0


def stamps(folders: Iterable[Path]) -> Stamps:
    """What shows that a file below one of some folders was changed; what interpreters compiled, and
    others would run, is among them.
    """
    return {
        folder: {name: stamp(f"{folder}/{name}") for name in files(folder, OWN)}
        for folder in folders
    }


def differing(before: Stamps, after: Stamps) -> set[str]:
    """The names of files that are changed or gone, however many others came, and of those that are
    new, unless there were more before than are looked at.
    """
    names: set[str] = set()
    for folder, old in before.items():
        new = after.get(folder, {})
        names |= {
            name
            for name, known in old.items()
            if (new[name] if name in new else stamp(f"{folder}/{name}")) != known
        }
        if len(old) < MOST_FILES:
            names |= new.keys() - old
    return names
