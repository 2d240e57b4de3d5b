"""What a page of `perf show` is about: one revision, two, or the history of a benchmark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from math import exp, log
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check import compare, past_of
from perfvcs.check.change import NothingToCompare
from perfvcs.errors import UsageError, nearest
from perfvcs.repository import State
from perfvcs.vcs import Commit, UnknownRevision
from perfvcs.views import Point, Series, Subject

if TYPE_CHECKING:
    from perfvcs.check import Change
    from perfvcs.repository import Repository
    from perfvcs.summary import Header, Measured, Summary

LARGEST_EXPONENT = 709.0  # exp of more is beyond a float
POINTS = 300  # commits of a history
SERIES = 60  # units and metrics of a history


def exhibit(repository: Repository, names: Sequence[str], *, delta: float | None = None) -> Subject:
    """The subject that arguments name: a revision (default HEAD), two revisions, or a benchmark's label; raises UsageError."""
    if len(names) == 1 and (headers := _benchmark(repository, names[0])):
        return _history(repository, names[0], headers, delta)
    try:
        states = [repository.state(name) for name in names or ("HEAD",)]
    except UnknownRevision as error:
        labels = [job.label for job in repository.index.series()]
        hint = nearest(names[0], labels) if labels else ""
        raise UnknownRevision(f"{error}; nor is it a benchmark{hint}") from None
    if len(states) == 1:
        return _one(repository, states[0])
    if len(states) > 2:
        raise UsageError("a page shows one revision, two, or the history of one benchmark: name fewer")
    baseline, target = states
    report = repository.compare(baseline, target, delta=delta)
    profiles = [repository.profiles([one.header for one in repository.measured(state)]) for state in states]
    if baseline == target:  # an A/A measurement: the versions that took turns
        whole = profiles[0]
        profiles = [[one for one in whole if not one.design.version], [one for one in whole if one.design.version]]
    return Subject(f"{_title(repository, baseline)} → {_title(repository, target)}", profiles[1], profiles[0], report)


def _one(repository: Repository, state: State) -> Subject:
    profiles = repository.profiles([one.header for one in repository.measured(state)])
    if not profiles:
        raise NothingToCompare(f"{state.name} has no profiles: measure it with `perf collect`")
    return Subject(_title(repository, state), profiles)


def _title(repository: Repository, state: State) -> str:
    commit = repository.project.describe([state.commit]).get(state.commit)
    return f"{state.name} {commit.title}" if commit else state.name


def _benchmark(repository: Repository, name: str) -> set[str]:
    """The series keys of the benchmark with this label, else of all with this name."""
    jobs = repository.index.series()
    return {job.key for job in jobs if job.label == name} or {job.key for job in jobs if job.name == name}


def _history(repository: Repository, name: str, keys: set[str], delta: float | None) -> Subject:
    """The history of a benchmark along the ancestry of HEAD."""
    ids = list(islice(repository.with_profiles(repository.project.walk("HEAD")), POINTS))
    ids.reverse()
    details = repository.project.describe(ids)
    groups: dict[tuple[str, str], dict[str, list[Measured]]] = defaultdict(lambda: defaultdict(list))
    for one in repository.index.measured(ids):
        if one.header.job.key in keys and one.header.dirty is None:
            groups[one.header.job.key, one.header.environment.fingerprint][one.header.commit].append(one)
    series = [one for group in groups.values() for one in _series(repository, group, details, delta)]
    if not series:
        raise NothingToCompare(f"`{name}` was not measured on any ancestor of HEAD: `perf collect` measures it")
    return Subject(f"{name}: history", history=series[:SERIES])


def _series(
    repository: Repository, group: dict[str, list[Measured]], details: dict[str, Commit], delta: float | None
) -> Iterator[Series]:
    """The series of every unit and metric of one job in one environment; ``group`` is ordered by ancestry, oldest first."""
    history = past_of([one for measured in group.values() for one in measured])
    verdicts: dict[tuple[str, str, float | None, str], Change] = {}
    for (old, before), (commit, after) in pairwise(group.items()):
        report = compare(before, after, delta=delta, history=history)
        changes = repository.with_acceptances(report, State(old), State(commit)).changes
        verdicts |= {(commit, change.uid, change.size, change.metric): change for change in changes}
    units: dict[tuple[str, float | None, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    header: Header = next(iter(group.values()))[0].header
    for commit, measured in group.items():
        for one in measured:
            for summary in one.summaries:
                units[summary.uid, summary.size, summary.metric][commit] += _positive(summary)
    for (uid, size, metric), values in units.items():
        points = []
        for commit, medians in values.items():
            if not medians or commit not in details:
                continue
            about = details[commit]
            own = verdicts.get((commit, uid, size, metric))
            change = own or verdicts.get((commit, uid, None, metric))  # of a curve all sizes have one verdict
            word = "" if change is None else change.word if change.accepted is None else "accepted"
            centre, low, high = _interval(medians)
            effect = own.effect if own else None
            points.append(Point(commit, about.title, about.author, about.when, len(medians), centre, low, high, word, effect))
        described = msgspec.structs.asdict(header.metrics[metric])
        environment = ", ".join(
            f"{name} {value}" for name, value in header.environment.fields.items() if name in ("cpu", "kernel", "python")
        )
        yield Series(header.job.label, uid, size, metric, described["unit"], described["better"], environment, points)


def _positive(summary: Summary) -> list[float]:
    return [value for value in summary.medians if value > 0]


def _interval(medians: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Geometric mean with its 99 % interval."""
    from perfvcs.statistics.interval import interval

    logs = [log(value) for value in medians]
    if len(logs) < 2:
        return exp(logs[0]), None, None
    found = interval([logs])
    low, high = float(found.low[0]), float(found.high[0])
    bounds = (exp(low), exp(high)) if high < LARGEST_EXPONENT else (None, None)
    return min(exp(min(float(found.centre[0]), LARGEST_EXPONENT)), max(medians)), *bounds
