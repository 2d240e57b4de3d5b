"""One measuring run at a time: locks that the kernel takes back however their holder ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perfvcs.errors import PerfError
from perfvcs.system.disk import plain

LOCK_POLL = 0.2


class Locked(PerfError):
    """Another process is measuring."""

    exit_code = 11


@contextmanager
def hold(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock file at ``path``; raises Locked when another process does, or waits for it.

    Raises NotPlain.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = plain(path, os.O_RDWR | os.O_CREAT)
    try:
        while not _try(descriptor):
            if not wait:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
                who = f"process {holder}" if holder else "another process"
                raise Locked(
                    f"{who} is measuring here, and two at once would disturb each other: wait for"
                    " it, or use --wait"
                )
            time.sleep(LOCK_POLL)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """One process at a time in a folder, without a file of its own for that; where a file system
    has no locks, all go on.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
