"""The series of one benchmark for views: a point per commit with its verdict, the levels, steps,
and where one begins anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from perfvcs.check.subject import Level, Point, Series, Step
from perfvcs.check.vocabulary import said
from perfvcs.git.project import Commit, Project
from perfvcs.history.commitlevels import between, measured, reaches
from perfvcs.history.finding import LARGEST_EXPONENT, Finding, level, remarks_of
from perfvcs.history.judging import Allowance, judged, successions
from perfvcs.history.standings import standings
from perfvcs.history.triage import Standing
from perfvcs.history.verdict import Verdict, Verdicts
from perfvcs.index.lines import Course
from perfvcs.profile import Environment
from perfvcs.profile.benchmarkfilter import BenchmarkFilter
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import has_line
from perfvcs.system.numeric import Floats
from perfvcs.text.words import ambiguous, counted, metric_rank

DRAWN_COMMITS = 3000  # the newest measured ones are drawn
JUDGED = 40  # the newest of them are compared with the one before
SHORT_SERIES = 12  # commits, below which a level has to be that of most of them
MOST_SERIES = 60  # units and metrics, wall time first
NAMED_FIELDS = ("cpu", "kernel", "python")  # of an environment, with its fingerprint
SizedMetric = tuple[str, float | None, str]  # uid, size, metric


class SeriesKey(NamedTuple):
    """One environment of one job: its key and the fingerprint."""

    key: str
    environment: str


class CommitOrder(Struct, frozen=True, dict=True):
    """The commits up to HEAD, ancestors first; ``straight`` are those along the first parents."""

    commits: list[str]
    straight: list[str]
    before: Mapping[str, str]

    @cached_property
    def along(self) -> set[str]:
        """The commits along the first parents; all others stand aside."""
        return set(self.straight)

    @classmethod
    def of(cls, project: Project) -> CommitOrder:
        """That of a project, asked of git at once."""
        listed = [
            line.split()
            for line in project.git(
                "rev-list", "--topo-order", "--parents", project.resolve("HEAD")
            ).splitlines()
        ]
        before = {commit: parents[0] for commit, *parents in listed if parents}
        straight = [listed[0][0]]
        while straight[-1] in before:
            straight.append(before[straight[-1]])
        return cls([commit for commit, *_ in reversed(listed)], straight[::-1], before)

    def nearest(self, commit: str, among: Mapping[str, object]) -> str | None:
        """The nearest of some commits on the way back along the first parents, without itself."""
        nearest = self.before.get(commit)
        while nearest is not None and nearest not in among:
            nearest = self.before.get(nearest)
        return nearest


class Gathered(Struct, frozen=True):
    """The series of a benchmark, and what was left out, in sentences."""

    series: list[Series]
    notes: list[str]


def gather(
    repository: Repository, benchmarks: BenchmarkFilter, *, delta: float | None = None
) -> Gathered:
    """The series of some benchmarks, in every environment, along all ancestors of HEAD."""
    return repository.index.consistent(lambda: _gather(repository, benchmarks, delta))


def _gather(repository: Repository, benchmarks: BenchmarkFilter, delta: float | None) -> Gathered:
    lines = repository.index.lines()
    lines_called = {number: line for number, line in lines.items() if has_line(benchmarks, line)}
    order = CommitOrder.of(repository.project)
    courses = repository.index.courses(lines_called, order.commits)
    chosen = sorted(
        courses,
        key=lambda number: (metric_rank(lines_called[number].metric), courses[number].places[:1]),
    )[:MOST_SERIES]
    courses_drawn = [courses[number] for number in chosen]
    places = measured(courses_drawn)
    commits = [order.commits[place] for place in places[-DRAWN_COMMITS:]]
    details = repository.project.describe(commits)
    verdicts = Verdicts(
        repository, order.commits if len(order.straight) == len(order.commits) else (), delta=delta
    )
    compared = {number: list(_newest(courses[number], order)) for number in chosen}
    verdicts_by_line = verdicts.along(lines_called, courses, order.commits, compared)
    medians = _medians(
        repository, {lines_called[number].job.key for number in chosen}, commits[-JUDGED:]
    )
    # what is certain depends on all that was measured, whatever is drawn
    straight = repository.index.courses(lines, order.straight)
    judgements = judged(repository, lines, straight, order.straight, verdicts)
    accepted = Allowance(repository, order.straight)
    became = standings(repository, judgements.values(), order.straight)
    begun = successions(lines_called, courses)
    several = ambiguous(
        ((line.job.label, line.uid, line.size, line.metric), line.job.collector)
        for line in map(lines_called.__getitem__, chosen)
    )
    series: list[Series] = []
    unusable = sum(course.unusable for course in courses.values())
    for number, reach in zip(chosen, reaches(courses_drawn), strict=True):
        line, judgement = lines_called[number], judgements.get(number)
        key = SeriesKey(line.job.key, line.environment.fingerprint)
        unit = (line.uid, line.size, line.metric)
        levels = _levels(courses[number], reach, order)
        points = [
            _point(at, details[at.commit], verdicts_by_line[number], medians[key, unit])
            for at in levels
            if at.commit in details
        ]
        label = line.job.label
        if (label, *unit) in several:
            label = f"{label} ({line.job.collector})"
        shown = Series(
            label,
            *unit,
            line.unit,
            line.better,
            _named(line.environment),
            points,
            begins=begun.get(number, ""),
        )
        if judgement and judgement.found:
            lasting = between(straight[number], judgement.found.judgement.steps, order.straight)
            shown = replace(
                shown,
                levels=list(_held(lasting, points)),
                steps=[
                    step_of(finding, accepted.reason(finding), became[id(finding)])
                    for finding in judgement.findings
                ],
                remarks=remarks_of(judgement),
            )
        series.append(shown)
    return Gathered(series, _notes(len(places), len(courses), unusable))


def _held(levels: Iterable[Level], points: Sequence[Point]) -> Iterator[Level]:
    """The levels without those of few commits most of which lie elsewhere, beyond their own
    intervals: something changed there.
    """
    places = {point.commit: place for place, point in enumerate(points)}
    for stretch in levels:
        within = [
            point
            for point in points[places.get(stretch.first, 0) : places.get(stretch.last, -1) + 1]
            if not point.aside
        ]
        intervals = [
            (point.low, point.high)
            for point in within
            if point.low is not None and point.high is not None
        ]
        off = sum(not low <= stretch.centre <= high for low, high in intervals)
        if len(within) >= SHORT_SERIES or 2 * off <= len(intervals) or len(intervals) < 2:
            yield stretch


def step_of(finding: Finding, accepted: str | None, standing: Standing) -> Step:
    """A finding as figures draw it; ``accepted`` says why it is."""
    return Step(
        commit=finding.commit,
        word=finding.word,
        direction=finding.direction,
        first=finding.first,
        last=finding.last,
        commits=finding.commits,
        before=finding.before,
        after=finding.after,
        effect=finding.effect,
        low=finding.low,
        high=finding.high,
        p=finding.p,
        detectors=finding.detectors,
        accepted=accepted,
        contradiction=finding.contradiction,
        levels=finding.levels if finding.curve else "",
        standing="" if finding.contradiction or accepted is not None else standing.text,
    )


def _notes(commits: int, series: int, unusable: int) -> list[str]:
    notes = []
    if commits > DRAWN_COMMITS:
        notes.append(
            f"The newest {DRAWN_COMMITS:,} of {commits:,} measured commits are drawn; steps are"
            " searched for in all of them."
        )
    if commits > JUDGED:
        notes.append(
            f"The newest {JUDGED:,} commits are judged against the one before, the others by the"
            " steps only."
        )
    if series > MOST_SERIES:
        notes.append(
            f"{MOST_SERIES:,} of {series:,} series of this benchmark are drawn; `perf history`"
            " covers all of them."
        )
    if unusable:
        notes.append(
            f"{counted(unusable, 'value')} with a zero, negative or infinite measurement left out."
        )
    return notes


class _CommitLevel(NamedTuple):
    """One element of a line: its executions, their level, and its 99 % interval if several."""

    element: int
    commit: str
    aside: bool
    executions: int
    centre: float
    low: float | None
    high: float | None


def _levels(course: Course, reach: Floats, order: CommitOrder) -> Iterator[_CommitLevel]:
    """The levels of a course, with half the widths of their intervals."""
    columns = course.places, course.executions, course.levels, reach.tolist()
    for element, (place, executions, centre, half) in enumerate(zip(*columns, strict=True)):
        commit = order.commits[place]
        known = centre + half < LARGEST_EXPONENT  # not where it is NaN either
        low, high = (level(centre - half), level(centre + half)) if known else (None, None)
        aside = commit not in order.along
        yield _CommitLevel(element, commit, aside, executions, level(centre), low, high)


def _medians(
    repository: Repository, keys: Iterable[str], commits: Sequence[str]
) -> dict[tuple[SeriesKey, SizedMetric], dict[str, list[float]]]:
    """The medians of all executions on the newest commits."""
    medians: dict[tuple[SeriesKey, SizedMetric], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for key in keys:
        for entry in repository.index.history(key, commits):
            summary = entry.summary
            if entry.dirty is None:
                medians[
                    SeriesKey(key, entry.environment), (summary.uid, summary.size, summary.metric)
                ][entry.commit] += summary.medians
    return medians


def _point(
    at: _CommitLevel,
    details: Commit,
    verdicts: Mapping[int, Verdict],
    medians: Mapping[str, Sequence[float]],
) -> Point:
    point = Point(
        commit=at.commit,
        title=details.title,
        author=details.author,
        when=details.when,
        executions=at.executions,
        centre=at.centre,
        low=at.low,
        high=at.high,
        aside=at.aside,
        medians=tuple(medians.get(at.commit, ())),
    )
    verdict = verdicts.get(at.element)
    if verdict is None:
        return point
    return replace(
        point,
        verdict=said(verdict).word,
        effect=verdict.effect,
        effect_low=verdict.low,
        effect_high=verdict.high,
        reason=verdict.reason if verdict.accepted is None else verdict.accepted,
    )


def _newest(course: Course, order: CommitOrder) -> Iterator[tuple[int, int]]:
    """The newest elements of a course, each behind that of the nearest first parent."""
    elements = {order.commits[place]: element for element, place in enumerate(course.places)}
    for commit, element in list(elements.items())[-JUDGED:]:
        if before := order.nearest(commit, elements):
            yield elements[before], element


def _named(environment: Environment) -> str:
    """An environment in one line; the fingerprint distinguishes what the named fields do not."""
    words = [
        f"{name} {environment.fields[name]}" for name in NAMED_FIELDS if name in environment.fields
    ]
    return ", ".join(filter(None, [*words, environment.fingerprint[:8]]))
