"""A job as a whole: the effect on all its units together, and executions that failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.check.change import Change, JobMetric, Overall
from perfvcs.check.method import PairMethod, load
from perfvcs.check.pastsessions import EarlierSessions
from perfvcs.check.text import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfvcs.check.case import Case, CaseExecution, Pair
    from perfvcs.profile.summary import Measured, Place


WORTH = 2.0  # standard deviations from which more failures are worth a word
# Session, which of its profiles, execution: what units measured together have in common.
ExecutionMoment = tuple[str, int, "Place"]


def unreliable(before: Iterable[Measured], after: Iterable[Measured]) -> list[str]:
    """A sentence for each job whose executions failed, and were repeated, more often on the target
    than on the baseline.

    By the test of two proportions; no verdict depends on it.
    """
    old, new = _counted(before), _counted(after)
    found = []
    for name, (failed, done) in new.items():
        earlier, well = old.get(name, (0, 0))
        if well and done and failed and _deviations(earlier, well, failed, done) >= WORTH:
            found.append(
                f"{name}: {failed} of {failed + done} executions failed on the target and were"
                f" repeated, {earlier} of {earlier + well} on the baseline"
            )
    return found


def _counted(side: Iterable[Measured]) -> dict[str, tuple[int, int]]:
    """By job: executions that failed, and that did not."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in side:
        failed, done = found[one.header.job.label]
        found[one.header.job.label] = (
            failed + one.header.design.failed,
            done + one.header.design.executions,
        )
    return found


def _deviations(failed_before: int, before: int, failed_after: int, after: int) -> float:
    """By how many standard deviations the share of failures is higher after than before, if both
    fail equally often.
    """
    tried = failed_before + before, failed_after + after
    share = (failed_before + failed_after) / sum(tried)
    spread = sqrt(share * (1 - share) * (1 / tried[0] + 1 / tried[1]))
    return (failed_after / tried[1] - failed_before / tried[0]) / spread


def overalls(cases: Iterable[Case], changes: Sequence[Change]) -> list[Overall]:
    """The overall effect of each job under each metric, in the order of the cases; ``changes`` are
    those of their units.

    That of a job of one unit is the unit's own, and that of a job that was measured as a whole,
    too, the whole's. Left out of it are units that were not measured in the same executions as
    most, and those with a value of 0 or below; where fewer than two are left it has no effect, and
    says only how many units there are.
    """
    groups: dict[JobMetric, list[Case]] = defaultdict(list)
    for case in cases:
        if not case.counters:
            groups[JobMetric(case.header.job.name, case.header.job.collector, case.metric)].append(
                case
            )
    own: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in changes:
        own[change.series, change.metric].append(change)
    return [_overall(name, members, own) for name, members in groups.items()]


def _overall(
    name: JobMetric, cases: Sequence[Case], own: dict[tuple[str, str], list[Change]]
) -> Overall:
    job, collector, metric = name
    about = cases[0].about
    series = list(dict.fromkeys(case.series for case in cases))
    members = [change for key in series for change in own[key, metric] if change.method]
    units = len({(change.series, change.uid, change.size) for change in members})
    found = Overall(
        job=job,
        collector=collector,
        metric=metric,
        unit=about.unit,
        better=about.better,
        series=series,
        units=units,
    )
    whole = [change for change in members if is_whole(change.job, change.uid)]
    if len(one := whole or members) == 1:
        return _of(found, one[0], units)
    parts = {change.uid for change in one}
    pairs = [
        pair
        for case in cases
        if case.about == about and case.uid in parts
        for pair in case.pairs()[0]
    ]
    alike = _alike(pairs)
    if len(alike) < 2:
        return found
    rule = load("deterministic" if about.kind == "deterministic" else "log-median")()
    assert isinstance(rule, PairMethod)
    return _of(
        found,
        rule.judge([_joined(alike)])[0],
        units if whole and len(alike) == len(pairs) else len(alike),
    )


def _of(overall: Overall, change: Change, combined: int) -> Overall:
    """The overall effect as a change says it."""
    names = (
        "word",
        "effect",
        "low",
        "high",
        "baseline",
        "target",
        "p",
        "bound",
        "confidence",
        "executions",
        "paired",
        "reason",
    )
    at = change.curve.at if change.curve else None
    return replace(
        overall, combined=combined, at=at, **{name: getattr(change, name) for name in names}
    )


def _alike(pairs: Iterable[Pair]) -> list[Pair]:
    """The pairs with values above 0 that were measured in the same executions, as most of them
    were.
    """
    usable = [pair for pair in pairs if min(map(min, (*pair.baseline, *pair.target))) > 0]
    moments = [tuple(frozenset(_values(pair, side)) for side in (0, 1)) for pair in usable]
    if not usable:
        return []
    most, _ = Counter(moments).most_common(1)[0]
    return [
        pair
        for pair, found in zip(usable, moments, strict=True)
        if found[0] >= most[0] and found[1] >= most[1]
    ]


def _values(pair: Pair, side: int) -> dict[ExecutionMoment, float]:
    """The value of each execution of one side, by what units measured together have in common."""
    sessions = (pair.before, pair.after)[side]
    return {_moment(pair, side, one): one.value for session in sessions for one in session}


def _moment(pair: Pair, side: int, execution: CaseExecution) -> ExecutionMoment:
    header = pair.case.chosen.sides[side][execution.profile].header
    return (
        header.collected.session or header.collected.started,
        header.design.version,
        execution.place,
    )


def _joined(pairs: Sequence[Pair]) -> Pair:
    """The pair that stands for all of them: what they take together in each execution, and what
    that took in earlier sessions.
    """
    import numpy as np

    from perfvcs.statistics.sessions import together

    first = min(pairs, key=lambda pair: sum(pair.executions))  # those that all of them have
    keys = [
        [_moment(first, side, one) for session in sessions for one in session]
        for side, sessions in enumerate((first.before, first.after))
    ]
    tables = [[_values(pair, side) for pair in pairs] for side in (0, 1)]
    sides = [
        np.array([[table[key] for key in names] for table in rows])
        for names, rows in zip(keys, tables, strict=True)
    ]
    total = together(*sides, rates=first.about.better == "higher")
    before, after = (
        tuple(tuple(replace(one, value=next(values)) for one in session) for session in sessions)
        for sessions, values in (
            (first.before, iter(total.baseline.tolist())),
            (first.after, iter(total.target.tolist())),
        )
    )
    return replace(
        first, size=None, before=before, after=after, past=_together(pairs, total.shares.tolist())
    )


def _together(pairs: Sequence[Pair], shares: Sequence[float]) -> EarlierSessions:
    """The history of the units together; none where they were not measured in the same sessions."""
    commits = pairs[0].past.commits
    audits = len(pairs[0].past.audits)
    if any(pair.past.commits != commits or len(pair.past.audits) != audits for pair in pairs):
        return EarlierSessions()
    rows = [
        list(zip(*(getattr(pair.past, name) for pair in pairs), strict=True))
        for name in ("means", "audits")
    ]
    means, effects = (tuple(sum(map(mul, shares, row)) for row in each) for each in rows)
    return EarlierSessions(means, commits, effects)
