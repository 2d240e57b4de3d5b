"""Which lasting changes are in force at the newest commit, how sure that is, and what they cost."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from math import exp, log, log1p
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import Struct

from perfvcs.history.jumps import Jumps
from perfvcs.profile.naming import ONCE
from perfvcs.statistics.changepoints.steps import TURNS
from perfvcs.system.numeric import Floats, Integers
from perfvcs.text.characters import shorten
from perfvcs.text.words import CLOCKS, COUNTS, metric_name

if TYPE_CHECKING:
    from perfvcs.git.project import Commit
    from perfvcs.history.finding import Finding
    from perfvcs.history.judging import Allowance
    from perfvcs.index.lines import Line

GONE_COMMITS = 20  # measured since the last one of an environment or a series, and
GONE_DAYS = 30.0  # days between these, after which it is not measured any more
HALF = 0.5  # of a step: while a level is beyond it, the step is in force
NEWEST = 5  # values that have to show that a step is still there
CROSSINGS = 3  # of the middle of a step, from which its series goes to and fro, as it does where
EARLIER = 30  # values before the step have
MIXED = 0.2  # of them beyond its middle, too
DOUBTED = 0.5  # what a change to be checked counts against a certain one
TINY = 5e-324
REASON_CHARACTERS = 300

UNDONE, ENDED, GONE = "undone later", "in series that ended", "not measured any more"
DENIED = "contradicted by what was measured in turns"
WORK = (*CLOCKS, *COUNTS)  # metrics of what a program does, which move together
KNOWN_CLOSER = "laid to one of their commits by another metric"

ChangeState = Literal["open", "accepted", "over", "improvement"]


class Traced(Protocol):
    """A series along a history: its levels (logarithms) at places of the history, its findings, and
    why it began if it follows another.
    """

    @property
    def line(self) -> Line: ...
    @property
    def places(self) -> Integers | array[int]: ...
    @property
    def levels(self) -> Floats | array[float]: ...
    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def began(self) -> str: ...


class Standing(Struct, frozen=True):
    """What became of a change, and why it is accepted or over; ``kind`` counts with others of the
    same words.

    ``holds`` of the ``newest`` values are beyond the middle of the step. ``doubts`` say in words
    why it is to be checked; it is *certain* without any. ``cost`` is the share by which it makes
    all that its environment measures slower, times how sure it is: its place among others.
    """

    state: ChangeState
    reason: str = ""
    kind: str = ""
    holds: int = 0
    newest: int = 0
    switches: bool = False
    doubts: tuple[str, ...] = ()
    cost: float = 0.0

    @property
    def text(self) -> str:
        """``to check: its series goes to and fro across it``, ``over: undone by 1f0e2a3b``,
        ``accepted: worth it``; empty of what is certain.
        """
        if self.doubts:
            return f"to check: {'; '.join(self.doubts)}"
        return f"{self.state}: {self.reason}" if self.reason else ""

    @property
    def is_elsewhere(self) -> bool:
        """Whether another metric says that it was another commit, where it is listed."""
        return self.kind == KNOWN_CLOSER

    @property
    def certain(self) -> bool:
        """Whether it became slower, still is, and nothing speaks against it."""
        return self.state == "open" and not self.doubts


class Past(NamedTuple):
    """The commits of a history, oldest first, the places that were measured, and what is known of
    (at least) the newest commits of series.
    """

    commits: Sequence[str]
    measured: Sequence[int]
    details: Mapping[str, Commit]

    def last_day(self, last: int) -> str:
        """The day of a ``last`` measured place, if nothing more will come after it; else empty."""
        day, newest = self._day(last), self._day(self.measured[-1])
        since = len(self.measured) - bisect_right(self.measured, last)
        if since < GONE_COMMITS or day is None or newest is None:
            return ""
        return day.isoformat() if (newest - day).days >= GONE_DAYS else ""

    def _day(self, place: int) -> date | None:
        """The day of a commit, None if its date is not one."""
        try:
            return date.fromisoformat(self.details[self.commits[place]].when[:10])
        except ValueError:
            return None


def retired(all_series: Sequence[Traced], past: Past) -> dict[str, str]:
    """The environments, by fingerprint, that are no longer measured, with their last day."""
    last: dict[str, int] = {}
    for series in all_series:
        mark = series.line.environment.fingerprint
        last[mark] = max(last.get(mark, -1), int(series.places[-1]))
    days = {mark: past.last_day(place) for mark, place in last.items()}
    return {mark: day for mark, day in days.items() if day}


def triaged(all_series: Sequence[Traced], past: Past, allowance: Allowance) -> list[list[Standing]]:
    """The standing of every finding of every series, in their order."""
    ended = _ended(all_series)
    shares = _shares(all_series, past)
    jumps = Jumps(all_series, past)
    standings = [
        [
            _standing(
                series,
                turn,
                ended.get(number, ""),
                past.last_day(int(series.places[-1])),
                allowance,
                jumps,
                shares[number],
            )
            for turn in range(len(series.findings))
        ]
        for number, series in enumerate(all_series)
    ]
    return _with_known_places(all_series, standings, past)


def _with_known_places(
    all_series: Sequence[Traced], standings: list[list[Standing]], past: Past
) -> list[list[Standing]]:
    """The standings, where a change that may be any of several commits is over if the work or
    another time of its benchmark is known to have become worse at fewer of these commits: it is the
    same change, of which more is known there.
    """
    places = {commit: place for place, commit in enumerate(past.commits)}
    certain: dict[tuple[object, ...], list[Finding]] = defaultdict(list)
    for series, own in zip(all_series, standings, strict=True):
        for finding, standing in zip(series.findings, own, strict=True):
            if standing.certain or standing.state == "accepted":
                certain[_benchmark(series)].append(finding)

    def known_place(finding: Finding, others: Sequence[Finding]) -> Finding | None:
        first, last = places[finding.first], places[finding.last]
        within = [
            other
            for other in others
            if other.line.metric in WORK
            and other.commits < finding.commits
            and first <= places[other.first]
            and places[other.last] <= last
        ]
        return min(within, key=lambda other: other.commits, default=None)

    def with_place(series: Traced, finding: Finding, standing: Standing) -> Standing:
        if standing.state not in ("open", "accepted") or series.line.metric not in WORK:
            return standing
        closer = known_place(finding, certain[_benchmark(series)])
        if closer is None:
            return standing
        where = closer.commit[:10]
        if closer.commits > 1:
            where = f"one of {closer.commits:,} commits up to {closer.last[:10]}"
        reason = f"it was {where}, as its {metric_name(closer.line.metric)} shows"
        return Standing("over", reason, KNOWN_CLOSER)

    return [
        [
            with_place(series, finding, standing)
            for finding, standing in zip(series.findings, own, strict=True)
        ]
        for series, own in zip(all_series, standings, strict=True)
    ]


def _benchmark(series: Traced) -> tuple[object, ...]:
    """What the series of one benchmark share, whatever the metric and the environment."""
    line = series.line
    return line.job.label, line.uid.removesuffix(ONCE), line.size


def _standing(
    series: Traced,
    turn: int,
    ended: str,
    gone: str,
    allowance: Allowance,
    jumps: Jumps,
    share: float,
) -> Standing:
    finding = series.findings[turn]
    if finding.direction == "improvement":
        return Standing("improvement", "", "improvements")
    if finding.denied:
        return Standing("over", shorten(finding.contradiction, REASON_CHARACTERS), DENIED)
    if ended:
        reason = shorten(f"its series has ended: {ended}", REASON_CHARACTERS)
        return Standing("over", reason, ENDED)
    for later in series.findings[turn + 1 :]:
        if _left(finding, _log(later.after)) <= HALF:
            return Standing("over", f"undone by {later.commit[:10]}", UNDONE)
    if gone:
        return Standing("over", f"not measured since {gone}", GONE)
    accepted = allowance.reason(finding)
    if accepted is not None:
        return Standing("accepted", shorten(accepted, REASON_CHARACTERS), "accepted")
    since = bisect_left(series.places, finding.turn)
    newest = series.levels[since:][-NEWEST:].tolist()
    holds = sum(_left(finding, level) > HALF for level in newest)
    switches = _switches(series, finding, jumps.first(finding))
    doubts = [jumps.asked(series, finding), jumps.wide(series, finding)]
    if 2 * holds < len(newest):
        doubts.append(f"less than half of the newest values hold it ({holds} of {len(newest)})")
    if switches:
        doubts.append("its series goes to and fro across it")
    doubts += _own_doubts(finding)
    said = tuple(filter(None, doubts))
    sure = holds / max(1, len(newest)) * (DOUBTED if said else 1.0)
    cost = sure * share * abs(log1p(finding.effect))
    return Standing(
        state="open",
        reason="",
        kind="still slower",
        holds=holds,
        newest=len(newest),
        switches=switches,
        doubts=said,
        cost=cost,
    )


def _own_doubts(finding: Finding) -> list[str]:
    """Why a finding is to be checked, by its own numbers."""
    doubts = []
    if finding.low is None or finding.high is None:
        if TURNS not in finding.detectors:  # a verdict on exact counts has no interval
            doubts.append("its interval is not known")
    elif finding.low <= 0 <= finding.high:
        doubts.append("its interval includes no change")
    if finding.contradiction:
        doubts.append("the series and what was measured in turns disagree")
    return doubts


def _left(finding: Finding, level: float) -> float:
    """The share of a step left at a level (a logarithm): 1 after the step, 0 before it."""
    before, after = _log(finding.before), _log(finding.after)
    return (level - before) / (after - before) if after != before else 0.0


def _log(value: float) -> float:
    return log(max(value, TINY))


def _switches(series: Traced, finding: Finding, first: int) -> bool:
    """Whether the levels of a series cross the middle of one of its findings again and again, or
    its values before the place ``first`` did.
    """
    levels = [series.findings[0].before, *(each.after for each in series.findings)]
    sides = [_left(finding, _log(level)) > HALF for level in levels]
    if sum(one != other for one, other in pairwise(sides)) >= CROSSINGS:
        return True
    start = bisect_left(series.places, first)
    earlier = series.levels[max(0, start - EARLIER) : start].tolist()
    beyond = sum(_left(finding, level) > HALF for level in earlier)
    return beyond > MIXED * max(len(earlier), NEWEST)


def _shares(all_series: Sequence[Traced], past: Past) -> list[float]:
    """The share of each series in the newest levels of all that are measured in its environment
    under its metric; 0 for those that are measured no longer.
    """
    totals: dict[tuple[str, str, str], float] = defaultdict(float)
    largest = max((float(series.levels[-1]) for series in all_series), default=0.0)
    own = []
    for series in all_series:
        line = series.line
        key = line.environment.fingerprint, line.metric, line.unit
        live = not past.last_day(int(series.places[-1]))
        level = exp(float(series.levels[-1]) - largest) if live else 0.0
        totals[key] += level
        own.append((key, level))
    return [level / totals[key] if totals[key] else 0.0 for key, level in own]


def _ended(all_series: Sequence[Traced]) -> dict[int, str]:
    """The series, by number, that others of their benchmark and metric followed, and why."""
    same: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, series in enumerate(all_series):
        line = series.line
        same[line.job.label, line.job.collector, line.uid, line.size, line.metric].append(number)
    followers = {}
    for numbers in same.values():
        starts = [(all_series[number].places[0], all_series[number].began) for number in numbers]
        for number in numbers:
            later = [pair for pair in starts if pair[1] and pair[0] > all_series[number].places[-1]]
            if later:
                followers[number] = min(later)[1]
    return followers


def ranked(standings: Mapping[str, Sequence[Standing]]) -> list[str]:
    """Commits with open changes by what these cost, those with a certain one first."""
    open_ones = {
        commit: [each for each in members if each.state == "open"]
        for commit, members in standings.items()
    }
    return sorted(
        (commit for commit, members in open_ones.items() if members),
        key=lambda commit: (
            not any(each.certain for each in open_ones[commit]),
            -sum(each.cost for each in open_ones[commit]),
        ),
    )
