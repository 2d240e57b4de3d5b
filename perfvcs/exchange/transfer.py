"""Profiles that travel between stores: ``perf pull`` and ``perf push``, and the removals of
both.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping

import msgspec

from perfvcs.errors import PerfError
from perfvcs.exchange.mirror import REFERENCE, Mirror
from perfvcs.exchange.storegap import ProfileSelection, StoreDifference
from perfvcs.git.bare import GitFailed
from perfvcs.git.refusal import RemoteFailed
from perfvcs.git.remote import Remote
from perfvcs.store import Store
from perfvcs.store.locks import Contended, refused
from perfvcs.store.removal import (
    LARGEST_REMOVAL,
    REMOVED_FOLDER,
    Damaged,
    Removal,
    decode_removal,
    later,
    place_of,
    profile_of,
    verified,
)
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

PUSH_SECONDS = 1200.0  # seconds that a push keeps trying against others
# times as long as a try took, at most, after the first one; twice as long after each further one
FIRST_WAIT = 8.0
LONGEST_WAIT = 60.0  # seconds
MOST_ALIKE = 6  # failed tries while the remote does not change
MOST_NAMED_PATHS = 3  # refused paths in a message


class Removals(msgspec.Struct):
    """Documents by the paths of their profiles: those of the remote that differ, and those of ours
    that matter.

    ``broken`` are the paths of the remote's files that are not removals, with the reasons.
    """

    theirs: dict[str, bytes] = msgspec.field(default_factory=dict)
    ours: dict[str, bytes] = msgspec.field(default_factory=dict)
    broken: dict[str, str] = msgspec.field(default_factory=dict)

    @classmethod
    def of(
        cls, mirror: Mirror, remote: Remote, difference: StoreDifference, head: str | None
    ) -> Removals:
        """What both sides have removed of the profiles in which they differ.

        Raises RemoteFailed.
        """
        removals = cls()
        wanted = {path: there for path, (there, _) in difference.removals.items() if there}
        for path, document in mirror.documents(remote, wanted):
            read = (
                decode_removal(document, path) if isinstance(document, bytes) else document.reason
            )
            if isinstance(read, Removal) and isinstance(document, bytes):
                removals.theirs[path] = document
            else:
                removals.broken[place_of(path)] = str(read)
        if head is not None and (difference.there or difference.removals):
            listed = {
                profile_of(entry.path): entry.blob
                for entry in mirror.reading.listing(head, f"{REMOVED_FOLDER}/")
            }
            blobs = {
                path: blob
                for path, blob in listed.items()
                if path in difference.there or path in difference.removals
            }
            for path, document in zip(
                blobs, mirror.reading.objects(blobs.values(), LARGEST_REMOVAL), strict=True
            ):
                if (
                    path is not None
                    and isinstance(document, bytes)
                    and isinstance(decode_removal(document, path), Removal)
                ):
                    removals.ours[path] = document
        return removals

    def holds(self, path: str) -> bytes | None:
        """The removal that holds for a profile; None where neither side has one."""
        sides = [side[path] for side in (self.ours, self.theirs) if path in side]
        return later(sides[0], sides[-1], path) if sides else None

    def out(self, path: str) -> bool:
        """Whether a profile was removed, on one side or the other."""
        document = self.holds(path)
        removal = decode_removal(document, path) if document else None
        return isinstance(removal, Removal) and removal.out

    def unknown_there(self) -> Iterator[tuple[str, bytes]]:
        """Removals in force that the remote lacks."""
        for path in self.ours:
            if (document := self.holds(path)) is not None and document != self.theirs.get(path):
                yield path, document

    def unknown_here(self) -> dict[str, bytes]:
        """Removals in force that are missing here."""
        in_force = {path: self.holds(path) for path in self.theirs}
        return {
            path: document
            for path, document in in_force.items()
            if document is not None and document != self.ours.get(path)
        }


class Pushed(msgspec.Struct, frozen=True):
    """What came of a push: profiles and removals that went, how often it was tried, and how many
    profiles the remote had lost.

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
        why = (
            f"{self.remote} has everything"
            if self.measured
            else "nothing was measured here yet (perf collect)"
        )
        return [*lost_lines(self.remote, self.lost), done if went else f"nothing to push: {why}"]


def push(mirror: Mirror, store: Store, remote: Remote, *, dry: bool = False) -> Pushed:
    """Add to a remote what only this store has; ``dry``: only count it.

    Nothing there is ever replaced: a push that somebody else has overtaken begins again with what
    is there then, after a random time that grows. Raises RemoteFailed, Contended, OtherFormat,
    TooMuch.
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
                f"{remote.name} does not change {REFERENCE} though nobody else pushes: look there"
                " for a lock file and missing permissions"
            )
        lost = max(lost, mirror.lost(remote, tip))
        try:
            changes = outgoing(mirror, store, remote, tip)
            profiles = sum(isinstance(content, str) for content in changes.values())
            removals = sum(isinstance(content, bytes) for content in changes.values())
            pushed = Pushed(
                remote.name, profiles, removals, tries, lost, bool(changes) or any(store.entries())
            )
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


def outgoing(
    mirror: Mirror, store: Store, remote: Remote, tip: str | None
) -> dict[str, str | bytes | None]:
    """What a remote's commit lacks, by paths: blobs of profiles, documents of removals, None for
    profiles that were removed.
    """
    head = store.head()
    difference = mirror.difference(tip, head) if head else StoreDifference()
    removals = Removals.of(mirror, remote, difference, head)
    changes: dict[str, str | bytes | None] = {
        path: blob for path, blob in difference.here.items() if not removals.out(path)
    }
    changes |= {place_of(path): document for path, document in removals.unknown_there()}
    return changes | {path: None for path in difference.there if removals.out(path)}


def lost_lines(remote: str, lost: int) -> list[str]:
    """The message if a remote has lost profiles."""
    if not lost:
        return []
    return [
        f"{remote} has lost {counted(lost, 'profile')} since it was last seen, as if somebody had"
        f" forced {remote}'s refs/perf/profiles: nothing was removed here, what it had is kept"
        " below refs/lost in .perf/remotes/known, and `perf push` restores it there"
    ]


def _message(pushed: Pushed) -> str:
    went = [
        f"{word} {counted(count, 'profile')}"
        for word, count in (("add", pushed.profiles), ("remove", pushed.removals))
        if count
    ]
    return ", ".join(went).capitalize()


class Refused(PerfError):
    """A remote has something that is not a profile at its place; everything else was taken."""

    exit_code = 12


class Pulled(msgspec.Struct):
    """What came of a pull: profiles that came, went and were left there, what was refused and why,
    and what the remote had lost.
    """

    remote: str
    came: int = 0
    went: int = 0
    left: int = 0
    lost: int = 0
    there: bool = True
    refused: dict[str, str] = msgspec.field(default_factory=dict)

    def lines(self, *, dry: bool = False) -> list[str]:
        """For people; ``dry``: of what would be done."""
        if not self.there:
            return [
                *lost_lines(self.remote, self.lost),
                f"{self.remote} has no profiles yet: `perf push` sends yours",
            ]
        lines = lost_lines(self.remote, self.lost)
        if self.came or not self.went:
            nothing_new = (
                ""
                if self.came or self.left or self.refused
                else ": everything there is already here"
            )
            lines.append(
                f"{'would pull' if dry else 'pulled'} {counted(self.came, 'profile')} from"
                f" {self.remote}{nothing_new}"
            )
        if self.went:
            lines.append(
                f"{'would remove' if dry else 'removed'} {counted(self.went, 'profile')} that"
                " others removed"
            )
        if self.left:
            lines.append(
                f"{'would leave' if dry else 'left'} {counted(self.left, 'profile')} there, as"
                " asked"
            )
        return lines

    def raise_refused(self) -> None:
        """Raise Refused where anything was."""
        if self.refused:
            named = "; ".join(
                f"{shorten(path, 100)} is {shorten(why, 150)}"
                for path, why in list(self.refused.items())[:MOST_NAMED_PATHS]
            )
            more = (
                f"; and {len(self.refused) - MOST_NAMED_PATHS:,} more"
                if len(self.refused) > MOST_NAMED_PATHS
                else ""
            )
            raise Refused(
                f"refused {counted(len(self.refused), 'file')} of {self.remote}: {named}{more}; the"
                " others were stored"
            )


def pull(
    mirror: Mirror, store: Store, remote: Remote, selection: ProfileSelection, *, dry: bool = False
) -> Pulled:
    """Store the selected profiles that only a remote has; ``dry``: only count them.

    Raises RemoteFailed, OtherFormat, TooMuch, and Unwritable, Contended where the store cannot be
    written.
    """
    try:
        tip = mirror.fetch(remote)
        pulled = Pulled(remote.name, there=tip is not None, lost=mirror.lost(remote, tip))
        if tip is None:
            return pulled
        head = store.head()
        difference = mirror.difference(tip, head)
        removals = Removals.of(mirror, remote, difference, head)
        pulled.refused |= {**difference.strange, **removals.broken}
        wanted = {path: blob for path, blob in difference.there.items() if not removals.out(path)}
        chosen = {path: wanted[path] for path in selection.of_paths(wanted)}
        pulled.left = len(wanted) - len(chosen)
        if dry:
            pulled.came, pulled.went = len(chosen), sum(map(removals.out, difference.here))
            return pulled
        changed = _taken(mirror, store, remote, chosen, removals.unknown_here(), pulled.refused)
        pulled.came = sum(path in chosen for path in changed)
        pulled.went = len(changed) - pulled.came
        mirror.remember(remote, tip)
    except GitFailed as error:
        raise refused(store.path, error) or Damaged(
            f"git cannot read what {remote.name} sent ({error.reason}): nothing was pulled"
        ) from None
    return pulled


def _taken(
    mirror: Mirror,
    store: Store,
    remote: Remote,
    chosen: Mapping[str, str],
    removals: Mapping[str, bytes],
    refused: dict[str, str],
) -> list[str]:
    """Store those of some documents that are profiles at their places; the paths that changed."""
    if not chosen and not removals:
        return []

    def checked() -> Iterator[tuple[str, bytes]]:
        for path, document in mirror.documents(remote, chosen):
            try:
                verified(path, document)
            except Damaged as error:
                refused[path] = f"not a profile ({error.reason})"
            else:
                assert isinstance(document, bytes)
                yield path, document

    return store.unite(checked(), removals, f"Pull from {remote.name}")
