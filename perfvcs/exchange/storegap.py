"""What one store has and another one has not: commits, profiles, and whole folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from itertools import islice

import msgspec

from perfvcs.errors import UsageError
from perfvcs.git.bare import Bare
from perfvcs.git.project import Project
from perfvcs.store import EMPTY_TREE
from perfvcs.store.removal import PROFILE_PATH, profile_of

PLAIN_MODE = "100644"
MODE_NAMES = {"120000": "a symbolic link", "160000": "a submodule", "100755": "an executable file"}
TREE_MODE = "040000"  # of a folder in a tree of git
# git fast-import searches one of 4,451 lists of names for each file: below, that takes no time
WORTHWHILE_FILES = 10_000
FEW_FOLDERS = 16  # of the store's 256, that are listed one by one


class ProfileSelection(msgspec.Struct, frozen=True):
    """Profiles of some commits: the ``last`` N ancestors of HEAD that have any, those committed
    ``since`` a moment, or both.
    """

    project: Project
    last: int | None = None
    since: str | None = None

    @classmethod
    def of(cls, project: Project, last: int | None, since: str | None) -> ProfileSelection:
        """The selection that options name; raises UsageError."""
        if since is not None:
            try:
                since = datetime.fromisoformat(since).isoformat()
            except ValueError:
                raise UsageError(
                    f"{since!a:.40} is not a date: write it like 2026-11-20, or 2026-11-20T09:30"
                ) from None
        return cls(project, last, since)

    def of_paths(self, paths: Iterable[str]) -> set[str]:
        """Those of some paths of profiles that are chosen."""
        chosen = set(paths)
        if self.last is None and self.since is None:
            return chosen
        commits = {path.split("/")[1] for path in chosen}
        if self.since is not None:
            listed = self.project.git("rev-list", "--all", "HEAD", f"--since={self.since}")
            commits.intersection_update(listed.split())
        if self.last is not None:
            commits = set(
                islice(
                    (commit for commit in self.project.walk("HEAD") if commit in commits), self.last
                )
            )
        return {path for path in chosen if path.split("/")[1] in commits}


class StoreDifference(msgspec.Struct):
    """Profiles that only one side has, with their blobs, and the removals that differ: blob there,
    blob here, by the profiles' paths.

    ``strange`` are the paths that a remote has and that no profile is at, with what is there.
    """

    here: dict[str, str] = msgspec.field(default_factory=dict)
    there: dict[str, str] = msgspec.field(default_factory=dict)
    removals: dict[str, tuple[str | None, str | None]] = msgspec.field(default_factory=dict)
    strange: dict[str, str] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, fields: Iterable[bytes]) -> StoreDifference:
        """What ``git diff-tree`` prints of a remote's tree and ours."""
        difference = cls()
        waiting = iter(fields)
        for properties in waiting:
            old_mode, new_mode, old, new, _ = properties.decode().removeprefix(":").split(" ")
            difference._sort(os.fsdecode(next(waiting)), (old_mode, old), (new_mode, new))
        return difference

    def _sort(self, path: str, there: tuple[str, str], here: tuple[str, str]) -> None:
        their, our = (blob if mode == PLAIN_MODE else None for mode, blob in (there, here))
        profile = profile_of(path)
        if their is None and there[1].strip("0"):
            self.strange[path] = MODE_NAMES.get(there[0], "of an unknown kind")
        elif profile is not None:
            self.removals[profile] = (their, our)
            return
        elif PROFILE_PATH.fullmatch(path) is None:
            if their is not None and path != "format":
                self.strange[path] = "not at the path of a profile"
            return
        elif their and our:
            self.strange[path] = "not the profile that is stored here under this path"
        elif their:
            self.there[path] = their
        if our and not their and PROFILE_PATH.fullmatch(path):
            self.here[path] = our


def whole(
    git: Bare, tip: str | None, head: str, changes: Mapping[str, str | bytes | None]
) -> dict[str, str]:
    """The ids of trees of ``head``, by path, that say the same as ``changes`` say file by file, in
    folders that ``tip`` does not have.

    None of them is within another one. Raises GitFailed.
    """
    tree_ids: dict[str, str] = {}
    torn: set[str] = set()
    others = dict(changes)
    with closing(
        git.fields("diff-tree", "-r", "-t", "-z", "--no-renames", tip or EMPTY_TREE, head, "--")
    ) as fields:
        for properties in fields:
            old_mode, mode, _, new, _ = properties.decode().removeprefix(":").split(" ")
            path = os.fsdecode(next(fields))
            if mode == TREE_MODE:
                if not old_mode.strip("0"):
                    tree_ids[path] = new
            elif mode == PLAIN_MODE and others.get(path) == new:
                del others[path]
            else:
                torn.update(above(path))
    for path in others:  # what is not in head, or differs there
        torn.update(above(path))
    entire = {path: tree for path, tree in tree_ids.items() if path not in torn}
    return {path: tree for path, tree in entire.items() if entire.keys().isdisjoint(above(path))}


def above(path: str) -> Iterator[str]:
    """The folders that a path is in, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def lists_more(git: Bare, tip: str, last: str | None, most: int) -> bool:
    """Whether a commit lists more than ``most`` files in the folders that the ``last`` one does not
    have: of equal folders within folders, a few trees can list any number.
    """
    count = 0
    for tree in _new_trees(git, tip, last):
        words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree)
        with closing(git.fields(*words)) as listed:
            for _ in listed:
                count += 1
                if count > most:
                    return True
    return False


def _new_trees(git: Bare, tip: str, last: str | None) -> list[str]:
    """The folders at the top of a commit that the ``last`` one does not have; the whole of it where
    these are many.
    """
    if last is None:
        return [tip]
    before = set(_folders(git, last))
    new = list(islice((tree for tree in _folders(git, tip) if tree not in before), FEW_FOLDERS + 1))
    return new if len(new) <= FEW_FOLDERS else [tip]


def _folders(git: Bare, commit: str) -> Iterator[str]:
    """The trees at the top of a commit."""
    with closing(git.fields("ls-tree", "-z", "-d", "--full-tree", commit)) as listed:
        for entry in listed:
            yield entry.split()[2].decode()
