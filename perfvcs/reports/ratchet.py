"""Limits with a ratchet: lowered in perf-accepted.toml where a better level has lasted."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from math import ceil, exp, floor, inf, isfinite, log, log10, sqrt
from typing import NamedTuple

import msgspec

from perfvcs.check import register
from perfvcs.check.acceptance import ID_DIGITS
from perfvcs.check.limits import Subject, amount, level, limit_of, subject
from perfvcs.check.rows import ProfileRows
from perfvcs.errors import UsageError
from perfvcs.profile.naming import labelled
from perfvcs.profile.rules import LoweredLimit, Rule
from perfvcs.profile.summary import Measured, Summary
from perfvcs.profile.units import base
from perfvcs.reports.accept import register_path
from perfvcs.repository import Repository
from perfvcs.repository.state import State
from perfvcs.system.lock import hold
from perfvcs.text.quantity import scale
from perfvcs.text.words import counted, metric_name

LASTING = 10  # sessions, or commits of an exact metric, after which a better level has lasted
# Of normal noise between sessions, ratcheted after each of 300, one session in 800 lies above the
# limit: by simulation (benchmarks/looks.py), with this chance and ten sessions.
CHANCE = 0.99865
MOST_COMMITS = 200  # measured ones that are looked through
WORTH = 0.01  # share by which a limit becomes stricter at least, so that chance moves none
DIGITS = 3  # of a limit of what varies
SAME = 1e-12  # share of a limit that reading it back may change


class Lowering(NamedTuple):
    """A limit that was lowered (raised where more is better), and what it ``was``."""

    limit: LoweredLimit
    was: float
    unit: str

    @property
    def sentence(self) -> str:
        """``sort: limit of wall time 151 ms, was 200 ms``."""
        name = labelled(self.limit.benchmark, self.limit.uid, self.limit.size)
        metric = metric_name(self.limit.metric) + f" {self.limit.statistic}".rstrip()
        return f"{name}: limit of {metric} {self.limit.limit}, was {written(self.was, self.unit)}"


class _Seen(NamedTuple):
    """What is known of a benchmark under a rule: the newest profile, the limit now, and the worse
    ends of the intervals, by sessions or commits, the newest first.
    """

    measured: Measured
    summary: Summary
    now: float
    ends: dict[str, float]


def tighten(repository: Repository) -> list[Lowering]:
    """Lower the limits of the working tree's rules that have a ratchet, and write them to
    perf-accepted.toml; what was lowered.

    A better level has lasted where the last ``LASTING`` sessions (of an exact metric: commits) on
    the way to HEAD, on the machine that measured the newest, all lie below the limit with their
    whole 99 % intervals. The highest end of these, and what sessions differ by beside it, becomes
    the limit, if that is 1 % stricter at least: a noisy series keeps its limit. Raises UsageError
    where no rule has a ratchet.
    """
    rules = [rule for rule in repository.rules.rules if rule.ratchet]
    if not rules:
        raise UsageError('no [[check]] of perf.toml has `limit = "200 ms"` and `ratchet = true`')
    path = register_path(repository)
    with hold(repository.home / "accept.lock", wait=True):
        present = register.lowered(register.read(path), path.name)
        by_subject = {limit.subject: limit.limit for limit in present}
        history = list(_history(repository))
        rows = ProfileRows(read=repository.profiles)
        lowerings = []
        for rule in rules:
            seen = _seen(history, rule, by_subject, rows)
            lowerings += [
                lowering
                for about, series in seen.items()
                if (lowering := _lowering(about, series)) is not None
            ]
        strictest = {lowering.limit.id: lowering for lowering in lowerings}
        if strictest:
            register.lower(path, [lowering.limit for lowering in strictest.values()])
    return list(strictest.values())


def _history(repository: Repository) -> Iterator[Measured]:
    """What was measured of HEAD and its ancestors, the newest first."""
    head = repository.project.resolve("HEAD")
    commits = chain([head], repository.measured_ancestors(head))
    for _, commit in zip(range(MOST_COMMITS), commits, strict=False):
        measured = repository.measured(State(commit))
        yield from sorted(measured, key=lambda one: one.header.collected.started, reverse=True)


def _seen(
    history: Sequence[Measured], rule: Rule, lowered: dict[Subject, str], rows: ProfileRows
) -> dict[Subject, _Seen]:
    series: dict[Subject, _Seen] = {}
    ends: defaultdict[Subject, dict[str, float]] = defaultdict(dict)
    for measured in history:
        header = measured.header
        for summary in measured.summaries:
            if not rule.fits(header.job, summary.uid, summary.metric, counters=False):
                continue
            about = subject(measured, summary, rule)
            if about not in series:
                now = limit_of(measured, summary, rule, lowered)
                series[about] = _Seen(measured, summary, now, ends[about])
            newest = series[about].measured.header
            if header.environment.fingerprint != newest.environment.fingerprint:
                continue
            meaning = header.metrics[summary.metric]
            is_exact = meaning.kind == "deterministic"
            key = header.commit if is_exact else header.collected.session
            found = level(measured, summary, rule, rows)
            is_floor = meaning.better == "higher"
            end = found.low if is_floor else found.high
            if end is not None:  # a single execution says nothing of what is usual
                worse = min if is_floor else max
                ends[about][key] = worse(end, ends[about].get(key, end))
    return series


def _lowering(about: Subject, series: _Seen) -> Lowering | None:
    """The limit that a benchmark has earned; None where it stays."""
    if len(series.ends) < LASTING:
        return None
    meaning = series.measured.header.metrics[series.summary.metric]
    is_floor = meaning.better == "higher"
    last = list(series.ends.values())[:LASTING]
    worst = min(last) if is_floor else max(last)
    if meaning.kind != "deterministic":
        factor = room(list(series.ends.values()))
        worst = _rounded(worst / factor if is_floor else worst * factor, up=not is_floor)
    gained = worst - series.now if is_floor else series.now - worst
    if worst <= 0 or gained < WORTH * series.now:
        return None
    benchmark, uid, size, metric, statistic = about
    unit = base(meaning.unit).unit
    name = hashlib.sha256(msgspec.json.encode(about)).hexdigest()[:ID_DIGITS]
    limit = LoweredLimit(
        id=name,
        benchmark=benchmark,
        uid=uid,
        size=size,
        metric=metric,
        statistic=statistic,
        limit=written(worst, unit),
    )
    return Lowering(limit, series.now, unit)


def room(ends: Sequence[float]) -> float:
    """The factor by which a session may lie above the others by chance, by what sessions that
    follow each other differ; infinite where one has no logarithm. A step among them hardly counts.
    """
    from statistics import median

    from perfvcs.statistics.student import quantile

    if min(ends) <= 0:
        return inf
    gaps = [abs(log(second / first)) for first, second in pairwise(ends)]
    deviation = 1.4826 * median(gaps) / sqrt(2)  # normal: 1.4826 median deviations
    freedom = max(2.0, len(gaps) * 0.37)  # a median deviation has 37 % of the efficiency
    return exp(min(100.0, float(quantile(CHANCE, freedom)) * deviation))


def _rounded(value: float, *, up: bool) -> float:
    """A value with few digits, rounded to the side on which it is less strict."""
    if value <= 0 or not isfinite(value):
        return value
    step = 10.0 ** (floor(log10(value)) + 1 - DIGITS)
    return (ceil if up else floor)(value / step) * step


def written(value: float, unit: str) -> str:
    """A limit as perf.toml has it, which is read as exactly this: times with a prefix where that
    loses no digit.
    """
    if value == int(value) and value < 1e15:
        return f"{int(value)} {unit}".rstrip()
    if unit == "s":
        chosen = scale(value, unit)
        written = f"{value * chosen.factor:.6g} {chosen.unit}"
        if abs(amount(written)[0] - value) <= SAME * value:
            return written
    return f"{value!r} {unit}".rstrip()


def said(lowerings: Sequence[Lowering]) -> list[str]:
    """What was lowered, a line each, and what to do with it."""
    if not lowerings:
        return ["no limit is lowered: no better level has lasted yet"]
    number = counted(len(lowerings), "limit")
    commit = f"{number} lowered: commit perf-accepted.toml, so that it holds for everybody"
    return [*(lowering.sentence for lowering in lowerings), commit]
