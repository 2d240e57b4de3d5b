"""``perf push``: what this store has and a remote has not goes there, on top of whatever others have pushed meanwhile."""

from __future__ import annotations

import random
import time

import msgspec

from perfvcs.exchange.difference import StoreDifference
from perfvcs.exchange.mirror import REFERENCE, Mirror
from perfvcs.exchange.removals import Removals
from perfvcs.git.bare import GitFailed
from perfvcs.git.remote import Remote, RemoteFailed
from perfvcs.store import Store
from perfvcs.store.document import Damaged
from perfvcs.store.failures import refused
from perfvcs.store.locks import Contended
from perfvcs.store.removal import place_of
from perfvcs.text.words import counted

PUSH_SECONDS = 1200.0  # seconds that a push keeps trying against others
FIRST_WAIT = 8.0  # times as long as a try took, at most, after the first one; twice as long after each further one
LONGEST_WAIT = 60.0  # seconds
MOST_ALIKE = 6  # failed tries while the remote does not change


class Pushed(msgspec.Struct, frozen=True):
    """What came of a push: profiles and removals that went, how often it was tried, and how many profiles the remote had lost.

    ``measured``: whether there is anything here.
    """

    remote: str
    profiles: int
    removals: int
    tries: int
    lost: int
    measured: bool = True

    def lines(self, *, dry: bool = False) -> list[str]:
        """For people; ``dry``: of what would be done."""
        went = [counted(self.profiles, "profile")] if self.profiles else []
        went += [counted(self.removals, "removal")] if self.removals else []
        others = f" ({self.tries} tries: others pushed meanwhile)" if self.tries > 1 else ""
        done = f"{'would push' if dry else 'pushed'} {' and '.join(went)} to {self.remote}{others}"
        why = f"{self.remote} has everything" if self.measured else "nothing was measured here yet (perf collect)"
        return [*lost_lines(self.remote, self.lost), done if went else f"nothing to push: {why}"]


def push(mirror: Mirror, store: Store, remote: Remote, *, dry: bool = False) -> Pushed:
    """Add to a remote what only this store has; ``dry``: only count it.

    Nothing there is ever replaced: a push that somebody else has overtaken begins again with what is there then, after a random time
    that grows. Raises RemoteFailed, Contended, OtherFormat, TooMuch.
    """
    deadline = time.monotonic() + PUSH_SECONDS
    tries = lost = 0
    tips: list[str | None] = []
    while True:
        began = time.monotonic()
        tries += 1
        tip = mirror.fetch(remote)
        tips.append(tip)
        if tips[-MOST_ALIKE:].count(tip) == MOST_ALIKE:
            raise RemoteFailed(
                f"{remote.name} does not change {REFERENCE} though nobody else pushes: look there for a lock file and missing permissions"
            )
        lost = max(lost, mirror.lost(remote, tip))
        try:
            changes = outgoing(mirror, store, remote, tip)
            profiles = sum(isinstance(found, str) for found in changes.values())
            removals = sum(isinstance(found, bytes) for found in changes.values())
            pushed = Pushed(remote.name, profiles, removals, tries, lost, bool(changes) or any(store.entries()))
            if dry or not changes:
                if tip and not dry:
                    mirror.remember(remote, tip)
                return pushed
            commit = mirror.write(tip, changes, store.who, int(time.time()), _message(pushed))
        except GitFailed as error:
            raise refused(store.path, error) or Damaged(
                f"git cannot exchange what is in {store.path} ({error.reason}): run `perf fsck`"
            ) from None
        if mirror.push(remote, commit):
            mirror.remember(remote, commit)
            return pushed
        if time.monotonic() > deadline:
            raise Contended(f"others kept pushing to {remote.name}: try again when they are done")
        # the time that a try takes grows with the crowd, and so do the waits
        most = min(FIRST_WAIT * 2 ** (tries - 1) * (time.monotonic() - began), LONGEST_WAIT)
        time.sleep(random.uniform(0, most))


def outgoing(mirror: Mirror, store: Store, remote: Remote, tip: str | None) -> dict[str, str | bytes | None]:
    """What a remote's commit lacks, by paths: blobs of profiles, documents of removals, None for profiles that were removed."""
    head = store.head()
    found = mirror.difference(tip, head) if head else StoreDifference()
    removals = Removals.of(mirror, remote, found, head)
    changes: dict[str, str | bytes | None] = {path: blob for path, blob in found.here.items() if not removals.out(path)}
    changes |= {place_of(path): document for path, document in removals.unknown_there()}
    return changes | {path: None for path in found.there if removals.out(path)}


def lost_lines(remote: str, lost: int) -> list[str]:
    """The message if a remote has lost profiles."""
    if not lost:
        return []
    return [
        f"{remote} has lost {counted(lost, 'profile')} since it was last seen, as if somebody had forced {remote}'s "
        "refs/perf/profiles: nothing was removed here, what it had is kept below refs/lost in .perf/remotes/known, and `perf push` "
        "restores it there"
    ]


def _message(pushed: Pushed) -> str:
    went = [
        f"{word} {counted(count, 'profile')}" for word, count in (("add", pushed.profiles), ("remove", pushed.removals)) if count
    ]
    return ", ".join(went).capitalize()
