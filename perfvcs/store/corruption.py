"""Objects of a store that are there and cannot be read: which they are, and moving them out of
git's way.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.stream import blob_id
from perfvcs.profile.validity import MAX_PROFILE

# git and `perf gc` take files with this beginning for what a killed writer has left
SET_ASIDE = "tmp_corrupt_"
AT_ONCE = 1 << 16  # bytes
READ_OTHERWISE = "it is not a file"  # of trees and commits that could be read


class CorruptPack(NamedTuple):
    """A pack that is not what git wrote, and its objects that can still be read."""

    path: Path
    readable: frozenset[str]


class Corruption(NamedTuple):
    """The corrupt ``loose`` files and packs of a store, and the ids of the lost objects."""

    loose: tuple[Path, ...]
    packs: tuple[CorruptPack, ...]
    lost: frozenset[str]


def corruption(store: Path, git: Bare) -> Corruption:
    """All that is corrupt. Reads every object."""
    loose = tuple(path for path in _loose(store) if not _is_whole(path))
    lost = {path.parent.name + path.name for path in loose}
    packs = []
    for path in sorted((store / "objects/pack").glob("pack-*.pack")):
        try:
            git.run("verify-pack", str(path.absolute()))
        except GitFailed:
            named, readable = _of_pack(path, git)
            packs.append(CorruptPack(path, readable))
            lost |= named - readable
    return Corruption(loose, tuple(packs), frozenset(lost))


def set_aside(found: Corruption, git: Bare) -> None:
    """Rename what is corrupt, so that git takes it for missing; packs are repacked first."""
    for pack in found.packs:
        if pack.readable:
            names = "".join(f"{name}\n" for name in sorted(pack.readable)).encode()
            new = str(pack.path.absolute().with_name("pack"))  # how its name begins
            git.run("pack-objects", "--quiet", "--no-reuse-object", new, data=names)
        for suffix in (".pack", ".idx", ".rev", ".mtimes"):
            with suppress(FileNotFoundError):
                _rename(pack.path.with_suffix(suffix))
    for path in found.loose:
        _rename(path)


def listed(git: Bare, lost: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """The kinds and ids of all objects that are not ``lost``, referred to or not."""
    every = git.run("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").decode()
    wanted = "".join(f"{name}\n" for name in every.split() if name not in lost).encode()
    kinds = git.run("cat-file", "--batch-check=%(objecttype) %(objectname)", data=wanted).decode()
    for line in kinds.splitlines():
        kind, _, name = line.partition(" ")
        yield kind, name


def _rename(path: Path) -> None:
    name = path.name.replace(".", "_")  # git takes what ends with `.pack` for one
    path.rename(path.with_name(SET_ASIDE + name))


def _loose(store: Path) -> Iterator[Path]:
    for fan in sorted((store / "objects").glob("[0-9a-f][0-9a-f]")):
        yield from sorted(path for path in fan.iterdir() if len(path.name) == len("0" * 38))


def _is_whole(path: Path) -> bool:
    """Whether a file has the object of its name."""
    digest, inflate = sha1(usedforsecurity=False), zlib.decompressobj()
    try:
        with path.open("rb") as file:
            while chunk := file.read(AT_ONCE):
                digest.update(inflate.decompress(chunk))
    except (OSError, zlib.error):
        return False
    return inflate.eof and digest.hexdigest() == path.parent.name + path.name


def _of_pack(pack: Path, git: Bare) -> tuple[frozenset[str], frozenset[str]]:
    """The objects that a pack's index names, and those of them that can be read."""
    try:
        index = git.run("show-index", data=pack.with_suffix(".idx").read_bytes()).decode()
    except (OSError, GitFailed):
        return frozenset(), frozenset()
    names = [line.split()[1] for line in index.splitlines()]
    readable = {
        name
        for name, content in zip(names, git.objects(names, MAX_PROFILE), strict=True)
        if _is_read(name, content)
    }
    return frozenset(names), frozenset(readable)


def _is_read(name: str, content: bytes | Fault) -> bool:
    if isinstance(content, Fault):
        return content.reason == READ_OTHERWISE
    return blob_id(content) == name
