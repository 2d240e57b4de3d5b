"""The way back for a store that has lost objects: to its last whole state, with what later ones
still have.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.git.bare import Bare, GitFailed
from perfvcs.git.stream import STORE_BRANCH, Import, blob_id
from perfvcs.profile.decoding import decode
from perfvcs.profile.validity import MAX_PROFILE, Malformed
from perfvcs.store import locks, removal
from perfvcs.store.corruption import corruption, listed, set_aside
from perfvcs.store.removal import PROFILE_PATH, Damaged, path_of, united, verified
from perfvcs.system import disk

if TYPE_CHECKING:
    from perfvcs.store import Store

# what git says of objects that are corrupt, and then called lost
ABOUT_CORRUPTION = re.compile(
    r"inflate: |unable to (unpack|parse)|corrupt|missing (blob|tree|commit)|checksum mismatch"
    r"|CRC mismatch|(cannot|failed to) (unpack|read)|broken link|^ +to |hash mismatch|garbage at"
)
ID_CHARACTERS, MOST_NAMED = 10, 5  # of objects that are named
DOCUMENTS_PER_READ = 5000  # documents that are read through one git process
KEPT_AS = "DAMAGED_HEAD"  # of the damaged state; like ORIG_HEAD no branch, which git could not pack
MADE_AS = "refs/restored/tip"
# ends of histories that are looked at, newest first: writers that were overtaken leave some
MOST_ENDS = 20


class Problem(NamedTuple):
    """Something that is wrong; ``path`` is empty when it concerns the store as a whole."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def problems(store: Store, git: Bare) -> list[Problem]:
    """All that is wrong: git's check of its objects, then every profile, format and place."""
    try:
        tip = store.tip()
    except Damaged as error:
        return [Problem("", str(error))]
    with locks.still(store.path):
        lost = corruption(store.path, git).lost
        said = _of_objects(git, tip)
    faults = [
        Problem("", f"git fsck: {line}")
        for line in said.splitlines()
        if line.strip() and not (lost and ABOUT_CORRUPTION.search(line))
    ]
    if lost:
        faults.append(Problem("", f"corrupt and lost: {_named(lost)}"))
    entries = store.entries()
    try:
        while batch := list(islice(entries, DOCUMENTS_PER_READ)):
            for path, document in store.documents(
                {entry.path: entry.new for entry in batch if entry.new}
            ):
                try:
                    verified(path, document)
                except Damaged as error:
                    faults.append(Problem(path, error.reason))
        faults += [
            Problem(place, reason) for place, reason in store.removals() if isinstance(reason, str)
        ]
    except Damaged:
        faults += [
            Problem(folder, "its profiles cannot be listed: a folder of the store is lost")
            for folder in _unlisted(git, tip)
        ]
    return faults


def _named(lost: frozenset[str]) -> str:
    """Objects by the beginnings of their ids."""
    names = ", ".join(name[:ID_CHARACTERS] for name in sorted(lost)[:MOST_NAMED])
    more = f" and {len(lost) - MOST_NAMED:,} more" if len(lost) > MOST_NAMED else ""
    what = "object" if len(lost) == 1 else "objects"
    return f"the {what} {names}{more}"


def _unlisted(git: Bare, tree: str, above: str = "") -> Iterator[str]:
    """The folders of a tree whose entries cannot be read; the tree itself is ``all``."""
    try:
        entries = git.run("ls-tree", "-d", "--name-only", "-z", tree).decode().split("\0")
    except GitFailed:
        yield above or "all"
        return
    for name in filter(None, entries):
        folder = f"{above}/{name}" if above else name
        yield from _unlisted(git, f"{tree}{'/' if above else ':'}{name}", folder)


def _of_objects(git: Bare, tip: str) -> str:
    """What git says is wrong with the objects up to ``tip``, while nobody packs them.

    It would take one that moves for one that is missing, and of the branch itself one that has come
    since it began.
    """
    try:
        git.run("fsck", "--full", "--strict", "--no-dangling", "--no-progress", tip)
    except GitFailed as error:
        return str(error)
    return ""


class WholeState(NamedTuple):
    """A commit of the store that lacks nothing, back to the first; ``when`` is in seconds since
    1970, ``objects`` their ids.
    """

    commit: str
    when: int
    objects: frozenset[str]


class Restored(NamedTuple):
    """What came of it: the state that was gone back to (None: to none), and the later profiles that
    were kept and lost.

    ``changed``: whether anything was missing.
    """

    state: WholeState | None
    kept: int = 0
    lost: tuple[str, ...] = ()
    changed: bool = True


class _StoreCommit(NamedTuple):
    parent: str
    when: int


def last_whole(git: Bare, mark: bytes, lost: frozenset[str] = frozenset()) -> WholeState | None:
    """The present state of a store if it is whole, else the newest one that is; ``mark`` is the
    content of its file `format`, and ``lost`` are objects that are corrupt.
    """
    commits = _commits(git, lost)
    tip = _tip(git)
    if tip in commits and (objects := _whole(git, mark, tip, lost)):
        return WholeState(tip, commits[tip].when, objects)
    ends = commits.keys() - {commit.parent for commit in commits.values()}
    newest = sorted(ends, key=lambda end: commits[end].when, reverse=True)[:MOST_ENDS]
    states = [state for end in newest if (state := _newest_whole(git, mark, commits, end, lost))]
    return max(states, key=lambda state: (state.when, len(state.objects)), default=None)


def _commits(git: Bare, lost: frozenset[str]) -> dict[str, _StoreCommit]:
    """All commits that can be read, with first parents, whether or not referred to."""
    ids = [name for kind, name in listed(git, lost) if kind == "commit"]
    asked = "".join(f"{commit}\n" for commit in ids).encode()
    contents = git.run("cat-file", "--batch", data=asked)  # `git log` would read the branch, too
    commits, start = {}, 0
    for commit in ids:
        begin = contents.index(b"\n", start) + 1
        header = contents[start:begin]
        start = begin + int(header.split()[2]) + 1
        headers = contents[begin:start].partition(b"\n\n")[0].decode("utf-8", "replace")
        parents = re.findall(r"^parent (\w+)$", headers, re.MULTILINE)
        when = re.search(r"^committer .* (\d+) [+-]\d+$", headers, re.MULTILINE)
        parent = parents[0] if parents else ""
        commits[commit] = _StoreCommit(parent, int(when[1]) if when else 0)
    return commits


def _newest_whole(
    git: Bare, mark: bytes, commits: Mapping[str, _StoreCommit], end: str, lost: frozenset[str]
) -> WholeState | None:
    """The newest whole commit of a history, by halving: ancestors of a whole one are whole."""
    line = []
    while end in commits:
        line.append(end)
        end = commits[end].parent
    newest, first, beyond = None, 0, len(line)
    while first < beyond:
        middle = (first + beyond) // 2
        objects = _whole(git, mark, line[middle], lost)
        if objects is None:
            first = middle + 1
        else:
            newest, beyond = WholeState(line[middle], commits[line[middle]].when, objects), middle
    return newest


def _whole(git: Bare, mark: bytes, commit: str, lost: frozenset[str]) -> frozenset[str] | None:
    """The objects of a commit and its ancestors; None where one is missing, empty or ``lost``, or
    it is not a store of this format.
    """
    try:
        if git.run("rev-parse", f"{commit}:format").decode().strip() != blob_id(mark):
            return None
        names = git.run("rev-list", "--objects", "--no-object-names", commit)
        if not lost.isdisjoint(names.decode().split()):
            return None
        there = git.run("cat-file", "--batch-check=%(objectname)", data=names)
    except GitFailed:
        return None
    return None if b" missing\n" in there else frozenset(there.decode().split())


def restore(store: Store, git: Bare, mark: bytes) -> Restored:
    """Sets the store's branch to its last whole state, with every profile and removal on top that
    can still be read.

    Keeps what it was as ``DAMAGED_HEAD``; a whole state stays as it is. A kill at any moment leaves
    the damaged state or the new one. What is corrupt is set aside. Raises GitFailed, Unwritable.
    """
    with locks.repairing(store.path):
        before = _paths(git, STORE_BRANCH)
        set_aside(corruption(store.path, git), git)
        state = last_whole(git, mark)
        if state and state.commit == _tip(git):
            return Restored(state, changed=False)
        before |= _paths(git, STORE_BRANCH)
        profiles, removals = _readable(git, state.objects if state else frozenset())
        restored = _joined(git, store.who, mark, state, profiles, removals)
        if tip := _tip(git):
            disk.write(store.path / KEPT_AS, f"{tip}\n".encode())
        else:  # git does not replace a reference that it cannot read
            (store.path / STORE_BRANCH).unlink(missing_ok=True)
        git.run("update-ref", STORE_BRANCH, restored)
        git.run("update-ref", "-d", MADE_AS)
        after = _paths(git, restored)
    whole = _paths(git, state.commit) if state else set()
    return Restored(state, len(after - whole), tuple(sorted(before - after)))


def _tip(git: Bare) -> str:
    """What the branch names, whether or not that is there; empty where it names nothing."""
    try:
        return git.run("rev-parse", "--verify", "--quiet", STORE_BRANCH).decode().strip()
    except GitFailed:
        return ""


def _paths(git: Bare, commit: str) -> set[str]:
    """The paths of all profiles at a commit, as far as they can be listed."""
    paths: set[str] = set()
    with suppress(GitFailed):
        paths.update(entry.path for entry in git.listing(commit))
    return {path for path in paths if PROFILE_PATH.fullmatch(path)}


def _joined(
    git: Bare,
    who: str,
    mark: bytes,
    state: WholeState | None,
    profiles: Mapping[str, str],
    removals: Mapping[str, bytes],
) -> str:
    """A commit with these on top of a state, or of nothing."""
    with suppress(GitFailed):
        git.run("update-ref", "-d", MADE_AS)
    now = int(time.time())
    with closing(Import(git, MADE_AS)) as stream:
        if state is None:
            stream.commit(None, who, now, "Create the store", {"format": stream.blob(mark)})
        base = stream.finish() or (state.commit if state else "")
    with closing(Import(git, MADE_AS)) as stream:
        changes = united(git, stream, base, profiles, removals)
        if changes:
            stream.commit(base, who, now, "Restore what can be read", changes)
        return stream.finish() or base


def _readable(git: Bare, apart: frozenset[str]) -> tuple[dict[str, str], dict[str, bytes]]:
    """The blobs of profiles by their paths, and the removals by those of their profiles, that are
    not among some objects.
    """
    blobs = [name for kind, name in listed(git) if kind == "blob" and name not in apart]
    profiles: dict[str, str] = {}
    removals: dict[str, bytes] = {}
    for blob, document in zip(blobs, git.objects(blobs, MAX_PROFILE), strict=True):
        if not isinstance(document, bytes) or blob_id(document) != blob:
            continue
        removed = removal.of(document)
        if removed is not None:
            removals[removed.profile] = removal.later(
                removals.get(removed.profile, document), document, removed.profile
            )
            continue
        with suppress(Malformed):
            profiles[path_of(decode(document), document)] = blob
    return profiles, removals
