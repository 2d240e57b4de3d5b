"""Steps at known places in full: levels, effects with their errors, and which places are as
plausible.
"""

from __future__ import annotations

from math import nan, sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.steps import BY_SERIES, TURNS, ChangePoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.statistics.changepoints.stepfilter import Segments
    from perfvcs.statistics.changepoints.steps import LevelEstimate

SURE = 5.0  # standard errors: an interval of 99 % with 4 degrees of freedom reaches to 4.6
FEWEST_DF = 4  # degrees of freedom


def described(
    series: Sequence[Segments], places: Sequence[Sequence[int]]
) -> list[list[ChangePoint]]:
    """The steps of each series at ascending places, between each one's neighbours. Those whose own
    interval holds no change are left out, but for settled ones.
    """
    from perfvcs.statistics.changepoints.stepfilter import chances, scores

    left = [list(steps) for steps in places]
    changes: list[list[ChangePoint]] = [[] for _ in series]
    while some := [turn for turn, steps in enumerate(left) if steps]:
        scored = scores([series[turn] for turn in some], [left[turn] for turn in some])
        p = iter(chances(scored.t, scored.df))
        for turn in some:
            steps = left[turn]
            found = _changes(series[turn], steps, [next(p) for _ in steps])
            left_out = _unsure(found)
            changes[turn] = found if left_out is None else []
            left[turn] = [place for place in steps if place != left_out] if left_out else []
    return changes


def _unsure(changes: Sequence[ChangePoint]) -> int | None:
    """The place of the weakest change whose own interval holds none; None if all are sure."""
    doubtful = [
        change
        for change in changes
        if abs(change.effect) < SURE * change.error and TURNS not in change.detectors
    ]
    unsure = [change for change in doubtful if change.holds_no_change()]
    if not unsure:
        return None
    return min(unsure, key=lambda change: abs(change.effect) / change.error).place


def _changes(segments: Segments, places: Sequence[int], p: Sequence[float]) -> list[ChangePoint]:
    """The steps at ``places``, of chances ``p``, with the ranges that are as plausible."""
    from perfvcs.statistics.changepoints.stepfilter import level

    y, centres = segments.values, segments.centres(places)
    bounds = [0, *places, len(y)]
    levels, chance = segments.levels(places), level(len(y))
    changes = []
    for turn, place in enumerate(places):
        before, after = levels[turn], levels[turn + 1]
        sure = place in segments.settled
        first, last = place, place
        if not sure:
            around = segments.plausible(bounds[turn], bounds[turn + 2], centres[turn : turn + 2])
            first, last = min(place, int(around[0])), max(place, int(around[-1]))
        names = tuple(
            name
            for name, says in ((BY_SERIES, not sure or p[turn] <= chance), (TURNS, sure))
            if says
        )
        changes.append(
            ChangePoint(
                place,
                first,
                last,
                before.centre,
                after.centre,
                after.centre - before.centre,
                *_error(before, after, segments.inflation),
                p[turn],
                names,
            )
        )
    return changes


def _error(before: LevelEstimate, after: LevelEstimate, inflation: float) -> tuple[float, float]:
    """The standard error of the difference of two levels, with the pooled variance, and its degrees
    of freedom.

    These are Welch's, at least 4: of skewed values the shorter side decides how far the mean is
    off.
    """
    df = before.n + after.n - 2
    if df < 1:
        return nan, 0.0
    pooled = sum(side.variance * (side.n - 1) for side in (before, after) if side.n > 1) / df
    whole = 1 / before.n + 1 / after.n
    welch = whole**2 / sum(1 / side.n**2 / max(side.n - 1, 1) for side in (before, after))
    return sqrt(pooled * whole * inflation), float(min(df, max(welch, FEWEST_DF)))
