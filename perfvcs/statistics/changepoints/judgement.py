"""Everything that a series says about itself: its steps, and its newest value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.statistics.changepoints.batches import side_by_side
from perfvcs.statistics.changepoints.newest import Levelled, NewestValue, newest
from perfvcs.statistics.changepoints.prominence import EDGE, prominent
from perfvcs.statistics.changepoints.stepfilter import (
    SPIKE,
    Segments,
    allow_for_dependence,
    confirm,
)
from perfvcs.statistics.changepoints.steps import ChangePoint, scale
from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


class Judgement(msgspec.Struct, frozen=True):
    """The findings in a series of n values; all places are indices of the given values, 0 to n - 1.

    ``steps`` ascend, and ``newest`` is the newest value against the present level, where it is
    unusual.
    """

    steps: tuple[ChangePoint, ...]
    newest: NewestValue | None


def judge(
    levels: ArrayLike, *, variance: ArrayLike | None = None, evidence: Sequence[int] = ()
) -> Judgement:
    """Judge a series ``levels`` (n,) of logarithms, one per commit in their order; places that are
    NaN or infinite are skipped.

    ``variance`` (n,) is the variance of each level that its own executions show, in squared
    logarithms, NaN where it is not known. ``evidence`` names the places of steps that verdicts
    measured in turns have settled: each the index of the first value at the new level, from 1 to n
    - 1. They are among the steps, with ``turns`` as one of their detectors, whatever the series
    shows; their ``p`` is what the series alone gives. ``ValueError`` for shapes that differ and for
    places outside.
    """
    return judge_all([levels], variances=[variance], evidence=[evidence])[0]


def steps(series: ArrayLike) -> list[ChangePoint]:
    """The steps of one series, as ``judge`` finds them."""
    return list(judge(series).steps)


def judge_all(
    series: Sequence[ArrayLike],
    *,
    variances: Sequence[ArrayLike | None] | None = None,
    evidence: Sequence[Sequence[int]] | None = None,
) -> list[Judgement]:
    """Judge many series, each as ``judge`` does; together that takes a fraction of the time."""
    from perfvcs.statistics.changepoints.path import SERIES_AT_ONCE, paths, running_median

    count = len(series)
    read = [
        _read(levels, variance, places)
        for levels, variance, places in zip(
            series, variances or [None] * count, evidence or [()] * count, strict=True
        )
    ]
    values = [part.values for part in read]
    scales, middles = side_by_side(scale, values), side_by_side(running_median, values)
    segments = [
        Segments(part.values, spread, middle, part.settled)
        for part, spread, middle in zip(read, scales, middles, strict=True)
    ]
    generous = paths(segments)
    changes: list[list[ChangePoint]] = []
    for start in range(0, count, SERIES_AT_ONCE):
        part = slice(start, start + SERIES_AT_ONCE)
        changes += _changes(segments[part], generous[part])
    last = newest(
        [
            Levelled(part.values, [step.place for step in found], spread, part.variance)
            for part, found, spread in zip(read, changes, scales, strict=True)
        ]
    )
    return [
        Judgement(tuple(_back(step, part.there) for step in found), _back_newest(value, part.there))
        for part, found, value in zip(read, changes, last, strict=True)
    ]


class _Read(msgspec.Struct, frozen=True):
    """The finite values of a series, their indices, variances, and places of settled steps."""

    there: Indices
    values: Floats
    variance: Floats | None
    settled: frozenset[int]


def _read(levels: ArrayLike, variance: ArrayLike | None, evidence: Sequence[int]) -> _Read:
    given = np.asarray(levels, dtype=np.float64)
    variances = None if variance is None else np.asarray(variance, dtype=np.float64)
    if variances is not None and variances.shape != given.shape:
        raise ValueError("there is one variance per level")
    if any(not 0 < place < len(given) for place in evidence):
        raise ValueError("evidence lies between two values")
    there = np.flatnonzero(np.isfinite(given))
    settled = frozenset(np.searchsorted(there, np.asarray(evidence, dtype=np.intp)).tolist()) - {
        0,
        len(there),
    }
    return _Read(there, given[there], None if variances is None else variances[there], settled)


def _changes(
    series: Sequence[Segments], generous: Sequence[Sequence[int]]
) -> list[list[ChangePoint]]:
    """The steps of each series, of those of its ``generous`` segmentation and settled ones."""
    from perfvcs.statistics.changepoints.description import described

    tried: dict[int, list[int]] = {}
    for turn, (segments, places) in enumerate(zip(series, generous, strict=True)):
        # At the start a level has more values than a spike.
        inner = {place for place in places if SPIKE < place <= len(segments.values) - EDGE}
        if inner or segments.settled:
            tried[turn] = sorted(inner.union(segments.settled))
    changes: list[list[ChangePoint]] = [[] for _ in series]
    if not tried:
        return changes
    some = [series[turn] for turn in tried]
    allow_for_dependence(some, [generous[turn] for turn in tried])
    confirmed = zip(tried, confirm(some, list(tried.values())), strict=True)
    left = {turn: steps for turn, steps in confirmed if steps}
    some = [series[turn] for turn in left]
    standing = prominent(some, list(left.values()))
    for turn, steps in zip(left, described(some, standing), strict=True):
        changes[turn] = steps
    return changes


def _back(step: ChangePoint, there: Indices) -> ChangePoint:
    """A step in the places of the values as they were given."""
    return replace(
        step, place=int(there[step.place]), first=int(there[step.first]), last=int(there[step.last])
    )


def _back_newest(newest: NewestValue | None, there: Indices) -> NewestValue | None:
    if newest is None:
        return None
    return replace(newest, place=int(there[newest.place]), since=int(there[newest.since]))
