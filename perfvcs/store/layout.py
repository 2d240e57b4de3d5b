"""The files that a store consists of: anything else could redirect git, and is not let in."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path

from perfvcs.git.command import keys
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
