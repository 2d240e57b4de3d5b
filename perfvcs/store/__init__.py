"""The store: profiles keyed by commit, as blobs of a bare git repository. docs/store.md is the page
for users.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.git.bare import GitFailed
from perfvcs.git.command import identity
from perfvcs.git.stream import Import
from perfvcs.profile import Profile
from perfvcs.profile.validity import MAX_PROFILE
from perfvcs.store import layout, locks
from perfvcs.store.locks import explain, refused, says, unwritable
from perfvcs.store.removal import PROFILE_PATH, Damaged, Newer, counted, path_of, united, whole
from perfvcs.store.storecontents import (
    EMPTY_TREE,
    STORE_FORMAT,
    BlobChange,
    StoreContents,
    is_possible,
    is_reserved,
)
from perfvcs.system.lock import alone_in

if TYPE_CHECKING:
    from perfvcs.store.restoration import Problem, Restored, WholeState

__all__ = ["EMPTY_TREE", "STORE_FORMAT", "BlobChange", "Store"]

# what a commit of the store becomes, by paths: a blob, None for none
_Changes = Callable[[str, Import], dict[str, str | None]]


class Store(StoreContents):
    """The store at ``path``, conventionally ``.perf/store``.

    ``who``: "Name <mail>" of the one who writes; by default from the settings of the project around
    the store.
    """

    def __init__(self, path: Path, who: str | None = None) -> None:
        super().__init__(path)
        self._who = who

    @classmethod
    def create(cls, path: Path, who: str | None = None) -> Store:
        """The store at ``path``, made where there is none; a kill leaves none or a whole one."""
        store = cls(path, who)
        if store.head() is not None:
            return store
        import shutil

        prefix = f"{path.name}.new-"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with alone_in(path.parent):
                for left in path.parent.glob(f"{prefix}*"):
                    shutil.rmtree(left, ignore_errors=True)
                if store.head() is None:
                    new = cls(path.with_name(f"{prefix}{os.getpid()}"), store.who)
                    new._initialise()
                    new.path.rename(path)
        except OSError as error:
            raise unwritable(path, error) from None
        return store

    def _initialise(self) -> None:
        try:
            self._git.run(
                "-c",
                "init.defaultBranch=main",
                "init",
                "--quiet",
                "--bare",
                "--template=",
                str(self.path.absolute()),
            )
            layout.write_config(self.path)
            for name in locks.OURS:
                (self.path / name).touch()
            with contextlib.closing(Import(self._git)) as stream:
                stream.commit(
                    None,
                    self.who,
                    int(time.time()),
                    "Create the store",
                    {"format": stream.blob(STORE_FORMAT)},
                )
                stream.finish()
        except GitFailed as error:
            explain(self.path, error)

    @property
    def who(self) -> str:
        """The one who writes, as "Name <mail>"."""
        if self._who is None:
            self._who = identity(self.path.absolute().parent)
        return self._who

    def add(self, profiles: Iterable[Profile], message: str) -> list[str]:
        """Stores profiles in one commit, all or none; returns their paths in the order given. No
        profiles make no commit.

        Streams them: memory holds one profile and the paths. Skips profiles that are already
        stored. Raises Malformed, Unwritable, Damaged, Contended.
        """
        return self.replace(((None, profile) for profile in profiles), message)

    def replace(self, profiles: Iterable[tuple[str | None, Profile]], message: str) -> list[str]:
        """Put each profile in the place of the one at the path before it (None: of none); the new
        paths in the order given.

        The store's history keeps the old ones. All else is as with ``add``.
        """
        waiting = iter(profiles)
        first = next(waiting, None)
        if first is None:
            return []
        self.tip()
        paths: list[str] = []
        changes: dict[str, str | None] = {}
        with locks.shared(self.path), self._writing() as stream:
            for old, profile in chain([first], waiting):
                document = profile.encode()
                paths.append(path_of(profile, document))
                if old is not None:
                    changes.setdefault(old, None)
                changes[paths[-1]] = stream.blob(document)
            gone = {path for path, blob in changes.items() if blob is None}
            self._publish(
                stream,
                message,
                lambda tip, stream: counted(
                    self._git, stream, tip, changes, gone, self.who, message
                ),
            )
        return paths

    def remove(self, paths: Iterable[str], message: str) -> list[str]:
        """Take profiles out of the newest state in one commit; returns those that were there.

        The store's history keeps them.

        A removal is kept of each that is whole, so that it stays out; a damaged one may come back
        from another store.
        """
        unwanted: dict[str, str | None] = {
            path: None for path in paths if path != "format" and is_possible(path)
        }
        if not unwanted:
            return []
        tip = self.tip()
        named = [path for path in unwanted if PROFILE_PATH.fullmatch(path)]
        stored = zip(
            named, self._git.objects((f"{tip}:{path}" for path in named), MAX_PROFILE), strict=True
        )
        gone = {path for path, document in stored if whole(path, document)}
        with locks.shared(self.path), self._writing() as stream:
            return self._publish(
                stream,
                message,
                lambda tip, stream: counted(
                    self._git, stream, tip, unwanted, gone, self.who, message
                ),
            )

    def unite(
        self, documents: Iterable[tuple[str, bytes]], removals: Mapping[str, bytes], message: str
    ) -> list[str]:
        """Take what another store has, in one commit: documents by their paths, removals by the
        paths of their profiles.

        All of them were checked before. Profiles that were removed here, or by the later ones of
        the ``removals``, do not come back. Returns the paths that changed: profiles that came or
        went.
        """
        self.tip()
        with locks.shared(self.path), self._writing() as stream:
            coming = {path: stream.blob(document) for path, document in documents}
            return self._publish(
                stream,
                message,
                lambda tip, stream: united(self._git, stream, tip, coming, removals),
            )

    def _publish(self, stream: Import, message: str, changes: _Changes) -> list[str]:
        """Commits changes on top of the newest state, again where someone else was faster; returns
        the profiles that changed.
        """
        import random

        deadline = time.monotonic() + locks.WRITER_PATIENCE
        done = self._attempt(stream, message, changes)
        while done is None:
            if time.monotonic() > deadline:
                raise locks.contended(self.path)
            time.sleep(random.uniform(0.005, 0.05))
            with self._writing() as another:  # the blobs of the first attempt are in the store
                done = self._attempt(another, message, changes)
        return done

    def _attempt(self, stream: Import, message: str, changes: _Changes) -> list[str] | None:
        """The paths that changed; None when someone moved the branch meanwhile, or holds a lock."""
        with locks.committing(self.path):
            tip = self.tip()
            needed = changes(tip, stream)
            if needed:
                stream.commit(tip, self.who, int(time.time()), message, needed)
            try:
                commit = stream.finish()
            except GitFailed as error:
                if not says(
                    error, rf"not updating refs/heads/main|but expected|{locks.LOCK_EXISTS}"
                ):
                    raise
                locks.break_stale(self.path)
                return None
            self._whole = commit or tip  # as whole as the one below it
        return [path for path in needed if not is_reserved(path)]

    def fsck(self) -> list[Problem]:
        """All that is wrong: git's check of its objects, then every profile, format and place."""
        from perfvcs.store.restoration import problems

        return problems(self, self._git)

    def last_whole(self) -> WholeState | None:
        """The newest state that lacks nothing; None if there is none."""
        from perfvcs.store.corruption import corruption
        from perfvcs.store.restoration import last_whole

        try:
            with locks.still(self.path):
                lost = corruption(self.path, self._git).lost
            return last_whole(self._git, STORE_FORMAT, lost)
        except GitFailed:  # git does not take it for a repository
            return None

    def restore(self) -> Restored:
        """Go back to the last whole state, with what can be read of later ones on top.

        Raises Damaged, Newer, Unwritable.
        """
        from perfvcs.store.restoration import restore

        try:
            self.head()
        except Newer:
            raise
        except Damaged:
            pass
        try:
            return restore(self, self._git, STORE_FORMAT)
        except OSError as error:
            raise unwritable(self.path, error) from None
        except GitFailed as error:
            lost = (
                f"nothing in {self.path} can be restored ({error.reason}): move it away, and pull"
                " from a remote or a backup"
            )
            raise refused(self.path, error) or Damaged(lost) from None
        finally:
            self._whole = None

    def gc(self) -> None:
        """Pack the store and drop what killed writers left behind more than two weeks ago.

        Writers that run are waited for, and wait; readers go on. Removed profiles stay in the
        history.
        """
        self.tip()
        locks.pack(self.path, self._git)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Import]:
        """A stream into the store that is always ended; git's errors become ours."""
        try:
            with contextlib.closing(Import(self._git)) as stream:
                yield stream
        except GitFailed as error:
            explain(self.path, error)
