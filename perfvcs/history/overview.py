"""The findings of all series along a history, or of one benchmark, and why others were not
analysed.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from perfvcs.environment.host import names as names_of
from perfvcs.git.project import Commit
from perfvcs.history.commitlevels import measured
from perfvcs.history.finding import Finding, Newest, title
from perfvcs.history.judging import SHORTEST_BY, JudgedLine, judged
from perfvcs.history.standings import standings
from perfvcs.history.triage import Standing
from perfvcs.history.unlisted import Unlisted, unlisted
from perfvcs.history.verdict import Verdicts
from perfvcs.index.lines import Line
from perfvcs.profile import Environment
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.repository import Repository
from perfvcs.repository.benchmarks import configured_labels, has_line
from perfvcs.statistics.changepoints.steps import BY_SERIES, Detector

# benchmark, collector, metric, and the environment's fingerprint
SeriesName = tuple[str, str, str, str]


class SeriesBreak(msgspec.Struct, frozen=True):
    """Where some ``series`` begin anew, since what they were measured with changed."""

    commit: str
    reason: str
    series: int


class ShortSeries(msgspec.Struct, frozen=True, order=True):
    """A benchmark and a metric of too few commits to be analysed."""

    benchmark: str
    metric: str


class Overview(msgspec.Struct, frozen=True):
    """Findings, the newest first, of one commit by ``rank``; the others the newest first.

    ``details`` describes their commits.
    ``environments`` names those of the series that differ by nothing else. ``lines`` and
    ``commits`` were analysed, from the first to the last of ``ends`` (full ids, empty without any);
    ``short`` names the benchmarks and metrics with fewer than ``shortest`` commits of which nothing
    was settled in turns, ``unusable`` counts values without a logarithm that were left out,
    ``aside`` measured commits on branches that were merged. ``unlisted`` are degradations that
    `perf check` has reported, and that are not among the findings; ``compared``: it has reported
    on each two measured neighbours. ``standings`` are those of the findings, by their ``id``;
    ``configured`` has the labels of perf.toml's jobs.
    """

    findings: Sequence[Finding]
    newest: Sequence[Newest]
    details: dict[str, Commit]
    environments: dict[SeriesName, str]
    lines: int
    commits: int
    ends: Sequence[str]
    short: Sequence[ShortSeries]
    shortest: int
    cuts: Sequence[SeriesBreak]
    unusable: int
    aside: int
    unlisted: Sequence[Unlisted]
    compared: bool
    standings: Mapping[int, Standing]
    configured: frozenset[str]

    def of_newest(self, commits: int | None) -> Sequence[Finding]:
        """The findings of the newest commits that have any; of all for None."""
        wanted = list(dict.fromkeys(finding.commit for finding in self.findings))[:commits]
        return [finding for finding in self.findings if finding.commit in wanted]

    def standing(self, finding: Finding) -> Standing:
        """What became of one of the findings."""
        return self.standings[id(finding)]

    def place(self, line: Line) -> str:
        """The environment of a line in which something was found; empty where it has only one."""
        return self.environments.get(
            (title(line), line.job.collector, line.metric, line.environment.fingerprint), ""
        )


def overview_of(
    repository: Repository,
    revision: str = "HEAD",
    benchmarks: BenchmarkFilter = EVERYTHING,
    *,
    detector: Detector = BY_SERIES,
) -> Overview:
    """The findings on all series, or on those of some benchmarks, along a revision or a range;
    raises UnknownRevision.

    The history is that of
    the first parents: on it every commit follows the one before, while commits of branches that
    went on side by side do not.
    """
    return repository.index.consistent(
        lambda: _overview(repository, revision, benchmarks, detector)
    )


def _overview(
    repository: Repository, named: str, benchmarks: BenchmarkFilter, detector: Detector
) -> Overview:
    lines, revision = repository.index.lines(), repository.project.fixed(named)
    commits = list(repository.project.walk(revision, straight=True))[::-1]
    read_courses = repository.index.courses(lines, commits)
    merged = repository.index.commits() - set(commits)
    aside = len(merged.intersection(repository.project.walk(revision))) if merged else 0
    whole = not aside and ".." not in str(revision)
    verdicts = Verdicts(repository, commits if whole else ())
    # what is certain depends on all that was measured, whatever is asked for
    every = judged(repository, lines, read_courses, commits, verdicts, detector=detector)
    courses = {
        number: course
        for number, course in read_courses.items()
        if has_line(benchmarks, lines[number])
    }
    judgements = {number: every[number] for number in courses if number in every}
    findings = [finding for line in judgements.values() for finding in line.findings]
    findings.sort(key=lambda finding: (-finding.turn, finding.rank))
    newest = [line.newest for line in judgements.values() if line.newest]
    newest.sort(key=lambda value: (-value.turn, -abs(value.effect)))
    mentioned = [finding.commit for finding in findings]
    mentioned += [value.commit for value in newest]
    places = measured(courses.values())
    shortest = SHORTEST_BY[detector]
    short = {
        ShortSeries(title(lines[number]), lines[number].metric)
        for number in courses
        if number not in judgements or _is_short(judgements[number], shortest)
    }
    recall = repository.index.memory.recall
    neighbours = pairwise(commits[place] for place in places)
    return Overview(
        findings=findings,
        newest=newest,
        details=repository.project.describe(mentioned),
        environments=_environments([lines[number] for number in courses]),
        lines=len(courses),
        commits=len(places),
        ends=[commits[places[0]], commits[places[-1]]] if places else [],
        short=sorted(short),
        shortest=shortest,
        cuts=_cuts(judgements.values(), commits),
        unusable=sum(course.unusable for course in courses.values()),
        aside=aside,
        unlisted=unlisted(repository, commits, judgements.values(), shortest),
        compared=bool(short) and all(recall(*pair) for pair in neighbours),
        standings=standings(repository, every.values(), commits),
        configured=frozenset(configured_labels(repository)),
    )


def _environments(lines: Sequence[Line]) -> dict[SeriesName, str]:
    """What the environments are called of the series that exist in several."""
    places: dict[tuple[str, str, str], dict[str, Environment]] = defaultdict(dict)
    for line in lines:
        places[title(line), line.job.collector, line.metric][line.environment.fingerprint] = (
            line.environment
        )
    several = {series: by_mark for series, by_mark in places.items() if len(by_mark) > 1}
    called = names_of(where for by_mark in several.values() for where in by_mark.values())
    return {(*series, mark): called[mark] for series, marks in several.items() for mark in marks}


def _is_short(series: JudgedLine, shortest: int) -> bool:
    """Whether a series is too short to be analysed, and was not measured in turns either."""
    count = len(series.levels)
    return count < shortest and not series.findings and len(series.verdicts) < max(count - 1, 1)


def _cuts(judgements: Iterable[JudgedLine], commits: Sequence[str]) -> list[SeriesBreak]:
    counts = Counter((series.places[0], series.began) for series in judgements if series.began)
    return [
        SeriesBreak(commits[position], reason, count)
        for (position, reason), count in sorted(counts.items(), reverse=True)
    ]
