"""``perf export``: profiles of the store become files; none that is there is overwritten unasked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from mmap import mmap
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from perfvcs import wholefile
from perfvcs.errors import NO_SPACE, UsageError
from perfvcs.formats import encode, encode_all, suffixes, together
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from perfvcs.repository import Repository


def documents(
    repository: Repository, paths: Sequence[str], format_name: str, options: Mapping[str, Any]
) -> Iterator[tuple[str, bytes]]:
    """Name and content of the file of each profile, one in memory at a time.

    A name is made of the profile's place in the store, ``<commit>-<collector>-<workload>-<id>``, which nothing foreign can shape. A format
    that has files for several profiles together names them itself.
    """
    if together(format_name):
        in_order = sorted(paths)  # those of a commit follow each other
        profiles = (profile for _, profile in repository.store.read_many(in_order, at=repository.index.head))
        yield from encode_all(profiles, format_name, options)
        return
    suffix = suffixes(format_name)[0]
    for path, profile in repository.store.read_many(paths, at=repository.index.head):
        yield f"{profile.commit[:10]}-{PurePosixPath(path).stem}{suffix}", encode(profile, format_name, options)


def into_folder(folder: Path, files: Iterator[tuple[str, bytes]], *, force: bool) -> None:
    """Write each file into a folder, which is made where there is none.

    Raises UsageError where one is there already, and where the folder cannot be written to.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{folder} is a file: name a folder for several profiles") from None
    except OSError as error:
        raise unwritable(folder, error) from None
    for name, document in files:
        (folder / name).parent.mkdir(exist_ok=True)
        into_file(folder / name, document, force=force)


def into_file(path: Path, document: bytes | mmap, *, force: bool) -> None:
    """Write a file, whole or not at all.

    Raises UsageError where it is there already, unless ``force`` holds, and where it cannot be written.
    """
    try:
        if wholefile.is_stream(path):
            path.write_bytes(document)
            return
        if not force and path.exists():
            raise UsageError(f"{path} already exists: --force overwrites it")
        wholefile.write(path, document)
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error about a file that cannot be written; raises OSError where the disk is full, which no other name would cure."""
    if error.errno in NO_SPACE:  # no wrong name
        raise OSError(error.errno, error.strerror, str(path)) from None
    return UsageError(f"cannot write {shorten(str(path), 200)}: {error.strerror or error}: choose another -o")
