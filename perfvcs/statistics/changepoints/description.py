"""Steps at known places in full: levels, effects with their errors, which places are as plausible,
and whether they are drifts.
"""

from __future__ import annotations

from itertools import pairwise
from math import exp, nan, sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.steps import BY_SERIES, TURNS, ChangePoint, level

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints.stepfilter import Segments
    from perfvcs.statistics.changepoints.steps import LevelEstimate

# twice the logarithm of the likelihood ratio that a place may lose against the best one
PLAUSIBLE = 6.0
CLIP = 2.5  # standard deviations outside the levels
OUTSIDE = 3.0  # standard deviations from which a value is an outlier
FEWEST_DF = 4  # degrees of freedom


def described(
    segments: Segments,
    places: Sequence[int],
    inflation: float,
    settled: Collection[int] = (),
    *,
    switches: bool = False,
) -> list[ChangePoint]:
    """The steps at ascending places, between each one's neighbours; those that are ``settled`` were
    measured in turns.

    Those that slow wandering explains as well are left out, unless they are a part of a drift, or
    the series ``switches``: its moves are not wandering. So are those whose own interval holds no
    change.
    """
    from perfvcs.statistics.changepoints.stepfilter import confirm
    from perfvcs.statistics.changepoints.switching import sudden

    # Two steps may turn out to be closer to each other than they were found: the ends of a spike.
    moved = (
        confirm(segments, _placed(segments, places, inflation, settled)[0], inflation, settled)
        if places
        else []
    )
    doubtful = (
        set() if switches else {*moved}.difference(sudden(segments, moved, inflation, settled))
    )
    while moved:
        placed, ranges = _placed(segments, moved, inflation, settled)
        doubtful = {new for old, new in zip(moved, placed, strict=True) if old in doubtful}
        changes = _changes(segments, placed, ranges, inflation, settled)
        left_out = doubtful.intersection(step.place for step in changes if step.word == "step")
        left_out = left_out or _unsure(changes)
        if not left_out:
            return changes
        moved = [place for place in placed if place not in left_out]
    return []


def _unsure(changes: Sequence[ChangePoint]) -> set[int]:
    """The place of the weakest change whose own interval holds no change; none where each is sure.

    A step is found by what neighbouring values have in common; its interval also knows how slowly
    the series wanders. Both must say that there is a change.
    """
    open_changes = [
        change for change in changes if TURNS not in change.detectors and change.holds_no_change()
    ]
    if not open_changes:
        return set()
    weakest = min(open_changes, key=lambda change: abs(change.effect) / change.error)
    return {weakest.place}


def _changes(
    segments: Segments,
    moved: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    inflation: float,
    settled: Collection[int],
) -> list[ChangePoint]:
    """The steps and drifts at their likeliest places, which are as plausible anywhere in their
    ranges.
    """
    import numpy as np

    from perfvcs.statistics.changepoints.drift import SIDE, join, ramps, stepped
    from perfvcs.statistics.changepoints.stepfilter import batches, chances, scores
    from perfvcs.statistics.changepoints.stepfilter import level as allowed

    y, scale = segments.values, segments.scale
    bounds = [0, *moved, len(y)]
    levels = [level(y[low:high], scale[low:high]) for low, high in pairwise(bounds)]
    centres = np.repeat([part.centre for part in levels], np.diff(bounds))
    clipped = np.clip(y, centres - 3 * scale, centres + 3 * scale)
    wide = max(inflation, batches((clipped - centres) / scale, moved))
    chance = allowed(len(y), inflation)
    p = chances(*scores(segments, moved, inflation))
    changes = []
    for turn, place in enumerate(moved):
        low, high = bounds[turn], bounds[turn + 2]
        before, after = levels[turn], levels[turn + 1]
        sure = place in settled
        sudden = sure or stepped(clipped, place, low, high)
        first, last = (
            ranges[turn] if sudden else (max(low, place - SIDE), min(high, place + SIDE) - 1)
        )
        error, df = _error(before, after, wide)
        names = tuple(
            name for name, says in ((BY_SERIES, p[turn] <= chance), (TURNS, sure)) if says
        )
        changes.append(
            ChangePoint(
                place,
                first,
                last,
                before.centre,
                after.centre,
                after.centre - before.centre,
                error,
                df,
                float(p[turn]),
                "step" if sudden else "drift",
                names,
            )
        )
    return join(ramps(clipped, changes))


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


def _placed(
    segments: Segments, places: Sequence[int], inflation: float, settled: Collection[int]
) -> tuple[list[int], list[tuple[int, int]]]:
    """The likeliest places, and the first and last plausible ones, by squares about the levels;
    outliers say little of the place.
    """
    import numpy as np

    y, scale, centres = segments.values, segments.scale, segments.centres(places)
    moved: list[int] = []
    ranges: list[tuple[int, int]] = []
    bounds = [0, *places, len(y)]
    for turn, place in enumerate(places):
        low, high = moved[-1] if moved else 0, bounds[turn + 2]
        before, after = float(centres[turn]), float(centres[turn + 1])
        losses = _losses(y[low:high], scale[low:high], before, after)
        cost = np.cumsum(losses[0])[:-1] + np.cumsum(losses[1][::-1])[-2::-1]
        best = place if place in settled else low + 1 + int(cost.argmin())
        reach = CLIP * scale[low:high]
        part = np.clip(y[low:high], min(before, after) - reach, max(before, after) + reach)
        squares = (
            np.cumsum((part - before) ** 2)[:-1] + np.cumsum(((part - after) ** 2)[::-1])[-2::-1]
        )
        least = max(float(squares[best - low - 1]), float(squares.max()) * 1e-15, 1e-300)
        plausible = (
            np.flatnonzero(squares <= least * exp(min(PLAUSIBLE * inflation / len(part), 700.0)))
            + low
            + 1
        )
        moved.append(best)
        ranges.append((best, best) if place in settled else (int(plausible[0]), int(plausible[-1])))
    return moved, ranges


def _losses(
    values: NDArray[np.float64], scale: NDArray[np.float64], *levels: float
) -> NDArray[np.float64]:
    """What each value costs at each of two levels (2, n): squares, but of an outlier from both
    little more at one than at the other.

    A value of a rarer component is such an outlier; its loss is that of a Cauchy tail from three
    standard deviations on.
    """
    import numpy as np

    z = np.abs(values - np.array(levels)[:, None]) / scale
    tail = OUTSIDE**2 + 2 * np.log(np.maximum(z, OUTSIDE) / OUTSIDE)
    costs: NDArray[np.float64] = np.minimum(z * z, tail)
    return costs
