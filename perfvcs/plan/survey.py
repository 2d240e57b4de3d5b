"""What is stored of a job, as far as planning needs it: its newest comparable sessions, their
design and cost.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from itertools import islice
from math import isfinite
from statistics import fmean, median_high
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.change import NothingToCompare
from perfvcs.plan.variation import Variation, spreads, variations
from perfvcs.profile.benchmarkfilter import EVERYTHING, BenchmarkFilter
from perfvcs.profile.summary import Header, Measured

if TYPE_CHECKING:
    from perfvcs.profile import Profile
    from perfvcs.repository import Repository

SURVEYED_COMMITS = 20  # the newest with profiles, in which the sessions of a job are looked for
PROFILES = 10  # of a series; older ones show another machine's load


class Cost(msgspec.Struct, frozen=True):
    """Seconds of one ``execution`` as it is, of one round of its ``measurement`` alone, and of
    preparing one build; None where unknown.
    """

    execution: float | None = None
    measurement: float | None = None
    preparation: float | None = None


class LastDesign(msgspec.Struct, frozen=True):
    """A series: its benchmark's label (``job``), how it was measured last, and what that costs."""

    job: str
    collector: str
    series: str
    sessions: int
    profiles: int
    binaries: int
    executions: int
    warmup: int
    cost: Cost


class Survey(LastDesign, frozen=True):
    """A series with its job's ``name``, and how its units vary."""

    name: str
    variations: Sequence[Variation]


def surveys(
    repository: Repository, revision: str = "HEAD", benchmarks: BenchmarkFilter = EVERYTHING
) -> list[Survey]:
    """The surveys of all jobs (or of some benchmarks) that were measured on ``revision`` or before;
    raises NothingToCompare.
    """
    measured = recent(repository, revision)
    if not measured:
        raise NothingToCompare(
            f"nothing is stored up to {revision} to plan from: run `perf collect` first"
        )
    jobs = [(profile, profile.header.job) for profile in measured]
    wanted = [profile for profile, job in jobs if benchmarks.has_job(job.label, job.collector)]
    measured_on = cache(lambda *commits: repository.index.headers(commits))
    found = [
        _narrowed(_survey(repository, series, measured_on), benchmarks)
        for series in newest_series(wanted)
    ]
    if benchmarks:
        found = [survey for survey in found if survey.variations]
    if not found:
        raise NothingToCompare(
            f"nothing is stored of `{benchmarks.text}` up to {revision} to plan from: run `perf"
            " collect` first"
        )
    return found


def _narrowed(survey: Survey, benchmarks: BenchmarkFilter) -> Survey:
    """The survey of some benchmarks only."""
    variations = [
        row
        for row in survey.variations
        if benchmarks.has(survey.job, row.uid, row.size, row.metric, survey.series)
    ]
    return msgspec.structs.replace(survey, variations=variations)


def recent(repository: Repository, revision: str) -> list[Measured]:
    """Headers and summaries of the newest commits with profiles, ``revision`` and before."""
    walk = repository.project.walk(repository.project.resolve(revision))
    return repository.index.measured(list(islice(repository.with_profiles(walk), SURVEYED_COMMITS)))


def newest_series(measured: Iterable[Measured]) -> list[list[Measured]]:
    """Per benchmark and collector the newest comparable profiles of its newest series, oldest
    first.
    """
    grouped: dict[tuple[str, str], list[Measured]] = defaultdict(list)
    for profile in measured:
        grouped[profile.header.job.label, profile.header.job.collector].append(profile)
    newest = []
    for members in grouped.values():
        members.sort(
            key=lambda profile: (profile.header.collected.started, profile.header.design.version)
        )
        last = _kind(members[-1].header)
        newest.append([profile for profile in members if _kind(profile.header) == last][-PROFILES:])
    return newest


def _kind(header: Header) -> tuple[str, str]:
    return header.job.key, header.environment.fingerprint


def _survey(
    repository: Repository, series: Sequence[Measured], measured_on: Callable[..., list[Header]]
) -> Survey:
    headers = [profile.header for profile in series]
    profiles = repository.profiles(headers)
    last = headers[-1]
    seen = variations(profiles) if profiles else spreads(series)
    binaries = max(1, last.design.binaries)
    return Survey(
        job=last.job.label,
        name=last.job.name,
        collector=last.job.collector,
        series=last.job.key,
        sessions=len({header.collected.session for header in headers}),
        profiles=len(headers),
        binaries=binaries,
        executions=_usual(headers),
        warmup=last.design.warmup,
        cost=_cost(repository, last, profiles[-1], measured_on) if profiles else Cost(),
        variations=seen,
    )


def _usual(headers: Sequence[Header]) -> int:
    """How many executions of each build a session usually has: a bisection or a check may have
    taken fewer or more.
    """
    by_session = {
        header.collected.session: header.design.executions // max(1, header.design.binaries)
        for header in headers
    }
    return median_high(by_session.values()) or 1


def _cost(
    repository: Repository,
    header: Header,
    profile: Profile,
    measured_on: Callable[..., list[Header]],
) -> Cost:
    """What the newest session of a series cost; ``measured_on`` knows the headers on some
    commits.
    """
    execution, rounds = _wall(profile)
    commits = dict.fromkeys([header.commit, *header.design.versions])
    session = [
        member
        for member in measured_on(*commits)
        if member.collected.session == header.collected.session
    ]
    span = _seconds(header)
    executed = sum(
        member.design.executions + member.design.warmup * max(1, member.design.binaries)
        for member in session
    )
    if execution is None:
        return Cost(span / executed if span and executed else None)
    spent = 0.0
    for member in repository.profiles(session):
        measured, _ = _wall(member)
        spent += (measured or execution) * (
            member.design.executions + member.design.warmup * max(1, member.design.binaries)
        )
    builds = len({member.design.version for member in session}) * max(1, header.design.binaries)
    return Cost(execution, rounds, max(0.0, span - spent) / builds if span and builds else None)


def _wall(profile: Profile) -> tuple[float | None, float | None]:
    """Seconds of one execution, what was done again included, and of one measurement of each of its
    other units.
    """
    rows = profile.resources
    metric, column = profile.metrics.get("wall"), rows.metrics.get("wall")
    if metric is None or column is None or metric.unit != "s" or profile.job.name not in rows.names:
        return None, None
    process = rows.names.index(profile.job.name)
    usable = [
        (code, size, value)
        for code, size, value in zip(rows.uid, rows.size or [None] * len(rows), column, strict=True)
        if value is not None and isfinite(value) and value > 0
    ]
    whole = [value for code, _, value in usable if code == process]
    units: dict[tuple[int, float | None], list[float]] = defaultdict(list)
    for code, size, value in usable:
        if code != process:
            units[code, size].append(value)
    executions = (
        len(set(rows.execution))
        if rows.binary is None
        else len(set(zip(rows.binary, rows.execution, strict=True)))
    )
    return (sum(whole) / executions if whole else None), (sum(map(fmean, units.values())) or None)


def _seconds(header: Header) -> float | None:
    """How long the session of a profile took; None where its times cannot be read."""
    try:
        started, ended = (
            datetime.fromisoformat(text)
            for text in (header.collected.started, header.collected.ended)
        )
        return max(0.0, (ended - started).total_seconds()) or None
    except (ValueError, TypeError):
        return None
