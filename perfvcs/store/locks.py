"""Locks of the store: ours, which end with their process, those that git's killed processes leave,
and git's own while it packs.

`git gc --prune=now` removes objects that no reference reaches yet: those of a writer whose commit
is about to come. Git itself asks the file gc.pid whether another one is packing, so a writer has
its own number there: git's gc refuses to begin meanwhile.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NoReturn

from perfvcs.errors import NO_SPACE, PerfError, disk_is_full
from perfvcs.git.bare import Bare, GitFailed
from perfvcs.store.removal import Damaged
from perfvcs.system.disk import plain

UNWRITTEN = "(failed|unable|cannot|could not|couldn't) (to )?(write|create|update|append|close)"
CAUSES = (  # what git says -> what it was
    ("No space left on device|Out of diskspace", errno.ENOSPC),
    ("Disk quota exceeded", errno.EDQUOT),
    (f"File too large|died of signal {signal.SIGXFSZ:d}", errno.EFBIG),
    ("Read-only file system", errno.EROFS),
    ("permission denied|insufficient permission", errno.EACCES),
)
OURS = "perfvcs-write.lock", "perfvcs-gc.lock"
# seconds; git holds a branch's lock for milliseconds, so an older one was left by a killed process
STALE = 10.0
# seconds that a writer keeps trying against those who do not take our lock, such as `git push` into
# the store
WRITER_PATIENCE = 120.0
LOCK_EXISTS = r"\.lock': File exists"  # in what git says
PACKING_AT_MOST = 12 * 3600.0  # seconds after which git takes no notice of a gc.pid
OUR_MARK = "perfvcs"  # behind the process and the host in a gc.pid; git does not read so far
SOMEBODY = 1  # a process that always lives
STALE_FILE = 3600.0  # seconds after which a half-written pack no longer has a writer


class Unwritable(PerfError):
    """The store cannot be written: read-only, or the disk is full. What was there is kept."""


def unwritable(path: Path, error: OSError) -> Unwritable:
    """The error of a store at a path that the system refused to write."""
    full = error.errno in NO_SPACE
    cure = "free some space" if full else "make it writable for you"
    return Unwritable(
        f"cannot write {path} ({error.strerror or error}): {cure} and repeat; what was stored is"
        " kept"
    )


def refused(path: Path, error: GitFailed) -> Unwritable | None:
    """What git's error means if the system refused to write at a path; None if it did not."""
    for pattern, code in CAUSES:
        if says(error, pattern):
            return unwritable(path, OSError(code, os.strerror(code)))
    if says(error, UNWRITTEN) and disk_is_full(path.parent):
        return unwritable(path, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    return None


def explain(path: Path, error: GitFailed) -> NoReturn:
    """Raise what git's error means for the store at a path: Unwritable, else Damaged."""
    if refusal := refused(path, error):
        raise refusal from None
    raise Damaged(f"git cannot work on {path} ({error.reason}): run `perf fsck`") from None


def says(error: GitFailed, pattern: str) -> bool:
    """Whether git said this; its newer versions begin messages with small letters."""
    return re.search(pattern, str(error), re.IGNORECASE) is not None


class Contended(PerfError):
    """Others kept changing the store."""

    exit_code = 11


def contended(path: Path) -> Contended:
    """The error of a store that others keep locked."""
    return Contended(f"others keep {path} locked: try again when they are done")


@contextlib.contextmanager
def committing(path: Path) -> Iterator[None]:
    """Only one writer of the store at a path commits at a time."""
    with _held(path, "write", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def shared(path: Path) -> Iterator[None]:
    """While objects must not move: nobody packs, nor does git from outside. Raises Contended."""
    with _held(path, "gc", fcntl.LOCK_SH) as lock, _announcing(path, lock):
        yield


@contextlib.contextmanager
def still(path: Path) -> Iterator[None]:
    """While objects are read one by one, of which none must move; a store that is read-only nobody
    packs. Raises Contended.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(Unwritable):
            stack.enter_context(shared(path))
        yield


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While the store is packed: nobody writes."""
    with _held(path, "gc", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def repairing(path: Path) -> Iterator[None]:
    """While the store is repaired: nobody writes or packs, nor does git from outside.

    Raises Contended.
    """
    with _held(path, "gc", fcntl.LOCK_EX) as lock, _announcing(path, lock):
        yield


@contextlib.contextmanager
def _held(path: Path, name: str, mode: int) -> Iterator[IO[bytes]]:
    try:
        file = open(path / f"perfvcs-{name}.lock", "ab", opener=plain)  # noqa: SIM115 - closed below
    except OSError as error:
        raise unwritable(path, error) from None
    with file:
        # some network file systems have no locks; the branch's own compare-and-swap remains
        with contextlib.suppress(OSError):
            fcntl.flock(file, mode)
        yield file


@contextlib.contextmanager
def _announcing(path: Path, lock: IO[bytes]) -> Iterator[None]:
    """Keep git's gc from beginning, and wait for one that has begun."""
    deadline = time.monotonic() + WRITER_PATIENCE
    while not _announced(path):
        if time.monotonic() > deadline:
            raise Contended(
                f"`git gc` has been working on {path} for two minutes: try again when it is done"
            )
        time.sleep(0.02)
    try:
        yield
    finally:
        _withdraw(path, lock)


def _announced(path: Path) -> bool:
    """Names this process in gc.pid; False where git packs at this moment."""
    try:
        return _change(path, lambda: None if _git_packs(path / "gc.pid") else os.getpid())
    except FileExistsError:  # somebody is at it, or was killed
        break_stale(path)
        return False
    except OSError as error:
        raise unwritable(path, error) from None


def _withdraw(path: Path, lock: IO[bytes]) -> None:
    """Take this process out of gc.pid; the last writer removes it."""

    def remaining() -> int | None:
        if (path / "gc.pid").read_text().split()[2:] == [OUR_MARK]:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return SOMEBODY
            (path / "gc.pid").unlink()
        return None

    with contextlib.suppress(OSError):
        _change(path, remaining)


def _change(path: Path, process: Callable[[], int | None]) -> bool:
    """Write a process into gc.pid, or nothing, under git's lock; whether it was written."""
    new = path / "gc.pid.lock"
    with open(new, "xb", opener=plain) as file:
        try:
            number = process()
            if number is not None:
                file.write(f"{number} {os.uname().nodename} {OUR_MARK}\n".encode())
                file.flush()
        except BaseException:
            new.unlink()
            raise
    if number is None:
        new.unlink()
    else:
        new.replace(path / "gc.pid")
    return number is not None


def _git_packs(place: Path) -> bool:
    """Whether a gc.pid says that git's own gc runs, as git itself reads it."""
    try:
        words = place.read_text(errors="replace").split()
        old = time.time() - place.lstat().st_mtime > PACKING_AT_MOST
    except FileNotFoundError:
        return False
    if old or len(words) != 2 or not words[0].isdecimal():
        return False
    return words[1] != os.uname().nodename or _lives(words[0])


def _lives(number: str) -> bool:
    """Whether there is a process of that number, whoever's it is; 0 stands for this group."""
    if not number.strip("0"):
        return False
    try:
        os.kill(int(number), 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError, ValueError):
        return False
    return True


def break_stale(path: Path) -> None:
    """Removes the locks that git's killed processes left: of the branch, of packed references, of
    the commit graph, or any other.
    """
    for lock in path.rglob("*.lock"):
        if lock.name not in OURS:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.lstat().st_mtime > STALE:
                    lock.unlink()


def pack(path: Path, git: Bare) -> None:
    """Pack the store at a path, alone; raises Unwritable, Damaged, or Contended if locked."""
    with alone(path):
        _sweep(path)
        deadline = time.monotonic() + WRITER_PATIENCE
        while not _packed(path, git):
            if time.monotonic() > deadline:
                raise contended(path)
            time.sleep(0.1)


def _packed(path: Path, git: Bare) -> bool:
    """Whether git could pack; it could not where it found a lock that is in use, or that a killed
    process has left just now.
    """
    with contextlib.suppress(FileNotFoundError):
        # git holds it for an instant, and we are the only ones who pack
        (path / "gc.pid.lock").unlink()
    break_stale(path)
    try:
        git.run("gc", "--quiet", "--force", "--prune=2.weeks.ago")
    except GitFailed as error:
        if not says(error, LOCK_EXISTS):
            explain(path, error)
        return False
    return True


def _sweep(path: Path) -> None:
    """Remove what git's killed processes leave: half-written packs and objects, crash reports, half
    a store beside this one.
    """
    for left in path.parent.glob(f"{path.name}.new-*"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > STALE_FILE:
                shutil.rmtree(left)
    for pattern in (
        "objects/pack/tmp_*",
        "objects/??/tmp_obj_*",
        "objects/tmp_*",
        "fast_import_crash_*",
    ):
        for left in path.glob(pattern):
            with contextlib.suppress(OSError):
                if time.time() - left.stat().st_mtime > STALE_FILE:
                    left.unlink()
