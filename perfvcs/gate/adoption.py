"""`perf init --adopt`: a ``.perf`` from elsewhere becomes this repository's own, without what could
lead elsewhere.
"""

from __future__ import annotations

import os
import stat
from itertools import islice
from pathlib import Path

from msgspec import Struct

from perfvcs.gate import stamp
from perfvcs.gate.inspection import (
    TOKEN_FILE,
    GateRecord,
    beside,
    beside_git,
    check_owner,
    check_place,
    is_elsewhere,
    place,
    read,
    untracked,
    write,
)
from perfvcs.git.project import Project
from perfvcs.store import Store, layout
from perfvcs.store.removal import Damaged, verified
from perfvcs.system.disk import entries, remove
from perfvcs.system.lock import alone_in, hold

KEPT_FILES = {
    "log": (".log", ".log.1"),
    "pages": (".html",),
    "aside": (".json",),
}  # folders whose plain files of these kinds stay
DOCUMENTS_PER_READ = 1000  # documents that one git process reads


class Adoption(Struct, frozen=True):
    """What an adoption did: how many profiles are in the store, and what was dropped, in
    sentences.
    """

    home: Path
    profiles: int
    dropped: list[str]


def adopt(project: Project) -> Adoption:
    """Check and clean a ``.perf`` whoever made it, and give it this repository's token; raises
    Untrusted, Damaged, Locked.

    Kept are the profiles that are whole, logs, pages and what failed measurements put aside.
    Everything that is derived is made anew later. A kill at any moment leaves what can be adopted
    again.
    """
    with alone_in(project.common_dir):
        record = read(project)
        home = place(project, record)
        untracked(project, beside(project) if is_elsewhere(record) else home)
        check_place(project, record, home)
        dropped = _without_links(home)
        with hold(home / "lock"):
            dropped += _clean(home)
            dropped += layout.restore(home / "store") if (home / "store").is_dir() else []
            profiles, broken = _profiles(Store(home / "store"))
            if record is None:
                record = GateRecord.new(beside_git(project, home))
                write(project, record)
            stamp(home, record)
    return Adoption(home, profiles, dropped + broken)


def _without_links(folder: Path, endings: tuple[str, ...] = ()) -> list[str]:
    """Remove what is neither a plain file nor a folder, and files without one of the ``kept``
    suffixes; what went, in sentences.
    """
    dropped = []
    for name in entries(folder):
        status = os.lstat(folder / name)
        check_owner(folder / name, status)
        link = stat.S_ISLNK(status.st_mode)
        if (endings and not name.endswith(endings)) or not (
            stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
        ):
            dropped.append(
                f"{folder.name}/{name}: {'a symbolic link' if link else 'of another kind'}"
            )
            remove(folder / name)
    return dropped


def _clean(home: Path) -> list[str]:
    """Remove what is derived and what is scratch."""
    dropped = []
    for name in entries(home):
        if name in KEPT_FILES and (home / name).is_dir():
            dropped += _without_links(home / name, KEPT_FILES[name])
        elif name not in ("store", "lock", TOKEN_FILE):
            remove(home / name)
    return dropped


def _profiles(store: Store) -> tuple[int, list[str]]:
    """Take every document that is not a whole profile out of the store; how many are left, and what
    went. Raises Damaged.
    """
    if store.head() is None:
        return 0, []
    count, broken = 0, {}
    waiting = store.entries()
    while batch := list(islice(waiting, DOCUMENTS_PER_READ)):
        for path, document in store.documents(
            {entry.path: entry.new for entry in batch if entry.new}
        ):
            try:
                verified(path, document)
                count += 1
            except Damaged as error:
                broken[path] = error.reason
    broken.update(
        (place, removal) for place, removal in store.removals() if isinstance(removal, str)
    )
    if broken:
        store.remove(broken, "Adopt: without what is not a whole profile")
    return count, [f"{path}: {reason}" for path, reason in broken.items()]
