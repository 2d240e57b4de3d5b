"""Branches and pull requests that are not merged, as the references of a clone tell of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from perfvcs.git.project import Project

MOST_REFERENCES = 200  # references, the newest first
BRANCH_FOLDERS = ("refs/heads", "refs/remotes", "refs/pull", "refs/merge-requests")
REQUEST = re.compile(r"refs/(?:remotes/[^/]+/)?(?:pull|pr|merge-requests)/(\d{1,9})(?:/head)?")


@dataclass(frozen=True)
class Unmerged:
    """A branch, or a pull request by its number, with its newest commit."""

    name: str
    number: int | None
    reference: str
    commit: str


def unmerged(project: Project, into: str) -> Iterator[Unmerged]:
    """The branches and pull requests that a commit does not contain, the newest first, each commit under one name."""
    listed = project.git(
        "for-each-ref", "--sort=-committerdate", f"--count={MOST_REFERENCES}", f"--no-merged={into}",
        "--format=%(objecttype) %(objectname) %(symref) %(refname)", *BRANCH_FOLDERS,
    )  # fmt: skip
    found = []
    for line in listed.split("\n") if listed else ():
        kind, commit, symbolic, reference = line.split(" ", 3)
        if kind == "commit" and not symbolic:
            found.append((commit, reference))
    local = {reference.removeprefix("refs/heads/") for _, reference in found if reference.startswith("refs/heads/")}
    chosen: dict[str, Unmerged] = {}
    for commit, reference in found:
        one = _named(commit, reference, local)
        if commit not in chosen or _rank(one) < _rank(chosen[commit]):
            chosen[commit] = one
    yield from chosen.values()


def _named(commit: str, reference: str, local: set[str]) -> Unmerged:
    if request := REQUEST.fullmatch(reference):
        sign = "!" if "merge-requests" in reference else "#"
        return Unmerged(f"{sign}{request[1]}", int(request[1]), reference, commit)
    kind, _, name = reference.removeprefix("refs/").partition("/")
    branch = name.partition("/")[2]
    return Unmerged(branch if kind == "remotes" and branch not in local else name, None, reference, commit)


def _rank(branch: Unmerged) -> tuple[bool, bool, str]:
    """A request says more than the branch that it was made of, and a branch of this clone more than a copy of one."""
    return branch.number is None, not branch.reference.startswith("refs/heads/"), branch.reference
