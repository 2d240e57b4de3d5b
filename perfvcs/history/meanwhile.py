"""What changed on the host where a series steps: the step may be the machine's, not the code's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.environment.configuration import changes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.history.finding import Finding
    from perfvcs.repository import Repository


def meanwhile(repository: Repository, findings: Sequence[Finding]) -> Mapping[int, list[str]]:
    """By the ``id`` of a finding what changed on its host between the last commit before it and its own, such as ``kernel 6.1.1 -> 6.1.2``.

    Findings without any such change are left out. A change that makes measurements incomparable begins a new series instead.
    """
    asked = [
        (commit, finding.line.job.key, finding.line.environment.fingerprint)
        for finding in findings
        for commit in (finding.preceding, finding.commit)
    ]
    known = repository.index.environments(asked) if asked else {}
    found = {}
    for number, finding in enumerate(findings):
        before, after = known.get(2 * number), known.get(2 * number + 1)
        if before and after and (what := changes(before, after)):
            found[id(finding)] = what
    return found
