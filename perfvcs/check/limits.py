"""Limits of ``[[check]]`` tables: what a metric may be, whatever it was before."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.check.change import LimitVerdict
from perfvcs.check.percentiles import percentile_values, share_of
from perfvcs.check.vocabulary import Word
from perfvcs.errors import UsageError
from perfvcs.profile.rules import Rule, Rules
from perfvcs.profile.summary import Measured, Summary
from perfvcs.profile.units import base

if TYPE_CHECKING:
    from perfvcs.check.rows import ProfileRows
    from perfvcs.profile import Metric

AMOUNT = r"\s{0,9}(\d{1,15}(?:\.\d{0,20})?(?:e[+-]?\d{1,2})?)\s{0,9}(\S{0,64})\s{0,9}"
CONFIDENCE = 0.99

Subject = tuple[str, str, float | None, str, str]  # a benchmark, its metric and the statistic


class LimitedLevel(NamedTuple):
    """A level with its 99 % interval, whose ends are None where it has none."""

    level: float
    low: float | None
    high: float | None


def verify_limit(rule: Rule) -> None:
    """Raise UsageError where the limit or the statistic of a rule cannot be followed."""
    if rule.statistic is not None:
        share_of(rule.statistic)
    if rule.limit is None:
        if rule.ratchet:
            raise UsageError('ratchet = true tightens a limit: add limit = "200 ms", or remove it')
        return
    amount(rule.limit)
    if rule.metric == "*":
        raise UsageError(f'limit = "{rule.limit}" is of one metric: add metric = "wall"')


def amount(limit: str | float | None) -> tuple[float, str]:
    """A limit in a unit without a prefix, and that unit; raises UsageError."""
    match = re.fullmatch(AMOUNT, str(limit))
    if match is None:
        raise UsageError(
            f'limit = "{str(limit)[:40]}" is not an amount: write it like "200 ms", "50 MB" or 1000'
        )
    plain = base(match[2])
    return float(match[1]) * plain.times / plain.over, plain.unit


def limits(
    baseline: Sequence[Measured], target: Sequence[Measured], rules: Rules, rows: ProfileRows
) -> list[LimitVerdict]:
    """The verdicts of all limits that fit what was measured on the target, of each benchmark the
    newest profile; those that fail first. Raises UsageError for a limit in another unit.
    """
    chosen = [rule for rule in rules.rules if rule.limit is not None]
    if not chosen:
        return []
    lowered = {limit.subject: limit.limit for limit in rules.lowered}
    old = {
        (*_key(measured), summary.uid, summary.size, summary.metric): (measured, summary)
        for measured in _newest(baseline)
        for summary in measured.summaries
    }
    verdicts = []
    for measured in _newest(target):
        job = measured.header.job
        for summary in measured.summaries:
            for rule in chosen:
                if not rule.fits(job, summary.uid, summary.metric, counters=False):
                    continue
                verdict = _judged(measured, summary, rule, lowered, rows)
                place = (*_key(measured), summary.uid, summary.size, summary.metric)
                if before := old.get(place):
                    word = _judged(*before, rule, lowered, rows).word
                    verdict = msgspec.structs.replace(verdict, before=word)
                verdicts.append(verdict)
    order = ("degradation", "suspected", "same")
    return sorted(verdicts, key=lambda verdict: order.index(verdict.word))


def _key(measured: Measured) -> tuple[str, str]:
    job = measured.header.job
    return job.label, job.collector


def _newest(side: Iterable[Measured]) -> list[Measured]:
    newest: dict[tuple[str, str], Measured] = {}
    for measured in sorted(side, key=lambda one: one.header.collected.started):
        newest[_key(measured)] = measured
    return list(newest.values())


def limit_of(
    measured: Measured, summary: Summary, rule: Rule, lowered: Mapping[Subject, str]
) -> float:
    """The limit of a rule for a benchmark, in the metric's unit without a prefix: the stricter of
    its own and the lowered one. Raises UsageError for one in another unit.
    """
    meaning = measured.header.metrics[summary.metric]
    limits = [_in_unit(rule.limit, summary.metric, base(meaning.unit).unit)]
    own = lowered.get(subject(measured, summary, rule))
    if rule.ratchet and own is not None:
        limits.append(_in_unit(own, summary.metric, base(meaning.unit).unit))
    return max(limits) if meaning.better == "higher" else min(limits)


def subject(measured: Measured, summary: Summary, rule: Rule) -> Subject:
    """What a rule limits of a benchmark."""
    about = summary.uid, summary.size, summary.metric, rule.statistic or ""
    return measured.header.job.label, *about


def _in_unit(limit: str | float | None, metric: str, wanted: str) -> float:
    value, unit = amount(limit)
    if unit != wanted:
        example = {"s": '"200 ms"', "B": '"50 MB"', "": "1000"}.get(wanted, f'"10 {wanted}"')
        raise UsageError(
            f'limit = "{limit}": {metric} is measured in {wanted or "numbers"}: write it like'
            f" {example}, or name another metric"
        )
    return value


def _judged(
    measured: Measured,
    summary: Summary,
    rule: Rule,
    lowered: Mapping[Subject, str],
    rows: ProfileRows,
) -> LimitVerdict:
    meaning = measured.header.metrics[summary.metric]
    limit, own = limit_of(measured, summary, rule, lowered), base(meaning.unit)
    found = level(measured, summary, rule, rows)
    return LimitVerdict(
        word=_word(found, limit, meaning),
        job=measured.header.job.label,
        uid=summary.uid,
        size=summary.size,
        metric=summary.metric,
        unit=own.unit,
        better=meaning.better,
        statistic=rule.statistic or "",
        limit=limit,
        level=found.level,
        low=found.low,
        high=found.high,
        executions=len(summary.medians),
    )


def _word(found: LimitedLevel, limit: float, meaning: Metric) -> Word:
    """1. Beyond with its whole interval: a degradation. 2. With a part of it, or without one: it
    may be. 3. Else it holds.
    """
    sign = -1.0 if meaning.better == "higher" else 1.0
    beyond = sign * (found.level - limit)
    if found.low is None or found.high is None:
        return "suspected" if beyond > 0 else "same"
    ends = [sign * (end - limit) for end in (found.low, found.high)]
    if min(ends) > 0:
        return "degradation"
    return "suspected" if max(ends) > 0 else "same"


def level(measured: Measured, summary: Summary, rule: Rule, rows: ProfileRows) -> LimitedLevel:
    """The level of the executions, or of their percentiles, with its interval."""
    from perfvcs.statistics.difference import geometric
    from perfvcs.statistics.ranks import percentile

    values = [value for value in summary.medians if isfinite(value)]
    if rule.statistic is not None:
        samples = percentile_values(measured, summary, rule.statistic, rows)
        values = [value for value, _ in samples.values()]
        if len(values) == 1:
            ((_, own),) = samples.values()
            return LimitedLevel(*percentile(own, share_of(rule.statistic), CONFIDENCE))
    if measured.header.metrics[summary.metric].kind == "deterministic" and not rule.statistic:
        middle = sorted(values)[len(values) // 2]
        return LimitedLevel(middle, middle, middle)
    return LimitedLevel(*geometric(values, CONFIDENCE))
