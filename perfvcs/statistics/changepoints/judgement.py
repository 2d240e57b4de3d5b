"""Everything that a series says about itself: its steps, and its newest value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perfvcs.statistics.changepoints.batches import side_by_side
from perfvcs.statistics.changepoints.newest import Levelled, NewestValue, newest
from perfvcs.statistics.changepoints.prominence import EDGE, Prominence, Wandering, prominent
from perfvcs.statistics.changepoints.stepfilter import SPIKE, Segments, confirm, dependent
from perfvcs.statistics.changepoints.steps import TURNS, VERSION, ChangePoint, scale
from perfvcs.system.numeric import Floats, Indices, np

__all__ = [
    "TURNS",
    "VERSION",
    "ChangePoint",
    "Judgement",
    "NewestValue",
    "judge",
    "judge_all",
    "steps",
]

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
    generous = paths(values, scales, middles)
    changes: list[list[ChangePoint]] = []
    for start in range(0, count, SERIES_AT_ONCE):
        part = slice(start, start + SERIES_AT_ONCE)
        changes += _changes(read[part], scales[part], middles[part], generous[part])
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
    read: Sequence[_Read],
    scales: Sequence[Floats],
    middles: Sequence[Floats],
    generous: Sequence[Sequence[int]],
) -> list[list[ChangePoint]]:
    """The steps of each series with its spread and running medians, of those of its ``generous``
    segmentation and settled ones.
    """
    from perfvcs.statistics.changepoints.description import described

    tried: dict[int, list[int]] = {}
    for turn, (part, places) in enumerate(zip(read, generous, strict=True)):
        # At the start a level has more values than a spike.
        inner = {place for place in places if SPIKE < place <= len(part.values) - EDGE}
        if inner or part.settled:
            tried[turn] = sorted(inner | part.settled)
    changes: list[list[ChangePoint]] = [[] for _ in read]
    if not tried:
        return changes
    segments = [Segments(read[turn].values, scales[turn]) for turn in tried]
    settled = [read[turn].settled for turn in tried]
    inflations = dependent(segments, [generous[turn] for turn in tried]).tolist()
    confirmed = confirm(segments, list(tried.values()), inflations, settled)
    rows = zip(tried, confirmed, segments, inflations, settled, strict=True)
    some = [row for row in rows if row[1]]
    if not some:
        return changes
    turns, confirmed_steps, *rest = zip(*some, strict=True)
    wandering = [Wandering(read[turn].values, scales[turn], middles[turn]) for turn in turns]
    standing = prominent(Prominence(wandering), confirmed_steps, rest[-1])
    for turn, steps in zip(turns, described(standing, *rest), strict=True):
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
