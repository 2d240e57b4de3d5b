"""Locks of the store: ours, which end with their process, those that git's killed processes leave, and git's own while it packs.

`git gc --prune=now` removes objects that no reference reaches yet: those of a writer whose commit is about to come. Git itself asks
the file gc.pid whether another one is packing, so a writer has its own number there: git's gc refuses to begin meanwhile.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from perfvcs.descriptors import plain
from perfvcs.errors import PerfError
from perfvcs.store.failures import unwritable

OURS = "perfvcs-write.lock", "perfvcs-gc.lock"
STALE = 10.0  # seconds; git holds a branch's lock for milliseconds, so an older one was left by a killed process
# seconds that a writer keeps trying against those who do not take our lock, such as `git push` into the store
WRITER_PATIENCE = 120.0
LOCK_EXISTS = r"\.lock': File exists"  # in what git says
PACKING_AT_MOST = 12 * 3600.0  # seconds after which git takes no notice of a gc.pid
OUR_MARK = "perfvcs"  # behind the process and the host in a gc.pid; git does not read so far
SOMEBODY = 1  # a process that always lives


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
    """While objects are written or read that must not move: nobody packs, nor does git from outside. Raises Contended."""
    with _held(path, "gc", fcntl.LOCK_SH) as lock, _announcing(path, lock):
        yield


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While the store is packed: nobody writes."""
    with _held(path, "gc", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def repairing(path: Path) -> Iterator[None]:
    """While the store is repaired: nobody writes or packs, nor does git from outside. Raises Contended."""
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
            raise Contended(f"`git gc` has been working on {path} for two minutes: try again when it is done")
        time.sleep(0.02)
    try:
        yield
    finally:
        _withdraw(path, lock)


def _announced(path: Path) -> bool:
    """Name this process in gc.pid; False where git packs at this moment."""
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
    """Write a process into gc.pid, or nothing, under the lock that git takes for it; returns whether it was written."""
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
    return words[1] != os.uname().nodename or Path("/proc", words[0]).exists()


def break_stale(path: Path) -> None:
    """Remove the locks of git's killed processes: of the branch, of packed references, of the commit graph, or of whatever comes."""
    for lock in path.rglob("*.lock"):
        if lock.name not in OURS:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.lstat().st_mtime > STALE:
                    lock.unlink()
