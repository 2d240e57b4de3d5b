"""What changed on the host where a series steps: the step may be the machine's, not the code's."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from perfvcs.environment.configuration import changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perfvcs.history.finding import Finding
    from perfvcs.profile import Environment
    from perfvcs.repository import Repository

NEAREST = 50  # measured commits before a step among which the last one of its series is looked for


def meanwhile(repository: Repository, findings: Iterable[Finding]) -> Mapping[int, list[str]]:
    """By the ``id`` of a finding what changed on its host between the last commit before it and its own, such as ``kernel 6.1.1 -> 6.1.2``.

    Findings without any such change are left out. A change that makes measurements incomparable begins a new series instead.
    """
    found = {id(finding): _changes(repository, finding) for finding in findings}
    return {number: what for number, what in found.items() if what}


def _changes(repository: Repository, finding: Finding) -> list[str]:
    after = _environments(repository, finding, [finding.commit])
    before = _environments(repository, finding, islice(repository.measured_ancestors(finding.first), NEAREST))
    return changes(before[0], after[0]) if before and after else []


def _environments(repository: Repository, finding: Finding, commits: Iterable[str]) -> list[Environment]:
    """Those that the series was measured in on the first of the commits that have any, the newest first."""
    line = finding.line
    for commit in commits:
        headers = [
            header
            for header in repository.index.headers([commit])
            if header.dirty is None
            and header.job.key == line.job.key
            and header.environment.fingerprint == line.environment.fingerprint
        ]
        if headers:
            headers.sort(key=lambda header: header.collected.started, reverse=True)
            return [header.environment for header in headers]
    return []
