"""What a remote has and this store has not, and the other way round."""

from __future__ import annotations

import os
from collections.abc import Iterable

import msgspec

from perfvcs.store.document import PROFILE_PATH
from perfvcs.store.removal import profile_of

PLAIN_MODE = "100644"
MODE_NAMES = {"120000": "a symbolic link", "160000": "a submodule", "100755": "an executable file"}


class StoreDifference(msgspec.Struct):
    """Profiles that only one side has, with their blobs, and the removals that differ: blob there, blob here, by the profiles' paths.

    ``strange`` are the paths that a remote has and that no profile is at, with what is there.
    """

    here: dict[str, str] = msgspec.field(default_factory=dict)
    there: dict[str, str] = msgspec.field(default_factory=dict)
    removals: dict[str, tuple[str | None, str | None]] = msgspec.field(default_factory=dict)
    strange: dict[str, str] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, fields: Iterable[bytes]) -> StoreDifference:
        """What ``git diff-tree`` prints of a remote's tree and ours."""
        found = cls()
        waiting = iter(fields)
        for properties in waiting:
            old_mode, new_mode, old, new, _ = properties.decode().removeprefix(":").split(" ")
            found._sort(os.fsdecode(next(waiting)), (old_mode, old), (new_mode, new))
        return found

    def _sort(self, path: str, there: tuple[str, str], here: tuple[str, str]) -> None:
        their, our = (blob if mode == PLAIN_MODE else None for mode, blob in (there, here))
        profile = profile_of(path)
        if their is None and there[1].strip("0"):
            self.strange[path] = MODE_NAMES.get(there[0], "of an unknown kind")
        elif profile is not None:
            self.removals[profile] = (their, our)
            return
        elif PROFILE_PATH.fullmatch(path) is None:
            if their is not None and path != "format":
                self.strange[path] = "not at the path of a profile"
            return
        elif their and our:
            self.strange[path] = "not the profile that is stored here under this path"
        elif their:
            self.there[path] = their
        if our and not their and PROFILE_PATH.fullmatch(path):
            self.here[path] = our
