"""A CI job, as its service describes it in the environment: which change it is about, and where
results go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from perfvcs.environment.variables import hidden
from perfvcs.errors import UsageError
from perfvcs.git.command import GitError
from perfvcs.git.project import Project
from perfvcs.git.refusal import CREDENTIALS
from perfvcs.git.remote import Remote
from perfvcs.system.foreign import UNDECODABLE, content
from perfvcs.text.characters import shorten

Platform = Literal["github", "gitlab", "plain"]
LARGEST_EVENT = 1 << 26  # bytes
COMMIT_ID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
BRANCH = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,500}")
GITHUB_API, GITLAB_API = "https://api.github.com", "https://gitlab.com/api/v4"
# of a shallow checkout, until both commits have one history
DEPTHS = ("--depth=100", "--depth=2000", "--unshallow")
REASON_CHARACTERS = 200  # characters of what git complains of


@dataclass(frozen=True)
class Surroundings:
    """One job of a CI service.

    ``base`` is the commit that the change is to be merged into, or came after, ``branch`` that
    commit's branch, ``head`` the newest commit of the change itself; HEAD may be a merge of both.
    ``number`` is the pull request's; None if there is none. ``api`` is the address to which
    ``token`` goes, ``project`` the project's name or number there. ``summary`` is the file of the
    step's summary. ``commit`` is the one on which the service shows results, ``pipeline`` the
    number of GitLab's pipeline.
    """

    platform: Platform
    base: str = ""
    branch: str = ""
    head: str = ""
    number: int | None = None
    api: str = ""
    project: str = ""
    token: str = field(default="", repr=False)
    summary: Path | None = None
    commit: str = ""
    pipeline: int | None = None

    @classmethod
    def of(cls, environ: Mapping[str, str], platform: Platform | None = None) -> Surroundings:
        """The job that an environment describes, by default that of the service running here.

        Raises UsageError.
        """
        if platform is None:
            on_gitlab: Platform = "gitlab" if environ.get("GITLAB_CI") == "true" else "plain"
            platform = "github" if environ.get("GITHUB_ACTIONS") == "true" else on_gitlab
        return {"github": _github, "gitlab": _gitlab, "plain": _plain}[platform](environ)

    @property
    def deepening(self) -> str:
        """How to fetch the whole history in this service."""
        cures = {
            "github": "set `fetch-depth: 0` for actions/checkout",
            "gitlab": 'set GIT_DEPTH: "0" for the job',
        }
        return cures.get(self.platform, "run `git fetch --unshallow`")


def _plain(environ: Mapping[str, str]) -> Surroundings:  # noqa: ARG001
    return Surroundings("plain")


def _github(environ: Mapping[str, str]) -> Surroundings:
    event = _event(environ.get("GITHUB_EVENT_PATH", ""))
    change = _table(event, "pull_request")
    run = _table(event, "workflow_run")
    base, head = _table(change, "base"), _table(change, "head")
    group = _table(event, "merge_group")
    newest = _commit(head.get("sha") or run.get("head_sha"))
    return Surroundings(
        "github",
        base=_commit(base.get("sha") or group.get("base_sha") or event.get("before")),
        branch=_branch(base.get("ref") or environ.get("GITHUB_BASE_REF")),
        head=newest,
        commit=newest or _commit(group.get("head_sha") or environ.get("GITHUB_SHA")),
        number=_number(change.get("number")),
        api=environ.get("GITHUB_API_URL") or GITHUB_API,
        project=environ.get("GITHUB_REPOSITORY", ""),
        token=environ.get("GITHUB_TOKEN") or environ.get("GH_TOKEN", ""),
        summary=(
            Path(environ["GITHUB_STEP_SUMMARY"]) if environ.get("GITHUB_STEP_SUMMARY") else None
        ),
    )


def _gitlab(environ: Mapping[str, str]) -> Surroundings:
    merging = "CI_MERGE_REQUEST_IID" in environ
    return Surroundings(
        "gitlab",
        base=_commit(
            environ.get("CI_MERGE_REQUEST_DIFF_BASE_SHA" if merging else "CI_COMMIT_BEFORE_SHA")
        ),
        branch=_branch(environ.get("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")),
        head=_commit(environ.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA")),
        commit=_commit(environ.get("CI_COMMIT_SHA")),
        pipeline=_number(environ.get("CI_PIPELINE_ID")),
        number=_number(environ.get("CI_MERGE_REQUEST_IID")),
        api=environ.get("CI_API_V4_URL") or GITLAB_API,
        project=environ.get("CI_PROJECT_ID", ""),
        token=environ.get("GITLAB_TOKEN", ""),
    )


def _event(name: str) -> dict[str, Any]:
    """The document of what has happened; raises UsageError."""
    if not name:
        raise UsageError(
            "GITHUB_EVENT_PATH is not set: outside of a GitHub job use `perf ci --platform plain"
            " --base REVISION`"
        )
    try:
        event = msgspec.json.decode(content(Path(name), LARGEST_EVENT))
    except OSError as error:
        raise UsageError(
            f"GITHUB_EVENT_PATH: {name} cannot be read ({error.strerror}): use --platform plain"
            " --base REVISION"
        ) from None
    except UNDECODABLE:
        event = None
    if not isinstance(event, dict):
        raise UsageError(
            f"GITHUB_EVENT_PATH: {name} is not an event of GitHub: use --platform plain --base"
            " REVISION"
        )
    return event


def _table(event: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = event.get(name)
    return table if isinstance(table, dict) else {}


def _commit(text: object) -> str:
    """A commit's id; empty for what is not one, and for the id of nothing."""
    return text if isinstance(text, str) and COMMIT_ID.fullmatch(text) and text.strip("0") else ""


def _branch(text: object) -> str:
    return text if isinstance(text, str) and BRANCH.fullmatch(text) else ""


def _number(text: object) -> int | None:
    return (
        int(text)
        if isinstance(text, int | str) and re.fullmatch(r"[1-9][0-9]{0,11}", str(text))
        else None
    )


class NoBaseline(UsageError):
    """It is not known what the change is to be compared with."""


def ends(job: Surroundings, named: str = "") -> tuple[str, str]:
    """The ids of baseline and target: the merge base with ``named``, or with what the job says, and
    HEAD.

    Where the service has merged the change into its branch by itself, the baseline is that branch
    as it was merged. A shallow checkout is deepened. Raises NoBaseline, UnknownRevision,
    NoRepository.
    """
    project = Project.find()
    head, problem = project.resolve("HEAD"), ""
    if baseline := _baseline(project, job, named, head):
        return baseline, head
    for depth in DEPTHS if project.shallow else ():
        problem = problem or _deepen(project, job, named, head, depth)
        project = Project.find()  # which remembers its history
        if baseline := _baseline(project, job, named, head):
            return baseline, head
    if project.shallow:
        why = f" ({problem})" if problem else ""
        raise NoBaseline(
            f"the checkout is too shallow to find where the change began{why}: {job.deepening}"
        )
    base = named or job.base or job.branch
    if not base:
        raise NoBaseline("nothing says what to compare HEAD with: name it with --base REVISION")
    project.resolve(base)  # raises for an unknown one
    raise NoBaseline(
        f"HEAD and {shorten(base, 60)} have no commit in common: name another one with --base"
        " REVISION"
    )


def _baseline(project: Project, job: Surroundings, named: str, head: str) -> str | None:
    """The baseline as far as the history tells; None if it does not."""
    details = project.describe([head]).get(head)
    parents = details.parents if details else ()
    if not parents and project.shallow:
        return None
    if not named and len(parents) == 2 and parents[1] == job.head:
        return parents[0]
    for base in [named] if named else [job.base, *_branches(job), *_defaults(project, head)]:
        if base and (commit := _resolved(project, base)):
            with suppress(GitError):  # they have nothing in common
                return project.git("merge-base", commit, head)
    return None


def _branches(job: Surroundings) -> list[str]:
    return [f"refs/remotes/origin/{job.branch}", f"refs/heads/{job.branch}"] if job.branch else []


def _defaults(project: Project, head: str) -> list[str]:
    """The default baseline of HEAD: the default branch, or on that branch the commit before."""
    for branch in ("HEAD", "main", "master"):
        if commit := _resolved(project, f"refs/remotes/origin/{branch}"):
            return [f"{head}^" if commit == head else commit]
    return [f"{head}^"]


def _resolved(project: Project, name: str) -> str | None:
    with suppress(GitError):
        return project.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"
        )
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

        return shorten(hidden(re.sub(CREDENTIALS, "", str(error)), os.environ), REASON_CHARACTERS)
    return ""
