"""What is posted at the service of a pull request: the one comment, found again by its marker and
updated in place, and the check of a commit, set each time, whatever came of measuring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfvcs.ci.artifacts import summary
from perfvcs.ci.civerdict import CiVerdict
from perfvcs.ci.forgeservice import (
    CURES,
    PAGE,
    USUAL,
    ForgeFailed,
    ForgeService,
    Insistence,
    insist,
    project_path,
)
from perfvcs.ci.surroundings import Surroundings
from perfvcs.environment.variables import hidden
from perfvcs.text.characters import shorten

READABLE = (
    "note: {} is set, and what was measured could read it: give it only to a job that runs `perf ci"
    " --post` (docs/ci.md)"
)


@dataclass(frozen=True)
class Talk:
    """The comments on one pull request: where they are listed and written, and how one of them is
    changed.
    """

    forge: ForgeService
    comments: str
    one: str
    update: str

    def find(self, marker: str) -> dict[str, Any] | None:
        """The comment that begins with a marker, a program's before a person's; None without
        one.
        """
        ours = [
            comment
            for comment in self.forge.listed(self.comments)
            if str(comment.get("body") or "").lstrip().startswith(marker)
        ]
        return min(ours, key=lambda comment: not _by_program(comment), default=None)

    def write(self, marker: str, text: str, *, new: bool) -> str:
        """Replace the comment with the marker by the text; without such a comment, add one if it
        may be ``new``.
        """
        comment = self.find(marker)
        if comment is None and not new:
            return "no comment: nothing changed"
        if comment is None:
            self.forge.ask("POST", self.comments, {"body": text})
            return "comment written"
        if comment.get("body") == text:
            return "comment is unchanged"
        self.forge.ask(self.update, self.one.format(comment["id"]), {"body": text})
        return "comment updated"


def publish(
    job: Surroundings, marker: str, text: str, *, new: bool, limits: Insistence = USUAL
) -> str:
    """Writes or updates the comment; returns what came of it, in one sentence.

    Raises nothing, whatever happens, and takes no longer than the ``limits`` say.
    """

    def work(forge: ForgeService) -> str:
        talk = _talk(job, forge)
        if talk is None:
            return "no comment: this job has no pull request"
        return talk.write(marker, text, new=new)

    return insist(job, work, "no comment", limits=limits)


def _talk(job: Surroundings, forge: ForgeService) -> Talk | None:
    """The address of the comments on the job's pull request; None if it has none.

    Raises ForgeFailed.
    """
    project = project_path(job)
    if job.platform == "gitlab":
        where = f"{project}/merge_requests/{job.number}/notes"
        return Talk(forge, where, f"{where}/{{}}", "PUT") if job.number else None
    number = job.number or _number(job, forge)
    where = f"{project}/issues"
    return (
        Talk(forge, f"{where}/{number}/comments", f"{where}/comments/{{}}", "PATCH")
        if number
        else None
    )


def _number(job: Surroundings, forge: ForgeService) -> int | None:
    """The open pull request whose newest commit is the job's; that of a fork is not named in the
    event of a `workflow_run`.
    """
    if not job.head:
        return None
    requests = forge.ask("GET", f"repos/{job.project}/commits/{job.head}/pulls?per_page={PAGE}")
    for request in requests if isinstance(requests, list) else ():
        if not isinstance(request, dict):
            continue
        head, number = request.get("head"), request.get("number")
        if (
            isinstance(head, dict)
            and head.get("sha") == job.head
            and request.get("state") == "open"
            and isinstance(number, int)
        ):
            return number
    return None


def _by_program(comment: dict[str, Any]) -> bool:
    user = comment.get("user")
    return isinstance(user, dict) and user.get("type") == "Bot"


TITLE_CHARACTERS = 140  # GitHub's bound of a status' description; GitLab's is 255
TEXT = 65_535  # characters of a check run's text
REFUSED = (403, 404)  # of what a token that no app has, such as a person's, may not
CHECK_CURES = CURES | {
    403: "let the job write (`checks: write`, or `statuses: write`)",
    404: "there is no such commit, or the token may not see it",
    422: "the service does not know the commit",
}


def set_check(
    job: Surroundings,
    verdict: CiVerdict,
    name: str,
    secrets: dict[str, str],
    limits: Insistence = USUAL,
) -> str:
    """Set the check ``name`` of the job's commit: it passes where `perf ci` exits with 0. Returns
    what came of it, in one sentence; ``secrets`` are variables whose values are hidden.

    GitHub has it as a check run, and where the token may not write one as a commit status; GitLab
    as a status of the pipeline. Raises nothing, whatever happens.
    """
    title = shorten(hidden(verdict.headline(), secrets), TITLE_CHARACTERS)
    text = hidden(summary(verdict, TEXT), secrets)
    passed = verdict.status == 0

    def work(forge: ForgeService) -> str:
        if not job.commit:
            return "no check: nothing says which commit this job is about"
        where = project_path(job)
        if job.platform == "gitlab":
            pipeline = {"pipeline_id": job.pipeline} if job.pipeline else {}
            state = "success" if passed else "failed"
            given = {"state": state, "name": name, "description": title, **pipeline}
            forge.ask("POST", f"{where}/statuses/{job.commit}", given)
            return f"check {name}: {state}"
        conclusion = "success" if passed else "failure"
        run = {
            "name": name,
            "head_sha": job.commit,
            "status": "completed",
            "conclusion": conclusion,
            "output": {"title": title, "summary": text},
        }
        try:
            forge.ask("POST", f"{where}/check-runs", run)
        except ForgeFailed as error:
            if error.status not in REFUSED:
                raise
            status = {"state": conclusion, "context": name, "description": title}
            forge.ask("POST", f"{where}/statuses/{job.commit}", status)
            return f"check {name}: {conclusion}, as a commit status"
        return f"check {name}: {conclusion}"

    return insist(job, work, "no check", CHECK_CURES, limits)
