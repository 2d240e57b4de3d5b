"""The benchmarks that moved, those first that matter most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import log1p
from typing import NamedTuple, TypeVar

import msgspec

from perfvcs.check.bounds import GONE, NEW, distance, length
from perfvcs.check.change import Change, Overall, Report
from perfvcs.check.statement import AGREED
from perfvcs.check.text import benchmark, measure
from perfvcs.check.vocabulary import SURE, said
from perfvcs.profile.naming import is_whole
from perfvcs.text.words import CLOCKS, COUNTS, metric_name, metric_rank

WHOLE = 1.0  # assumed seconds of a job whose time is not known
FURTHER = 2.0  # times as far, from which one change says more than another
# of a difference in wall time, which ten programs for each processor make ten times as long
EXPLAINED = 0.1
APART = 0.01  # of the baseline, between two intervals that disagree
NAMED = "name another to follow it: {} NAME"  # the command comes last
LONGER = 4.0  # times as long, from which an interval says much less
JobUnit = tuple[str, str]  # job's label, uid
# series, environment, uid, size, metric
Subject = tuple[str, str, str, float | None, str]


class SizedUnit(NamedTuple):
    """A unit of a job (its label) at one of its sizes."""

    job: str
    uid: str
    size: float | None

    @classmethod
    def of(cls, change: Change) -> SizedUnit:
        """What a change is about, in all its metrics."""
        return cls(change.job, change.uid, change.size)


class MovedBenchmark(msgspec.Struct, frozen=True):
    """A benchmark that moved: its changes, the one that says most first; ``importance`` in seconds,
    the effect that is sure times the time spent.

    ``remark`` says what the other clock shows, where wall and CPU time disagree.
    """

    changes: list[Change]
    importance: float
    remark: str = ""

    @property
    def first(self) -> Change:
        """The change that matters most."""
        return self.changes[0]

    @property
    def unit(self) -> JobUnit:
        """The job's label and the unit."""
        return self.first.job, self.first.uid

    @property
    def fails(self) -> bool:
        """Whether it fails a check."""
        return any(said(change).fails for change in self.changes)

    @property
    def others(self) -> list[Change]:
        """The first change of each other metric."""
        first_by_metric = {change.metric: change for change in reversed(self.changes)}
        return [
            change
            for metric, change in reversed(first_by_metric.items())
            if metric != self.first.metric
        ]

    @property
    def sizes(self) -> int:
        """How many other sizes moved under the first metric."""
        sizes = {change.size for change in self.changes if change.metric == self.first.metric}
        return len(sizes) - 1


def entries(report: Report) -> list[MovedBenchmark]:
    """The benchmarks that moved and are not accepted: those that fail the check first, what is
    certain before what is not, then the more important before the less.

    A unit that moved more than twice as much as the process around it comes before that.
    """
    return _entries(report.changes)


def _entries(changes: Sequence[Change]) -> list[MovedBenchmark]:
    """The ``entries`` of some changes."""
    moved: dict[JobUnit, list[Change]] = defaultdict(list)
    for change in changes:
        if said(change).moved:
            moved[change.job, change.uid].append(change)
    if not moved:
        return []
    spent = _time_spent(changes)
    clocks: dict[SizedUnit, dict[str, Change]] = defaultdict(dict)
    for change in changes:
        if change.metric in CLOCKS:
            clocks[SizedUnit.of(change)][change.metric] = change
    benchmarks = [_entry(changes, spent, clocks) for changes in moved.values()]
    wholes = {entry.first.job: entry for entry in benchmarks if is_whole(*entry.unit)}

    def rank(entry: MovedBenchmark) -> tuple[bool, bool, float, bool, float]:
        whole = wholes.get(entry.first.job, entry)
        around = 0.0
        if whole.first.word == entry.first.word and _beyond(entry.first, whole.first):
            around = whole.importance
        most = max(entry.importance, around)
        is_open = not _is_certain(entry.first)
        return not entry.fails, is_open, -most, entry is whole, -entry.importance

    return sorted(benchmarks, key=rank)


def in_order(changes: Sequence[Change]) -> Iterator[MovedBenchmark]:
    """The ``entries``, and then these as if nothing were accepted: the order in which all commands
    choose a benchmark where nobody names one.
    """
    yield from _entries(changes)
    if all(change.accepted is None for change in changes):
        return
    opened = [msgspec.structs.replace(change, accepted=None) for change in changes]
    yield from _entries(opened)


def places(changes: Sequence[Change]) -> dict[Subject, int]:
    """The place ``in_order`` of what each change is about that moved."""
    found: dict[Subject, int] = {}
    for entry in in_order(changes):
        for change in entry.changes:
            found.setdefault(subject(change), len(found))
    return found


def subject(change: Change) -> Subject:
    """What a change is about; of a curve all sizes."""
    return change.series, change.environment, change.uid, change.size, change.metric


def _is_certain(change: Change) -> bool:
    """Whether the program changed for sure; an interval that holds no change, such as that of a
    coarse clock, leaves it open.
    """
    if change.word not in SURE:
        return False
    if change.low is None or change.high is None:
        return True
    return change.low > AGREED or change.high < -AGREED


class Followed(NamedTuple):
    """The change that a command follows where nobody names one, and how many ``benchmarks`` changed
    that it could have followed; ``instead_of`` the one whose work it is, which its time leaves
    open or shows less sharply.
    """

    change: Change
    benchmarks: int
    instead_of: Change | None = None

    @property
    def choice(self) -> str:
        """What is followed, and why; empty where there was no choice."""
        name = f"{benchmark(self.change)}, {metric_name(self.change.metric)}"
        reasons = []
        if self.benchmarks > 1:
            reasons.append(f"the most important of {self.benchmarks:,} benchmarks that changed")
        if self.instead_of is not None:
            time = metric_name(self.instead_of.metric)
            if _is_certain(self.instead_of):
                reasons.append(f"since they explain its {time} and vary less")
            else:
                reasons.append(f"since its {time} alone leaves it open")
        return f"follows {name}, {', '.join(reasons)}" if reasons else ""


def followed(report: Report, fits: Callable[[Change], bool]) -> Followed | None:
    """The change that `perf bisect` and `perf blame` follow, of those that are sure and fit; None
    where there is none.

    1. It is of the first benchmark ``in_order``.
    2. CPU time stands in for wall time where both moved, since wall time includes waiting for other
       programs, unless the CPU's clock is too coarse to show the change.
    """
    units = {
        SizedUnit.of(change) for change in report.changes if change.word in SURE and fits(change)
    }
    for entry in in_order(report.changes):
        chosen = [change for change in entry.changes if change.word in SURE and fits(change)]
        if chosen:
            return Followed(_followed_clock(chosen), len(units))
    return None


def _followed_clock(changes: Sequence[Change]) -> Change:
    """The first change, or the CPU time beside it."""
    first = changes[0]
    if first.metric != "wall":
        return first
    alike = ("cpu", first.size, first.word)
    beside = (
        change
        for change in changes
        if (change.metric, change.size, change.word) == alike and _is_certain(change)
    )
    return next(beside, first)


def _entry(
    changes: Sequence[Change],
    time: Mapping[SizedUnit, float],
    clocks: Mapping[SizedUnit, Mapping[str, Change]],
) -> MovedBenchmark:
    """The benchmark of some changes.

    1. What fails the check comes before what does not.
    2. Wall time, CPU time and peak memory come in this order, but CPU time first where both clocks
       moved and disagree.
    3. Of several sizes the more important comes before the less.
    4. Another metric comes first if it moved more than twice as much as all clocks; counts of work
       stand beside these.
    """

    def rank(change: Change) -> tuple[bool, int, float]:
        order = metric_rank(change.metric)[0]
        if change.metric == "cpu" and cpu_leads(clocks[SizedUnit.of(change)]):
            order = -1
        return not said(change).fails, order, -importance(change, time)

    ranked = sorted(changes, key=rank)
    if ranked[0].metric in CLOCKS:
        timed = max((change for change in ranked if change.metric in CLOCKS), key=distance)
        fails = said(ranked[0]).fails
        others = [
            change
            for change in ranked
            if change.metric not in CLOCKS
            and said(change).fails == fails
            and not (timed.work and change.metric in COUNTS)
            and _beyond(change, timed)
        ]
        if others:
            lead = max(others, key=distance)
            ranked = [lead, *(change for change in ranked if change is not lead)]
    first = ranked[0]
    return MovedBenchmark(
        ranked,
        max(importance(change, time) for change in changes),
        _disagreement(first, clocks.get(SizedUnit.of(first), {})),
    )


def _beyond(change: Change, other: Change) -> bool:
    """Whether one moved more than twice as far as the other for sure: by the near end of its
    interval.
    """
    ends = [end for end in (change.low, change.high) if end is not None]
    near = min((abs(log1p(max(end, GONE))) for end in ends), default=distance(change))
    return near > FURTHER * distance(other)


Clocks = TypeVar("Clocks", "Change", "Overall")


def cpu_leads(clocks: Mapping[str, Clocks]) -> bool:
    """Whether CPU time says more than wall time: both moved in one direction, and their intervals
    lie apart by 1 % or more, or that of wall time is several times as long.

    Wall time includes waiting for other programs. CPU time does not, nor what the program itself
    waits for: it has to explain a part of what wall time differs by.
    """
    wall, cpu = clocks.get("wall"), clocks.get("cpu")
    if wall is None or cpu is None or wall.word != cpu.word or wall.word not in SURE:
        return False
    return _explains(cpu, wall) and (_disagree(wall, cpu) or _is_vague(wall, cpu))


def _explains(cpu: Change | Overall, wall: Change | Overall) -> bool:
    if cpu.baseline is None or cpu.target is None or wall.baseline is None or wall.target is None:
        return True
    return abs(cpu.target - cpu.baseline) >= EXPLAINED * abs(wall.target - wall.baseline)


def _disagree(wall: Change | Overall, cpu: Change | Overall) -> bool:
    if wall.low is None or wall.high is None or cpu.low is None or cpu.high is None:
        return False
    return wall.low > cpu.high + APART or cpu.low > wall.high + APART


def _is_vague(wall: Change | Overall, cpu: Change | Overall) -> bool:
    """Whether wall time is known much less well; a CPU time without any spread is that of a coarse
    clock.
    """
    return length(wall) > max(LONGER * length(cpu), APART) and length(cpu) > 0


def _disagreement(first: Change, clocks: Mapping[str, Change]) -> str:
    """What the other clock says, where the two disagree."""
    wall, cpu = clocks.get("wall"), clocks.get("cpu")
    if wall is None or cpu is None:
        return ""
    if first is cpu and cpu_leads(clocks):
        verb = "differs" if _disagree(wall, cpu) else "varies more"
        return f"wall time {measure(wall)} {verb}, since it includes waiting"
    follows = cpu.word == wall.word and _explains(cpu, wall)
    if first is wall and not follows and _disagree(wall, cpu):
        waits = "longer" if (wall.effect or 0.0) > (cpu.effect or 0.0) else "less"
        return f"CPU time {measure(cpu)} did not follow: it waits {waits}"
    return ""


def importance(change: Change, time: Mapping[SizedUnit, float]) -> float:
    """Effect times time spent, in seconds; of a certain effect the end of its interval that is
    nearer to 0, since of many estimates the largest are often made by chance.
    """
    effect = NEW if change.effect is None else abs(change.effect)
    if change.low is not None and change.high is not None and _is_certain(change):
        effect = min(abs(change.low), abs(change.high))
    return effect * time[SizedUnit.of(change)]


def _time_spent(changes: Iterable[Change]) -> dict[SizedUnit, float]:
    """Seconds that are spent in each unit at each size: its own time where it has one.

    Else its part of the longest time in the report (a second, where it has none): its part of the
    largest amount of a metric.
    """
    times: dict[SizedUnit, float] = {}
    amounts: dict[SizedUnit, float] = {}
    largest: dict[tuple[str, str], float] = defaultdict(float)
    rows = [
        (change, SizedUnit.of(change), abs(change.baseline or change.target or 0.0))
        for change in changes
    ]
    for change, unit, amount in rows:
        if change.unit == "s":
            times[unit] = max(times.get(unit, 0.0), amount)
        largest[change.job, change.metric] = max(largest[change.job, change.metric], amount)
    whole = max(times.values(), default=0.0) or WHOLE
    for change, unit, amount in rows:
        most = largest[change.job, change.metric]
        share = amount / most if most else 1.0
        amounts[unit] = max(amounts.get(unit, 0.0), share * whole)
    return amounts | times
