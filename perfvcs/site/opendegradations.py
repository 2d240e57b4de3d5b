"""The commits that are suspect of an open degradation."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from perfvcs.git.project import Commit
from perfvcs.locate.bisect.suspicion import suspect
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded
from perfvcs.locate.sources.differences import changes

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.index.lines import Line
    from perfvcs.locate.sources.differences import Changes
    from perfvcs.repository import Repository


MOST_SUSPECTS = 3  # suspects of a change
# commits that a change may be: of longer ranges `perf bisect --dry-run` lists the suspects
MOST_COMMITS = 10
MOST_READ = 60  # commits whose changes one publishing reads


class Suspicions:
    """The suspects among a project's ``commits``, oldest first; what they change is read once."""

    def __init__(self, repository: Repository, commits: list[str]) -> None:
        self._repository, self._commits = repository, commits
        self._changes: dict[str, Changes] = {}

    def of(self, finding: Finding, line: Line) -> list[tuple[Commit, tuple[str, ...]]]:
        """The newest suspects with the functions and files that make them suspect; empty if too
        much would have to be read.
        """
        if not 2 <= finding.commits <= MOST_COMMITS or finding.first not in self._places:
            return []
        first, last = self._places[finding.first], self._places[finding.last]
        if first < 1 or len(self._changes) + last - first + 1 > MOST_READ:
            return []
        reach = self._reached.get(
            BenchmarkUnit(line.job.label, line.job.collector, line.uid)
        ) or self._reached.get(BenchmarkUnit(line.job.label, line.job.collector))
        suspects = [
            suspect(self._commits[place], self._change(place), reach)
            for place in range(last, first - 1, -1)
        ]
        touching = [touching_suspect for touching_suspect in suspects if touching_suspect.touches][
            :MOST_SUSPECTS
        ]
        commits = self._repository.project.describe(
            [touching_suspect.commit for touching_suspect in touching]
        )
        return [
            (commits[touching_suspect.commit], touching_suspect.reasons)
            for touching_suspect in touching
        ]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {commit: place for place, commit in enumerate(self._commits)}

    @cached_property
    def _reached(self) -> dict[BenchmarkUnit, Reach]:
        return recorded(self._repository, reversed(self._commits))

    def _change(self, number: int) -> Changes:
        commit = self._commits[number]
        if commit not in self._changes:
            self._changes[commit] = changes(
                self._repository.project, self._commits[number - 1], commit
            )
        return self._changes[commit]
