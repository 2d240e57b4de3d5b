"""What perf-accepted.toml says of the steps of a history, which come from no comparison of two versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from perfvcs.check.acceptance import Acceptance, Move, ruling

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.repository import Repository


class Allowance:
    """The acceptances of a project, for findings along ``commits``, oldest first."""

    def __init__(self, repository: Repository, commits: Sequence[str]) -> None:
        self._project = repository.project
        self._commits = commits
        self._places = {commit: place for place, commit in enumerate(commits)}
        self._known: dict[tuple[str, str, float | None, str], list[Acceptance]] = defaultdict(list)
        for acceptance in repository.acceptances:
            self._known[acceptance.benchmark, acceptance.uid, acceptance.size, acceptance.metric].append(acceptance)

    def reason(self, finding: Finding) -> str | None:
        """Why a finding is accepted; None where it is not.

        The span covers both the finding's commits and those of each acceptance that overlap with them: two
        versions may have been compared that are further apart, and the commits between them were measured later.
        """
        from perfvcs.git.ancestry import Ancestry

        line = finding.line
        about = self._known.get((line.job.label, line.uid, line.size, line.metric), [])
        if not about:
            return None
        start, end = self._places[finding.first] - 1, self._places[finding.last]
        for one in about:
            low, high = self._places.get(one.baseline), self._places.get(one.target)
            if low is not None and high is not None and low <= end and high > start:
                start, end = min(start, low), max(end, high)
        way = Ancestry(self._project, self._commits[max(0, start)], self._commits[end])
        today = date.today()
        valid = [one for one in about if line.job.key.startswith(one.series) and not one.has_ended(today) and one.covers(way)]
        move = Move(line.better, finding.effect, finding.low, finding.high)
        return ruling(move, valid, way).accepted if valid and finding.direction == "degradation" else None
