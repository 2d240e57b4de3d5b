"""Content that several pages share: commits, environments, addresses, and the changes with their
status.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from itertools import groupby
from math import expm1, log1p
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.change import JudgedBy
from perfvcs.git.blobs import ChangedFile
from perfvcs.profile.naming import labelled
from perfvcs.reports.bisect import reasons
from perfvcs.repository.state import State
from perfvcs.site import model, template
from perfvcs.site.figures import REASON_CHARACTERS, cell_of, figures, level, metric
from perfvcs.site.forge import Diffs
from perfvcs.site.model import SeriesDrawing, drawings
from perfvcs.site.opendegradations import ChangeStatus, Suspicions, retired, statuses
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import UNIT_WIDTH, change, percent, quantity
from perfvcs.text.quantity import step as levels_text
from perfvcs.text.words import ambiguous, metric_rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.git.project import Commit
    from perfvcs.history.finding import Finding
    from perfvcs.history.record import HistoryRecord, SeriesRecord
    from perfvcs.repository import Repository

GROUPED = 8  # files of a commit among others
TITLE = 90  # characters of a commit's title


class CommitColumns(NamedTuple):
    """Short id, day, title and number of the author (among ``authors``) of each commit; empty for
    commits without profiles.
    """

    ids: NDArray[np.object_]
    days: NDArray[np.object_]
    titles: NDArray[np.object_]
    author: NDArray[np.int64]
    authors: list[str]


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
    """The record of a site, and what its pages need to say of it; changes are named by series and
    turn.
    """

    def __init__(self, repository: Repository, record: HistoryRecord) -> None:
        self.record = record
        self.retired = retired(record)
        self.statuses: list[list[ChangeStatus]] = statuses(repository, record, self.retired)
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
        self._criteria = repository.criteria_reader

    def judge(self, before: str, commit: str) -> JudgedBy:
        """What a commit is judged by against an earlier one; empty where none of its own files
        changes that.
        """
        changed = [ChangedFile(file.path, file.status, "") for file in self.diffs.of(commit).files]
        if not self._criteria.touches(commit, changed):
            return JudgedBy()
        return self._criteria.of(State(before), State(commit)).judged_by

    @cached_property
    def places(self) -> dict[str, int]:
        """The place of each commit in the record."""
        return {commit: place for place, commit in enumerate(self.record.commits)}

    @cached_property
    def ids(self) -> NDArray[np.bytes_]:
        """The commits of the record, for digests."""
        import numpy as np

        return np.array(self.record.commits, dtype=np.bytes_)

    @cached_property
    def columns(self) -> CommitColumns:
        """The commits of the record by columns, for pages that have thousands."""
        import numpy as np

        measured = [self.commit(place) for place in self.record.measured]
        authors = list(dict.fromkeys(commit.author for commit in measured))
        number = {name: turn for turn, name in enumerate(authors)}
        ids, days, titles = (np.full(len(self.record.commits), "", dtype=object) for _ in range(3))
        author = np.zeros(len(self.record.commits), dtype=np.int64)
        ids[self.record.measured] = [commit.short for commit in measured]
        days[self.record.measured] = [commit.when[:10] for commit in measured]
        titles[self.record.measured] = [shorten(commit.title, TITLE) for commit in measured]
        author[self.record.measured] = [number[commit.author] for commit in measured]
        return CommitColumns(ids, days, titles, author, authors)

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
        """All changes in the order of ``ordered``."""
        return self.ordered(range(len(self.record.series)))

    def ordered(self, all_series: Iterable[int]) -> list[tuple[int, int]]:
        """The changes of some series, those of the newest commits first, of one commit the largest
        first.
        """
        pairs = [
            (number, turn)
            for number in all_series
            for turn in range(len(self.record.series[number].findings))
        ]
        return sorted(
            pairs,
            key=lambda pair: (-self.finding(*pair).turn, -abs(self.finding(*pair).effect), pair),
        )

    def finding(self, series: int, turn: int) -> Finding:
        """A change as it was found."""
        return self.record.series[series].findings[turn]

    def having(self, *states: model.ChangeState) -> list[tuple[int, int]]:
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
            f"commits/{short}.html" if short else None,
        )

    @cached_property
    def ambiguous(self) -> set[template.SiblingKey]:
        """Metrics of benchmarks that several collectors measured, so that pages say which."""
        return ambiguous(
            (template.what(series.line), series.line.job.collector) for series in self.record.series
        )

    def benchmark(self, series: SeriesRecord, *, sized: bool = True) -> str:
        """The benchmark's name, with its size (``sized``), and with its collector if several
        measured the same.
        """
        line = series.line
        name = shorten(
            labelled(line.job.label, line.uid, line.size if sized else None),
            template.BENCHMARK_NAME,
        )
        return f"{name} ({line.job.collector})" if template.what(line) in self.ambiguous else name

    def environment(self, series: SeriesRecord) -> model.EnvironmentData:
        """The environment of a series."""
        return self.environments[series.line.environment.fingerprint]

    def value(self, series: SeriesRecord, turn: int) -> str:
        """The level at one of a series' places, with its unit."""
        return quantity(level(series, turn), series.line.unit)

    def step(self, number: int, turn: int) -> model.StepData:
        """A change as pages show it."""
        if (number, turn) not in self._steps:
            self._steps[number, turn] = self._step(number, turn)
        return self._steps[number, turn]

    def _step(self, number: int, turn: int) -> model.StepData:
        series, finding, status = (
            self.record.series[number],
            self.finding(number, turn),
            self.statuses[number][turn],
        )
        numbers = figures(finding)
        return model.StepData(
            word=finding.word,
            direction=finding.direction,
            state=status.state,
            reason=status.reason,
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
            change=change(numbers.effect, numbers.low, numbers.high),
            detectors=list(finding.detectors),
            contradiction=finding.contradiction,
            levels=(
                finding.levels
                if finding.curve
                else levels_text(numbers.before, numbers.after, series.line.unit)
            ).replace("->", "→"),
        )

    def with_suspects(self, number: int, turn: int) -> model.StepData:
        """A change with the commits that are suspect of it, where it is open and may be any of
        several.
        """
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
                rises=finding.effect > 0,
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
                lasting = f"lasting {change.word}" if change.word != "drift" else "drift"
                return msgspec.structs.replace(
                    verdict, detail=f"{verdict.detail}; {lasting}: {change.levels}, {change.change}"
                )
        return verdict

    def groups(self, pairs: Iterable[tuple[int, int]]) -> list[model.GroupData]:
        """Changes by their commits, with the files of these."""
        pairs, groups = list(pairs), []
        self.diffs.fetch(self.record.commits[self.finding(*pair).turn] for pair in pairs)
        for place, same in groupby(pairs, key=lambda pair: self.finding(*pair).turn):
            diff = self.diffs.of(self.record.commits[place]).first(GROUPED)
            steps = _joined(self.with_suspects(*pair) for pair in same)
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


def _joined(steps: Iterable[model.StepData]) -> list[model.StepData]:
    """Changes of one commit, each benchmark's once: the first, with what it is in other
    environments.
    """
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
