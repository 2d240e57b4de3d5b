"""What became of every lasting change along a history."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfvcs.history.finding import Finding
from perfvcs.history.judging import Allowance, JudgedLine, successions
from perfvcs.history.triage import Past, Standing, triaged
from perfvcs.index.lines import Course, Line
from perfvcs.repository import Repository


class _Along(NamedTuple):
    """A series as ``triaged`` takes it."""

    line: Line
    places: array[int]
    levels: array[float]
    findings: Sequence[Finding]
    began: str


def standings(
    repository: Repository,
    lines: Mapping[int, Line],
    courses: Mapping[int, Course],
    judgements: Mapping[int, JudgedLine],
    commits: Sequence[str],
) -> dict[int, Standing]:
    """The standing of every finding of judged lines along ``commits``, by its ``id``."""
    began = successions(lines, courses)
    along = [
        _Along(
            lines[number],
            course.places,
            course.levels,
            judgements[number].findings if number in judgements else (),
            began.get(number, ""),
        )
        for number, course in courses.items()
        if len(course.places)
    ]
    indexed = repository.index.commits()  # of all benchmarks, though some may be asked for
    measured = [place for place, commit in enumerate(commits) if commit in indexed]
    ends = {commits[place] for place in (measured[-1], *(series.places[-1] for series in along))}
    past = Past(commits, measured, repository.project.describe(ends))
    by_series = triaged(along, past, Allowance(repository, commits))
    return {
        id(finding): standing
        for series, of_series in zip(along, by_series, strict=True)
        for finding, standing in zip(series.findings, of_series, strict=True)
    }
