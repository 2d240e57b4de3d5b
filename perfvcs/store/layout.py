"""The files that a store consists of: anything else could redirect git, and is not let in. Objects
that cannot be read are moved out of git's way.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from perfvcs.git.bare import Bare, Fault, GitFailed
from perfvcs.git.command import keys
from perfvcs.git.stream import blob_id
from perfvcs.profile.validity import MAX_PROFILE
from perfvcs.system.disk import NotPlain, entries, folder, plain, remove

CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
HEAD_CONTENT = b"ref: refs/heads/main\n"
LARGEST_CONFIGURATION = 1 << 20  # bytes of a configuration
MOST_LEVELS = 8  # levels of folders that are looked into; what is deeper is not ours as a whole
# What git reads to find settings, objects or code elsewhere, with a store's path as its root.
REDIRECTIONS = (
    "commondir",
    "config.worktree",
    "objects/info/alternates",
    "objects/info/http-alternates",
    "info/grafts",
    "info/attributes",
)
GIT_FILES = frozenset({"HEAD", "config", "packed-refs", "perfvcs-write.lock", "perfvcs-gc.lock"})
GIT_FOLDERS = frozenset({"objects", "refs"})
CONTENTS = (
    ("objects", r"[0-9a-f]{2}/[0-9a-f]{38}|pack/pack-[0-9a-f]{40}\.(pack|idx|rev|mtimes)"),
    ("refs", r"heads/main"),
)
# What git and its killed processes leave, and what git makes again: not worth a word.
USUAL_FILES = (
    r"description|branches|logs|gc\.(log|pid)|FETCH_HEAD|ORIG_HEAD|fast_import_crash_\d+|.*\.lock|info(/refs)?|objects/(?:(?!tmp_)[^/]*/)*tmp_.*"
    r"|objects/info/(packs|commit-graph|commit-graphs/.*)|objects/pack/(multi-pack-index.*|.*\.bitmap)"
)
STANDARD = (
    r"core\.(repositoryformatversion|filemode|bare|ignorecase|precomposeunicode|symlinks"
    r"|logallrefupdates)"
)


def problem(store: Path) -> str | None:
    """Why git must not run in a store, in the words of a message; None where everything is as we
    write it.

    Starts no process.
    """
    if not os.path.lexists(store):
        return None
    for name in ("config", "HEAD"):
        expected = CONFIG if name == "config" else HEAD_CONTENT
        if (present := _content(store / name)) != expected:
            what = "is missing" if present is None else "is not as perfvcs wrote it"
            return f"{store / name} {what}"
    for name in REDIRECTIONS:
        if os.path.lexists(store / name):
            return f"{store / name} could lead git elsewhere"
    folders = [store / name for name in ("refs", "refs/heads", "objects")]
    with contextlib.suppress(OSError, NotPlain):
        folders += [store / "objects" / name for name in entries(store / "objects")]
    for path in folders:
        if _kind(path) not in (None, stat.S_IFDIR) and not path.name.startswith("tmp_"):
            return f"{path} is not a folder"
    main = store / "refs/heads/main"
    return f"{main} is not a plain file" if _kind(main) not in (None, stat.S_IFREG) else None


def _kind(path: Path) -> int | None:
    """What is at a path, links not followed; None if nothing is, or git has just removed it."""
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return None


def restore(store: Path) -> list[str]:
    """Leaves only what a store consists of, with our own configuration; returns what was dropped,
    in sentences. Follows no links.

    A kill at any moment leaves a store that can be restored again.
    """
    dropped = []
    if foreign := _foreign_keys(store / "config"):
        dropped.append(f"store/config: {', '.join(foreign)}")
    for name in entries(store):
        if not _belongs(store, name):
            dropped += _dropped(store, name)
    for name in entries(store / "objects"):
        if not re.fullmatch(r"[0-9a-f]{2}|pack|info", name):
            dropped += _dropped(store, f"objects/{name}")
    for top, allowed in CONTENTS:
        for name in _below(store / top):
            if not re.fullmatch(allowed, name) or _kind(store / top / name) != stat.S_IFREG:
                dropped += _dropped(store, f"{top}/{name}")
    if (text := _content(store / "packed-refs")) is not None:
        main = b"".join(
            line for line in text.splitlines(keepends=True) if line.endswith(b" refs/heads/main\n")
        )
        if main != text:
            _put(store / "packed-refs", main)
    _put(store / "config", CONFIG)
    _put(store / "HEAD", HEAD_CONTENT)
    return dropped


def write_config(store: Path) -> None:
    """Give a new store our configuration in the place of git's own."""
    _put(store / "config", CONFIG)


def _belongs(store: Path, name: str) -> bool:
    """Whether an entry of the store's folder is of the kind that git has there."""
    kind = _kind(store / name)
    if name in GIT_FOLDERS:
        return kind == stat.S_IFDIR
    if name in GIT_FILES:
        return kind == stat.S_IFREG
    return kind is None  # git has just removed it


def _dropped(store: Path, name: str) -> list[str]:
    """Removes one entry; returns the sentence about it, none for what git itself leaves."""
    path = store / name
    kind = "a symbolic link" if path.is_symlink() else "not part of a store"
    within = [f"{name}/{below}" for below in _below(path)]
    remove(path)
    silent = kind != "a symbolic link" and all(
        re.fullmatch(USUAL_FILES, entry) for entry in within or [name]
    )
    return [] if silent else [f"store/{name}: {kind}"]


def _below(top: Path) -> list[str]:
    """The relative paths of all non-folders below a folder; links are not entered."""
    paths, waiting = [], [""]
    while waiting:
        folder_name = waiting.pop()
        with contextlib.suppress(NotPlain):
            for name in entries(top / folder_name):
                path = f"{folder_name}/{name}" if folder_name else name
                is_folder = stat.S_ISDIR(os.lstat(top / path).st_mode)
                if is_folder and path.count("/") < MOST_LEVELS:
                    waiting.append(path)
                else:
                    paths.append(path)
    return paths


def _foreign_keys(config: Path) -> list[str]:
    """The keys of a configuration that neither perfvcs nor `git init` writes; none obeyed."""
    if _content(config) == CONFIG:
        return []
    if config.is_symlink() or not config.is_file():
        return []
    return [key for key in keys(config) if not re.fullmatch(STANDARD, key)]


def _content(path: Path) -> bytes | None:
    """The bytes of a plain file; None where there is none, or one that is too large to be ours."""
    try:
        with open(plain(path, os.O_RDONLY), "rb") as file:
            read = file.read(LARGEST_CONFIGURATION + 1)
    except (NotPlain, OSError):
        return None
    return read if len(read) <= LARGEST_CONFIGURATION else None


def _put(path: Path, content: bytes) -> None:
    """Write a small file whole or not at all, in the place of whatever is there."""
    if _content(path) == content:
        return
    part = path.with_name(f"{path.name}.lock")  # git's own name for a file that is being replaced
    remove(part)
    with folder(path.parent), open(plain(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
        file.write(content)
    if path.is_dir() and not path.is_symlink():
        remove(path)
    part.replace(path)


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
