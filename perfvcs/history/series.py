"""The series of one benchmark for views: a point per commit with its verdict, the levels, steps,
and where one begins anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log
from typing import NamedTuple

from msgspec import Struct

from perfvcs.check.subject import Level, Point, Series, Step
from perfvcs.git.project import Commit, Project
from perfvcs.history.commitlevels import between, measured, reaches
from perfvcs.history.finding import LARGEST_EXPONENT, Finding, remarks_of
from perfvcs.history.judging import Allowance, judged, successions
from perfvcs.history.standings import standings
from perfvcs.history.triage import Standing
from perfvcs.history.verdict import CommitPair, Verdict, Verdicts, of_line
from perfvcs.index.lines import Course, Line
from perfvcs.profile import Environment
from perfvcs.profile.benchmarkfilter import BenchmarkFilter
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import has_line
from perfvcs.system.numeric import np
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
    def places(self) -> dict[str, int]:
        """Where each commit stands."""
        return {commit: place for place, commit in enumerate(self.commits)}

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
    lines_called = {
        number: line
        for number, line in repository.index.lines().items()
        if has_line(benchmarks, line)
    }
    order = CommitOrder.of(repository.project)
    courses = repository.index.courses(lines_called, order.commits)
    chosen = sorted(
        courses,
        key=lambda number: (metric_rank(lines_called[number].metric), courses[number].places[:1]),
    )[:MOST_SERIES]
    drawn = {number: courses[number] for number in chosen}
    places = measured(drawn.values())
    commits = [order.commits[place] for place in places[-DRAWN_COMMITS:]]
    verdicts = Verdicts(
        repository, order.commits if len(order.straight) == len(order.commits) else (), delta=delta
    )
    centres = _centres(drawn, order.commits, min(places[-DRAWN_COMMITS:], default=0))
    verdicts_by_line = _verdicts(order, lines_called, centres, verdicts)
    medians = _medians(
        repository, {lines_called[number].job.key for number in chosen}, commits[-JUDGED:]
    )
    straight = repository.index.courses(chosen, order.straight)
    judgements = judged(repository, lines_called, straight, order.straight, verdicts)
    accepted = Allowance(repository, order.straight)
    became = standings(repository, judgements.values(), order.straight)
    begun = successions(lines_called, courses)
    several = ambiguous(
        ((line.job.label, line.uid, line.size, line.metric), line.job.collector)
        for line in map(lines_called.__getitem__, chosen)
    )
    context = _About(repository.project.describe(commits), set(order.straight))
    series: list[Series] = []
    unusable = sum(course.unusable for course in courses.values())
    for number in chosen:
        line, judgement = lines_called[number], judgements.get(number)
        key = SeriesKey(line.job.key, line.environment.fingerprint)
        unit = (line.uid, line.size, line.metric)
        points = list(
            _points(centres[number], context, verdicts_by_line[number], medians[key, unit])
        )
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
            levels = between(straight[number], judgement.found.judgement.steps, order.straight)
            shown = replace(
                shown,
                levels=list(_held(levels, points)),
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
    for level in levels:
        within = [
            point
            for point in points[places.get(level.first, 0) : places.get(level.last, -1) + 1]
            if not point.aside
        ]
        intervals = [
            (point.low, point.high)
            for point in within
            if point.low is not None and point.high is not None
        ]
        off = sum(not low <= level.centre <= high for low, high in intervals)
        if len(within) >= SHORT_SERIES or 2 * off <= len(intervals) or len(intervals) < 2:
            yield level


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


class _About(NamedTuple):
    """Facts about commits, and which are along the first parents."""

    details: Mapping[str, Commit]
    straight: set[str]


class _Centre(NamedTuple):
    """One commit of a line: its executions, their level, and its 99 % interval if several."""

    commit: str
    executions: int
    centre: float
    low: float | None
    high: float | None


def _centres(
    courses: Mapping[int, Course], commits: Sequence[str], first: int
) -> dict[int, list[_Centre]]:
    """The commits of every line from the place ``first`` on."""
    centres: dict[int, list[_Centre]] = {}
    for (number, course), half in zip(
        courses.items(), reaches(list(courses.values())), strict=True
    ):
        levels = np.asarray(course.levels)
        ends = np.exp(
            np.clip([levels, levels - half, levels + half], -LARGEST_EXPONENT, LARGEST_EXPONENT)
        )
        certain = np.isfinite(half) & (levels + np.nan_to_num(half) < LARGEST_EXPONENT)
        rows = zip(course.places, course.executions, *ends.tolist(), certain.tolist(), strict=True)
        centres[number] = [
            _Centre(commits[place], count, centre, *((low, high) if certain else (None, None)))
            for place, count, centre, low, high, certain in rows
            if place >= first
        ]
    return centres


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


def _points(
    centres: Sequence[_Centre],
    course: _About,
    verdicts: Mapping[str, Verdict],
    medians: Mapping[str, Sequence[float]],
) -> Iterator[Point]:
    for commit, executions, centre, low, high in centres:
        if commit not in course.details:
            continue
        details, verdict = course.details[commit], verdicts.get(commit)
        word, reason = "", ""
        if verdict is not None:
            word, reason = (
                (verdict.word, verdict.reason)
                if verdict.accepted is None
                else ("accepted", verdict.accepted)
            )
        ends = (verdict.effect, verdict.low, verdict.high) if verdict else (None, None, None)
        yield Point(
            commit,
            details.title,
            details.author,
            details.when,
            executions,
            centre,
            low,
            high,
            word,
            *ends,
            reason,
            commit not in course.straight,
            tuple(medians.get(commit, ())),
        )


def _verdicts(
    order: CommitOrder,
    lines: Mapping[int, Line],
    centres: Mapping[int, Sequence[_Centre]],
    verdicts: Verdicts,
) -> dict[int, dict[str, Verdict]]:
    """The newest commits' verdicts by line and commit, against the nearest first parent."""
    asked: dict[CommitPair, list[tuple[int, str]]] = defaultdict(list)
    for number, line_centres in centres.items():
        here = {centre.commit: None for centre in line_centres}
        for centre in line_centres[-JUDGED:]:
            if before := order.nearest(centre.commit, here):
                asked[
                    CommitPair(before, centre.commit, lines[number].environment.fingerprint)
                ].append((number, centre.commit))
    logarithms = {
        (number, centre.commit): log(centre.centre)
        for number, line_centres in centres.items()
        for centre in line_centres
    }
    by_line: dict[int, dict[str, Verdict]] = defaultdict(dict)
    newest = sorted(asked, key=lambda pair: -order.places[pair.after])
    for pair, rows in verdicts.of(newest).items():
        for number, commit in asked[pair]:
            moved = logarithms[number, commit] - logarithms[number, pair.before]
            if verdict := of_line(rows, lines[number], moved):
                by_line[number][commit] = verdict
    return by_line


def _named(environment: Environment) -> str:
    """An environment in one line; the fingerprint distinguishes what the named fields do not."""
    words = [
        f"{name} {environment.fields[name]}" for name in NAMED_FIELDS if name in environment.fields
    ]
    return ", ".join(filter(None, [*words, environment.fingerprint[:8]]))
