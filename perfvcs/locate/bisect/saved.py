"""Bisections that were begun, so that they can go on: ``.perf/bisections.json``.

What they measured is in the store.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

import msgspec

from perfvcs.profile.benchmarkfilter import BenchmarkFilter, FilterWords, UnitAtSize
from perfvcs.profile.naming import labelled
from perfvcs.system import disk
from perfvcs.system.disk import NotPlain, plain
from perfvcs.system.foreign import UNDECODABLE

KEPT_SEARCHES = 20  # the newest


class Target(msgspec.Struct, frozen=True):
    """What is followed: a job under a collector (``job`` is its label), one unit with its size, and
    a metric of it.

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

    @property
    def name(self) -> str:
        """The benchmark's name for people."""
        return labelled(self.job, self.uid, self.size)

    @property
    def alone(self) -> BenchmarkFilter:
        """The filter that leaves it, at all sizes of its unit."""
        return BenchmarkFilter(
            frozenset([(self.job, self.collector)]),
            frozenset([UnitAtSize(self.job, self.uid, None)]),
            self.metric,
            words=FilterWords(self.name),
        )


class Measuring(msgspec.Struct, frozen=True):
    """A session of a bisection, and the step that it was for, see ``NextStep``."""

    session: str
    what: str
    commit: str = ""


class Begun(msgspec.Struct):
    """One bisection: its ends, its target, its sessions, the commits that cannot be measured with
    the reason, and how it ended.

    ``counted``: the instructions of commits by which it was guided. ``ignored``: the sessions of
    others, from which it does not learn.
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
    ignored: list[str] = []


class SavedBisections:
    """All that are kept, the newest last; a damaged file is an empty one."""

    def __init__(self, home: Path) -> None:
        self.path = home / "bisections.json"
        self.all = self._read()

    def _read(self) -> list[Begun]:
        try:
            with open(plain(self.path, os.O_RDONLY), "rb") as file:
                return msgspec.json.decode(file.read(1 << 26), type=list[Begun])
        except (OSError, NotPlain, *UNDECODABLE):
            return []

    def unfinished(self) -> Begun | None:
        """The newest one, where it has not ended."""
        return self.all[-1] if self.all and not self.all[-1].ended else None

    def begin(self, good: str, bad: str, target: Target, *, afresh: bool = False) -> Begun:
        """The saved bisection with these ends and this target, or a new one; it becomes the newest.

        Begun ``afresh``, it learns nothing from what was measured before for these ends.
        """
        alike = [
            search
            for search in self.all
            if (search.good, search.bad, search.target) == (good, bad, target)
        ]
        begun = alike[-1] if alike and not afresh else Begun(good, bad, target)
        if afresh:
            ignored = (
                [*search.ignored, *(session.session for session in search.sessions)]
                for search in self.all
                if (search.good, search.bad) == (good, bad)
            )
            begun.ignored = list(dict.fromkeys(chain.from_iterable(ignored)))
        self.all = [*(search for search in self.all if search not in alike), begun][-KEPT_SEARCHES:]
        return begun

    def write(self) -> None:
        """Writes them to the file."""
        disk.write(self.path, msgspec.json.encode(self.all))
