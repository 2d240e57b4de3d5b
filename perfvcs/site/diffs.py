"""The files that commits change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from perfvcs.git.project import Project
from perfvcs.repository.criteria import JUDGES
from perfvcs.site.model import FileData
from perfvcs.text.characters import shorten

PATH_WIDTH = 160  # characters
MOST_FILES = 400  # files of a commit that are kept, the others are only counted
COMMITS_PER_READ = 500
START = "\x1e"
LOG_COMMAND = (
    "log",
    "-z",
    "--no-walk=unsorted",
    "--stdin",
    "--no-show-signature",
    "--diff-merges=first-parent",
    "--name-status",
    "--no-renames",
    "-O/dev/null",  # in git's own order, whatever somebody has set
    f"--format={START}%H",
)


class Diff(NamedTuple):
    """The first files that a commit changes, and how many ``more`` there are."""

    files: list[FileData]
    more: int = 0

    @classmethod
    def of(cls, files: list[tuple[str, str]]) -> Diff:
        """What of all files is kept: the first, and those that judge, which must not hide."""
        listed = files[:MOST_FILES] + [file for file in files[MOST_FILES:] if file[1] in JUDGES]
        named = [FileData(status, shorten(path, PATH_WIDTH)) for status, path in listed]
        return cls(named, len(files) - len(listed))

    def first(self, most: int) -> Diff:
        """The same with at most so many files."""
        return Diff(self.files[:most], self.more + max(0, len(self.files) - most))


class Diffs:
    """The changes of commits against their first parents; git is asked once per commit."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[str, Diff] = {}

    def fetch(self, commits: Iterable[str]) -> None:
        """Ask for many commits at once."""
        missing = [commit for commit in dict.fromkeys(commits) if commit not in self._known]
        for start in range(0, len(missing), COMMITS_PER_READ):
            batch = missing[start : start + COMMITS_PER_READ]
            listed = self._project.git(
                "-c", "log.showRoot=true", *LOG_COMMAND, text="\n".join(batch) + "\n"
            )
            self._known |= dict.fromkeys(batch, Diff([])) | _diffs(listed)

    def of(self, commit: str) -> Diff:
        """The changes of a commit."""
        if commit not in self._known:
            self.fetch([commit])
        return self._known[commit]


def _diffs(listed: str) -> dict[str, Diff]:
    """The output of LOG: per commit its id, then pairs of status and path, each NUL-ended."""
    changes: dict[str, list[tuple[str, str]]] = {}
    files: list[tuple[str, str]] = []
    tokens = iter(listed.split("\0"))
    for token in tokens:
        if token.startswith(START):
            files = changes[token[1:]] = []
        elif status := token.strip("\n"):
            files.append((status[:1], next(tokens)))
    return {commit: Diff.of(files) for commit, files in changes.items()}
