"""Bisections that were begun, so that they can go on: ``.perf/bisections.json``. What they measured is in the store."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from perfvcs.measure.sites import BuildFlags, SiteKind, Sites
from perfvcs.system import disk
from perfvcs.system.disk import NotPlain, plain
from perfvcs.system.foreign import UNDECODABLE

if TYPE_CHECKING:
    from perfvcs.measure.site import Site, Version
    from perfvcs.profile import Reached


class KeptSites:
    """The sites that were made so far, by commit, build and flags; they live as long as the ``stack``.

    ``warm`` as in ``Sites``: sessions that share them number their cells alike.
    """

    def __init__(self) -> None:
        self.stack = ExitStack()
        self.known: dict[tuple[str, int, BuildFlags], Site] = {}
        self.warm: dict[tuple[int, Version], Reached | None] = {}


class SessionSites(Sites):
    """The sites of one session, of which those that are ``kept`` are not made again."""

    def __init__(self, like: Sites, kept: KeptSites) -> None:
        super().__init__(like.project, like.home, like.config, like.cells, like.versions, like.knobs, like.changes)
        self.kept, self.warm = kept, kept.warm

    def prepare(self, position: int, kind: SiteKind, stack: ExitStack) -> None:  # noqa: ARG002
        """Make a version's sites of one kind, unless they are there; they outlive the session and its ``stack``."""
        commit = self.versions[position].commit
        places = [(commit, binary, kind.flags) for binary in range(kind.binaries)]
        if not all(place in self.kept.known for place in places):
            super().prepare(position, kind, self.kept.stack)
            self.kept.known |= {place: self._sites[position, place[1], kind.flags] for place in places}
        for place in places:
            self._sites[position, place[1], kind.flags] = self.kept.known[place]


FILE = "bisections.json"
KEPT_SEARCHES = 20
LARGEST_SAVED = 1 << 26


class Target(msgspec.Struct, frozen=True):
    """What is followed: a job under a collector (``job`` is its label), one unit with its size, and a metric of it.

    ``improvement``: the commit is sought that made it better.
    """

    job: str
    collector: str
    uid: str
    size: float | None
    metric: str
    unit: str
    better: str
    improvement: bool = False

    @property
    def sign(self) -> int:
        """What a difference is multiplied by, so that the bad end is above the good one."""
        return -1 if (self.better == "higher") != self.improvement else 1


class Measuring(msgspec.Struct, frozen=True):
    """A session of a bisection and what it was for, as ``Step`` says it."""

    session: str
    what: str
    commit: str = ""


class Begun(msgspec.Struct):
    """One bisection: its ends, its target, its sessions, the commits that cannot be measured with the reason, and how it ended.

    ``counted``: the instructions of commits by which it was guided.
    """

    good: str
    bad: str
    target: Target
    sessions: list[Measuring] = []
    skipped: dict[str, str] = {}
    built: list[str] = []
    counted: dict[str, float] = {}
    seconds: float = 0.0
    ended: str = ""


class SavedBisections:
    """All that are kept, the newest last; a damaged file is an empty one."""

    def __init__(self, home: Path) -> None:
        self.path = home / FILE
        self.all = self._read()

    def _read(self) -> list[Begun]:
        try:
            with open(plain(self.path, os.O_RDONLY), "rb") as file:
                return msgspec.json.decode(file.read(LARGEST_SAVED), type=list[Begun])
        except (OSError, NotPlain, *UNDECODABLE):
            return []

    def unfinished(self) -> Begun | None:
        """The newest one, where it has not ended."""
        return self.all[-1] if self.all and not self.all[-1].ended else None

    def begin(self, good: str, bad: str, target: Target, *, afresh: bool = False) -> Begun:
        """The one with these ends and this target, as it stands, or a new one; either becomes the newest."""
        alike = [one for one in self.all if (one.good, one.bad, one.target) == (good, bad, target)]
        found = alike[-1] if alike and not afresh else Begun(good, bad, target)
        self.all = [*(one for one in self.all if one not in alike), found][-KEPT_SEARCHES:]
        return found

    def write(self) -> None:
        """Keep them as they are now."""
        disk.write(self.path, msgspec.json.encode(self.all))
