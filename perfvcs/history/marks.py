"""The steps of a history that are already known, for listings that must be fast: nothing is
computed.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.history.judging import judged
from perfvcs.history.verdict import Verdicts

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.repository import Repository


MOST_READ_LEVELS = 20_000  # levels that are read for it


def marks(repository: Repository, revision: str) -> dict[str, list[Finding]]:
    """The steps and drifts along the first parents of a revision by commit, as far as a command
    has looked for them; the largest first.

    Nothing where the history has too many values to be read in passing.
    """
    if repository.index.most_levels() > MOST_READ_LEVELS:
        return {}
    try:
        return repository.index.consistent(lambda: _marks(repository, revision))
    except UsageError:  # perf.toml or perf-accepted.toml cannot be read: who judges by them says so
        return {}


def _marks(repository: Repository, revision: str) -> dict[str, list[Finding]]:
    commits = list(repository.with_profiles(repository.project.walk(revision, straight=True)))[::-1]
    lines = repository.index.lines()
    courses = repository.index.courses(lines, commits)
    findings_by_commit: dict[str, list[Finding]] = defaultdict(list)
    for judgement in judged(
        repository, lines, courses, commits, Verdicts(repository, compute=False), compute=False
    ).values():
        for finding in judgement.findings:
            findings_by_commit[finding.commit].append(finding)
    return {
        commit: sorted(findings, key=lambda finding: -abs(finding.effect))
        for commit, findings in findings_by_commit.items()
    }
