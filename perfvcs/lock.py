"""One measuring run at a time: a lock that the kernel takes back however its holder ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs.errors import PerfError

POLL = 0.2


class Locked(PerfError):
    """Another process is measuring."""

    exit_code = 11


@contextmanager
def hold(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the lock file at ``path``; raises Locked when another process does, or waits for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        while not _try(descriptor):
            if not wait:
                holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
                who = f"process {holder}" if holder else "another process"
                raise Locked(f"{who} is measuring here, and two at once would disturb each other: wait for it, or use --wait")
            time.sleep(POLL)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
