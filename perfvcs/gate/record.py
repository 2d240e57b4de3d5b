"""What the git folder, which no clone carries, knows of ``.perf``: a random token, and where ``.perf`` is."""

from __future__ import annotations

import os
import re

import msgspec

from perfvcs import wholefile
from perfvcs.descriptors import NotPlain, plain
from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.foreign import UNDECODABLE
from perfvcs.git.project import NoRepository, Project

RECORD_FOLDER = "perfvcs"  # in the git folder that all worktrees share
TOKEN_FILE, BEGUN = "token", "token.new"  # in .perf; BEGUN is renamed when it is whole
HEX = re.compile(r"[0-9a-f]{64}")
LARGEST_RECORD = 1 << 16  # bytes


class UnreadableRecord(NoRepository):
    """The record in the git folder cannot be read, so that no ``.perf`` can be trusted."""


class GateRecord(msgspec.Struct, frozen=True):
    """The token that ``.perf`` must have too, and its place.

    ``store`` is a path relative to the git folder, so that a repository can be moved as a whole; `perf init --store` makes it absolute.
    """

    token: str
    store: str

    @property
    def elsewhere(self) -> bool:
        """Whether somebody chose the place."""
        return self.store.startswith("/")

    @classmethod
    def new(cls, store: str) -> GateRecord:
        """A record with a token that nobody can guess."""
        import secrets  # takes 3 ms, and most commands only read

        return cls(secrets.token_hex(32), store)


def read(project: Project) -> GateRecord | None:
    """The record of a repository; None where there is none. Raises UnreadableRecord."""
    path = project.common_dir / RECORD_FOLDER
    try:
        with open(plain(path, os.O_RDONLY), "rb") as file:
            found = msgspec.json.decode(file.read(LARGEST_RECORD), type=GateRecord)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableRecord(
            f"cannot read {path} ({error.strerror}), which says who owns .perf: make it readable for you"
        ) from None
    except (NotPlain, *UNDECODABLE):
        found = None
    if found is None or not HEX.fullmatch(found.token) or not found.store or "\0" in found.store:
        raise UnreadableRecord(f"{path} is damaged: delete it, and run `perf init --adopt` if the profiles in .perf are yours")
    return found


def write(project: Project, record: GateRecord) -> None:
    """Keep a record, whole or not at all; raises UsageError where the git folder cannot be written, OSError where there is no space."""
    path = project.common_dir / RECORD_FOLDER
    try:
        wholefile.write(path, msgspec.json.encode(record) + b"\n", 0o600)
    except OSError as error:
        if error.errno in NO_SPACE:
            raise
        why = "perfvcs keeps a token there that no clone can bring"
        raise UsageError(f"cannot write {path} ({error.strerror}), and {why}: make the git folder writable for you") from None
