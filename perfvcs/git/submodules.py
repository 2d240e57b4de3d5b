"""The submodules of a checkout, out of the project's own copies where it has them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from perfvcs.errors import disk_is_full
from perfvcs.git.command import GitError, git
from perfvcs.system import disk

DEEPEST = 8  # submodules within submodules
MODULES_FILE = ".gitmodules"
LINK = "160000"  # mode of a submodule in a tree

Wanted = bool | Sequence[str]  # all of them, none, or those at these paths with what is within them


class _Submodule(NamedTuple):
    """One that a checkout has: its name in .gitmodules, and its path."""

    name: str
    path: str


def fill(common_dir: Path, folder: Path, *, wanted: Wanted = True) -> dict[str, str]:
    """Checks out the submodules of a checkout; returns those that stayed empty, by path, with the
    reason.

    ``common_dir`` is the git folder of the project, which may have copies of them. No hooks are
    run. Raises GitError on a full disk.
    """
    if wanted is False:
        return {}
    there = _submodules(folder)
    chosen = [entry for entry in there if wanted is True or entry.path in wanted]
    empty = {}
    if wanted is not True:
        missing = set(wanted) - _paths(there)
        empty = {path: "this revision has no such submodule" for path in wanted if path in missing}
    for submodule in chosen:
        empty |= _fill(common_dir, folder, submodule, submodule.path, DEEPEST)
    return empty


def _paths(submodules: Sequence[_Submodule]) -> set[str]:
    return {submodule.path for submodule in submodules}


def _fill(
    common_dir: Path, folder: Path, submodule: _Submodule, shown: str, depth: int
) -> dict[str, str]:
    """Check one out with all within it; ``shown`` is its path from the top."""
    if not depth:
        return {shown: f"it is within {DEEPEST} others"}
    copy = common_dir / "modules" / submodule.name
    try:
        if ".." in submodule.name.split("/") or not copy.is_dir():
            _update(folder, submodule, {})
        else:
            try:
                _update(
                    folder,
                    submodule,
                    {f"submodule.{submodule.name}.url": str(copy), "protocol.file.allow": "always"},
                )
            except GitError:  # the copy may be older
                _update(folder, submodule, {})
    except GitError as error:
        if disk_is_full(folder):
            raise
        disk.remove(folder / submodule.path)
        (folder / submodule.path).mkdir(parents=True, exist_ok=True)
        return {shown: str(error)}
    empty: dict[str, str] = {}
    for inner in _submodules(folder / submodule.path):
        empty |= _fill(copy, folder / submodule.path, inner, f"{shown}/{inner.path}", depth - 1)
    return empty


def _update(folder: Path, submodule: _Submodule, settings: Mapping[str, str]) -> None:
    """Let git check one out; by environment variables, names may have any characters.

    Raises GitError.
    """
    given = {"core.hooksPath": os.devnull, f"submodule.{submodule.name}.active": "true", **settings}
    variables = {"GIT_CONFIG_COUNT": str(len(given))}
    for number, (key, value) in enumerate(given.items()):
        variables |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    # without --init: git would register it in the settings that all worktrees share
    git(
        folder,
        "submodule",
        "--quiet",
        "update",
        "--checkout",
        "--",
        submodule.path,
        extra=variables,
    )
    if not (folder / submodule.path / ".git").exists():
        raise GitError("git leaves it out")


def _submodules(folder: Path) -> list[_Submodule]:
    """The submodules that HEAD of a checkout has and .gitmodules names, as git reads both."""
    if not os.path.lexists(folder / MODULES_FILE):
        return []
    with suppress(GitError):
        pattern = r"^submodule\..*\.path$"
        listed = git(
            folder, "config", "--null", "--blob", f"HEAD:{MODULES_FILE}", "--get-regexp", pattern
        )
        names = {}
        for entry in listed.split("\0"):
            key, _, path = entry.partition("\n")
            names[path.rstrip("/")] = key.removeprefix("submodule.").removesuffix(".path")
        tree = git(folder, "ls-tree", "-r", "-z", "--full-tree", "HEAD").split("\0")
        links = [entry.partition("\t")[2] for entry in tree if entry.startswith(LINK)]
        return [_Submodule(names[path], path) for path in links if path in names]
    return []
