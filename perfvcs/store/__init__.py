"""The store: profiles keyed by commit, as blobs of a bare git repository. docs/store.md is the page for users."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, NoReturn

from perfvcs.descriptors import plain
from perfvcs.errors import NO_SPACE, PerfError, UsageError, disk_is_full
from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.identity import identity
from perfvcs.git.stream import BRANCH, Import, blob_id
from perfvcs.lock import alone_in
from perfvcs.profile import MAX_BYTES, Profile
from perfvcs.store import layout, removal
from perfvcs.store.changes import counted, united
from perfvcs.store.document import PROFILE_PATH, Damaged, damaged, path_of, verified, whole
from perfvcs.store.removal import Removal

FORMAT = b"perfvcs-store/1\n"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
MAX_PATH = 4096
BATCH = 5000  # documents that fsck reads through one git process
PATIENCE = 120.0  # seconds that a writer keeps trying against those who do not take our lock, such as `git push` into the store
OUR_LOCKS = "perfvcs-write.lock", "perfvcs-gc.lock"
STALE_LOCK = 10.0  # seconds; git holds a branch's lock for milliseconds, so an older one was left by a killed process
STALE_FILE = 3600.0  # seconds after which a half-written pack no longer has a writer
CROWDED_OBJECTS, CROWDED_PACKS = 6700, 50  # from here gc is worth its time, as in git itself
UNWRITTEN = "(failed|unable|cannot|could not|couldn't) (to )?(write|create|update|append|close)"
LOCKED = r"\.lock': File exists"  # in what git says
CAUSES = (  # what git says -> what it was
    ("No space left on device|Out of diskspace", errno.ENOSPC),
    ("Disk quota exceeded", errno.EDQUOT),
    (f"File too large|died of signal {signal.SIGXFSZ:d}", errno.EFBIG),
    ("Read-only file system", errno.EROFS),
    ("permission denied|insufficient permission", errno.EACCES),
)


class Unwritable(PerfError):
    """The store cannot be written: read-only, or the disk is full. What was there is kept."""


class Contended(PerfError):
    """Others kept changing the store."""

    exit_code = 11


class BlobChange(NamedTuple):
    """A path with its blob before and after; None where there is none."""

    path: str
    old: str | None
    new: str | None


class Problem(NamedTuple):
    """Something that fsck found; ``path`` is empty when it concerns the store as a whole."""

    path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


_Changes = Callable[[str, Import], dict[str, str | None]]  # what a commit of the store becomes, by paths: a blob, None for none


class Store:
    """The store at ``path``, conventionally ``.perf/store``; opening it reads nothing.

    ``who``: "Name <mail>" of the one who writes; by default from the settings of the project around the store.
    """

    def __init__(self, path: Path, who: str | None = None) -> None:
        self.path = path
        self._git = Bare(path.absolute())
        self._who = who

    @classmethod
    def create(cls, path: Path, who: str | None = None) -> Store:
        """The store at ``path``, made where there is none; a kill at any moment leaves none or a whole one."""
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
                    made = cls(path.with_name(f"{prefix}{os.getpid()}"), store.who)
                    made._initialise()
                    made.path.rename(path)
        except OSError as error:
            raise _unwritable(path, error) from None
        return store

    def _initialise(self) -> None:
        try:
            self._git.run("-c", "init.defaultBranch=main", "init", "--quiet", "--bare", "--template=", str(self.path.absolute()))
            layout.write_config(self.path)
            for name in OUR_LOCKS:
                (self.path / name).touch()
            with contextlib.closing(Import(self._git)) as stream:
                stream.commit(None, self.who, int(time.time()), "Create the store", {"format": stream.blob(FORMAT)})
                stream.finish()
        except GitFailed as error:
            self._explain(error)

    @property
    def who(self) -> str:
        """The one who writes, as "Name <mail>"."""
        if self._who is None:
            self._who = identity(self.path.absolute().parent)
        return self._who

    def head(self) -> str | None:
        """The store's newest commit; None where there is no store. Raises Damaged, also for a store of a newer version."""
        try:
            if not self.path.is_dir() or not any(self.path.iterdir()):
                return None
        except OSError as error:
            raise Damaged(f"cannot read {self.path} ({error.strerror or error}): make it readable for you") from None
        try:
            commit, mark = self._git.run("rev-parse", f"{BRANCH}^{{commit}}", f"{BRANCH}:format").decode().split()
        except GitFailed as error:
            raise Damaged(
                f"{self.path} is not a whole store ({error.reason}): move it away and run `perf init`, or restore it"
            ) from None
        if mark != blob_id(FORMAT):
            found = next(self._git.objects([mark], 100))
            if isinstance(found, bytes) and re.fullmatch(rb"perfvcs-store/\d+\n", found):
                raise Damaged(f"{self.path} is of format {found.decode().strip()}: update perfvcs")
            raise Damaged(f"{self.path} has a damaged `format` file: restore the store from a backup")
        return commit

    def _tip(self) -> str:
        tip = self.head()
        if tip is None:
            raise UsageError(f"there is no store at {self.path}: run `perf init`")
        return tip

    def add(self, profiles: Iterable[Profile], message: str) -> list[str]:
        """Store profiles in one commit, all or none; returns their paths in the order given. No profiles make no commit.

        They are streamed: memory holds one profile and the paths. A profile that is there already is not stored again. Raises
        Malformed, Unwritable, Damaged, Contended.
        """
        return self.replace(((None, profile) for profile in profiles), message)

    def replace(self, profiles: Iterable[tuple[str | None, Profile]], message: str) -> list[str]:
        """Put each profile in the place of the one at the path before it (None: of none); the new paths in the order given.

        The store's history keeps the old ones. All else is as with ``add``.
        """
        waiting = iter(profiles)
        first = next(waiting, None)
        if first is None:
            return []
        self._tip()
        paths: list[str] = []
        changes: dict[str, str | None] = {}
        with self._lock("gc", fcntl.LOCK_SH), self._writing() as stream:
            for old, profile in chain([first], waiting):
                document = profile.encode()
                paths.append(path_of(profile, document))
                if old is not None:
                    changes.setdefault(old, None)
                changes[paths[-1]] = stream.blob(document)
            gone = {path for path, blob in changes.items() if blob is None}
            self._publish(stream, message, lambda tip, stream: counted(self._git, stream, tip, changes, gone, self.who, message))
        return paths

    def remove(self, paths: Iterable[str], message: str) -> list[str]:
        """Take profiles out of the newest state in one commit; returns those that were there. The store's history keeps them.

        A removal is kept of each that is whole, so that it stays out; a damaged one may come back from another store.
        """
        unwanted: dict[str, str | None] = {path: None for path in paths if path != "format" and _possible(path)}
        if not unwanted:
            return []
        tip = self._tip()
        named = [path for path in unwanted if PROFILE_PATH.fullmatch(path)]
        stored = zip(named, self._git.objects((f"{tip}:{path}" for path in named), MAX_BYTES), strict=True)
        gone = {path for path, document in stored if whole(path, document)}
        with self._lock("gc", fcntl.LOCK_SH), self._writing() as stream:
            return self._publish(
                stream, message, lambda tip, stream: counted(self._git, stream, tip, unwanted, gone, self.who, message)
            )

    def unite(self, documents: Iterable[tuple[str, bytes]], removals: Mapping[str, bytes], message: str) -> list[str]:
        """Take what another store has, in one commit: documents by their paths, removals by the paths of their profiles.

        All of them were checked before. What was removed here, or is by the later ones of the ``removals``, does not come back.
        Returns the paths that changed: profiles that came or went.
        """
        self._tip()
        with self._lock("gc", fcntl.LOCK_SH), self._writing() as stream:
            coming = {path: stream.blob(document) for path, document in documents}
            return self._publish(stream, message, lambda tip, stream: united(self._git, stream, tip, coming, removals))

    def removals(self, *, at: str | None = None) -> Iterator[tuple[str, Removal | str]]:
        """All removals by their places in the store; of one that is not whole the reason."""
        tip = at or self._tip()
        places = {path: blob for _, blob, path in self._git.listing(tip, f"{removal.FOLDER}/")}
        for place, document in zip(places, self._git.objects(places.values(), removal.MOST_BYTES), strict=True):
            yield place, document.reason if isinstance(document, Fault) else removal.at(place, document)

    def _publish(self, stream: Import, message: str, changes: _Changes) -> list[str]:
        """Commit changes on top of the newest state, again where someone else was faster; returns the profiles that did change."""
        deadline = time.monotonic() + PATIENCE
        done = self._attempt(stream, message, changes)
        while done is None:
            if time.monotonic() > deadline:
                raise Contended(f"others keep {self.path} locked: try again when they are done")
            time.sleep(random.uniform(0.005, 0.05))
            with self._writing() as another:  # the blobs of the first attempt are in the store
                done = self._attempt(another, message, changes)
        return done

    def _attempt(self, stream: Import, message: str, changes: _Changes) -> list[str] | None:
        """What did change; None when someone moved the branch meanwhile, or holds it locked."""
        with self._lock("write", fcntl.LOCK_EX):
            tip = self._tip()
            needed = changes(tip, stream)
            if needed:
                stream.commit(tip, self.who, int(time.time()), message, needed)
            try:
                stream.finish()
            except GitFailed as error:
                if not _says(error, rf"not updating refs/heads/main|but expected|{LOCKED}"):
                    raise
                self._break_stale_locks()
                return None
        return [path for path in needed if not _reserved(path)]

    def _break_stale_locks(self) -> None:
        """Remove the locks of git's killed processes: of the branch, of packed references, of the commit graph, or of whatever comes."""
        for lock in self.path.rglob("*.lock"):
            if lock.name not in OUR_LOCKS:
                with contextlib.suppress(FileNotFoundError):
                    if time.time() - lock.lstat().st_mtime > STALE_LOCK:
                        lock.unlink()

    def read(self, path: str, *, at: str | None = None) -> Profile:
        """One profile of the newest state, or of the store's commit ``at``; raises Damaged, and UsageError where there is none."""
        return verified(path, self._raw(path, at))

    def raw(self, path: str) -> bytes:
        """The document at ``path`` as it is; raises Damaged where it cannot be read, and UsageError where there is none."""
        found = self._raw(path)
        if isinstance(found, Fault):
            raise damaged(path, found.reason)
        return found

    def _raw(self, path: str, at: str | None = None) -> bytes | Fault:
        blob = next((entry.new for entry in self.entries(path, at=at) if entry.path == path), None) if _possible(path) else None
        if blob is None:
            raise UsageError(f"there is no profile {path!a:.250} in the store: `perf log` shows what there is")
        return next(self._git.objects([blob], MAX_BYTES))

    def read_many(self, paths: Iterable[str], *, at: str | None = None) -> Iterator[tuple[str, Profile]]:
        """Profiles in order of ``paths`` through one git process, one in memory at a time.

        ``at``: as a commit of the store has them, not the newest. Raises Damaged at the first that is not whole, UsageError at the first
        that is not there.
        """
        wanted = list(paths)
        if wanted:
            tip = at or self._tip()
            for path, document in zip(wanted, self._git.objects((f"{tip}:{path}" for path in wanted), MAX_BYTES), strict=True):
                # read() knows whether nothing is there, or something that cannot be read
                yield path, self.read(path, at=tip) if isinstance(document, Fault) else verified(path, document)

    def documents(self, blobs: Mapping[str, str]) -> Iterator[tuple[str, bytes | Fault]]:
        """Documents by path and blob id, unverified; what cannot be read comes as a Fault and does not stop the others."""
        yield from zip(blobs, self._git.objects(blobs.values(), MAX_BYTES), strict=True)

    def paths(self, commit: str | None = None, *, at: str | None = None) -> list[str]:
        """The paths of all profiles, or of those of one commit of the project; ``at``: as they were at a commit of the store."""
        within = [f"{commit[:2]}/{commit}/"] if commit else []
        return [moved.path for moved in self.entries(*within, at=at) if PROFILE_PATH.fullmatch(moved.path)]

    def entries(self, *within: str, at: str | None = None) -> Iterator[BlobChange]:
        """Everything that is in the store now, or at one of its commits, foreign files too, as if it had just come."""
        tip = at or self.head()
        if tip is not None:
            try:
                yield from (
                    BlobChange(path, None, blob) for _, blob, path in self._git.listing(tip, *within) if not _reserved(path)
                )
            except GitFailed as error:
                self._explain(error)

    def changes(self, old: str | None, new: str) -> Iterator[BlobChange]:
        """What differs between two commits of the store, without reading it; all that is in ``new`` when ``old`` is None.

        Raises Damaged where a commit (``old`` after a gc, say) is not there.
        """
        fields = self._git.fields("diff-tree", "-r", "-z", "--no-renames", old or EMPTY_TREE, new, "--")
        try:
            for properties in fields:
                _, _, before, after, _ = properties.decode().split(" ")
                path = os.fsdecode(next(fields))
                if not _reserved(path):
                    yield BlobChange(path, *(None if set(blob) == {"0"} else blob for blob in (before, after)))
        except GitFailed as error:
            self._explain(error)

    def fsck(self) -> list[Problem]:
        """All that is wrong: git's own check of its objects, then every profile against its format and its place."""
        try:
            tip = self._tip()
        except Damaged as error:
            return [Problem("", str(error))]
        problems = [Problem("", f"git fsck: {line}") for line in self._fsck_objects(tip).splitlines() if line.strip()]
        entries = self.entries()
        try:
            while batch := list(islice(entries, BATCH)):
                for path, document in self.documents({entry.path: entry.new for entry in batch if entry.new}):
                    try:
                        verified(path, document)
                    except Damaged as error:
                        problems.append(Problem(path, error.reason))
            problems += [Problem(place, found) for place, found in self.removals() if isinstance(found, str)]
        except Damaged as error:
            problems.append(Problem("", str(error)))
        return problems

    def _fsck_objects(self, tip: str) -> str:
        """What git says is wrong with the objects up to ``tip``, while nobody packs them.

        It would take one that moves for one that is missing, and of the branch itself one that has come since it began.
        """
        with contextlib.ExitStack() as stack:
            with contextlib.suppress(Unwritable):  # nobody packs a store that is read-only
                stack.enter_context(self._lock("gc", fcntl.LOCK_SH))
            try:
                self._git.run("fsck", "--full", "--strict", "--no-dangling", "--no-progress", tip)
            except GitFailed as error:
                return str(error)
        return ""

    def gc(self, *, only_when_crowded: bool = False) -> bool:
        """Pack the store and drop what killed writers left behind more than two weeks ago; returns whether it was done.

        Writers that run are waited for, and wait; readers go on. Removed profiles stay in the history.
        """
        self._tip()
        if only_when_crowded and not self._crowded():
            return False
        with self._lock("gc", fcntl.LOCK_EX):
            self._sweep()
            deadline = time.monotonic() + PATIENCE
            while not self._pack():
                if time.monotonic() > deadline:
                    raise Contended(f"others keep {self.path} locked: try again when they are done")
                time.sleep(0.1)
        return True

    def _pack(self) -> bool:
        """Whether git could; not where it found a lock that is in use, or that a killed one has left just now."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / "gc.pid.lock").unlink()  # git holds it for an instant, and we are the only ones who pack
        self._break_stale_locks()
        try:
            self._git.run("gc", "--quiet", "--force", "--prune=2.weeks.ago")
        except GitFailed as error:
            if not _says(error, LOCKED):
                self._explain(error)
            return False
        return True

    def _crowded(self) -> bool:
        packs = sum(1 for _ in (self.path / "objects/pack").glob("*.pack"))
        loose = 256 * sum(1 for _ in (self.path / "objects/17").glob("*"))  # ids are uniform: one folder stands for all
        return packs > CROWDED_PACKS or loose > CROWDED_OBJECTS

    def _sweep(self) -> None:
        """Remove what git's killed processes leave: half-written packs and objects, crash reports, half a store beside this one."""
        for left in self.path.parent.glob(f"{self.path.name}.new-*"):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE_FILE:
                    shutil.rmtree(left)
        for pattern in ("objects/pack/tmp_*", "objects/??/tmp_obj_*", "objects/tmp_*", "fast_import_crash_*"):
            for left in self.path.glob(pattern):
                with contextlib.suppress(OSError):
                    if time.time() - left.stat().st_mtime > STALE_FILE:
                        left.unlink()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Import]:
        """A stream into the store that is always ended; git's errors become ours."""
        try:
            with contextlib.closing(Import(self._git)) as stream:
                yield stream
        except GitFailed as error:
            self._explain(error)

    @contextlib.contextmanager
    def _lock(self, name: str, mode: int) -> Iterator[None]:
        """``gc``: shared by writers, taken alone by gc. ``write``: one commits at a time. Both end with the process."""
        try:
            file = open(self.path / f"perfvcs-{name}.lock", "ab", opener=plain)  # noqa: SIM115 - closed below
        except OSError as error:
            raise _unwritable(self.path, error) from None
        with file:
            with contextlib.suppress(
                OSError
            ):  # some network file systems have no locks; the branch's own compare-and-swap remains
                fcntl.flock(file, mode)
            yield

    def _explain(self, error: GitFailed) -> NoReturn:
        for pattern, code in CAUSES:
            if _says(error, pattern):
                raise _unwritable(self.path, OSError(code, os.strerror(code))) from None
        if _says(error, UNWRITTEN) and disk_is_full(self.path.parent):
            raise _unwritable(self.path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))) from None
        raise Damaged(f"git cannot work on {self.path} ({error.reason}): run `perf fsck`") from None


def _reserved(path: str) -> bool:
    """Whether a path is the store's own, not a profile's."""
    return path == "format" or path.startswith(f"{removal.FOLDER}/")


def _possible(path: str) -> bool:
    """Whether git takes this as a path in a tree; any other is not in ours."""
    return not {"", ".", ".."} & set(path.split("/")) and "\0" not in path and len(path) <= MAX_PATH


def _says(error: GitFailed, pattern: str) -> bool:
    """Whether git said this; its newer versions begin messages with small letters."""
    return re.search(pattern, str(error), re.IGNORECASE) is not None


def _unwritable(path: Path, error: OSError) -> Unwritable:
    full = error.errno in NO_SPACE
    cure = "free some space" if full else "make it writable for you"
    return Unwritable(f"cannot write {path} ({error.strerror or error}): {cure} and repeat; what was stored is kept")
