"""Push and pull for commands, and the difference between this store and its remote."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from perfvcs.errors import UsageError
from perfvcs.exchange.mirror import REFERENCE, Mirror
from perfvcs.exchange.storegap import ProfileSelection
from perfvcs.exchange.transfer import Pulled, Pushed, pull, push
from perfvcs.git.remote import NoRemote, Remote
from perfvcs.store.removal import PROFILE_PATH
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.repository import Repository

ANSWER_SECONDS = 20.0  # seconds in which a remote must say whether it has profiles


class RemoteDifference(msgspec.Struct, frozen=True):
    """How many profiles and removals a remote did not have, and how many profiles were not here,
    when it was seen last.
    """

    remote: str
    unpushed: int
    removals: int
    unpulled: int

    def line(self) -> str:
        """In a sentence; empty where both have the same."""
        ours = [counted(self.unpushed, "profile")] if self.unpushed else []
        ours += [counted(self.removals, "removal")] if self.removals else []
        parts = [f"not pushed: {' and '.join(ours)} (perf push)"] if ours else []
        parts += (
            [f"not pulled: {counted(self.unpulled, 'profile')} (perf pull)"]
            if self.unpulled
            else []
        )
        return f"{self.remote}: {', '.join(parts)}" if parts else ""


def push_to(repository: Repository, name: str | None = None, *, dry: bool = False) -> Pushed:
    """Push to a remote by its name or address, or to the usual one; raises NoRemote, and what
    ``push`` does.
    """
    remote = Remote.find(repository.project, name, push=True)
    with Mirror.opened(repository.home, repository.store) as mirror:
        return push(mirror, repository.store, remote, dry=dry)


def pull_from(
    repository: Repository,
    name: str | None = None,
    last: int | None = None,
    since: str | None = None,
    *,
    dry: bool = False,
) -> Pulled:
    """Pull from a remote by its name or address, or from the usual one; raises NoRemote,
    UsageError, and what ``pull`` does.
    """
    remote = Remote.find(repository.project, name)
    selection = ProfileSelection.of(repository.project, last, since)
    with Mirror.opened(repository.home, repository.store) as mirror:
        return pull(mirror, repository.store, remote, selection, dry=dry)


def pull_if_any(repository: Repository, last: int | None = None) -> Pulled | None:
    """Pull from the usual remote, only for the ``last`` N commits; None if there is no remote, or
    nothing there.

    Nobody is asked for a password. Raises what ``pull`` does.
    """
    try:
        remote = Remote.find(repository.project)
    except NoRemote:
        return None
    return pull_from(repository, last=last) if remote.tip(REFERENCE, ANSWER_SECONDS) else None


def squash(repository: Repository, name: str | None = None) -> str:
    """Give a remote's profiles a history of one commit, unless somebody pushes meanwhile; what came
    of it, in a sentence.

    Who has seen the earlier history goes on as before: an exchange compares what is there, not how
    it came there. Raises RemoteFailed.
    """
    remote = Remote.find(repository.project, name, push=True)
    with Mirror.opened(repository.home, repository.store) as mirror:
        tip = mirror.fetch(remote)
        if tip is None:
            return f"{remote.name} has no profiles yet"
        commit = mirror.squashed(
            tip, repository.store.who, "Begin the history anew, with the same profiles"
        )
        if not mirror.push(remote, commit, instead_of=tip):
            return f"somebody pushed to {remote.name} meanwhile: nothing was changed, try again"
        mirror.remember(remote, commit)
    return f"the history of {remote.name}'s profiles is one commit now"


def pack(repository: Repository) -> None:
    """Pack what is known of remotes."""
    if Mirror.exists(repository.home):
        with Mirror.opened(repository.home, repository.store) as mirror:
            mirror.gc()


def unpushed(repository: Repository) -> dict[str, str]:
    """The profiles that the usual remote was never seen to have, with their blobs by their paths;
    all where none was ever seen.
    """
    store, difference = repository.store, None
    if Mirror.exists(repository.home):
        with suppress(UsageError):
            difference = Mirror.seen(
                repository.home, store, Remote.find(repository.project), store.head()
            )
    if difference is None:
        return {
            entry.path: entry.new
            for entry in store.entries()
            if entry.new and PROFILE_PATH.fullmatch(entry.path)
        }
    return difference.here


def remote_difference(repository: Repository) -> RemoteDifference | None:
    """How the usual remote differed from this store when last seen; None if it was never seen.

    Does not contact it.
    """
    if not Mirror.exists(repository.home):
        return None
    with suppress(UsageError):  # no remote, or too many
        remote = Remote.find(repository.project, reached=False)
        if (
            difference := Mirror.seen(
                repository.home, repository.store, remote, repository.index.head
            )
        ) is not None:
            unpushed = sum(
                difference.removals.get(path, (None, None))[0] is None for path in difference.here
            )
            unpulled = sum(
                difference.removals.get(path, (None, None))[1] is None for path in difference.there
            )
            removals = sum(their is None for their, our in difference.removals.values() if our)
            return RemoteDifference(remote.name, unpushed, removals, unpulled)
    return None
