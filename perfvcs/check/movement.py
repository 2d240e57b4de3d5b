"""The benchmarks that moved, those first that matter most."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.change import Change
from perfvcs.check.vocabulary import said
from perfvcs.text.words import metric_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perfvcs.check.change import Report

WHOLE = 1.0  # assumed seconds of a job whose time is not known
NEW = 10.0  # effect of what has no ratio: it was nothing, or is a finding without a number
JobUnit = tuple[str, str]  # job's label, uid


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
    """A benchmark that moved: its changes, the one that matters most first; ``importance`` in
    seconds, effect times time spent.
    """

    changes: list[Change]
    importance: float

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
    """The benchmarks that moved and are not accepted: those that fail the check first, then the
    more important before the less.
    """
    time = _time_spent(report.changes)
    moved: dict[JobUnit, list[tuple[Change, float]]] = defaultdict(list)
    for change in report.changes:
        if said(change).moved:
            moved[change.job, change.uid].append((change, importance(change, time)))
    benchmarks = [_entry(members) for members in moved.values()]
    return sorted(benchmarks, key=lambda entry: (not entry.fails, -entry.importance))


def _entry(members: Sequence[tuple[Change, float]]) -> MovedBenchmark:
    ranked = sorted(
        members,
        key=lambda member: (
            not said(member[0]).fails,
            metric_rank(member[0].metric)[0],
            -member[1],
        ),
    )
    return MovedBenchmark([change for change, _ in ranked], max(weight for _, weight in members))


def importance(change: Change, time: Mapping[SizedUnit, float]) -> float:
    """Effect times time spent, in seconds."""
    effect = NEW if change.effect is None else abs(change.effect)
    return effect * time[SizedUnit.of(change)]


def _time_spent(changes: Iterable[Change]) -> dict[SizedUnit, float]:
    """Seconds that are spent in each unit at each size: its own time where it has one.

    Else its part of the longest time in the report (a second, where it has none): its part of the
    largest amount of a metric.
    """
    times: dict[SizedUnit, float] = {}
    amounts: dict[SizedUnit, float] = {}
    largest: dict[tuple[str, str], float] = defaultdict(float)
    rows = list(changes)
    for change in rows:
        amount = abs(change.baseline or change.target or 0.0)
        if change.unit == "s":
            unit = SizedUnit.of(change)
            times[unit] = max(times.get(unit, 0.0), amount)
        largest[change.job, change.metric] = max(largest[change.job, change.metric], amount)
    whole = max(times.values(), default=0.0) or WHOLE
    for change in rows:
        unit, most = SizedUnit.of(change), largest[change.job, change.metric]
        share = abs(change.baseline or change.target or 0.0) / most if most else 1.0
        amounts[unit] = max(amounts.get(unit, 0.0), share * whole)
    return amounts | times
