"""Every series along the first parents of a revision: levels with intervals, what each commit did,
and what the series shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cached_property

from msgspec import Struct, field

from perfvcs.check.vocabulary import said
from perfvcs.git.project import Commit
from perfvcs.history.commitlevels import measured, reaches
from perfvcs.history.finding import Finding, Newest
from perfvcs.history.judging import judged
from perfvcs.history.verdict import Verdict, Verdicts
from perfvcs.index.lines import Course, Line
from perfvcs.repository import Repository
from perfvcs.system.numeric import Floats, Integers, np

# comparisons of neighbours; of more, the oldest of each series are left out unless a step is there
COMPARED = 5_000


class SeriesRecord(Struct, frozen=True):
    """One line along the record's commits, one element per measured commit, ascending ``places``.

    ``levels`` are mean logarithms with half the width of their 99 % interval (``reach``, NaN: fewer
    than three executions). ``verdicts`` are those of `perf check` on the commit before and this
    one, by element: the first has none, and old ones may have none. ``began`` says why an earlier
    line of the same benchmark could not go on.
    """

    line: Line
    places: Integers
    levels: Floats
    reach: Floats
    executions: Integers
    verdicts: Mapping[int, Verdict]
    began: str = ""
    findings: list[Finding] = field(default_factory=list)
    newest: Newest | None = None

    def word(self, turn: int) -> str:
        """An element against the one before: a word of `perf check`, ``accepted``, ``new``, ""."""
        if not turn:
            return "new"
        verdict = self.verdicts.get(turn)
        if verdict is None:
            return ""
        return said(verdict).word


class HistoryRecord(Struct, frozen=True, dict=True):
    """All series along ``commits`` (the first parents of a revision, oldest first); ``measured``
    are the places that any has.

    ``unusable`` counts values without a logarithm, ``aside`` measured commits that are not on this
    line, ``unjudged`` commits that were not compared with the one before.
    """

    commits: list[str]
    measured: list[int]
    details: dict[str, Commit]
    series: list[SeriesRecord]
    unusable: int
    aside: int
    unjudged: int

    @cached_property
    def _measured(self) -> Integers:
        return np.array(self.measured, dtype=np.int64)

    def turns(self, places: Integers) -> Integers:
        """The numbers of some places among the measured ones."""
        return self._measured.searchsorted(places)


def read(repository: Repository, revision: str) -> HistoryRecord:
    """The record up to a revision; raises UnknownRevision."""
    revision = repository.project.fixed(revision)
    walk = repository.project.walk(revision, straight=True)
    commits = list(walk)[::-1]
    lines, read_courses = repository.index.consistent(lambda: _read(repository, commits))
    unusable = sum(course.unusable for course in read_courses.values())
    courses = {number: course for number, course in read_courses.items() if course.places}
    others = repository.index.commits().difference(commits)
    aside = len(others.intersection(repository.project.walk(revision))) if others else 0
    verdicts = Verdicts(repository, () if aside else commits)
    judgements = judged(repository, lines, courses, commits, verdicts)
    stepping = {
        (lines[number].environment.fingerprint, finding.turn)
        for number, judgement in judgements.items()
        for finding in judgement.findings
    }
    compared = _compared(lines, courses, stepping)
    neighbours = verdicts.along(lines, courses, commits, compared)
    all_series = []
    for (number, course), reach in zip(
        courses.items(), reaches(list(courses.values())), strict=True
    ):
        judgement = judgements[number]
        series = SeriesRecord(
            line=judgement.line,
            places=np.asarray(course.places),
            levels=np.asarray(course.levels),
            reach=reach,
            executions=np.array(course.executions, dtype=np.int64),
            verdicts=neighbours.get(number, {}),
            began=judgement.began,
            findings=judgement.findings,
            newest=judgement.newest,
        )
        all_series.append(series)
    all_series.sort(key=_order)
    places = measured(courses.values())
    unjudged = sum(len(series.places) - 1 - len(series.verdicts) for series in all_series)
    details = repository.project.describe(commits[place] for place in places)
    return HistoryRecord(commits, places, details, all_series, unusable, aside, unjudged)


def _read(
    repository: Repository, commits: Sequence[str]
) -> tuple[dict[int, Line], dict[int, Course]]:
    """All lines, and their courses along commits."""
    lines = repository.index.lines()
    return lines, repository.index.courses(lines, commits)


def _compared(
    lines: Mapping[int, Line], courses: Mapping[int, Course], stepping: Set[tuple[str, int]]
) -> dict[int, list[tuple[int, int]]]:
    """The neighbouring elements of each course that are compared: the newest, as many as there is
    time for, and older ones where a line has a step in that environment.
    """
    longest = max((len(course.places) for course in courses.values()), default=0)
    newest = count = 0
    while newest + 1 < longest and count < COMPARED:
        newest += 1
        count += sum(len(course.places) > newest for course in courses.values())
    steps: dict[str, set[int]] = defaultdict(set)
    for environment, place in stepping:
        steps[environment].add(place)
    compared = {}
    for number, course in courses.items():
        first = max(1, len(course.places) - newest)
        older = steps[lines[number].environment.fingerprint].intersection(course.places[1:first])
        stepped = (bisect_left(course.places, place) for place in older)
        elements = [*stepped, *range(first, len(course.places))]
        compared[number] = [(element - 1, element) for element in elements]
    return compared


def _order(series: SeriesRecord) -> tuple[object, ...]:
    """A key that sorts series alike whatever numbers the index has given the lines."""
    line = series.line
    size = -1.0 if line.size is None else line.size
    what = (line.job.label, line.job.collector, line.uid, size, line.metric, line.unit, line.better)
    return (*what, line.environment.fingerprint, int(series.places[0]), line.job.key)
