"""Locks of the store: ours, which end with their process, and those that git's killed processes leave."""

from __future__ import annotations

import contextlib
import fcntl
import time
from collections.abc import Iterator
from pathlib import Path

from perfvcs.descriptors import plain
from perfvcs.errors import PerfError
from perfvcs.store.failures import unwritable

OURS = "perfvcs-write.lock", "perfvcs-gc.lock"
STALE = 10.0  # seconds; git holds a branch's lock for milliseconds, so an older one was left by a killed process
# seconds that a writer keeps trying against those who do not take our lock, such as `git push` into the store
WRITER_PATIENCE = 120.0
LOCK_EXISTS = r"\.lock': File exists"  # in what git says


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
    """While objects are written or read that must not move: nobody packs."""
    with _held(path, "gc", fcntl.LOCK_SH):
        yield


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """While the store is packed: nobody writes."""
    with _held(path, "gc", fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def _held(path: Path, name: str, mode: int) -> Iterator[None]:
    try:
        file = open(path / f"perfvcs-{name}.lock", "ab", opener=plain)  # noqa: SIM115 - closed below
    except OSError as error:
        raise unwritable(path, error) from None
    with file:
        # some network file systems have no locks; the branch's own compare-and-swap remains
        with contextlib.suppress(OSError):
            fcntl.flock(file, mode)
        yield


def break_stale(path: Path) -> None:
    """Remove the locks of git's killed processes: of the branch, of packed references, of the commit graph, or of whatever comes."""
    for lock in path.rglob("*.lock"):
        if lock.name not in OURS:
            with contextlib.suppress(FileNotFoundError):
                if time.time() - lock.lstat().st_mtime > STALE:
                    lock.unlink()
