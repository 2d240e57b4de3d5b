"""Everything that a series says about itself: its steps and drifts, switching, changes of spread,
and its newest value.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

from perfvcs.statistics.changepoints.newest import NewestValue, newest
from perfvcs.statistics.changepoints.stepfilter import (
    SPIKE,
    Segments,
    SpreadChange,
    confirm,
    dependence,
    noisier,
)
from perfvcs.statistics.changepoints.steps import TURNS, VERSION, ChangePoint, scale
from perfvcs.statistics.changepoints.switching import SwitchingStretch, switching

__all__ = [
    "TURNS",
    "VERSION",
    "ChangePoint",
    "Judgement",
    "NewestValue",
    "SpreadChange",
    "SwitchingStretch",
    "judge",
    "judge_all",
    "steps",
]

# fewer values than this at the end may be outliers; at the start a level has more values than a
# spike
EDGE = 3
BESIDE = 20  # values beside a stretch that switches in which its spread shows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


class Judgement(msgspec.Struct, frozen=True):
    """The findings in a series of n values; all places are indices of the given values, 0 to n - 1.

    ``steps`` are steps and drifts, ascending. ``switching`` is a stretch in which the series moves
    between levels, ``noisier`` are lasting changes of its spread, and ``newest`` the newest value
    against the present level; None and empty where there is nothing to say.
    """

    steps: tuple[ChangePoint, ...]
    switching: SwitchingStretch | None
    noisier: tuple[SpreadChange, ...]
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
    """Steps and drifts of one series, as ``judge`` finds them."""
    return list(judge(series).steps)


def judge_all(
    series: Sequence[ArrayLike],
    *,
    variances: Sequence[ArrayLike | None] | None = None,
    evidence: Sequence[Sequence[int]] | None = None,
) -> list[Judgement]:
    """Judge many series, each as ``judge`` does; together that takes a fraction of the time."""

    from perfvcs.statistics.changepoints.path import paths

    count = len(series)
    read = [
        _read(levels, variance, places)
        for levels, variance, places in zip(
            series, variances or [None] * count, evidence or [()] * count, strict=True
        )
    ]
    scales = [scale(part.values) if len(part.values) else part.values for part in read]
    generous = paths([part.values for part in read], scales)
    return [
        _judge(part, spread, places)
        for part, spread, places in zip(read, scales, generous, strict=True)
    ]


class _Read(msgspec.Struct, frozen=True):
    """The finite values of a series, their indices, their own variances, and the places of settled
    steps among them.
    """

    there: NDArray[np.intp]
    values: NDArray[np.float64]
    variance: NDArray[np.float64] | None
    settled: frozenset[int]


def _read(levels: ArrayLike, variance: ArrayLike | None, evidence: Sequence[int]) -> _Read:
    import numpy as np

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


def _judge(read: _Read, scale: NDArray[np.float64], generous: Sequence[int]) -> Judgement:
    import numpy as np

    from perfvcs.statistics.changepoints.description import described
    from perfvcs.statistics.changepoints.drift import residuals

    y = read.values
    if len(y) < 2:
        return Judgement((), None, (), None)
    segments = Segments(y, scale)
    # Clipped about the centres, not the means: a value halfway between two levels would move a
    # mean, and all residuals would look alike.
    clipped = np.clip((y - segments.along(generous)) / scale, -3.0, 3.0)
    inflation = dependence(residuals(clipped, generous), len(generous) + 1)
    inner = {place for place in generous if SPIKE < place <= len(y) - EDGE}
    places = confirm(segments, sorted(inner | read.settled), inflation, read.settled)
    places, moving = switching(segments, places, inflation, read.settled)
    changes = described(segments, places, inflation, read.settled, switches=moving is not None)
    starts = [step.last if step.word == "drift" else step.place for step in changes]
    last = newest(y, starts, scale, read.variance)
    spreads = noisier(_about(y, changes))
    if moving:  # it explains the spread
        spreads = [
            spread for spread in spreads if not moving.first - BESIDE <= spread.place <= moving.last
        ]
    there = read.there
    return Judgement(
        tuple(_back(step, there) for step in changes),
        moving and replace(moving, first=int(there[moving.first]), last=int(there[moving.last])),
        tuple(replace(spread, place=int(there[spread.place])) for spread in spreads),
        _back_newest(last, there),
    )


def _about(values: NDArray[np.float64], changes: Sequence[ChangePoint]) -> NDArray[np.float64]:
    """The values about their levels, in a drift about the line."""
    import numpy as np

    level = np.empty(len(values))
    ends = [
        0,
        *(step.last + 1 if step.word == "drift" else step.place for step in changes),
        len(values),
    ]
    for low, high in pairwise(ends):
        level[low:high] = np.median(values[low:high]) if low < high else 0.0
    for step in changes:
        if step.word == "drift":
            level[step.first : step.last + 1] = np.linspace(
                step.before, step.after, step.last + 1 - step.first
            )
    return values - level


def _back(step: ChangePoint, there: NDArray[np.intp]) -> ChangePoint:
    """A step in the places of the values as they were given."""
    return replace(
        step, place=int(there[step.place]), first=int(there[step.first]), last=int(there[step.last])
    )


def _back_newest(newest: NewestValue | None, there: NDArray[np.intp]) -> NewestValue | None:
    if newest is None:
        return None
    since, withdrawn = (
        None if place is None else int(there[place]) for place in (newest.since, newest.withdrawn)
    )
    return replace(newest, place=int(there[newest.place]), since=since, withdrawn=withdrawn)
