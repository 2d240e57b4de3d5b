"""The commits of a push, and the report of ``perf check`` on them before they leave."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfvcs.git.command import GitError, environment
from perfvcs.git.project import Project
from perfvcs.measure.announcement import RunningSession, running
from perfvcs.measure.progress import Progress
from perfvcs.profile.rules import RULES_FILE
from perfvcs.system.lock import LOCK_POLL

EXIT_DEGRADED, EXIT_OPEN = 3, 4  # exit statuses of `perf check`
UNCHECKED = 4  # of the hook itself, for the pre-commit framework


@dataclass(frozen=True)
class Push:
    """A comparison before a push: the new tip of ``branch``, and the commit that the other side
    has.
    """

    branch: str
    baseline: str
    target: str


@dataclass(frozen=True)
class Checked:
    """The result of ``perf check`` for one push: its exit status, its report, and the last line of
    its errors.
    """

    push: Push
    status: int
    output: str
    error: str

    @property
    def suspected(self) -> bool:
        """Whether a change is only suspected, because it was not measured in turns."""
        return re.search(r"^ +suspected ", self.output, re.MULTILINE) is not None

    @property
    def settlement(self) -> str:
        """The last line of the report: how many comparisons are settled; empty without any."""
        match = re.search(r"^\d+ of [1-9]\d* comparisons? settled$", self.output, re.MULTILINE)
        return match[0] if match else ""

    @property
    def judge(self) -> str:
        """What the push does to its own judge, as the report says it; empty where that is
        nothing.
        """
        acceptance = re.search(r": (this\s+change\s+accepts\s[^;]*);", self.output)
        lines = re.search(
            r"^  (?:This change also|The \[\[check)[^\n]*(?:\n  \S[^\n]*)*",
            self.output,
            re.MULTILINE,
        )
        sentences = [match[number] for match, number in ((acceptance, 1), (lines, 0)) if match]
        return "; ".join(" ".join(sentence.split()) for sentence in sentences)


def pushes(project: Project, remote: str, lines: Iterable[str]) -> list[Push]:
    """The comparisons for the lines that git gives to pre-push: ``<local ref> <local id> <remote
    ref> <remote id>``.

    Deletions, tags and perfvcs' own refs are left out: a tag names what a branch brings. The
    baseline is what the remote has; where that is nothing, or was not fetched, the merge base with
    the remote's default branch.
    """
    comparisons: dict[tuple[str, str], Push] = {}
    for line in lines:
        fields = line.split(" ")
        if len(fields) != 4 or fields[2].startswith(("refs/tags/", "refs/perf/", "refs/notes/")):
            continue
        _, local, remote_ref, remote_id = fields
        target = _commit(project, local)
        if target is None:
            continue
        baseline = _commit(project, remote_id) or _fork_point(project, remote, target)
        if baseline is not None and baseline != target:
            push = Push(remote_ref.removeprefix("refs/heads/"), baseline, target)
            comparisons.setdefault((push.baseline, push.target), push)
    return list(comparisons.values())


def pre_commit_lines(variables: Mapping[str, str]) -> list[str]:
    """The same lines from the variables of the pre-commit framework, which keeps git's own to
    itself; empty without them.
    """
    target = variables.get("PRE_COMMIT_TO_REF")
    if not target:
        return []
    local, remote = (
        variables.get(f"PRE_COMMIT_{side}_BRANCH", "HEAD") for side in ("LOCAL", "REMOTE")
    )
    return [f"{local} {target} {remote} {variables.get('PRE_COMMIT_FROM_REF') or '0' * 40}"]


def check(project: Project, wanted: Sequence[Push]) -> Iterator[Checked]:
    """Run ``perf check --gate`` for each push, in a process of its own."""
    for push in wanted:
        done = subprocess.run(
            [
                sys.executable,
                "-P",
                "-m",
                "perfvcs",
                "-C",
                str(project.root),
                "check",
                "--gate",
                push.baseline,
                push.target,
            ],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        yield Checked(
            push, done.returncode, done.stdout, errors[-1].removeprefix("perf: ") if errors else ""
        )


def waiting_time(project: Project) -> float:
    """The seconds that a push waits for measurements: perf.toml's, or what is usual where that
    cannot be read.
    """
    from perfvcs.errors import UsageError
    from perfvcs.jobs.config import HookTable, load

    try:
        return load(project.root / RULES_FILE).hook.seconds
    except UsageError:
        return HookTable().seconds


def measuring(home: Path, wanted: Iterable[Push]) -> list[RunningSession]:
    """The runs that measure a commit of a push just now."""
    commits = {commit for push in wanted for commit in (push.baseline, push.target)}
    return [run for run in running(home) if commits.intersection(run.commits)]


def wait(home: Path, wanted: Sequence[Push], seconds: float, progress: Progress) -> bool:
    """Wait until none of the commits to be compared is being measured, for at most so long; whether
    one still is.
    """
    until, total, done = time.monotonic() + seconds, 0, 0
    while runs := measuring(home, wanted):
        if time.monotonic() >= until:
            return True
        now_total, now_done = sum(run.total for run in runs), sum(run.done for run in runs)
        if now_total != total or now_done < done:
            total, done = now_total, 0
            progress.begin(total)
        while done < now_done:
            progress.step("measuring what is pushed")
            done += 1
        time.sleep(min(LOCK_POLL, max(0.0, until - time.monotonic())))
    return False


def _commit(project: Project, revision: str) -> str | None:
    """The commit behind an id; None for git's null id, for what is not here, and for what is not a
    commit.
    """
    if not revision.strip("0"):
        return None
    with contextlib.suppress(GitError):
        return project.git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
    return None


def _fork_point(project: Project, remote: str, target: str) -> str | None:
    """The merge base with the remote's default branch, as far as it was fetched."""
    for branch in ("HEAD", "main", "master"):
        with contextlib.suppress(GitError):
            return project.git("merge-base", f"refs/remotes/{remote}/{branch}", target)
    return None
