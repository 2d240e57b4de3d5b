"""Files and folders opened without following symbolic links, so that nobody's link decides what is written or removed."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from perfvcs.errors import PerfError

OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO is opened at once, and refused
IN_THE_WAY = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTDIR)


class NotPlain(PerfError):
    """A link, a pipe or a device is where perfvcs keeps a plain file or folder."""

    exit_code = 12


def plain(path: Path | str, flags: int, mode: int = 0o666) -> int:
    """The descriptor of a plain file, opened with ``flags`` and closed on ``exec``; raises NotPlain, OSError.

    It is an ``opener``: ``open(path, "ab", opener=plain)``.
    """
    try:
        number = os.open(path, flags | OPEN_FLAGS, mode)
    except OSError as error:
        if error.errno in IN_THE_WAY:
            raise _not_plain(path, "file") from None
        raise
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise _not_plain(path, "file")
    return number


@contextmanager
def folder(path: Path) -> Iterator[int]:
    """The descriptor of a folder that is not a link; raises NotPlain, OSError."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in IN_THE_WAY:
            raise _not_plain(path, "folder") from None
        raise
    try:
        yield number
    finally:
        os.close(number)


def make_folder(path: Path) -> Path:
    """The folder at ``path``, made in its parent folder unless it is there; raises NotPlain, OSError."""
    with contextlib.suppress(FileExistsError):
        path.mkdir()
    with folder(path):
        return path


def entries(path: Path) -> list[str]:
    """The names in a folder, sorted; none where there is no folder. Raises NotPlain, OSError."""
    try:
        with folder(path) as number:
            return sorted(os.listdir(number))  # noqa: PTH208 - of a descriptor
    except FileNotFoundError:
        return []


def remove(path: Path) -> None:
    """Remove a file, a link itself, or a folder, even when a build left read-only folders in it; what cannot be removed stays."""
    with contextlib.suppress(FileNotFoundError, NotPlain), folder(path.parent) as parent:
        if not stat.S_ISDIR(os.lstat(path.name, dir_fd=parent).st_mode):
            os.unlink(path.name, dir_fd=parent)
            return
        with contextlib.suppress(RecursionError):
            _open_up(path.name, parent)
            shutil.rmtree(path.name, ignore_errors=True, dir_fd=parent)
        if os.path.lexists(path):  # deeper than Python goes down
            import subprocess

            subprocess.run(["rm", "-rf", "--", path.name], cwd=path.parent, stderr=subprocess.DEVNULL, check=False)


def _open_up(name: str, parent: int) -> None:
    """Make every folder of a tree writable, from the top: what cannot be entered cannot be emptied."""
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=parent)
        for _, folders, _, inside in os.fwalk(name, dir_fd=parent):
            for below in folders:
                with contextlib.suppress(OSError):
                    if stat.S_ISDIR(os.lstat(below, dir_fd=inside).st_mode):
                        os.chmod(below, 0o700, dir_fd=inside)


def _not_plain(path: Path | str, kind: str) -> NotPlain:
    return NotPlain(f"{path} is not a plain {kind}, and perfvcs follows no links there: remove it")
