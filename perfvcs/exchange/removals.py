"""The removals of both sides of an exchange, and which of two holds."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from perfvcs.exchange.difference import StoreDifference
from perfvcs.exchange.mirror import Mirror
from perfvcs.git.remote import Remote
from perfvcs.store.removal import LARGEST_REMOVAL, REMOVED_FOLDER, Removal, decode, later, place_of, profile_of


class Removals(msgspec.Struct):
    """Documents by the paths of their profiles: those of the remote that differ, and those of ours that matter.

    ``broken`` are the paths of the remote's that are none, with the reasons.
    """

    theirs: dict[str, bytes] = msgspec.field(default_factory=dict)
    ours: dict[str, bytes] = msgspec.field(default_factory=dict)
    broken: dict[str, str] = msgspec.field(default_factory=dict)

    @classmethod
    def of(cls, mirror: Mirror, remote: Remote, difference: StoreDifference, head: str | None) -> Removals:
        """What both sides have removed of the profiles in which they differ. Raises RemoteFailed."""
        found = cls()
        wanted = {path: there for path, (there, _) in difference.removals.items() if there}
        for path, document in mirror.documents(remote, wanted):
            read = decode(document, path) if isinstance(document, bytes) else document.reason
            if isinstance(read, Removal) and isinstance(document, bytes):
                found.theirs[path] = document
            else:
                found.broken[place_of(path)] = str(read)
        if head is not None and (difference.there or difference.removals):
            listed = {profile_of(entry.path): entry.blob for entry in mirror.reading.listing(head, f"{REMOVED_FOLDER}/")}
            blobs = {path: blob for path, blob in listed.items() if path in difference.there or path in difference.removals}
            for path, document in zip(blobs, mirror.reading.objects(blobs.values(), LARGEST_REMOVAL), strict=True):
                if path is not None and isinstance(document, bytes) and isinstance(decode(document, path), Removal):
                    found.ours[path] = document
        return found

    def holds(self, path: str) -> bytes | None:
        """The removal that holds for a profile; None where neither side has one."""
        sides = [side[path] for side in (self.ours, self.theirs) if path in side]
        return later(sides[0], sides[-1], path) if sides else None

    def out(self, path: str) -> bool:
        """Whether a profile was removed, on one side or the other."""
        document = self.holds(path)
        found = decode(document, path) if document else None
        return isinstance(found, Removal) and found.out

    def unknown_there(self) -> Iterator[tuple[str, bytes]]:
        """Removals in force that the remote lacks."""
        for path in self.ours:
            if (document := self.holds(path)) is not None and document != self.theirs.get(path):
                yield path, document

    def unknown_here(self) -> dict[str, bytes]:
        """Removals in force that are missing here."""
        found = {path: self.holds(path) for path in self.theirs}
        return {path: document for path, document in found.items() if document is not None and document != self.ours.get(path)}
