"""The one base of every error that perfvcs raises on purpose, and the hint that ends many of
them.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

MOST_NAMES = 20  # known names that a message lists
FEWEST_LETTERS = 3  # letters that begin a name
# characters of names that are compared: comparing takes a time quadratic in them
LONGEST_NAME = 200
FEW_NAMES = 3  # names that begin alike and are all suggested
SCANT = 1 << 16  # bytes left on a disk, below which it is full
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Of errors of the system whatever file was named.
CURES = {
    errno.ENOSPC: "the disk is full: free some space and run the command again",
    errno.EDQUOT: "the disk quota is used up: free some space and run the command again",
    errno.EFBIG: (
        "a file would be larger than is allowed here: raise the limit (ulimit -f) and run the"
        " command again"
    ),
    errno.EROFS: (
        "the file system is read-only: work on a writable copy (git clone), or have it remounted"
    ),
    errno.EACCES: "permission denied: check who owns it and its mode",
    errno.EAGAIN: (
        "the system starts no more processes: end some, or raise the limit (ulimit -u), and run the"
        " command again"
    ),
    errno.ENOMEM: "there is not enough memory: end other programs and run the command again",
    errno.EPERM: "not permitted: check who owns it and its mode",
}


class PerfError(Exception):
    """What went wrong and its cure, in one line; the command line prints it and exits with
    ``exit_code``.
    """

    exit_code = 1


class UsageError(PerfError):
    """The request itself cannot be carried out: a wrong name, option or configuration."""

    exit_code = 2


def system_reason(error: OSError) -> str:
    """What the system said; of a tree that could not be copied (shutil.Error), what it said of the
    first file.

    >>> system_reason(OSError(28, "No space left on device"))
    'No space left on device'
    >>> system_reason(OSError([("a", "b", "[Errno 28] No space: 'a' -> 'b'")]))
    'No space'
    """
    if error.strerror:
        return error.strerror
    listed = error.args[0] if error.args else ""
    said = str(listed[0][2]) if isinstance(listed, list) else str(listed)
    return said.rpartition("] ")[2].partition(": '")[0]


def disk_is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no room: git does not always say why it cannot write."""
    import os

    try:
        about = os.statvfs(folder)
    except OSError:
        return False
    return about.f_bavail * about.f_frsize < SCANT


def nearest(wrong: str, choices: Iterable[str], shown: Callable[[str], str] | None = None) -> str:
    """The end of a message about an unknown name: the known ones that begin with it, else the
    closest one, or all of them; ``shown`` is how a name is written.

    >>> nearest("tiem", ["time", "memory"]), nearest("flame", ["flamegraph", "flamediff", "flow"])
    ('; did you mean `time`?', '; did you mean `flamegraph` or `flamediff`?')
    """
    from difflib import get_close_matches

    names = list(choices)
    likely = [name for name in names if len(name) <= LONGEST_NAME]
    begun = (
        [name for name in names if name.startswith(wrong)] if len(wrong) >= FEWEST_LETTERS else []
    )
    close = (
        begun
        if 0 < len(begun) <= FEW_NAMES
        else get_close_matches(wrong[:LONGEST_NAME], likely, n=1, cutoff=0.5)
    )
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    if close:
        return f"; did you mean {' or '.join(f'`{(shown or str)(name)}`' for name in close)}?"
    listed = ", ".join(map(shown or str, names[:MOST_NAMES]))
    return f"; there are: {listed or 'none'}{more}"
