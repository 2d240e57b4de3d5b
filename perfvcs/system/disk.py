"""Files that are written completely or not at all, and opened without following links."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from threading import get_native_id

from perfvcs.errors import PerfError

# what opening and naming a file without a name end with where the file system knows no such files,
# or no second names
UNSUPPORTED = (
    errno.EOPNOTSUPP,
    errno.EISDIR,
    errno.EINVAL,
    errno.EPERM,
    errno.EMLINK,
    errno.ENOSYS,
)
OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO is opened at once, and refused
IN_THE_WAY = (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.ENOTDIR)
Stamp = tuple[int, int, int, int, int]  # mode, size, times of the last changes (ns), inode


def write(path: Path, content: bytes | mmap, mode: int | None = None) -> None:
    """Put ``content`` in the place of what is at ``path``, at once; ``mode`` are its permissions,
    by default those of a new file.

    A kill leaves the old file or the new one. A link at ``path`` is replaced, and none is followed.
    Raises OSError.
    """
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if not _write_unnamed(folder, path.name, content, mode):
            _write_named(folder, path.name, content, mode)
    finally:
        os.close(folder)


def stamp(path: Path | str) -> Stamp | None:
    """The stamp by which a change of a file, link or folder is seen; None where there is none."""
    try:
        return stamped(os.lstat(path))
    except OSError:
        return None


def stamped(status: os.stat_result) -> Stamp:
    """What the system says of a file that another one would not have; nobody but root can set the
    time of an inode's last change.
    """
    return status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def is_stream(path: Path) -> bool:
    """Whether a path is written through and never replaced: a pipe, a device, or the system's link
    to an open file (/dev/stdout).
    """
    link = path.is_symlink() and path.parent.resolve().parts[1:2] in (("dev",), ("proc",))
    return path.exists() and (link or not path.is_file())


def _write_unnamed(folder: int, name: str, content: bytes | mmap, mode: int | None) -> bool:
    """By way of a file without a name, which goes with the process; False where there are none."""
    if not hasattr(os, "O_TMPFILE"):
        return False
    try:
        number = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
        return False
    try:
        _fill(number, content, mode)
        return _place(number, folder, f".{name[:60]}.part", name)
    finally:
        os.close(number)


def _place(number: int, folder: int, part: str, name: str) -> bool:
    """Give a whole file its name, by way of a link: nothing else replaces a file at once.

    Others that do so at the same time do no harm.
    """
    while True:
        try:
            os.link(f"/proc/self/fd/{number}", part, dst_dir_fd=folder, follow_symlinks=True)
        except FileExistsError:  # a killed process left it, or another writes the same file
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part, dir_fd=folder)
        except FileNotFoundError:
            # there is no /proc, or another writer took the link away, and then there is no second
            # one
            return False
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            return False
        else:
            with contextlib.suppress(FileNotFoundError):  # another writer took the link away
                os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
                # it stays where another writer had placed ours already
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(part, dir_fd=folder)
                return True


def _write_named(folder: int, name: str, content: bytes | mmap, mode: int | None) -> None:
    part = f".{name[:60]}.{get_native_id()}.part"  # of this thread alone
    with contextlib.suppress(FileNotFoundError):
        # a killed thread of this number left it, or somebody put a link there
        os.unlink(part, dir_fd=folder)
    number = os.open(
        part,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o666,
        dir_fd=folder,
    )
    try:
        try:
            _fill(number, content, mode)
        finally:
            os.close(number)
        os.replace(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _fill(number: int, content: bytes | mmap, mode: int | None) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(number, view) :]
    if mode is not None:
        os.fchmod(number, mode)


class NotPlain(PerfError):
    """A link, a pipe or a device is where perfvcs keeps a plain file or folder."""

    exit_code = 12


def plain(path: Path | str, flags: int, mode: int = 0o666) -> int:
    """The descriptor of a plain file, opened with ``flags`` and closed on ``exec``; raises
    NotPlain, OSError.

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
    """The folder at ``path``, made in its parent folder unless it is there; raises NotPlain,
    OSError.
    """
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
    """Remove a file, a link itself, or a folder, even when a build left read-only folders in it;
    what cannot be removed stays.
    """
    with contextlib.suppress(FileNotFoundError, NotPlain), folder(path.parent) as parent:
        if not stat.S_ISDIR(os.lstat(path.name, dir_fd=parent).st_mode):
            os.unlink(path.name, dir_fd=parent)
            return
        with contextlib.suppress(RecursionError):
            _open_up(path.name, parent)
            shutil.rmtree(path.name, ignore_errors=True, dir_fd=parent)
        if os.path.lexists(path):  # deeper than Python goes down
            import subprocess

            subprocess.run(
                ["rm", "-rf", "--", path.name],
                cwd=path.parent,
                stderr=subprocess.DEVNULL,
                check=False,
            )


def _open_up(name: str, parent: int) -> None:
    """Make every folder of a tree writable, from the top: what cannot be entered cannot be
    emptied.
    """
    with contextlib.suppress(OSError):
        os.chmod(name, 0o700, dir_fd=parent)
        for _, folders, _, inside in os.fwalk(name, dir_fd=parent):
            for below in folders:
                with contextlib.suppress(OSError):
                    if stat.S_ISDIR(os.lstat(below, dir_fd=inside).st_mode):
                        os.chmod(below, 0o700, dir_fd=inside)


def _not_plain(path: Path | str, kind: str) -> NotPlain:
    return NotPlain(f"{path} is not a plain {kind}, and perfvcs follows no links there: remove it")
