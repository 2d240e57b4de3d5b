"""Files in which a measured program was recorded, and which it could have replaced by anything."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from perfvcs.collector import CollectError
from perfvcs.foreign import at_most


def read_at_most(path: Path, most: int) -> bytes:
    """The first ``most`` bytes and one more; raises CollectError."""
    return read_part(path, 0, most + 1)


def read_part(path: Path, start: int, size: int) -> bytes:
    """At most ``size`` bytes, beginning at ``start``; raises CollectError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise CollectError(f"{path.name} cannot be read: {error.strerror}: the program must leave it alone") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise CollectError(f"{path.name} is no longer a file: the program must leave it alone")
    with open(descriptor, "rb") as file:
        file.seek(start)
        return at_most(file, size)


def printable(name: str, most: int = 1000) -> str:
    """A name out of a foreign file, as one line of bounded length."""
    return "".join(character if character.isprintable() else "?" for character in name[:most])
