"""What is in a store, newest or at one of its commits: profiles, removals, and what changed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from perfvcs.errors import UsageError
from perfvcs.git import lineage
from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.stream import STORE_BRANCH, blob_id
from perfvcs.profile import Profile
from perfvcs.profile.validity import MAX_PROFILE
from perfvcs.store import removal
from perfvcs.store.locks import explain
from perfvcs.store.removal import PROFILE_PATH, Damaged, Newer, Removal, damaged, verified

STORE_FORMAT = b"perfvcs-store/1\n"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MAX_PATH = 4096  # characters, as PATH_MAX of Linux


class BlobChange(NamedTuple):
    """A path with its blob before and after; None where there is none."""

    path: str
    old: str | None
    new: str | None


class StoreContents:
    """Reads the store at ``path``; opening it reads nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._git = Bare(path.absolute())
        self._whole: str | None = None  # the commit that git found, with the mark of our format

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

    def removals(self) -> Iterator[tuple[str, Removal | str]]:
        """All removals by their places in the store; of one that is not whole the reason."""
        listed = self._git.listing(self.tip(), f"{removal.REMOVED_FOLDER}/")
        places = {path: blob for _, blob, path in listed}
        documents = self._git.objects(places.values(), removal.LARGEST_REMOVAL)
        for place, document in zip(places, documents, strict=True):
            if isinstance(document, Fault):
                yield place, document.reason
            else:
                yield place, removal.at(place, document)

    def read(self, path: str, *, at: str | None = None) -> Profile:
        """One profile of the newest state, or of the store's commit ``at``; raises Damaged, and
        UsageError where there is none.
        """
        return verified(path, self._raw(path, at))

    def raw(self, path: str) -> bytes:
        """The unchanged document at ``path``; raises Damaged, and UsageError if there is none."""
        document = self._raw(path)
        if isinstance(document, Fault):
            raise damaged(path, document.reason)
        return document

    def _raw(self, path: str, at: str | None = None) -> bytes | Fault:
        blob = (
            next((entry.new for entry in self.entries(path, at=at) if entry.path == path), None)
            if is_possible(path)
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
        """Everything in the store now, or at one of its commits, as if it had just come."""
        tip = at or self.head()
        if tip is not None:
            try:
                yield from (
                    BlobChange(path, None, blob)
                    for _, blob, path in self._git.listing(tip, *within)
                    if not is_reserved(path)
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
                if not is_reserved(path):
                    yield BlobChange(
                        path, *(None if set(blob) == {"0"} else blob for blob in (before, after))
                    )
        except GitFailed as error:
            explain(self.path, error)


def is_reserved(path: str) -> bool:
    """Whether a path is the store's own, not a profile's."""
    return path == "format" or path.startswith(f"{removal.REMOVED_FOLDER}/")


def is_possible(path: str) -> bool:
    """Whether git takes this as a path in a tree; any other is not in ours."""
    return not {"", ".", ".."} & set(path.split("/")) and "\0" not in path and len(path) <= MAX_PATH
