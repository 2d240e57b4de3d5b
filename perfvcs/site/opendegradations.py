"""The status of degradations: open ones are in force at the newest commit and not accepted."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from math import log
from typing import TYPE_CHECKING

from perfvcs.git.project import Commit
from perfvcs.history.judging import Allowance
from perfvcs.locate.bisect.suspicion import suspect
from perfvcs.locate.select.reached import BenchmarkUnit, Reach, recorded
from perfvcs.locate.sources.differences import changes
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfvcs.history.finding import Finding
    from perfvcs.history.record import HistoryRecord, SeriesRecord
    from perfvcs.index.lines import Line
    from perfvcs.locate.sources.differences import Changes
    from perfvcs.repository import Repository
    from perfvcs.site.model import ChangeState


MOST_SUSPECTS = 3  # suspects of a change
# commits that a change may be: of longer ranges `perf bisect --dry-run` lists the suspects
MOST_COMMITS = 10
MOST_READ = 60  # commits whose changes one publishing reads
GONE_COMMITS = 20  # measured since an environment's last one, and
GONE_DAYS = 30.0  # days between these, after which it is retired
HALF = 0.5  # of a step: while the level is beyond it, the step is in force
TINY = 5e-324
REASON_CHARACTERS = 300


class Suspicions:
    """The suspects among a project's ``commits``, oldest first; what they change is read once."""

    def __init__(self, repository: Repository, commits: list[str]) -> None:
        self._repository, self._commits = repository, commits
        self._changes: dict[str, Changes] = {}

    def of(self, finding: Finding, line: Line) -> list[tuple[Commit, tuple[str, ...]]]:
        """The newest suspects with the functions and files that make them suspect; empty if too
        much would have to be read.
        """
        if not 2 <= finding.commits <= MOST_COMMITS or finding.first not in self._places:
            return []
        first, last = self._places[finding.first], self._places[finding.last]
        if first < 1 or len(self._changes) + last - first + 1 > MOST_READ:
            return []
        reach = self._reached.get(
            BenchmarkUnit(line.job.label, line.job.collector, line.uid)
        ) or self._reached.get(BenchmarkUnit(line.job.label, line.job.collector))
        suspects = [
            suspect(self._commits[place], self._change(place), reach)
            for place in range(last, first - 1, -1)
        ]
        touching = [touching_suspect for touching_suspect in suspects if touching_suspect.touches][
            :MOST_SUSPECTS
        ]
        commits = self._repository.project.describe(
            [touching_suspect.commit for touching_suspect in touching]
        )
        return [
            (commits[touching_suspect.commit], touching_suspect.reasons)
            for touching_suspect in touching
        ]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {commit: place for place, commit in enumerate(self._commits)}

    @cached_property
    def _reached(self) -> dict[BenchmarkUnit, Reach]:
        return recorded(self._repository, reversed(self._commits))

    def _change(self, number: int) -> Changes:
        commit = self._commits[number]
        if commit not in self._changes:
            self._changes[commit] = changes(
                self._repository.project, self._commits[number - 1], commit
            )
        return self._changes[commit]


@dataclass(frozen=True)
class ChangeStatus:
    """The status of a change, and why it is accepted or over."""

    state: ChangeState
    reason: str = ""


def retired(record: HistoryRecord) -> dict[str, str]:
    """The environments, by fingerprint, in which nothing is measured any more, with the day of
    their last commit.
    """
    last: dict[str, int] = {}
    for series in record.series:
        mark = series.line.environment.fingerprint
        last[mark] = max(last.get(mark, -1), int(series.places[-1]))
    newest = _day(record, record.measured[-1])
    days = {}
    for mark, place in last.items():
        day, since = (
            _day(record, place),
            len(record.measured) - bisect_right(record.measured, place),
        )
        if since >= GONE_COMMITS and day and newest and (newest - day).days >= GONE_DAYS:
            days[mark] = day.isoformat()
    return days


def _day(record: HistoryRecord, number: int) -> date | None:
    """The day of a commit, None if its date is not one."""
    try:
        return date.fromisoformat(record.details[record.commits[number]].when[:10])
    except ValueError:
        return None


def statuses(
    repository: Repository, record: HistoryRecord, gone: Mapping[str, str]
) -> list[list[ChangeStatus]]:
    """The status of every finding of every series of the record, in their order; changes in an
    environment that is ``gone`` are over.
    """
    ended = _ended(record)
    accepted = Allowance(repository, record.commits)
    all_statuses = []
    for number, series in enumerate(record.series):
        end = ended.get(number, "")
        last_day = gone.get(series.line.environment.fingerprint, "")
        turns = range(len(series.findings))
        all_statuses.append([_status(series, turn, end, last_day, accepted) for turn in turns])
    return all_statuses


def _status(
    series: SeriesRecord, turn: int, ended: str, gone: str, accepted: Allowance
) -> ChangeStatus:
    finding = series.findings[turn]
    if finding.direction == "improvement":
        return ChangeStatus("improvement")
    if finding.denied:
        return ChangeStatus("over", shorten(finding.contradiction, REASON_CHARACTERS))
    if ended:
        return ChangeStatus("over", shorten(f"its series has ended: {ended}", REASON_CHARACTERS))
    for later in series.findings[turn + 1 :]:
        if _share(finding, later.after) <= HALF:
            return ChangeStatus("over", f"undone by {later.commit[:10]}")
    if gone:
        return ChangeStatus("over", f"not measured since {gone}")
    reason = accepted.reason(finding)
    return (
        ChangeStatus("open")
        if reason is None
        else ChangeStatus("accepted", shorten(reason, REASON_CHARACTERS))
    )


def _share(finding: Finding, level: float) -> float:
    """The share of a step that is left at a later level: 1 at the level after it, 0 at the one
    before.
    """
    before, after, now = (log(max(value, TINY)) for value in (finding.before, finding.after, level))
    return (now - before) / (after - before) if after != before else 0.0


def _ended(record: HistoryRecord) -> dict[int, str]:
    """The series, by number, that others of the same benchmark and metric have followed, and
    why.
    """
    same: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, series in enumerate(record.series):
        line = series.line
        same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(number)
    followers = {}
    for numbers in same.values():
        starts = [
            (record.series[number].places[0], record.series[number].began) for number in numbers
        ]
        for number in numbers:
            later = [
                pair for pair in starts if pair[1] and pair[0] > record.series[number].places[-1]
            ]
            if later:
                followers[number] = min(later)[1]
    return followers
