"""The submodules of a checkout, out of the project's own copies where it has them, and what else of
a project's own settings holds in other checkouts and clones of it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.errors import disk_is_full
from perfvcs.git.command import GitError, git
from perfvcs.system import disk

if TYPE_CHECKING:
    from perfvcs.git.project import Project


HOOKS = "core.hooksPath"
ORIGIN = "remote.origin.url"
ATTRIBUTES = "info/attributes"  # of a repository alone
# by which git writes the files of a checkout
OBEYED = re.compile(r"filter\..*|lfs\..*|core\.(?:autocrlf|eol|attributesfile)")
ASKED = r"^(remote\.origin|submodule\..*)\.url$"
# git's rule: a scheme, or a host before the first slash; else it is a path
ELSEWHERE = re.compile(r"[A-Za-z][\w+.-]*:(?://|:)|[^/:]+:")


def addresses(git_folder: Path, top: Path) -> dict[str, str]:
    """The settings of the repository in a git folder that say where its origin and its submodules
    are; empty where there is none.

    Paths are absolute, whereas git takes relative ones from the working tree in which it runs: they
    start at the ``top`` of the repository's own, which is the origin of one that has no other.
    """
    if not git_folder.is_dir():
        return {}
    file = str(git_folder / "config")
    asked = ("config", "--file", file, "--includes", "--null", "--get-regexp", ASKED)
    try:
        listed = git(git_folder, *asked)
    except GitError:  # it has none
        listed = ""
    entries = (entry.partition("\n") for entry in listed.split("\0") if entry)
    return {ORIGIN: str(top)} | {key: absolute(url, top) for key, _, url in entries}


def absolute(url: str, top: Path) -> str:
    """An address with a relative path made absolute; paths start at ``top``.

    >>> from pathlib import Path
    >>> absolute("../lib.git", Path("/home/me/project")), absolute("host:lib.git", Path("/home"))
    ('/home/me/lib.git', 'host:lib.git')
    """
    if not url or Path(url).is_absolute() or ELSEWHERE.match(url):
        return url
    return os.path.normpath(top / url)


def take_settings(project: Project, folder: Path) -> None:
    """Let git write the files of a clone as it writes those of the project's worktrees, and fetch
    its submodules from where these have theirs. It runs no hooks, which the user's own settings may
    look for among the files of a checkout.
    """
    listed = project.git("config", "--local", "--includes", "--null", "--list").split("\0")
    for key, _, value in (entry.partition("\n") for entry in listed):
        if OBEYED.fullmatch(key):
            git(folder, "config", "--add", key, value)
    own = {HOOKS: os.devnull} | addresses(project.common_dir, project.home)
    for key, value in own.items():
        git(folder, "config", "--replace-all", key, value)
    attributes = project.common_dir / ATTRIBUTES
    if attributes.is_file():
        (folder / ".git" / ATTRIBUTES).parent.mkdir(exist_ok=True)
        shutil.copyfile(attributes, folder / ".git" / ATTRIBUTES)


DEEPEST = 8  # submodules within submodules
MODULES_FILE = ".gitmodules"
LINK = "160000"  # mode of a submodule in a tree

Wanted = bool | Sequence[str]  # all of them, none, or those at these paths with what is within them


class _Submodule(NamedTuple):
    """One that a checkout has: its name in .gitmodules, and its path."""

    name: str
    path: str


class _Source(NamedTuple):
    """The repository that a checkout is of: its git folder, which may have copies of submodules,
    and the ``top`` of its own working tree.
    """

    git_folder: Path
    top: Path

    def copy(self, submodule: _Submodule) -> _Source:
        """That of a submodule, where it has a copy."""
        return _Source(self.git_folder / "modules" / submodule.name, self.top / submodule.path)


def fill(common_dir: Path, top: Path, folder: Path, *, wanted: Wanted = True) -> dict[str, str]:
    """Checks out the submodules of a checkout; returns those that stayed empty, by path, with the
    reason.

    ``common_dir`` is the git folder of the project, which may have copies of them, and ``top`` that
    of its working tree, at which relative addresses start. No hooks are run. Raises GitError on a
    full disk.
    """
    if wanted is False:
        return {}
    there = _submodules(folder)
    chosen = [entry for entry in there if wanted is True or entry.path in wanted]
    empty = {}
    if wanted is not True:
        missing = set(wanted) - _paths(there)
        empty = {path: "this revision has no such submodule" for path in wanted if path in missing}
    source = _Source(common_dir, top)
    for submodule in chosen:
        empty |= _fill(source, folder, submodule, submodule.path, DEEPEST)
    return empty


def _paths(submodules: Sequence[_Submodule]) -> set[str]:
    return {submodule.path for submodule in submodules}


def _fill(
    source: _Source, folder: Path, submodule: _Submodule, shown: str, depth: int
) -> dict[str, str]:
    """Check one out with all within it; ``shown`` is its path from the top."""
    if not depth:
        return {shown: f"it is within {DEEPEST} others"}
    copy, settings = source.copy(submodule), _settings(source, submodule)
    try:
        if ".." in submodule.name.split("/") or not copy.git_folder.is_dir():
            _update(folder, submodule, settings)
        else:
            of_copy = {
                f"submodule.{submodule.name}.url": str(copy.git_folder),
                "protocol.file.allow": "always",
            }
            try:
                _update(folder, submodule, settings | of_copy)
            except GitError:  # the copy may be older
                _update(folder, submodule, settings)
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


def _settings(source: _Source, submodule: _Submodule) -> dict[str, str]:
    """What says where a submodule comes from."""
    wanted = (ORIGIN, f"submodule.{submodule.name}.url")
    known = addresses(source.git_folder, source.top)
    return {key: url for key, url in known.items() if key in wanted}


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
