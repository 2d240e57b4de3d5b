"""``perf pull``: what a remote has and this store has not comes here, after every check that a foreign document has to pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from perfvcs.errors import PerfError
from perfvcs.exchange.mirror import Mirror
from perfvcs.exchange.push import lost_lines
from perfvcs.exchange.removals import Removals
from perfvcs.exchange.selection import ProfileSelection
from perfvcs.git.bare import GitFailed
from perfvcs.git.remote import Remote
from perfvcs.store import Store
from perfvcs.store.document import Damaged, verified
from perfvcs.store.failures import refused
from perfvcs.text.characters import shorten
from perfvcs.text.words import counted

MOST_NAMED_PATHS = 3  # refused paths in a message


class Refused(PerfError):
    """A remote has something that is not a profile at its place; everything else was taken."""

    exit_code = 12


class Pulled(msgspec.Struct):
    """What came of a pull: profiles that came, went and were left there, what was refused and why, and what the remote had lost."""

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
            return [*lost_lines(self.remote, self.lost), f"{self.remote} has no profiles yet: `perf push` sends yours"]
        lines = lost_lines(self.remote, self.lost)
        if self.came or not self.went:
            known = "" if self.came or self.left or self.refused else ": everything there is already here"
            lines.append(f"{'would pull' if dry else 'pulled'} {counted(self.came, 'profile')} from {self.remote}{known}")
        if self.went:
            lines.append(f"{'would remove' if dry else 'removed'} {counted(self.went, 'profile')} that others removed")
        if self.left:
            lines.append(f"{'would leave' if dry else 'left'} {counted(self.left, 'profile')} there, as asked")
        return lines

    def raise_refused(self) -> None:
        """Raise Refused where anything was."""
        if self.refused:
            named = "; ".join(
                f"{shorten(path, 100)} is {shorten(why, 150)}" for path, why in list(self.refused.items())[:MOST_NAMED_PATHS]
            )
            more = f"; and {len(self.refused) - MOST_NAMED_PATHS:,} more" if len(self.refused) > MOST_NAMED_PATHS else ""
            raise Refused(f"refused {counted(len(self.refused), 'file')} of {self.remote}: {named}{more}; the others were stored")


def pull(mirror: Mirror, store: Store, remote: Remote, selection: ProfileSelection, *, dry: bool = False) -> Pulled:
    """Store the selected profiles that only a remote has; ``dry``: only count them.

    Raises RemoteFailed, OtherFormat, TooMuch, and Unwritable, Contended where the store cannot be written.
    """
    try:
        tip = mirror.fetch(remote)
        pulled = Pulled(remote.name, there=tip is not None, lost=mirror.lost(remote, tip))
        if tip is None:
            return pulled
        head = store.head()
        found = mirror.difference(tip, head)
        removals = Removals.of(mirror, remote, found, head)
        pulled.refused |= {**found.strange, **removals.broken}
        wanted = {path: blob for path, blob in found.there.items() if not removals.out(path)}
        chosen = {path: wanted[path] for path in selection.of_paths(wanted)}
        pulled.left = len(wanted) - len(chosen)
        if dry:
            pulled.came, pulled.went = len(chosen), sum(map(removals.out, found.here))
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
