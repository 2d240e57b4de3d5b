"""The store: profiles keyed by commit, as blobs of a bare git repository. docs/store.md is the page
for users.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.errors import UsageError
from perfvcs.git import lineage
from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.command import identity
from perfvcs.git.stream import STORE_BRANCH, Import, blob_id
from perfvcs.profile import Profile
from perfvcs.profile.validity import MAX_PROFILE
from perfvcs.store import layout, locks, removal
from perfvcs.store.locks import explain, refused, says, unwritable
from perfvcs.store.removal import (
    PROFILE_PATH,
    Damaged,
    Newer,
    Removal,
    counted,
    damaged,
    path_of,
    united,
    verified,
    whole,
)
from perfvcs.system.lock import alone_in

if TYPE_CHECKING:
    from perfvcs.store.restoration import Problem, Restored, WholeState

STORE_FORMAT = b"perfvcs-store/1\n"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MAX_PATH = 4096  # characters, as PATH_MAX of Linux
# what a commit of the store becomes, by paths: a blob, None for none
_Changes = Callable[[str, Import], dict[str, str | None]]


class BlobChange(NamedTuple):
    """A path with its blob before and after; None where there is none."""

    path: str
    old: str | None
    new: str | None


class Store:
    """The store at ``path``, conventionally ``.perf/store``; opening it reads nothing.

    ``who``: "Name <mail>" of the one who writes; by default from the settings of the project around
    the store.
    """

    def __init__(self, path: Path, who: str | None = None) -> None:
        self.path = path
        self._git = Bare(path.absolute())
        self._who = who
        self._whole: str | None = None  # the commit that git found, with the mark of our format

    @classmethod
    def create(cls, path: Path, who: str | None = None) -> Store:
        """The store at ``path``, made where there is none; a kill at any moment leaves none or a
        whole one.
        """
        store = cls(path, who)
        if store.head() is not None:
            return store
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

    def head(self) -> str | None:
        """The store's newest commit; None if there is no store.

        Raises Damaged, also for a store of a newer version.
        """
        try:
            if not self.path.is_dir() or not any(self.path.iterdir()):
                return None
        except OSError as error:
            raise Damaged(
                f"cannot read {self.path} ({error.strerror or error}): make it readable for you"
            ) from None
        if self._whole is not None and lineage.loose(self.path, STORE_BRANCH) == self._whole:
            return self._whole
        try:
            commit, mark = (
                self._git.run("rev-parse", f"{STORE_BRANCH}^{{commit}}", f"{STORE_BRANCH}:format")
                .decode()
                .split()
            )
        except GitFailed as error:
            raise Damaged(
                f"{self.path} is not a complete store ({error.reason}): `perf fsck --restore` goes"
                " back to the last state that is"
            ) from None
        if mark != blob_id(STORE_FORMAT):
            mark_content = next(self._git.objects([mark], 100))
            if isinstance(mark_content, bytes) and re.fullmatch(
                rb"perfvcs-store/\d+\n", mark_content
            ):
                raise Newer(
                    f"{self.path} is of format {mark_content.decode().strip()}: update perfvcs"
                )
            raise Damaged(f"{self.path} has a damaged `format` file: run `perf fsck --restore`")
        self._whole = commit
        return commit

    def tip(self) -> str:
        """The store's newest commit; raises UsageError if there is no store, and Damaged."""
        tip = self.head()
        if tip is None:
            raise UsageError(f"there is no store at {self.path}: run `perf init`")
        return tip

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
            path: None for path in paths if path != "format" and _possible(path)
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

    def removals(self, *, at: str | None = None) -> Iterator[tuple[str, Removal | str]]:
        """All removals by their places in the store; of one that is not whole the reason."""
        tip = at or self.tip()
        places = {
            path: blob for _, blob, path in self._git.listing(tip, f"{removal.REMOVED_FOLDER}/")
        }
        for place, document in zip(
            places, self._git.objects(places.values(), removal.LARGEST_REMOVAL), strict=True
        ):
            yield (
                place,
                document.reason if isinstance(document, Fault) else removal.at(place, document),
            )

    def _publish(self, stream: Import, message: str, changes: _Changes) -> list[str]:
        """Commits changes on top of the newest state, again where someone else was faster; returns
        the profiles that changed.
        """
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
        return [path for path in needed if not _reserved(path)]

    def read(self, path: str, *, at: str | None = None) -> Profile:
        """One profile of the newest state, or of the store's commit ``at``; raises Damaged, and
        UsageError where there is none.
        """
        return verified(path, self._raw(path, at))

    def raw(self, path: str) -> bytes:
        """The unchanged document at ``path``; raises Damaged if it cannot be read, and UsageError
        if there is none.
        """
        document = self._raw(path)
        if isinstance(document, Fault):
            raise damaged(path, document.reason)
        return document

    def _raw(self, path: str, at: str | None = None) -> bytes | Fault:
        blob = (
            next((entry.new for entry in self.entries(path, at=at) if entry.path == path), None)
            if _possible(path)
            else None
        )
        if blob is None:
            raise UsageError(
                f"there is no profile {path!a:.250} in the store: `perf log` shows what there is"
            )
        return next(self._git.objects([blob], MAX_PROFILE))

    def read_many(
        self, paths: Iterable[str], *, at: str | None = None
    ) -> Iterator[tuple[str, Profile]]:
        """Profiles in order of ``paths`` through one git process, one in memory at a time.

        ``at``: as a commit of the store has them, not the newest. Raises Damaged at the first that
        is not whole, UsageError at the first that is not there.
        """
        wanted = list(paths)
        if wanted:
            tip = at or self.tip()
            for path, document in zip(
                wanted,
                self._git.objects((f"{tip}:{path}" for path in wanted), MAX_PROFILE),
                strict=True,
            ):
                # read() knows whether nothing is there, or something that cannot be read
                yield (
                    path,
                    (
                        self.read(path, at=tip)
                        if isinstance(document, Fault)
                        else verified(path, document)
                    ),
                )

    def documents(self, blobs: Mapping[str, str]) -> Iterator[tuple[str, bytes | Fault]]:
        """Documents by path and blob id, unverified; what cannot be read comes as a Fault and does
        not stop the others.
        """
        yield from zip(blobs, self._git.objects(blobs.values(), MAX_PROFILE), strict=True)

    def paths(self, commit: str | None = None, *, at: str | None = None) -> list[str]:
        """The paths of all profiles, or of those of one commit of the project; ``at``: as they were
        at a commit of the store.
        """
        within = [f"{commit[:2]}/{commit}/"] if commit else []
        return [
            moved.path
            for moved in self.entries(*within, at=at)
            if PROFILE_PATH.fullmatch(moved.path)
        ]

    def entries(self, *within: str, at: str | None = None) -> Iterator[BlobChange]:
        """Everything that is in the store now, or at one of its commits, foreign files too, as if
        it had just come.
        """
        tip = at or self.head()
        if tip is not None:
            try:
                yield from (
                    BlobChange(path, None, blob)
                    for _, blob, path in self._git.listing(tip, *within)
                    if not _reserved(path)
                )
            except GitFailed as error:
                explain(self.path, error)

    def changes(self, old: str | None, new: str) -> Iterator[BlobChange]:
        """What differs between two commits of the store, without reading it; all that is in ``new``
        when ``old`` is None.

        Raises Damaged where a commit (``old`` after a gc, say) is not there.
        """
        fields = self._git.fields(
            "diff-tree", "-r", "-z", "--no-renames", old or EMPTY_TREE, new, "--"
        )
        try:
            for properties in fields:
                _, _, before, after, _ = properties.decode().split(" ")
                path = os.fsdecode(next(fields))
                if not _reserved(path):
                    yield BlobChange(
                        path, *(None if set(blob) == {"0"} else blob for blob in (before, after))
                    )
        except GitFailed as error:
            explain(self.path, error)

    def fsck(self) -> list[Problem]:
        """All that is wrong: git's own check of its objects, then every profile against its format
        and its place.
        """
        from perfvcs.store.restoration import problems

        return problems(self, self._git)

    def last_whole(self) -> WholeState | None:
        """The newest state that lacks nothing; None if there is none."""
        from perfvcs.store.restoration import last_whole

        try:
            return last_whole(self._git, STORE_FORMAT)
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

    def gc(self, *, only_when_crowded: bool = False) -> bool:
        """Pack the store and drop what killed writers left behind more than two weeks ago; returns
        whether it was done.

        Writers that run are waited for, and wait; readers go on. Removed profiles stay in the
        history.
        """
        self.tip()
        if only_when_crowded and not locks.crowded(self.path):
            return False
        locks.pack(self.path, self._git)
        return True

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Import]:
        """A stream into the store that is always ended; git's errors become ours."""
        try:
            with contextlib.closing(Import(self._git)) as stream:
                yield stream
        except GitFailed as error:
            explain(self.path, error)


def _reserved(path: str) -> bool:
    """Whether a path is the store's own, not a profile's."""
    return path == "format" or path.startswith(f"{removal.REMOVED_FOLDER}/")


def _possible(path: str) -> bool:
    """Whether git takes this as a path in a tree; any other is not in ours."""
    return not {"", ".", ".."} & set(path.split("/")) and "\0" not in path and len(path) <= MAX_PATH
