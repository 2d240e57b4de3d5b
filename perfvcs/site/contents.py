"""Content that several pages share: commits, environments, addresses, and the changes with their
status.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import groupby
from math import expm1, log1p
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.change import JudgedBy
from perfvcs.git.ancestry import releases
from perfvcs.git.blobs import ChangedFile
from perfvcs.history.judging import Allowance
from perfvcs.history.triage import ChangeState, Past, Standing, retired, triaged
from perfvcs.profile.naming import labelled
from perfvcs.reports.bisect import reasons
from perfvcs.repository.state import State
from perfvcs.site import model, template
from perfvcs.site.commitcolumns import CommitColumns, columns
from perfvcs.site.diffs import Diffs
from perfvcs.site.figures import REASON_CHARACTERS, cell_of, figures, level, metric, texts
from perfvcs.site.model import SeriesDrawing, drawings
from perfvcs.site.notable import of_note
from perfvcs.site.opendegradations import Suspicions
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH, percent, quantity
from perfvcs.text.words import ambiguous, metric_rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from perfvcs.git.project import Commit
    from perfvcs.history.finding import Finding
    from perfvcs.history.record import HistoryRecord, SeriesRecord
    from perfvcs.repository import Repository

GROUPED = 8  # files of a commit among others


def _blamed(repository: Repository) -> dict[str, list[str]]:
    """Results of `perf blame`, by the newer commit."""
    from perfvcs.locate.blame.blames import every
    from perfvcs.reports.blame import named

    blamed: dict[str, list[str]] = {}
    for result in every(repository):
        if function := named(result):
            blamed.setdefault(result.target, []).append(f"{function}, since {result.baseline[:10]}")
    return blamed


class Contents:
    """The record of a site, and what pages say of it; changes are named by series and turn."""

    def __init__(self, repository: Repository, record: HistoryRecord) -> None:
        self.record = record
        self._past = Past(record.commits, record.measured, record.details)
        self.retired = retired(record.series, self._past)
        self.statuses: list[list[Standing]] = triaged(
            record.series, self._past, Allowance(repository, record.commits)
        )
        self.diffs = Diffs(repository.project)
        self.shallow = repository.project.shallow
        measured = [record.commits[place] for place in record.measured]
        self.blamed = _blamed(repository)
        self.profiles: dict[int, str] = {}  # series -> page of its newest profile
        self._shorts = template.shorts(measured)
        self.environments = template.environments(
            (series.line.environment for series in record.series), self.retired
        )
        self.urls = [template.series_url(series.line) for series in record.series]
        self._commits: dict[str, model.CommitData] = {}
        self._steps: dict[tuple[int, int], model.StepData] = {}
        self._possible: dict[tuple[int, int], model.Possible] = {}
        self._suspicions = Suspicions(repository, record.commits)
        self.criteria = repository.criteria_reader
        self._project = repository.project

    def fetch(self, commits: Iterable[str]) -> None:
        """Ask git at once what commits change and are judged by, and look for suspects."""
        asked = list(commits)
        self.diffs.fetch(asked)
        self.criteria.ask(asked)
        if asked:
            self._suspicions.read(
                (self.finding(*pair), self.record.series[pair[0]].line)
                for pair in self.having("open")
            )

    def judge(self, before: str, commit: str) -> JudgedBy:
        """What a commit is judged by against an earlier one; empty if it changes none of it."""
        changed = [ChangedFile(file.path, file.status, "") for file in self.diffs.of(commit).files]
        if not self.criteria.touches(commit, changed):
            return JudgedBy()
        return self.criteria.of(State(before), State(commit)).judged_by

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each commit in the record."""
        return {commit: place for place, commit in enumerate(self.record.commits)}

    @cached_property
    def of_note(self) -> set[int]:
        """The places of commits that have a page of their own."""
        return of_note(self)

    @cached_property
    def tags(self) -> list[tuple[int, str]]:
        """The place and the name of each release in the record, oldest first."""
        if not self.record.commits:
            return []
        tagged = releases(self._project, self.record.commits[-1]).items()
        return sorted(
            (self.places[commit], name) for name, commit in tagged if commit in self.places
        )

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The commits of the record, for digests."""
        return np.array(self.record.commits, dtype=np.bytes_)

    @cached_property
    def columns(self) -> CommitColumns:
        """The commits of the record by columns, for pages that have thousands."""
        return columns(self)

    @cached_property
    def drawings(self) -> list[SeriesDrawing]:
        """The drawn data of each series."""
        return drawings(self.record.series)

    @cached_property
    def related(self) -> dict[tuple[str, str], list[tuple[str, SeriesRecord]]]:
        """The pages of each unit of a benchmark, wall time first, each with its first series."""
        related: dict[tuple[str, str], list[tuple[str, SeriesRecord]]] = defaultdict(list)
        for url, numbers in self.pages.items():
            series = self.record.series[numbers[0]]
            related[series.line.job.label, series.line.uid].append((url, series))
        for pages in related.values():
            pages.sort(
                key=lambda page: (metric_rank(page[1].line.metric), page[1].line.size or 0, page[0])
            )
        return related

    @cached_property
    def pages(self) -> dict[str, list[int]]:
        """The series of each page of a series, by its address."""
        pages: dict[str, list[int]] = defaultdict(list)
        for number, url in enumerate(self.urls):
            pages[url].append(number)
        return pages

    @cached_property
    def found(self) -> list[tuple[int, int]]:
        """All changes in the order of ``ordered``, but for those that are listed at another commit,
        as another metric of the benchmark knows it.
        """
        ordered = self.ordered(range(len(self.record.series)))
        return [pair for pair in ordered if not self.standing(*pair).is_elsewhere]

    def ordered(self, all_series: Iterable[int]) -> list[tuple[int, int]]:
        """The changes of some series, newest commits first, those of one commit by ``rank``."""
        pairs = [
            (number, turn)
            for number in all_series
            for turn in range(len(self.record.series[number].findings))
        ]
        return sorted(
            pairs, key=lambda pair: (-self.finding(*pair).turn, self.finding(*pair).rank, pair)
        )

    def finding(self, series: int, turn: int) -> Finding:
        """A change as it was found."""
        return self.record.series[series].findings[turn]

    def standing(self, series: int, turn: int) -> Standing:
        """What became of a change."""
        return self.statuses[series][turn]

    def having(self, *states: ChangeState) -> list[tuple[int, int]]:
        """The changes with one of these states."""
        return [pair for pair in self.found if self.statuses[pair[0]][pair[1]].state in states]

    def short(self, number: int) -> str:
        """The short id of a commit of the record."""
        commit = self.record.commits[number]
        return self._shorts.get(commit, commit[: template.ID_DIGITS_SHOWN])

    def commit(self, number: int) -> model.CommitData:
        """A commit of the record."""
        commit = self.record.commits[number]
        if commit not in self._commits:
            self._commits[commit] = self._about(self.record.details[commit])
        return self._commits[commit]

    def _about(self, details: Commit) -> model.CommitData:
        """A commit that may have no profiles, and so no page."""
        short = self._shorts.get(details.id)
        return template.commit(
            details,
            short or details.id[: template.ID_DIGITS_SHOWN],
            self._commit_url(details.id, short) if short else None,
        )

    def _commit_url(self, commit: str, short: str) -> str:
        own = self.places[commit] in self.of_note
        return f"commits/{short}.html" if own else f"commits.html#{short}"

    @cached_property
    def ambiguous(self) -> set[template.SiblingKey]:
        """Metrics of benchmarks that several collectors measured, so that pages say which."""
        return ambiguous(
            (template.what(series.line), series.line.job.collector) for series in self.record.series
        )

    def benchmark(self, series: SeriesRecord, *, sized: bool = True) -> str:
        """The benchmark's name, with its size (``sized``), its collector if that is unclear."""
        line = series.line
        name = shorten(
            labelled(line.job.label, line.uid, line.size if sized else None),
            template.BENCHMARK_NAME,
        )
        return f"{name} ({line.job.collector})" if template.what(line) in self.ambiguous else name

    def environment(self, series: SeriesRecord) -> model.EnvironmentData:
        """The environment of a series."""
        return self.environments[series.line.environment.fingerprint]

    def ended(self, number: int) -> str:
        """The day on which a series was measured last, if nothing more will come; else empty."""
        return self._past.last_day(int(self.record.series[number].places[-1]))

    def value(self, series: SeriesRecord, turn: int) -> str:
        """The level at one of a series' places, with its unit."""
        return quantity(level(series, turn), series.line.unit)

    def step(self, number: int, turn: int) -> model.StepData:
        """A change as pages show it."""
        if (number, turn) not in self._steps:
            self._steps[number, turn] = self._step(number, turn)
        return self._steps[number, turn]

    def _step(self, number: int, turn: int) -> model.StepData:
        series = self.record.series[number]
        finding = self.finding(number, turn)
        status = self.statuses[number][turn]
        numbers = figures(finding)
        effect, _, levels = texts(finding)
        return model.StepData(
            word=finding.word,
            direction=finding.direction,
            state=status.state,
            reason=status.reason or status.text,
            benchmark=self.benchmark(series),
            metric=metric(series),
            unit=shorten(series.line.unit, UNIT_WIDTH),
            environment=self.environment(series).name,
            url=self.urls[number],
            commit=self.commit(finding.turn),
            first=self.short(self.places[finding.first]),
            last=self.short(self.places[finding.last]),
            commits=finding.commits,
            effect=numbers.effect,
            low=numbers.low,
            high=numbers.high,
            before=numbers.before,
            after=numbers.after,
            p=numbers.p,
            change=effect,
            detectors=list(finding.detectors),
            contradiction=finding.contradiction,
            levels=levels,
        )

    def with_suspects(self, number: int, turn: int) -> model.StepData:
        """A change with its suspects, where it is open and may be any of several commits."""
        step, finding = self.step(number, turn), self.finding(number, turn)
        if step.state != "open" or "turns" in step.detectors:
            return step
        commits = self._suspicions.of(finding, self.record.series[number].line)
        suspects = [
            model.SuspectData(self._about(commit), shorten(reasons(why), REASON_CHARACTERS))
            for commit, why in commits
        ]
        return msgspec.structs.replace(step, suspects=suspects)

    def possible(self, number: int, turn: int) -> model.Possible:
        """A change for the pages of commits that may have made it."""
        if (number, turn) not in self._possible:
            series, finding = self.record.series[number], self.finding(number, turn)
            self._possible[number, turn] = model.Possible(
                word=finding.word,
                direction=finding.direction,
                state=self.statuses[number][turn].state,
                benchmark=self.benchmark(series),
                metric=metric(series),
                environment=self.environment(series).name,
                url=self.urls[number],
                commit=self.commit(finding.turn),
            )
        return self._possible[number, turn]

    def cell(self, number: int, turn: int) -> model.CellData:
        """The verdict on a commit and the measured one before it; the detail names a lasting change
        that is attributed to the commit.
        """
        series = self.record.series[number]
        place = int(series.places[turn])
        verdict = cell_of(
            series,
            turn,
            self.value(series, turn),
            "" if not turn else self.short(int(series.places[turn - 1])),
        )
        for step, finding in enumerate(series.findings):
            if finding.turn == place:
                change = self.step(number, step)
                return msgspec.structs.replace(
                    verdict,
                    detail=f"{verdict.detail}; lasting {change.word}: {change.levels},"
                    f" {change.change}",
                )
        return verdict

    def groups(self, pairs: Iterable[tuple[int, int]]) -> list[model.GroupData]:
        """Changes by their commits, with the files of these."""
        pairs, groups = list(pairs), []
        self.diffs.fetch(self.record.commits[self.finding(*pair).turn] for pair in pairs)
        for place, same in groupby(pairs, key=lambda pair: self.finding(*pair).turn):
            diff = self.diffs.of(self.record.commits[place]).first(GROUPED)
            steps = joined(self.with_suspects(*pair) for pair in same)
            groups.append(
                model.GroupData(self.commit(place), diff.files, diff.more, steps, _overall(steps))
            )
        return groups

    def count(self, pairs: Iterable[tuple[int, int]]) -> int:
        """The number of changes; one that several environments show counts once."""
        return len(
            {
                (self.finding(*pair).turn, self.urls[pair[0]], self.finding(*pair).word)
                for pair in pairs
            }
        )


def joined(steps: Iterable[model.StepData]) -> list[model.StepData]:
    """Changes of one commit, each benchmark's once: the first, with other environments."""
    by_change: dict[tuple[str, ...], model.StepData] = {}
    for step in steps:
        what = (step.url, step.word, step.direction, step.state)
        if (first := by_change.setdefault(what, step)) is not step:
            elsewhere = model.Elsewhere(step.environment, step.change, step.levels)
            by_change[what] = msgspec.structs.replace(first, also=[*first.also, elsewhere])
    return list(by_change.values())


def _overall(steps: Iterable[model.StepData]) -> list[model.OverallData]:
    """The geometric means of what several benchmarks have in common."""
    alike: dict[tuple[str, str], list[float]] = defaultdict(list)
    for step in steps:
        if step.effect > -1:
            alike[step.metric, step.direction].append(log1p(step.effect))
    shared = [(what, logs) for what, logs in alike.items() if len(logs) > 1]
    means = [
        (what, len(logs), expm1(sum(logs) / len(logs)))
        for what, logs in sorted(shared, key=lambda pair: -len(pair[1]))
    ]
    return [
        model.OverallData(metric, direction, count, mean, percent(mean))
        for (metric, direction), count, mean in means
    ]
