"""Commits in their order: who descends from whom, dates, and branches that are not merged."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import msgspec

from perfvcs.git.command import GitError, start
from perfvcs.git.project import Project

OBJECT_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
AUTHOR = rb"(?m)^author [^\n]*> (-?\d{1,10}) [+-]\d{4}$"
MOST_REFERENCES = 200  # references, the newest first
# a tag that is a version: v1.2, project-1.2.3, 2024.1.post1; a release candidate is none
NUMBER = r"\d{1,9}(?:[._]\d{1,9}){1,5}(?:[.-]?(?:post|p)\d{1,9})?"
POST = re.compile(r"[.-]?p(?:ost)?(?=\d)")
# before the number: words, none of which may be a part of it, as the 9 of REL9_6_1 would be
NAME = r"(?:(?!v?\d)[A-Za-z0-9.+]{1,60}(?:[-/]|(?<!\d)_|_(?!\d))){0,6}"
RELEASE = rf"{NAME}v?({NUMBER})"
BRANCH_FOLDERS = ("refs/heads", "refs/remotes", "refs/pull", "refs/merge-requests")
REQUEST = r"refs/(?:remotes/[^/]+/)?(?:pull|pr|merge-requests)/(\d{1,9})(?:/head)?"


class CommitDates:
    """The dates of commits. Git is asked once for each; ``close`` ends it."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._process: subprocess.Popen[bytes] | None = None
        self.known: dict[str, str | None] = {}

    def of(self, commit: str) -> str | None:
        """The author's date in UTC, ISO 8601; None if the commit is not in the repository."""
        if commit not in self.known:
            self.known[commit] = self._asked(commit) if OBJECT_ID.fullmatch(commit) else None
        return self.known[commit]

    def close(self) -> None:
        """End git."""
        if self._process is not None:
            with self._process:
                assert self._process.stdin is not None
                self._process.stdin.close()
            self._process = None

    def _asked(self, commit: str) -> str | None:
        if self._process is None:
            # what is not there is not fetched either
            self._process = start(
                "cat-file",
                "--batch",
                hardened=False,
                folder=self._root,
                extra={"GIT_NO_LAZY_FETCH": "1"},
                stdin=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        stdin.write(f"{commit}\n".encode())
        stdin.flush()
        words = stdout.readline().split()
        if len(words) != 3:  # missing
            return None
        content = stdout.read(int(words[2]) + 1)
        author = re.search(AUTHOR, content.partition(b"\n\n")[0]) if words[1] == b"commit" else None
        return (
            f"{datetime.fromtimestamp(int(author[1]), UTC):%Y-%m-%dT%H:%M:%SZ}" if author else None
        )


class Unmerged(msgspec.Struct, frozen=True):
    """A branch, or a pull request by its number, with its newest commit."""

    name: str
    number: int | None
    reference: str
    commit: str


def unmerged(project: Project, into: str) -> Iterator[Unmerged]:
    """The branches and pull requests that a commit does not contain, newest first, each once."""
    listed = project.git(
        "for-each-ref",
        "--sort=-committerdate",
        f"--count={MOST_REFERENCES}",
        f"--no-merged={into}",
        "--format=%(objecttype) %(objectname) %(symref) %(refname)",
        *BRANCH_FOLDERS,
    )
    listed_commits = []
    for line in listed.split("\n") if listed else ():
        kind, commit, symbolic, reference = line.split(" ", 3)
        if kind == "commit" and not symbolic:
            listed_commits.append((commit, reference))
    local = {
        reference.removeprefix("refs/heads/")
        for _, reference in listed_commits
        if reference.startswith("refs/heads/")
    }
    chosen: dict[str, Unmerged] = {}
    for commit, reference in listed_commits:
        branch = _named(commit, reference, local)
        if commit not in chosen or _rank(branch) < _rank(chosen[commit]):
            chosen[commit] = branch
    yield from chosen.values()


def _named(commit: str, reference: str, local: set[str]) -> Unmerged:
    if request := re.fullmatch(REQUEST, reference):
        sign = "!" if "merge-requests" in reference else "#"
        return Unmerged(f"{sign}{request[1]}", int(request[1]), reference, commit)
    kind, _, name = reference.removeprefix("refs/").partition("/")
    branch = name.partition("/")[2]
    return Unmerged(
        branch if kind == "remotes" and branch not in local else name, None, reference, commit
    )


def _rank(branch: Unmerged) -> tuple[bool, bool, str]:
    """A request says more than its branch, and a branch of this clone more than a copy of one."""
    return branch.number is None, not branch.reference.startswith("refs/heads/"), branch.reference


class WayCommit(NamedTuple):
    """A commit on a way through a history (a full id), and its parents: one stands before it."""

    commit: str
    parents: tuple[str, ...]


def way(project: Project, ancestor: str, commit: str) -> list[WayCommit]:
    """The commits that lead from an ancestor to a commit (full ids), oldest first, itself the last.

    The one before each, or the ancestor, is a parent of it: the first of its parents that descends
    from the ancestor, or is it. Empty where ``ancestor`` is not an ancestor.
    """
    ask = ("rev-list", "--ancestry-path", "--parents", f"^{ancestor}", commit)
    rows = (line.split() for line in project.git(*ask).splitlines())
    descending = {row[0]: tuple(row[1:]) for row in rows}
    commits: list[WayCommit] = []
    current = commit
    while current in descending:
        commits.append(WayCommit(current, descending[current]))
        leading = (
            parent for parent in descending[current] if parent == ancestor or parent in descending
        )
        current = next(leading, ancestor)
    return commits[::-1]


class Ancestry(msgspec.Struct, frozen=True, dict=True):
    """The commits that ``target`` has gained since ``baseline`` (full ids).

    git is asked at the first question, once for all commits between the two; about others each
    time.
    """

    project: Project
    baseline: str
    target: str
    _above: dict[str, set[str]] = msgspec.field(default_factory=dict)

    def gained(self, commit: str) -> bool:
        """Whether the target contains a commit that the baseline does not."""
        return commit in self._between

    def contains(self, commit: str, other: str) -> bool:
        """Whether a commit is another one or has it as an ancestor; not where either is unknown."""
        if commit == other:
            return True
        if other in self._between and (commit == self.baseline or commit in self._between):
            return commit != self.baseline and other in self._ancestors(commit)
        with suppress(GitError):
            self.project.git("merge-base", "--is-ancestor", other, commit)
            return True
        return False

    @cached_property
    def _between(self) -> dict[str, list[str]]:
        """The commits that the target has gained, with their parents."""
        listed = self.project.git("rev-list", "--parents", self.target, f"^{self.baseline}")
        return {commit: parents for commit, *parents in map(str.split, listed.splitlines())}

    def _ancestors(self, commit: str) -> set[str]:
        """Those of the commits between that a commit among them has as ancestors."""
        if commit not in self._above:
            ancestors: set[str] = set()
            waiting = [commit]
            while waiting:
                new = [
                    parent
                    for parent in self._between[waiting.pop()]
                    if parent in self._between and parent not in ancestors
                ]
                ancestors.update(new)
                waiting += new
            self._above[commit] = ancestors
        return self._above[commit]


def releases(project: Project, revision: str = "HEAD") -> dict[str, str]:
    """The ancestors of a revision tagged as versions, newest first: tag (the highest) -> commit."""
    listed = project.git(
        "for-each-ref",
        f"--merged={revision}",
        "--sort=version:refname",
        "--format=%(refname:lstrip=2) %(objectname) %(*objectname)",
        "refs/tags",
    )
    tags: dict[str, str] = {}
    for line in listed.splitlines():
        name, *ids = line.split()
        if re.fullmatch(RELEASE, name):
            tags[ids[-1]] = name
    if not tags:
        return {}
    order = project.git("rev-list", "--topo-order", "--simplify-by-decoration", revision).split()
    return {tags[commit]: commit for commit in order if commit in tags}


def version(tag: str) -> str:
    """The number of a release by its tag, as a package index has it.

    >>> version("project-v1_2_3"), version("v1.2.3p1"), version("nightly")
    ('1.2.3', '1.2.3.post1', '')
    """
    match = re.fullmatch(RELEASE, tag)
    return POST.sub(".post", match[1].replace("_", ".")) if match else ""
