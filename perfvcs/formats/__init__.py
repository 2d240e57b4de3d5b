"""Formats: each file is one, named like it; this page is their contract.

A format is a frozen dataclass; its fields are its options. It turns the bytes of a file into a profile and never opens files itself.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol, cast

from perfvcs.errors import UsageError
from perfvcs.plugins import build, names
from perfvcs.profile import MAX_BYTES, Malformed, Profile

HEAD = 4096  # bytes by which a format is recognised


class Format(Protocol):
    """What every member of the family offers."""

    def recognises(self, name: str, head: bytes) -> bool:
        """Whether a file of this name, beginning with these bytes, is of this format."""
        ...

    def decode(self, document: bytes) -> Profile:
        """The profile in a whole file; raises Malformed with the place."""
        ...


class Unreadable(UsageError):
    """A file cannot be read, or is of no known format."""


def read(path: Path, format_name: str | None = None) -> Profile:
    """The profile in a file, of a named format or of the one that it looks like.

    Raises Unreadable, and Malformed naming the file and the place in it; no more than the format's limit is ever read.
    """
    document = _content(path)
    name = format_name or _recognised(path, document[:HEAD])
    try:
        return _member(name).decode(document)
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from None


def guess(path: Path) -> str:
    """The name of a file's format; raises Unreadable."""
    return _recognised(path, _content(path, HEAD))


def _recognised(path: Path, head: bytes) -> str:
    members = names("formats")
    found = next((name for name in members if _member(name).recognises(path.name, head)), None)
    if found is None:
        raise Unreadable(
            f"{path} has none of the formats known here ({', '.join(members)}): convert it, or name its format with --format"
        )
    return found


def _member(name: str) -> Format:
    return cast(Format, build("formats", name, {}, "format"))


def _content(path: Path, most: int | None = None) -> bytes:
    """The file's bytes, or the first of them; only regular files of a bounded size are read."""
    try:
        # O_NONBLOCK: a named pipe must not keep us waiting before we can see that it is one
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable(f"{path} is not a regular file: save the profile into one")
            if most is None and status.st_size > MAX_BYTES:
                raise Unreadable(f"{path} has {status.st_size:,} bytes, over the limit of {MAX_BYTES:,}: split it")
            return file.read(MAX_BYTES + 1 if most is None else most)
    except OSError as error:
        raise Unreadable(f"cannot read {path}: {error.strerror or error}") from None
