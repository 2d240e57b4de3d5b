"""Why the store cannot be written, out of what git says."""

from __future__ import annotations

import errno
import os
import re
import signal
from pathlib import Path
from typing import NoReturn

from perfvcs.errors import NO_SPACE, PerfError, disk_is_full
from perfvcs.git.bare import GitFailed
from perfvcs.store.document import Damaged

UNWRITTEN = "(failed|unable|cannot|could not|couldn't) (to )?(write|create|update|append|close)"
CAUSES = (  # what git says -> what it was
    ("No space left on device|Out of diskspace", errno.ENOSPC),
    ("Disk quota exceeded", errno.EDQUOT),
    (f"File too large|died of signal {signal.SIGXFSZ:d}", errno.EFBIG),
    ("Read-only file system", errno.EROFS),
    ("permission denied|insufficient permission", errno.EACCES),
)


class Unwritable(PerfError):
    """The store cannot be written: read-only, or the disk is full. What was there is kept."""


def unwritable(path: Path, error: OSError) -> Unwritable:
    """The error of a store at a path that the system refused to write."""
    full = error.errno in NO_SPACE
    cure = "free some space" if full else "make it writable for you"
    return Unwritable(f"cannot write {path} ({error.strerror or error}): {cure} and repeat; what was stored is kept")


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
    if found := refused(path, error):
        raise found from None
    raise Damaged(f"git cannot work on {path} ({error.reason}): run `perf fsck`") from None


def says(error: GitFailed, pattern: str) -> bool:
    """Whether git said this; its newer versions begin messages with small letters."""
    return re.search(pattern, str(error), re.IGNORECASE) is not None
