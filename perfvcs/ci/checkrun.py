"""The check run of a commit, which a project can require: set at the service each time, whatever
came of measuring.
"""

from __future__ import annotations

from perfvcs.ci.artifacts import summary
from perfvcs.ci.civerdict import CiVerdict
from perfvcs.ci.forgeservice import (
    CURES,
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
