"""What `perf fsck` finds wrong with the store."""

from __future__ import annotations

import contextlib
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.bare import Bare, GitFailed
from perfvcs.store import locks
from perfvcs.store.document import Damaged, verified
from perfvcs.store.failures import Unwritable

if TYPE_CHECKING:
    from perfvcs.store import Store

DOCUMENTS_PER_READ = 5000  # documents that are read through one git process


class Problem(NamedTuple):
    """Something that is wrong; ``path`` is empty when it concerns the store as a whole."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def problems(store: Store, git: Bare) -> list[Problem]:
    """All that is wrong: git's own check of its objects, then every profile against its format and its place."""
    try:
        tip = store.tip()
    except Damaged as error:
        return [Problem("", str(error))]
    found = [Problem("", f"git fsck: {line}") for line in _of_objects(store, git, tip).splitlines() if line.strip()]
    entries = store.entries()
    try:
        while batch := list(islice(entries, DOCUMENTS_PER_READ)):
            for path, document in store.documents({entry.path: entry.new for entry in batch if entry.new}):
                try:
                    verified(path, document)
                except Damaged as error:
                    found.append(Problem(path, error.reason))
        found += [Problem(place, reason) for place, reason in store.removals() if isinstance(reason, str)]
    except Damaged as error:
        found.append(Problem("", str(error)))
    return found


def _of_objects(store: Store, git: Bare, tip: str) -> str:
    """What git says is wrong with the objects up to ``tip``, while nobody packs them.

    It would take one that moves for one that is missing, and of the branch itself one that has come since it began.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(Unwritable):  # nobody packs a store that is read-only
            stack.enter_context(locks.shared(store.path))
        try:
            git.run("fsck", "--full", "--strict", "--no-dangling", "--no-progress", tip)
        except GitFailed as error:
            return str(error)
    return ""
