"""What was measured along the history: commits with their profiles, verdicts, and the trend of each
benchmark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.reports.commitprofiles import CommitProfiles, ProfileCount
from perfvcs.reports.trends import MetricTrend, cells, changed_first, trends
from perfvcs.repository.benchmarks import has_line
from perfvcs.repository.lookup import elsewhere
from perfvcs.text.characters import COLUMNS, aligned, columns, shorten
from perfvcs.text.document import filled, json_text
from perfvcs.text.quantity import change
from perfvcs.text.words import ambiguous, apart, counted, metric_name, named, tallied

if TYPE_CHECKING:
    from perfvcs.git.project import Commit
    from perfvcs.history.finding import Direction, Finding
    from perfvcs.history.triage import ChangeState, Standing
    from perfvcs.index.verdicts import LastVerdict
    from perfvcs.reports.plainlines import StepOverSizes
    from perfvcs.repository import Repository

TRENDS = 12  # benchmarks drawn before the rest is only counted
NAME, PLACE = 28, 12  # characters of a benchmark at least, and of its environment
GAP = 2  # characters between two columns
INDENT = 12  # characters before what is said of a commit
MOST_MARKS = 3  # lasting changes of a commit


class StepRow(msgspec.Struct, frozen=True):
    """A lasting change that is laid to a commit."""

    word: Direction
    direction: Direction
    benchmark: str
    job: str
    uid: str
    size: float | None
    metric: str
    environment: str
    effect: float
    low: float | None
    high: float | None
    contradiction: str
    state: ChangeState
    certain: bool


class CommitRow(msgspec.Struct, frozen=True):
    """A commit with the number of its profiles, and how many ``others`` there are: with other
    changes on top, or of products.
    """

    commit: str
    title: str
    author: str
    when: str
    profiles: int
    others: int
    verdict: LastVerdict | None
    steps: list[StepRow]


class TrendRow(msgspec.Struct, frozen=True):
    """A trend, with the fingerprint of its environment."""

    benchmark: str
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
    changes that are laid to them, if those are ``known`` without much computing; what became of
    each is in ``standings``, by its ``id``. ``elsewhere`` says what is stored for no commit here.
    """

    commits: Sequence[Commit]
    counts: dict[str, ProfileCount]
    verdicts: dict[str, LastVerdict]
    trends: Sequence[MetricTrend]
    marks: Mapping[str, Sequence[Finding]]
    standings: Mapping[int, Standing]
    known: bool = True
    elsewhere: str = ""

    def lines(self) -> Iterator[str]:
        """The listing for a terminal of 80 columns."""
        steps_of = {
            commit.id: sorted(_together(self._findings(commit.id)), key=_is_better)
            for commit in self.commits
        }
        shown = [step for steps in steps_of.values() for step in steps[:MOST_MARKS]]
        marks = _marked(shown, self.standings)
        for commit in self.commits:
            count = self.counts[commit.id]
            profiles = counted(count.own, "profile") if count.own else "-"
            yield (
                f"{commit.id[:10]}  {commit.when[:10]}  {shorten(commit.title, 38):38}  {profiles}"
            )
            if count.remark:
                yield f"            {count.remark}"
            if verdict := self.verdicts.get(commit.id):
                yield f"            {described(verdict)}"
            steps = steps_of[commit.id]
            yield from (f"            {marks[id(step)]}" for step in steps[:MOST_MARKS])
            if len(steps) > MOST_MARKS:
                more = counted(len(steps) - MOST_MARKS, "more lasting change")
                yield f"            and {more}: perf history"
        if self.commits and not self.known:
            yield "too much is measured to look for lasting changes here: perf history"
        if self.trends:
            yield ""
            drawn = self.trends[:TRENDS]
            rows = cells(drawn)
            names = _named(drawn, _room(rows))
            yield from aligned(
                [(name, *row) for name, row in zip(names, rows, strict=True)], right=2
            )
            if len(self.trends) > TRENDS:
                yield f"and {len(self.trends) - TRENDS} more: perf show HEAD"
        if not self.commits:
            yield f"no commit here has profiles: measure one with `perf collect`{self.elsewhere}"

    def _findings(self, commit: str) -> list[Finding]:
        """The changes of a commit, but for those that are listed at another."""
        return [
            finding
            for finding in self.marks.get(commit, ())
            if not self.standings[id(finding)].is_elsewhere
        ]

    def json(self) -> str:
        """The log as JSON."""
        rows = [
            filled(
                CommitRow,
                commit,
                commit=commit.id,
                profiles=self.counts[commit.id].own,
                others=self.counts[commit.id].others,
                verdict=self.verdicts.get(commit.id),
                steps=[_step(step, self.standings[id(step)]) for step in self._findings(commit.id)],
            )
            for commit in self.commits
        ]
        trends = [
            filled(
                TrendRow, trend, benchmark=trend.label, environment=trend.environment.fingerprint
            )
            for trend in self.trends
        ]
        return json_text(LogDocument(rows, trends, self.known))


def _room(rows: Sequence[Sequence[str]]) -> int:
    """The characters that cells leave for the name before them in a line."""
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    return max(NAME, COLUMNS - sum(width + GAP for width in widths))


def _named(trends: Sequence[MetricTrend], room: int) -> list[str]:
    """The names of rows, no two alike: with the collector, or the environment, where nothing else
    tells them apart.
    """
    names = apart(named([(trend.label, trend.collector) for trend in trends]), room)
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
            f"{shorten(name, room - PLACE - 3)}"
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


def last_verdicts(
    repository: Repository, keys: Sequence[str], benchmarks: BenchmarkFilter
) -> dict[str, LastVerdict]:
    """The last verdict of each target (``State.verdict_key``) that has one, with the words for some
    benchmarks; none where it has no word for them.
    """
    found = repository.index.verdicts(keys)
    if not benchmarks:
        return found
    from perfvcs.check.markdown import decode
    from perfvcs.check.narrowing import narrowed
    from perfvcs.check.text import report_tally
    from perfvcs.profile.validity import Malformed

    narrow = {}
    for key, verdict in found.items():
        remembered = repository.index.memory.recall(verdict.baseline, verdict.target)
        if remembered is None:
            continue
        with suppress(Malformed):  # a changed byte
            report = narrowed(decode(remembered.report), benchmarks)
            if words := report_tally(report):
                narrow[key] = msgspec.structs.replace(verdict, words=words)
    return narrow


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

    walk, profiles = repository.project.walk(revision), CommitProfiles(repository, benchmarks)
    if not everything:
        walk = profiles.commits(walk)
    ids = list(islice(walk, number))
    details = repository.project.describe(ids)
    changes = marks(repository, revision) if ".." not in revision else Marks({}, {})
    findings = {
        commit: [step for step in steps if has_line(benchmarks, step.line)]
        for commit, steps in changes.findings.items()
    }
    return Log(
        commits=[details[commit] for commit in ids if commit in details],
        counts=profiles.counts(ids),
        verdicts=last_verdicts(repository, ids, benchmarks),
        trends=changed_first(trends(profiles, ids, benchmarks), findings, changes.standings),
        marks=findings,
        standings=changes.standings,
        known=changes.complete,
        elsewhere="" if ids else elsewhere(repository),
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


def _marked(steps: Sequence[StepOverSizes], standings: Mapping[int, Standing]) -> dict[int, str]:
    """By the ``id`` of a step ``lasting degradation +9.8 % [+9.1, +10.5]  sort, wall time``, if it
    is to be checked, accepted or over, and in which environment where that has to be said; no two
    benchmarks look alike.
    """
    places = _places([step.finding for step in steps])
    tails, names = [], []
    for step in steps:
        environment = places.get(id(step.finding), "")
        tails.append(f" (in {shorten(environment, PLACE)})" if environment else "")
        names.append(f"{step.title}, {metric_name(step.finding.line.metric)}")
    for interval in (True, False):  # which gives way to longer names
        heads = [
            _head(step.finding, standings[id(step.finding)], interval=interval) for step in steps
        ]
        beside = (len(head + tail) for head, tail in zip(heads, tails, strict=True))
        room = COLUMNS - INDENT - max(beside, default=0)
        if max(map(columns, names), default=0) <= room:
            break
    short = apart(names, max(12, room))
    return {
        id(step): f"{head}{name}{tail}"
        for step, head, name, tail in zip(steps, heads, short, tails, strict=True)
    }


def _head(finding: Finding, standing: Standing, *, interval: bool) -> str:
    """``lasting degradation +9.8 %, to check`` (or ``accepted``), before the benchmark."""
    became = ", to check" if standing.doubts else ""
    became = f", {standing.kind}" if standing.state in ("over", "accepted") else became
    denied = ", contradicted" if finding.contradiction else became
    ends = (finding.low, finding.high) if interval else (None, None)
    return f"lasting {finding.word} {change(finding.effect, *ends)}{denied}  "


def _step(finding: Finding, standing: Standing) -> StepRow:
    from perfvcs.history.finding import SeriesFields

    return filled(StepRow, finding, SeriesFields.of(finding.line), standing)
