"""What was measured along the history: commits with their profiles, verdicts, and the trend of each
benchmark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from perfvcs.profile.benchmarkfilter import EVERYTHING
from perfvcs.reports.lastverdicts import last_verdicts
from perfvcs.reports.trends import MetricTrend, trends
from perfvcs.repository.benchmarks import has_line
from perfvcs.text.characters import COLUMNS, aligned, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import change
from perfvcs.text.words import ambiguous, apart, counted, metric_name, named, tallied

if TYPE_CHECKING:
    from perfvcs.git.project import Commit
    from perfvcs.history.finding import Direction, Finding, FindingWord
    from perfvcs.index.verdicts import LastVerdict
    from perfvcs.profile.benchmarkfilter import BenchmarkFilter
    from perfvcs.reports.plainlines import StepOverSizes
    from perfvcs.repository import Repository

TRENDS = 12  # benchmarks drawn before the rest is only counted
NAME, PLACE = 28, 12  # characters of a benchmark, and of its environment
MOST_MARKS = 3  # lasting changes of a commit


class StepRow(msgspec.Struct, frozen=True):
    """A lasting change that is laid to a commit."""

    word: FindingWord
    direction: Direction
    benchmark: str
    metric: str
    environment: str
    effect: float
    low: float | None
    high: float | None
    contradiction: str


class CommitRow(msgspec.Struct, frozen=True):
    """A commit with the number of its profiles."""

    commit: str
    title: str
    author: str
    when: str
    profiles: int
    verdict: LastVerdict | None
    steps: list[StepRow]


class TrendRow(msgspec.Struct, frozen=True):
    """A trend, with the fingerprint of its environment."""

    job: str
    collector: str
    environment: str
    metric: str
    unit: str
    values: Sequence[float | None]
    executions: int


class LogDocument(msgspec.Struct, frozen=True):
    """What `perf log --json` prints; ``known``: whether the commits' steps are, as in ``Log``."""

    commits: list[CommitRow]
    trends: list[TrendRow]
    known: bool


class Log(msgspec.Struct, frozen=True):
    """Commits, newest first, with the number of their profiles, their last verdict, and the lasting
    changes that are laid to them, if those are ``known`` without much computing.
    """

    commits: Sequence[Commit]
    counts: dict[str, int]
    verdicts: dict[str, LastVerdict]
    trends: Sequence[MetricTrend]
    marks: Mapping[str, Sequence[Finding]]
    known: bool = True

    def lines(self) -> Iterator[str]:
        """The listing for a terminal of 80 columns."""
        places = _places(
            [finding for commit_marks in self.marks.values() for finding in commit_marks]
        )
        for commit in self.commits:
            count = self.counts.get(commit.id, 0)
            profiles = counted(count, "profile") if count else "-"
            yield (
                f"{commit.id[:10]}  {commit.when[:10]}  {shorten(commit.title, 38):38}  {profiles}"
            )
            if verdict := self.verdicts.get(commit.id):
                yield f"            {described(verdict)}"
            steps = sorted(_together(self.marks.get(commit.id, ())), key=_is_better)
            yield from (
                f"            {_marked(step, places.get(id(step.finding), ''))}"
                for step in steps[:MOST_MARKS]
            )
            if len(steps) > MOST_MARKS:
                more = counted(len(steps) - MOST_MARKS, "more lasting change")
                yield f"            and {more}: perf history"
        if self.commits and not self.known:
            yield "too much is measured to look for lasting changes here: perf history"
        if self.trends:
            yield ""
            drawn = self.trends[:TRENDS]
            names = _named(drawn)
            yield from aligned(
                [(name, *trend.cells) for name, trend in zip(names, drawn, strict=True)], right=2
            )
            if len(self.trends) > TRENDS:
                yield f"and {len(self.trends) - TRENDS} more: perf show HEAD"
        if not self.commits:
            yield "no commit here has profiles: measure one with `perf collect`"

    def json(self) -> str:
        """The log as JSON."""
        rows = [
            filled(
                CommitRow,
                commit,
                commit=commit.id,
                profiles=self.counts.get(commit.id, 0),
                verdict=self.verdicts.get(commit.id),
                steps=list(map(_step, self.marks.get(commit.id, ()))),
            )
            for commit in self.commits
        ]
        trends = [
            filled(TrendRow, trend, job=trend.label, environment=trend.environment.fingerprint)
            for trend in self.trends
        ]
        return json_text(LogDocument(rows, trends, self.known))


def _named(trends: Sequence[MetricTrend]) -> list[str]:
    """The names of rows, no two alike: with the collector, or the environment, where nothing else
    tells them apart.
    """
    names = apart(named([(trend.label, trend.collector) for trend in trends]), NAME)
    several = ambiguous(
        ((name, trend.metric), trend.environment.fingerprint)
        for name, trend in zip(names, trends, strict=True)
    )
    if not several:
        return names
    from perfvcs.environment.host import names as names_of

    places = names_of(
        trend.environment
        for trend, name in zip(trends, names, strict=True)
        if (name, trend.metric) in several
    )
    return [
        (
            f"{shorten(name, NAME - PLACE - 2)}"
            f" ({shorten(places[trend.environment.fingerprint], PLACE)})"
            if (name, trend.metric) in several
            else name
        )
        for trend, name in zip(trends, names, strict=True)
    ]


def described(verdict: LastVerdict) -> str:
    """The words of a verdict with their numbers, and the baseline."""
    commit, changed, _ = verdict.baseline.partition("+")
    return (
        f"{tallied(verdict.words.items()) or 'nothing to compare'} against {commit[:10]}{changed}"
    )


def log_of(
    repository: Repository,
    revision: str,
    number: int,
    benchmarks: BenchmarkFilter = EVERYTHING,
    *,
    everything: bool = False,
) -> Log:
    """The newest ``number`` commits of a revision or range that have profiles of some benchmarks,
    or of all commits with ``everything``.
    """
    from perfvcs.history.marks import Marks, marks

    walk = repository.project.walk(revision)
    counts = repository.index.counts if not benchmarks else partial(_counts, repository, benchmarks)
    if not everything:
        walk = repository.with_profiles(walk)
        walk = (commit for commit in walk if not benchmarks or counts([commit]))
    ids = list(islice(walk, number))
    details = repository.project.describe(ids)
    changes = marks(repository, revision) if ".." not in revision else Marks({})
    findings = {
        commit: [step for step in steps if has_line(benchmarks, step.line)]
        for commit, steps in changes.findings.items()
    }
    return Log(
        [details[commit] for commit in ids if commit in details],
        counts(ids),
        last_verdicts(repository, ids, benchmarks),
        trends(repository, ids, benchmarks),
        findings,
        changes.complete,
    )


def _counts(
    repository: Repository, benchmarks: BenchmarkFilter, commits: Iterable[str]
) -> dict[str, int]:
    """How many profiles of the jobs of some benchmarks each commit has; of those that have any."""
    jobs = ((header, header.job) for header in repository.index.headers(commits))
    return Counter(
        header.commit for header, job in jobs if benchmarks.has_job(job.label, job.collector)
    )


def _places(findings: Sequence[Finding]) -> dict[int, str]:
    """The environment of each finding on something that changed in several, by the finding's
    ``id``.
    """
    if not findings:
        return {}
    from perfvcs.environment.host import names as names_of
    from perfvcs.history.finding import title

    keys = [(title(step.line), step.line.job.collector, step.line.metric) for step in findings]
    several = ambiguous(
        (key, step.line.environment.fingerprint) for key, step in zip(keys, findings, strict=True)
    )
    listed = [step for key, step in zip(keys, findings, strict=True) if key in several]
    called = names_of(step.line.environment for step in listed)
    return {id(step): called[step.line.environment.fingerprint] for step in listed}


def _together(findings: Sequence[Finding]) -> list[StepOverSizes]:
    """The changes as `perf history` lists and counts them."""
    if not findings:
        return []
    from perfvcs.reports.plainlines import together

    return together(findings)


def _is_better(step: StepOverSizes) -> bool:
    return step.finding.direction == "improvement"


def _marked(step: StepOverSizes, environment: str = "") -> str:
    """``lasting degradation +9.8 % [+9.1, +10.5]  sort, wall time``, and in which environment where
    that has to be said.
    """
    finding = step.finding
    word = finding.word if finding.drift else f"lasting {finding.word}"
    denied = ", contradicted" if finding.contradiction else ""
    text = f"{word} {change(finding.effect, finding.low, finding.high)}{denied}  "
    where = f" (in {shorten(environment, PLACE)})" if environment else ""
    room = max(12, COLUMNS - 12 - len(text) - len(where))
    return text + shorten(f"{step.title}, {metric_name(finding.line.metric)}", room) + where


def _step(finding: Finding) -> StepRow:
    from perfvcs.history.finding import SeriesFields

    return filled(StepRow, finding, SeriesFields.of(finding.line))
