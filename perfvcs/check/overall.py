"""A job as a whole: the effect on all its units together, and executions that failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import sqrt
from operator import mul
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perfvcs.check.change import Change, JobMetric, Overall
from perfvcs.check.method import PairMethod, load
from perfvcs.check.pastsessions import EarlierSessions
from perfvcs.check.percentiles import is_of_percentiles
from perfvcs.profile.naming import is_whole
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from perfvcs.check.case import Case, CaseExecution, ExecutionsOfSessions, Pair
    from perfvcs.profile.summary import Measured, Place


APART = "no sum: its units were not measured in the same executions, or not above 0"
WORTH = 2.0  # standard deviations from which more failures are worth a word
# Session, which of its profiles, execution: what units measured together have in common.
ExecutionMoment = tuple[str, int, "Place"]


def unreliable(before: Iterable[Measured], after: Iterable[Measured]) -> list[str]:
    """A sentence for each job whose executions failed, and were repeated, more often on the target
    than on the baseline.

    By the test of two proportions; no verdict depends on it.
    """
    old, new = _counted(before), _counted(after)
    sentences = []
    for name, (failed, done) in new.items():
        earlier, well = old.get(name, (0, 0))
        if well and done and failed and _deviations(earlier, well, failed, done) >= WORTH:
            sentences.append(
                f"{name}: {failed} of {failed + done} executions failed on the target and were"
                f" repeated, {earlier} of {earlier + well} on the baseline"
            )
    return sentences


def _counted(side: Iterable[Measured]) -> dict[str, tuple[int, int]]:
    """How many executions of each job failed, and how many did not."""
    counts: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for measured in side:
        header = measured.header
        label, design = header.job.label, header.design
        failed, done = counts[label]
        counts[label] = (failed + design.failed, done + design.executions)
    return counts


def _deviations(failed_before: int, before: int, failed_after: int, after: int) -> float:
    """How many standard deviations the share of failures is higher after than before, if both
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
    most, and those with a value of 0 or below; where fewer than two are left, units have parts in
    common, or their percentiles are judged, it has no effect, and says only how many units there
    are.
    """
    groups: dict[JobMetric, list[Case]] = defaultdict(list)
    for case in cases:
        if not case.counters:
            groups[JobMetric(case.header.job.name, case.header.job.collector, case.metric)].append(
                case
            )
    changes_of: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for change in changes:
        changes_of[change.series, change.metric].append(change)
    return [_overall(name, members, changes_of) for name, members in groups.items()]


def _overall(
    name: JobMetric, cases: Sequence[Case], changes_of: dict[tuple[str, str], list[Change]]
) -> Overall:
    job, collector, metric = name
    meaning = cases[0].about
    series = list(dict.fromkeys(case.series for case in cases))
    members = [change for key in series for change in changes_of[key, metric] if change.method]
    units = len({(change.series, change.uid, change.size) for change in members})
    overall = Overall(
        job=job,
        collector=collector,
        metric=metric,
        unit=meaning.unit,
        better=meaning.better,
        series=series,
        units=units,
    )
    whole = [change for change in members if is_whole(change.job, change.uid)]
    if len(judged := whole or members) == 1:
        return _of(overall, judged[0], units)
    if is_of_percentiles(cases[0]):
        return replace(overall, reason="no sum: percentiles cannot be added")
    if _overlap(cases[0]):
        return replace(overall, reason="no sum: its units have parts in common")
    parts = {change.uid for change in judged}
    pairs = [
        pair
        for case in cases
        if case.about == meaning and case.uid in parts
        for pair in case.pairs()[0]
    ]
    alike = _alike(pairs)
    if len(alike) < 2:
        return replace(overall, reason=APART)
    rule = load("deterministic" if meaning.kind == "deterministic" else "log-median")()
    assert isinstance(rule, PairMethod)
    return _of(
        overall,
        rule.judge([_joined(alike)])[0],
        units if whole and len(alike) == len(pairs) else len(alike),
    )


def _overlap(case: Case) -> bool:
    """Whether the units of a foreign tool have parts in common, so that a sum counts some twice."""
    if not case.header.collected.is_foreign:
        return False
    from perfvcs.plugins import find, names

    format_name = case.header.job.collector
    known = format_name.replace("-", "_") in names("formats")
    return known and getattr(find("formats", format_name), "overlapping", False)


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
        for pair, executions in zip(usable, moments, strict=True)
        if executions[0] >= most[0] and executions[1] >= most[1]
    ]


def _values(pair: Pair, side: int) -> dict[ExecutionMoment, float]:
    """The value of each execution of one side, by what units measured together have in common."""
    sessions = (pair.before, pair.after)[side]
    return {
        _moment(pair, side, execution): execution.value
        for session in sessions
        for execution in session
    }


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
    from perfvcs.statistics.sessions import together

    first = min(pairs, key=lambda pair: sum(pair.executions))  # those that all of them have
    sides = []
    for side, sessions in enumerate((first.before, first.after)):
        moments = [_moment(first, side, execution) for session in sessions for execution in session]
        tables = [_values(pair, side) for pair in pairs]
        sides.append(np.array([list(map(table.__getitem__, moments)) for table in tables]))
    total = together(*sides, rates=first.about.better == "higher")
    before = _with_values(first.before, total.baseline.tolist())
    after = _with_values(first.after, total.target.tolist())
    past = _together(pairs, total.shares.tolist())
    return replace(first, size=None, before=before, after=after, past=past)


def _with_values(sessions: ExecutionsOfSessions, values: Iterable[float]) -> ExecutionsOfSessions:
    """The executions with these values, in their order."""
    rest = iter(values)
    return tuple(
        tuple(replace(execution, value=next(rest)) for execution in session) for session in sessions
    )


def _together(pairs: Sequence[Pair], shares: Sequence[float]) -> EarlierSessions:
    """The history of the units together; none where they were not measured in the same sessions."""
    if pairs[0].past.alike:
        return pairs[0].past
    commits = pairs[0].past.commits
    audits = len(pairs[0].past.audits)
    if any(pair.past.commits != commits or len(pair.past.audits) != audits for pair in pairs):
        return EarlierSessions()
    rows = [
        list(zip(*(getattr(pair.past, name) for pair in pairs), strict=True))
        for name in ("means", "audits")
    ]
    means, effects = (tuple(sum(map(mul, shares, row)) for row in columns) for columns in rows)
    return EarlierSessions(means, commits, effects)
