"""Branches that lie in files of their own, as git leaves what it wrote last: read without starting a process."""

from __future__ import annotations

import re
from pathlib import Path

_ID = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCH = re.compile(rb"ref: (refs/heads/\S+)")


def loose(folder: Path, name: str) -> str | None:
    """The commit of the branch ``name`` (``refs/heads/...``); None if only git can tell."""
    return _id(_line(folder / name))


def head(git_dir: Path, common_dir: Path) -> str | None:
    """The commit of HEAD, on a branch or detached; None if only git can tell."""
    line = _line(git_dir / "HEAD")
    branch = _BRANCH.fullmatch(line)
    return loose(common_dir, branch[1].decode("utf-8", "surrogateescape")) if branch else _id(line)


def _line(path: Path) -> bytes:
    try:
        return path.read_bytes().removesuffix(b"\n")
    except (OSError, ValueError):
        return b""


def _id(line: bytes) -> str | None:
    return line.decode() if _ID.fullmatch(line) else None
