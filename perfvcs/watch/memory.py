"""The state of a watch between cycles and after a crash: one file beside its checkout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from perfvcs import wholefile
from perfvcs.foreign import UNDECODABLE, content

LARGEST_MEMORY_FILE = 1 << 26  # bytes
MOST_ATTEMPTS = 2  # sessions that a commit gets before it is given up
MOST_WAITING = 100  # notices; of more, the oldest go


class KnownChange(msgspec.Struct, frozen=True):
    """A change that was announced, or was there before: its series (an address), and the commits between which it was."""

    series: str
    direction: str
    first: str
    last: str


class Waiting(msgspec.Struct):
    """A notice that has not reached everybody: its document, to whom it has to go (webhook, mail), and how often that failed."""

    document: dict[str, Any]
    to: list[str]
    failures: int = 0


class WatchMemory(msgspec.Struct):
    """``attempts`` counts sessions of commits that are not measured yet, under the configuration with the digest ``config``.

    ``environments`` are those of this machine. ``measuring`` are the commits of the session that goes on, or was killed.
    ``published`` is what the site was made from. ``known`` is None before the first look.
    """

    config: str = ""
    attempts: dict[str, int] = {}
    environments: list[str] = []
    measuring: list[str] = []
    published: str = ""
    known: list[KnownChange] | None = None
    waiting: list[Waiting] = []

    @property
    def given_up(self) -> set[str]:
        """The commits that are not tried again."""
        return {commit for commit, count in self.attempts.items() if count >= MOST_ATTEMPTS}

    def save(self, path: Path) -> None:
        """Write it, whole or not at all; raises OSError."""
        del self.waiting[:-MOST_WAITING]
        wholefile.write(path, msgspec.json.encode(self))


def recalled(path: Path) -> WatchMemory:
    """The saved state; empty if it is missing or unreadable: the watch then starts anew, and the store has the profiles."""
    try:
        return msgspec.json.decode(content(path, LARGEST_MEMORY_FILE), type=WatchMemory)
    except (OSError, *UNDECODABLE):
        return WatchMemory()
