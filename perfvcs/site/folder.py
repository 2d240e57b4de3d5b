"""The folder of a site: knows what it wrote there, writes whole files or none, and leaves all
others alone.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from perfvcs.errors import CURES, PerfError, UsageError
from perfvcs.git.changes import SITE_MANIFEST
from perfvcs.system.children import shared
from perfvcs.system.foreign import UNDECODABLE
from perfvcs.text.characters import shorten

MANIFEST_FORMAT = "perfvcs-site/1"
PAGES_VERSION = 14  # of what is made from the same data; raise it whenever pages change
DIGEST = 32  # characters
SUFFIX = ".perfvcs-part"  # of files that are being written
SITE_FOLDERS = ("assets", "branches", "commits", "profiles", "series")
# in a folder that is to become a site: what hosts of pages want there
TOLERATED = {".git", ".nojekyll", "CNAME"}
PATH = re.compile(rf"(?:(?:{'|'.join(SITE_FOLDERS)})/)?[A-Za-z0-9_][A-Za-z0-9._-]*")
LARGEST_MANIFEST = 1 << 28  # bytes of a manifest
MOST_NAMED_FILES = 3  # files that a message names
LONGEST_PATH = 200  # characters of a path in it
FOLDER_CURE = "publish into a folder of its own"
NO_FILE, A_FOLDER = -1, -2  # in the place of a size


@dataclass(frozen=True)
class Output:
    """One or several files that are made together; ``key`` is a digest of all that they are made
    from.

    ``shared``: another process may make them, too, since they need nothing but what is in memory.
    ``last``: they are put in place after all others, to which they link; so what takes long can be
    made first.
    """

    paths: tuple[str, ...]
    key: str
    make: Callable[[], tuple[bytes, ...]]
    shared: bool = False
    last: bool = False


def ready(path: str, content: bytes) -> Output:
    """A file that is made already, and so its own key."""
    return Output((path,), digest(content), lambda: (content,))


def digest(*parts: bytes) -> str:
    """A digest of some parts, which cannot run into one another.

    SHA-256, which processors have: every byte of a site goes through it.
    """
    hasher = sha256(usedforsecurity=False)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.hexdigest()[:DIGEST]


def packed(*values: Any) -> bytes:
    """Values as bytes for a digest."""
    return msgspec.msgpack.encode(values, order="deterministic")


class Foreign(UsageError):
    """The folder has files that are not the site's, where the site would have to write."""


class SiteBusy(PerfError):
    """Another process writes the same site."""

    exit_code = 11


class ManifestEntry(msgspec.Struct, frozen=True, array_like=True):
    """A written file: the digest of what it was made from, its bytes, and their digest."""

    key: str
    size: int
    content: str


class Manifest(msgspec.Struct):
    """Our files in a folder; ``pending`` may be there since a process was killed."""

    format: str
    generator: str
    files: dict[str, ManifestEntry] = {}
    pending: list[str] = []


class Folder:
    """A site's folder, open and locked; make it with ``opened``."""

    def __init__(self, path: Path, descriptors: dict[str, int], manifest: Manifest) -> None:
        self.path = path
        self._descriptors = descriptors
        self._manifest = manifest
        self._noted = _encoded(manifest)
        self._there = {name: _sizes(number) for name, number in descriptors.items()}

    def stale(self, outputs: Iterable[Output]) -> list[Output]:
        """The outputs that moved, or whose files are not as they were written; raises Foreign."""
        files, pending = self._manifest.files, set(self._manifest.pending)
        outdated, foreign = [], []
        for output in outputs:
            sizes = [self._size(path) for path in output.paths]
            entries = [files.get(path) for path in output.paths]
            written = zip(output.paths, sizes, entries, strict=True)
            foreign += [
                path
                for path, size, entry in written
                if size == A_FOLDER or (size is not None and entry is None and path not in pending)
            ]
            if any(
                entry is None or entry.key != output.key or size != entry.size
                for size, entry in zip(sizes, entries, strict=True)
            ):
                outdated.append(output)
        if foreign:
            raise Foreign(f"{_listed(foreign)} in {self.path} would be overwritten: {FOLDER_CURE}")
        return outdated

    def begin(self, generator: str, outputs: Sequence[Output]) -> None:
        """Note what is about to be written, which is ours even if no more can be noted."""
        self._manifest.generator = generator
        new = [
            path for output in outputs for path in output.paths if path not in self._manifest.files
        ]
        self._manifest.pending = sorted({*self._manifest.pending, *new})
        self._note()

    def write(self, outputs: Sequence[Output]) -> None:
        """Write the files of outputs, each whole or not at all; two processes share some."""
        last: dict[str, bytes] = {}
        for together, some in groupby(outputs, key=attrgetter("shared")):
            part = list(some)
            for entries, waiting in (
                shared(self._written, part) if together else map(self._written, part)
            ):
                self._manifest.files |= entries
                last |= waiting
        for path, content in last.items():
            self._put(path, content)

    def _written(self, output: Output) -> tuple[dict[str, ManifestEntry], dict[str, bytes]]:
        """The files of a output as they were written, or are to be when all others are."""
        files = dict(zip(output.paths, output.make(), strict=True))
        if not output.last:
            for path, content in files.items():
                self._put(path, content)
        entries = {
            path: ManifestEntry(output.key, len(content), digest(content))
            for path, content in files.items()
        }
        return entries, files if output.last else {}

    def end(self, outputs: Iterable[Output]) -> tuple[int, int]:
        """Remove what is no longer part of the site, and note what is.

        Returns how many files went, and how many were left because somebody had changed them.
        """
        wanted = {path for output in outputs for path in output.paths}
        gone = left = 0
        for path in [
            path
            for path in {**self._manifest.files, **dict.fromkeys(self._manifest.pending)}
            if path not in wanted
        ]:
            entry = self._manifest.files.pop(path, None)
            if PATH.fullmatch(path) and self._size(path) not in (None, A_FOLDER):
                ours = entry is None or digest(self._read(path)) == entry.content
                gone, left = gone + ours, left + (not ours)
                if ours:
                    folder, name = self._place(path)
                    os.unlink(name, dir_fd=folder)
        self._manifest.pending = []
        self._note()
        return gone, left

    def _note(self) -> None:
        text = _encoded(self._manifest)
        if text != self._noted:
            self._put(SITE_MANIFEST, text)
            self._noted = text

    def _size(self, path: str) -> int | None:
        """The bytes of a file when the folder was opened; None if none, below 0: no file."""
        folder, _, name = path.rpartition("/")
        return self._there[folder].get(name)

    def _place(self, path: str) -> tuple[int, str]:
        folder, _, name = path.rpartition("/")
        return self._descriptors[folder], name

    def _read(self, path: str) -> bytes:
        folder, name = self._place(path)
        try:
            with open(
                os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder), "rb"
            ) as file:
                return file.read()
        except OSError:  # a link, or no file
            return b""

    def _put(self, path: str, content: bytes) -> None:
        _write(*self._place(path), content)


@contextmanager
def opened(path: Path) -> Iterator[Folder]:
    """The site's folder, made if missing; raises Foreign, or SiteBusy if it is in use."""
    _make(path)
    with ExitStack() as stack:
        top = _open(stack, str(path), None, path)
        try:
            fcntl.flock(top, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SiteBusy(
                f"another process is publishing to {path}: run the command again when it has"
                " finished"
            ) from None
        manifest = _manifest(path, top)
        _sweep(top)
        # noted before anything else is made: what a full disk or a kill outputs is known as ours
        if manifest is None:
            manifest = Manifest(MANIFEST_FORMAT, "")
            _write(top, SITE_MANIFEST, _encoded(manifest))
        descriptors = {"": top}
        for name in SITE_FOLDERS:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=top)
            descriptors[name] = _open(stack, name, top, path / name)
            _sweep(descriptors[name])
        yield Folder(path, descriptors, manifest)


def _make(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{path} is not a folder: name another one") from None
    except OSError as error:
        if error.errno in CURES:  # no other name would help
            raise
        raise UsageError(
            f"{shorten(str(path), LONGEST_PATH)} cannot be made ({error.strerror}): name another"
            " folder"
        ) from None


def _open(stack: ExitStack, name: str, parent: int | None, path: Path) -> int:
    """A folder's descriptor; inside the site no link is followed."""
    flags = (
        os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (os.O_NOFOLLOW if parent is not None else 0)
    )
    try:
        number = os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENOTDIR):
            raise
        raise Foreign(f"{path} is not a folder of the site: {FOLDER_CURE}, or remove it") from None
    stack.callback(os.close, number)
    return number


def _encoded(manifest: Manifest) -> bytes:
    return msgspec.json.encode(manifest, order="deterministic")


def _write(folder: int, name: str, content: bytes) -> None:
    """Write a file, whole or not at all."""
    part = f".{name}{SUFFIX}"
    number = os.open(
        part,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
        0o666,
        dir_fd=folder,
    )
    try:
        with open(number, "wb", buffering=0) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise


def _sweep(folder: int) -> None:
    """Remove the half-written files of a process that was killed."""
    for part in [
        name for name in os.listdir(folder) if name.startswith(".") and name.endswith(SUFFIX)
    ]:
        with suppress(OSError):  # somebody's folder
            os.unlink(part, dir_fd=folder)


def _manifest(path: Path, top: int) -> Manifest | None:
    """Our files in the folder; None if it is empty. Raises Foreign."""
    try:
        number = os.open(
            SITE_MANIFEST, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=top
        )
    except FileNotFoundError:
        others = sorted(
            name for name in os.listdir(top) if name not in TOLERATED and not name.endswith(SUFFIX)
        )
        if others:
            raise Foreign(
                f"{path} is neither empty nor a site of perfvcs, it has {_listed(others)}:"
                f" {FOLDER_CURE}"
            ) from None
        return None
    except OSError:
        raise Foreign(f"{path / SITE_MANIFEST} was not written by perfvcs: {FOLDER_CURE}") from None
    with open(number, "rb") as file:
        opened = os.fstat(number)
        try:
            if not stat.S_ISREG(opened.st_mode) or opened.st_size > LARGEST_MANIFEST:
                raise msgspec.ValidationError
            written = msgspec.json.decode(file.read(), type=Manifest)
        except UNDECODABLE:
            raise Foreign(
                f"{path / SITE_MANIFEST} is damaged, and without it nobody knows which files"
                f" perfvcs wrote: remove {path}"
            ) from None
    if written.format != MANIFEST_FORMAT:
        raise Foreign(
            f"{path} was published by another version ({shorten(written.format, 40)}): remove it,"
            " or update perfvcs"
        )
    return written


def _sizes(folder: int) -> dict[str, int]:
    """The bytes of each file; NO_FILE or A_FOLDER where it is none."""

    def size(entry: os.DirEntry[str]) -> int:
        if entry.is_file(follow_symlinks=False):
            return entry.stat(follow_symlinks=False).st_size
        return A_FOLDER if entry.is_dir(follow_symlinks=False) else NO_FILE

    with os.scandir(folder) as entries:
        return {entry.name: size(entry) for entry in entries}


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED_FILES} more" if len(names) > MOST_NAMED_FILES else ""
    return ", ".join(f"`{shorten(name, 60)}`" for name in names[:MOST_NAMED_FILES]) + more
