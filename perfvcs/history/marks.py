"""The lasting changes along a history for listings, which must be fast: those of `perf history`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfvcs.errors import UsageError
from perfvcs.history.finding import Finding
from perfvcs.history.judging import judged
from perfvcs.history.standings import standings
from perfvcs.history.triage import Standing
from perfvcs.history.verdict import Verdicts
from perfvcs.repository import Repository

MOST_READ_LEVELS = 20_000  # levels that are read for it
MOST_COMPARED = 50  # pairs of commits that are compared for it, which takes about a second


class Marks(NamedTuple):
    """The steps by commit, the most important first, with their ``standings`` by the ``id`` of
    each; not ``complete`` where there are too many values or comparisons to be judged in passing.
    """

    findings: Mapping[str, Sequence[Finding]]
    standings: Mapping[int, Standing]
    complete: bool = True


def marks(repository: Repository, revision: str) -> Marks:
    """The steps along the first parents of a revision; unknown ones are computed."""
    if repository.index.most_levels() > MOST_READ_LEVELS:
        return Marks({}, {}, complete=False)
    try:
        return repository.index.consistent(lambda: _marks(repository, revision))
    except UsageError:  # perf.toml or perf-accepted.toml cannot be read: who judges by them says so
        return Marks({}, {})


def _marks(repository: Repository, revision: str) -> Marks:
    commits = list(repository.with_profiles(repository.project.walk(revision, straight=True)))[::-1]
    lines = repository.index.lines()
    courses = repository.index.courses(lines, commits)
    verdicts = Verdicts(repository, most=MOST_COMPARED)
    judgements = judged(repository, lines, courses, commits, verdicts)
    if verdicts.left_out:
        return Marks({}, {}, complete=False)
    findings_by_commit: dict[str, list[Finding]] = defaultdict(list)
    for judgement in judgements.values():
        for finding in judgement.findings:
            findings_by_commit[finding.commit].append(finding)
    return Marks(
        {
            commit: sorted(findings, key=lambda finding: finding.rank)
            for commit, findings in findings_by_commit.items()
        },
        standings(repository, judgements.values(), commits),
    )
