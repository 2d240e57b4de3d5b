"""What a repository's own settings say for other checkouts and clones of it, too: where its remote
and its submodules are, and how git writes its files.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from perfvcs.git.command import GitError, git

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
