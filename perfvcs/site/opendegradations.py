"""The commits that are suspect of an open degradation."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from perfvcs.git.project import Commit
from perfvcs.locate.bisect.suspicion import SuspectCommit, suspect
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded
from perfvcs.locate.sources.differences import each
from perfvcs.statistics.changepoints.steps import TURNS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from perfvcs.history.finding import Finding
    from perfvcs.index.lines import Line
    from perfvcs.repository import Repository


MOST_SUSPECTS = 3  # suspects of a change
# commits that a change may be: of longer ranges `perf bisect --dry-run` lists the suspects
MOST_COMMITS = 10
MOST_READ = 60  # commits whose changes one publishing reads


class Suspicions:
    """The suspects among a project's ``commits``, oldest first."""

    def __init__(self, repository: Repository, commits: list[str]) -> None:
        self._repository, self._commits = repository, commits
        self._suspects: dict[tuple[str, str, BenchmarkUnit], list[SuspectCommit]] = {}
        self._details: dict[str, Commit] = {}

    def read(self, findings: Iterable[tuple[Finding, Line]]) -> None:
        """Look for the suspects of as many changes as may be read, asking git at once."""
        spans: list[tuple[Finding, Line, range]] = []
        read: set[int] = set()
        for finding, line in findings:
            span = self._span(finding)
            if span and len(read) + len(span) <= MOST_READ:
                spans.append((finding, line, span))
                read.update(span)
        if not spans:
            return
        pairs = [(self._commits[place - 1], self._commits[place]) for place in sorted(read)]
        changed = dict(zip(sorted(read), each(self._repository.project, pairs), strict=True))
        for finding, line, span in spans:
            unit = BenchmarkUnit(line.job.label, line.job.collector, line.uid)
            reach = self._reached.get(unit) or self._reached.get(BenchmarkUnit(*unit.cell))
            suspects = (
                suspect(self._commits[place], changed[place], reach) for place in reversed(span)
            )
            touching = [commit for commit in suspects if commit.touches]
            self._suspects[finding.first, finding.last, unit] = touching[:MOST_SUSPECTS]
        self._details = self._repository.project.describe(
            {commit.commit for suspects in self._suspects.values() for commit in suspects}
        )

    def of(self, finding: Finding, line: Line) -> list[tuple[Commit, tuple[str, ...]]]:
        """The newest suspects with the functions and files that make them so; or none."""
        unit = BenchmarkUnit(line.job.label, line.job.collector, line.uid)
        suspects = self._suspects.get((finding.first, finding.last, unit), [])
        return [(self._details[commit.commit], commit.reasons) for commit in suspects]

    def _span(self, finding: Finding) -> range:
        """The places that a change may be, if they are several, and few, and nothing settled it."""
        is_open = 2 <= finding.commits <= MOST_COMMITS and TURNS not in finding.detectors
        if not is_open or finding.first not in self._places:
            return range(0)
        first, last = self._places[finding.first], self._places[finding.last]
        return range(first, last + 1) if first else range(0)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {commit: place for place, commit in enumerate(self._commits)}

    @cached_property
    def _reached(self) -> dict[BenchmarkUnit, Reach]:
        return recorded(self._repository, reversed(self._commits))
