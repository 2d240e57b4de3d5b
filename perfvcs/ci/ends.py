"""Between which two commits a change lies: HEAD, and where it left the branch that it is to be merged into."""

from __future__ import annotations

from contextlib import suppress

from perfvcs.ci.surroundings import Surroundings
from perfvcs.environment.secrets import hidden
from perfvcs.errors import UsageError
from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.git.remote import CREDENTIALS, Remote
from perfvcs.text.characters import shorten

DEPTHS = ("--depth=100", "--depth=2000", "--unshallow")  # of a shallow checkout, until both commits have one history
REASON_CHARACTERS = 200  # characters of what git complains of


class NoBaseline(UsageError):
    """It is not known what the change is to be compared with."""


def ends(job: Surroundings, named: str = "") -> tuple[str, str]:
    """The ids of baseline and target: the merge base with ``named``, or with what the job says, and HEAD.

    Where the service has merged the change into its branch by itself, the baseline is that branch as it was merged. A shallow checkout
    is deepened. Raises NoBaseline, UnknownRevision, NoRepository.
    """
    project = Project.find()
    head, said = project.resolve("HEAD"), ""
    if found := _baseline(project, job, named, head):
        return found, head
    for depth in DEPTHS if project.shallow else ():
        said = said or _deepen(project, job, named, head, depth)
        project = Project.find()  # which remembers its history
        if found := _baseline(project, job, named, head):
            return found, head
    if project.shallow:
        why = f" ({said})" if said else ""
        raise NoBaseline(f"the checkout is too shallow to find where the change began{why}: {job.deepening}")
    base = named or job.base or job.branch
    if not base:
        raise NoBaseline("nothing says what to compare HEAD with: name it with --base REVISION")
    project.resolve(base)  # raises for an unknown one
    raise NoBaseline(f"HEAD and {shorten(base, 60)} have no commit in common: name another one with --base REVISION")


def _baseline(project: Project, job: Surroundings, named: str, head: str) -> str | None:
    """The baseline as far as the history tells; None if it does not."""
    details = project.describe([head]).get(head)
    parents = details.parents if details else ()
    if not parents and project.shallow:
        return None
    if not named and len(parents) == 2 and parents[1] == job.head:
        return parents[0]
    for base in [named] if named else [job.base, *_branches(job), *_defaults(project, head)]:
        if base and (commit := _commit(project, base)):
            with suppress(GitError):  # they have nothing in common
                return project.git("merge-base", commit, head)
    return None


def _branches(job: Surroundings) -> list[str]:
    return [f"refs/remotes/origin/{job.branch}", f"refs/heads/{job.branch}"] if job.branch else []


def _defaults(project: Project, head: str) -> list[str]:
    """The default baseline of HEAD: the default branch, or on that branch the commit before."""
    for branch in ("HEAD", "main", "master"):
        if commit := _commit(project, f"refs/remotes/origin/{branch}"):
            return [f"{head}^" if commit == head else commit]
    return [f"{head}^"]


def _commit(project: Project, name: str) -> str | None:
    with suppress(GitError):
        return project.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    return None


def _deepen(project: Project, job: Surroundings, named: str, head: str, depth: str) -> str:
    """Fetch more of the history; what git complained of, empty if it did not."""
    try:
        remote = Remote.find(project, reached=False).name
        wanted = [] if depth == "--unshallow" else [head]
        if not named and job.base:
            wanted.append(job.base)
        elif not named and job.branch:
            wanted.append(f"+refs/heads/{job.branch}:refs/remotes/{remote}/{job.branch}")
        quiet = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance")
        project.git("fetch", *quiet, depth, remote, *wanted)
    except (GitError, UsageError) as error:
        import os

        return shorten(hidden(CREDENTIALS.sub("", str(error)), os.environ), REASON_CHARACTERS)
    return ""
