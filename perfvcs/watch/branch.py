"""A branch of a remote that is watched: where it is now, and a checkout of it that nobody else
touches.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec

from perfvcs.git.project import Project, UnknownRevision
from perfvcs.git.remote import Remote
from perfvcs.git.worktree import lasting
from perfvcs.store.removal import fold
from perfvcs.system import disk
from perfvcs.system.foreign import UNDECODABLE, content

WATCH_FOLDER = "watch"  # in .perf
FETCH_SECONDS = 600.0  # seconds that a remote may take to send what is new
PROMPT = 30.0  # seconds that it may take to name its main branch
# weight of a gap in which nothing was found, beside one for each change that may be in it
UNSEEN = 0.05
CommitSpan = tuple[int, int]  # places of the first and the last commit in which a change may be
LARGEST_MEMORY_FILE = 1 << 26  # bytes
MOST_ATTEMPTS = 2  # sessions that a commit gets before it is given up
MOST_WAITING = 100  # notices; of more, the oldest go


@dataclass(frozen=True)
class Branch:
    """A branch of a remote, seen from a project; everything about it is below ``folder``."""

    project: Project
    remote: Remote
    name: str
    folder: Path

    @classmethod
    def of(cls, project: Project, home: Path, remote: str | None, name: str | None) -> Branch:
        """The branch of these names; by default the usual remote and its main branch. Raises
        NoRemote, NoBranch, RemoteFailed.
        """
        origin = Remote.find(project, remote)
        branch = name or origin.default_branch(PROMPT)
        mark = hashlib.sha256(f"{origin.known_as}\0{branch}".encode(errors="replace")).hexdigest()[
            :8
        ]
        return cls(
            project, origin, branch, home / WATCH_FOLDER / f"{fold(branch) or 'branch'}-{mark}"
        )

    @property
    def reference(self) -> str:
        """The project's reference for the commits that were fetched."""
        return f"refs/perf/watched/{self.folder.name}"

    def fetch(self) -> None:
        """Get what is new there; raises RemoteFailed, NoBranch."""
        self.remote.follow(self.name, self.reference, FETCH_SECONDS)

    def tip(self) -> str:
        """The newest commit of the last fetch; empty before the first."""
        try:
            return self.project.resolve(self.reference)
        except UnknownRevision:
            return ""

    def newest(self, tip: str, count: int) -> Sequence[str]:
        """The newest commits along the first parents, oldest first."""
        return list(islice(self.project.walk(tip, straight=True), count))[::-1]

    def checkout(self, tip: str) -> Project:
        """A working tree of a commit, whose perf.toml and overlays say what is measured; raises
        CheckoutError.
        """
        return lasting(self.project, tip, self.folder / "tree")

    def tend(self) -> None:
        """Let git pack what fetching has left, now and not while something is measured."""
        self.project.git(
            "-c",
            "gc.autoDetach=false",
            "-c",
            "maintenance.autoDetach=false",
            "gc",
            "--auto",
            "--quiet",
        )


@dataclass(frozen=True)
class NextCommit:
    """A commit to be measured, and its nearest measured neighbours, which are measured in turns
    with it.
    """

    commit: str
    neighbours: tuple[str, ...]


def choose(
    commits: Sequence[str],
    measured: Set[str],
    given_up: Set[str] = frozenset(),
    spans: Callable[[], Iterable[CommitSpan]] = tuple,
) -> NextCommit | None:
    """The commit of a line (oldest first) to be measured next; None if all that can be measured
    are.

    Commits that are newer than all measured ones come first, the newest before the others.
    ``spans`` are asked for only after them.
    """
    measured_places = [place for place, commit in enumerate(commits) if commit in measured]
    newest = measured_places[-1] if measured_places else -1
    ahead = (
        place for place in range(len(commits) - 1, newest, -1) if commits[place] not in given_up
    )
    place = next(ahead, None)
    if place is None:
        gains = _gains(measured_places, spans())
        open_places = [place for place in gains if commits[place] not in given_up]
        place = max(open_places, key=lambda place: (gains[place], place), default=None)
    if place is None:
        return None
    below = [other for other in measured_places if other < place][-1:]
    above = [other for other in measured_places if other > place][:1]
    return NextCommit(commits[place], tuple(commits[other] for other in (*below, *above)))


def _gains(measured_places: Sequence[int], spans: Iterable[CommitSpan]) -> dict[int, float]:
    """How many commits fewer a change is expected to be laid to, for each unmeasured place between
    measured ones.
    """
    gains: dict[int, float] = defaultdict(float)
    for below, above in pairwise([-1, *measured_places]):
        for place, narrowed in _narrowed(below, above):
            gains[place] += UNSEEN * narrowed
    for first, last in spans:
        for place, narrowed in _narrowed(first - 1, last):
            if place in gains:
                gains[place] += narrowed
    return gains


def _narrowed(before: int, last: int) -> Iterator[tuple[int, float]]:
    """The places between, each with what it takes off: a change is in any of the commits behind
    ``before`` up to ``last`` alike.
    """
    count = last - before
    for place in range(before + 1, last):
        left = place - before
        yield place, 2 * left * (count - left) / count


class KnownChange(msgspec.Struct, frozen=True):
    """A change that was announced, or was there before: its series (an address), and the commits
    between which it was.
    """

    series: str
    direction: str
    first: str
    last: str


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """What is announced: the tip of the branch, and new changes as the site's JSON has them, with
    addresses below that of the ``site``; ``more`` are not listed.
    """

    id: str = ""
    format: str = "perfvcs-watch/1"
    project: str
    branch: str
    tip: str
    site: str | None
    text: str
    changes: list[dict[str, Any]]
    more: int

    def identified(self) -> Notice:
        """The notice with an ``id`` that follows from its content."""
        document = msgspec.json.encode(self, order="deterministic")
        return msgspec.structs.replace(self, id=hashlib.sha256(document).hexdigest()[:32])


class Waiting(msgspec.Struct):
    """A notice that has not reached everybody, to whom it has to go (webhook, mail), and how often
    that failed.
    """

    document: Notice
    to: list[str]
    failures: int = 0


class WatchMemory(msgspec.Struct):
    """``attempts`` counts sessions of commits that are not measured yet, under the configuration
    with the digest ``config``.

    ``environments`` are those of this machine. ``measuring`` are the commits of the session that
    goes on, or was killed. ``published`` is what the site was made from. ``known`` is None before
    the first look.
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
        """Writes the state, whole or not at all; raises OSError."""
        del self.waiting[:-MOST_WAITING]
        disk.write(path, msgspec.json.encode(self))


def recalled(path: Path) -> WatchMemory:
    """The saved state; empty if it is missing or unreadable: the watch then starts anew, and the
    store has the profiles.
    """
    try:
        return msgspec.json.decode(content(path, LARGEST_MEMORY_FILE), type=WatchMemory)
    except (OSError, *UNDECODABLE):
        return WatchMemory()
