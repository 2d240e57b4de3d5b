"""The values of benchmarks along commits, as listings draw them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from perfvcs.index.packedlevels import level
from perfvcs.profile import Environment
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.summary import Measured, Summary
from perfvcs.reports.commitprofiles import CommitProfiles
from perfvcs.text.characters import shorten, sparkline
from perfvcs.text.quantity import quantities
from perfvcs.text.words import metric_name, metric_rank

if TYPE_CHECKING:
    from perfvcs.history.finding import Finding
    from perfvcs.history.triage import Standing

TREND_METRICS = ("wall", "cpu", "duration")  # whose trend is drawn
FIRST_COLLECTOR = "time"  # the collector whose trends come first
SPARKLINE_POINTS = 24  # points of a sparkline
METRIC = 16  # characters of a metric


class MetricTrend(msgspec.Struct, frozen=True):
    """One benchmark's metric along the commits, oldest first; None where it was not measured.

    A value is the geometric mean of a commit's sessions. ``executions`` is how many the newest
    value is of. ``label`` is the benchmark's name, ``job`` the label of its job.
    """

    label: str
    job: str
    collector: str
    environment: Environment
    metric: str
    unit: str
    values: Sequence[float | None]
    executions: int

    @property
    def newest(self) -> float:
        """The last value there is."""
        return next(value for value in reversed(self.values) if value is not None)


def cells(
    trends: Sequence[MetricTrend], points: int = SPARKLINE_POINTS
) -> list[tuple[str, str, str]]:
    """Metric, newest value, and sparkline of each."""
    newest = quantities([trend.newest for trend in trends], [trend.unit for trend in trends])
    return [
        (shorten(metric_name(trend.metric), METRIC), value, sparkline(trend.values, width=points))
        for trend, value in zip(trends, newest, strict=True)
    ]


def _trend_rank(key: tuple[str, str, str, str]) -> tuple[object, ...]:
    """Sorts by benchmark, collector (time first), metric and environment."""
    name, collector, environment, metric = key
    return name, collector != FIRST_COLLECTOR, collector, metric_rank(metric), environment


def trends(
    profiles: CommitProfiles, commits: Sequence[str], benchmarks: BenchmarkFilter = EVERYTHING
) -> list[MetricTrend]:
    """The trends of the benchmarks (or of some) of the newest of these commits that has any, along
    all of them (newest first).
    """
    measured = profiles.measured(commits)
    if not measured:
        return []
    newest, _ = measured[-1]
    sessions: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    executions: Counter[tuple[str, str, str, str]] = Counter()  # on the newest commit
    units: dict[tuple[str, str, str, str], str] = {}
    places: dict[str, Environment] = {}
    jobs: dict[str, str] = {}
    for commit, profile in measured:
        summaries = leading(profile, benchmarks)
        metrics = {
            summary.metric
            for _, summary in summaries
            if profile.header.metrics[summary.metric].better != "none"
        }
        drawn = metrics.intersection(TREND_METRICS) or set(sorted(metrics, key=metric_rank)[:1])
        drawn = metrics if benchmarks.metric else drawn
        for name, summary in summaries:
            positive = [value for value in summary.medians if value > 0]
            if summary.metric in drawn and positive:
                place = profile.header.environment
                places[place.fingerprint] = place
                jobs[name] = profile.header.job.label
                key = (name, profile.header.job.collector, place.fingerprint, summary.metric)
                sessions.setdefault(key, {}).setdefault(commit, []).append(
                    math.exp(level(positive))
                )
                executions[key] += len(positive) if commit == newest else 0
                units[key] = profile.header.metrics[summary.metric].unit
    keys = [key for key, values in sessions.items() if newest in values]
    keys.sort(key=_trend_rank)
    order = list(reversed(commits))
    return [
        MetricTrend(
            label=name,
            job=jobs[name],
            collector=collector,
            environment=places[place],
            metric=metric,
            unit=units[key],
            values=[
                math.exp(level(sessions[key][commit])) if commit in sessions[key] else None
                for commit in order
            ],
            executions=executions[key],
        )
        for key in keys
        for name, collector, place, metric in [key]
    ]


def changed_first(
    trends: Sequence[MetricTrend],
    findings: Mapping[str, Sequence[Finding]],
    standings: Mapping[int, Standing],
) -> list[MetricTrend]:
    """The trends with a lasting change that is still there, then the others in their order."""
    from perfvcs.profile.naming import labelled

    changed = {
        (labelled(line.job.label, line.uid, line.size), line.metric, line.environment.fingerprint)
        for steps in findings.values()
        for line in (step.line for step in steps if standings[id(step)].state == "open")
    }

    def is_unchanged(trend: MetricTrend) -> bool:
        return (trend.label, trend.metric, trend.environment.fingerprint) not in changed

    return sorted(trends, key=is_unchanged)


def _size(summary: Summary) -> float:
    """The size, below all others where there is none."""
    return -1.0 if summary.size is None else summary.size


def leading(
    measured: Measured, benchmarks: BenchmarkFilter = EVERYTHING
) -> list[tuple[str, Summary]]:
    """The summaries that stand for a profile, with their names: those of the whole process, or of
    every unit where there are none, or where units are asked for.

    Of several sizes the largest stands for a unit.
    """
    from perfvcs.profile.naming import labelled

    job = measured.header.job
    meant = [
        row
        for row in measured.summaries
        if benchmarks.has(job.label, row.uid, row.size, row.metric)
    ]
    of_process = [summary for summary in meant if summary.uid == job.name]
    shown = of_process or meant
    largest = {(summary.uid, summary.metric): summary for summary in sorted(shown, key=_size)}
    return [
        (labelled(job.label, summary.uid, summary.size), summary)
        for summary in shown
        if largest[summary.uid, summary.metric] is summary
    ]
