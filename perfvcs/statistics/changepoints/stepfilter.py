"""Steps of a series without those that chance explains, that are too small, or that are the ends of
a spike.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp
from statistics import NormalDist
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.statistics.changepoints.steps import LevelEstimate

LARGEST_AUTOCORRELATION = 0.95  # autocorrelation
# share of the autocorrelation that a segment takes away, times n: simulated, r of .3 to .8, 200 to
# 1,000 values
ABSORBED = 14.0
ROUNDED = 0.05  # autocorrelation; its standard error among 400 values
FALSE_ALARM_RATE = 0.01  # of a false step per series, shared among its places
SMALLEST_STEP = 0.005  # of the level, as values are logarithms
SPIKE = 5  # values that are not a level of their own between two others
CLIP = 1.0  # standard deviations that a value may lie outside both levels
REACH = 2.5  # the same where the place of a step is asked for
# twice the logarithm of the likelihood ratio that a place may lose against the best one
PLAUSIBLE = 6.0


def residuals(series: Floats, places: Sequence[int]) -> Floats:
    """The values of a series without the means between ``places``."""
    cuts = [0, *places]
    counts = np.diff([*cuts, len(series)])
    left: Floats = series - np.repeat(np.add.reduceat(series, cuts) / counts, counts)
    return left


def allow_for_dependence(series: Sequence[Segments], generous: Sequence[Sequence[int]]) -> None:
    """Set the inflation of each series: that of the variance of a mean by a first-order dependence
    of values about the levels of their ``generous`` segmentation.

    (1 + r) / (1 - r), at least 1, with their lag 1 autocorrelation r, which is enlarged by what
    segments that are placed where they fit best have absorbed of it.
    """
    lengths = np.array([len(segments.values) for segments in series])
    starts = np.cumsum(lengths) - lengths
    # Clipped about the centres, not the means: a value halfway between two levels would move a
    # mean, and all residuals would look alike.
    clipped = np.concatenate(
        [
            np.clip((segments.values - segments.along(places)) / segments.scale, -3.0, 3.0)
            for segments, places in zip(series, generous, strict=True)
        ]
    )
    first = zip(starts.tolist(), generous, strict=True)
    cuts = [start + place for start, places in first for place in (0, *places)]
    left = residuals(residuals(clipped, cuts[1:]), starts[1:].tolist())
    total = np.add.reduceat(left * left, starts)
    beside = np.append(left[1:], 0.0)
    beside[starts[1:] - 1] = 0.0
    absorbed = 1 + ABSORBED * np.array([len(places) + 1 for places in generous]) / lengths
    r = np.add.reduceat(left * beside, starts) / np.where(total > 0, total, 1.0) * absorbed
    # no finer than it is known: else one more value would move the figures of every earlier step
    r = np.clip(np.round(r / ROUNDED) * ROUNDED, 0.0, LARGEST_AUTOCORRELATION)
    for segments, inflation in zip(series, ((1 + r) / (1 - r)).tolist(), strict=True):
        segments.inflation = inflation


class Segments:
    """A series of finite ``values`` (n,) with their spread ``scale`` and their running medians
    ``middle``, (n,) too: its centres and levels between steps, each computed once.

    Steps at ``settled`` places stay, whatever the values say: verdicts measured in turns say so.
    """

    def __init__(
        self, values: Floats, scale: Floats, middle: Floats, settled: Collection[int] = ()
    ) -> None:
        self.values, self.scale, self.middle, self.settled = values, scale, middle, settled
        self.inflation = 1.0  # of the variance of a mean, see `allow_for_dependence`
        self._centres: dict[tuple[int, int], float] = {}
        self._levels: dict[tuple[int, int], LevelEstimate] = {}

    def centres(self, steps: Sequence[int]) -> list[float]:
        """The centre of each segment between the ``steps``."""
        from perfvcs.statistics.changepoints.steps import start

        parts = self._parts(steps)
        for low, high in parts:
            if (low, high) not in self._centres:
                self._centres[low, high] = start(self.values[low:high])
        return [self._centres[part] for part in parts]

    def levels(self, steps: Sequence[int]) -> list[LevelEstimate]:
        """The level of each segment between the ``steps``."""
        from perfvcs.statistics.changepoints.steps import level

        parts = self._parts(steps)
        for (low, high), centre in zip(parts, self.centres(steps), strict=True):
            if (low, high) not in self._levels:
                values, scale = self.values[low:high], self.scale[low:high]
                self._levels[low, high] = level(values, scale, centre)
        return [self._levels[part] for part in parts]

    def _parts(self, steps: Sequence[int]) -> list[tuple[int, int]]:
        return list(pairwise([0, *steps, len(self.values)]))

    def along(self, steps: Sequence[int]) -> Floats:
        """The centre of its segment for each of the values."""
        return np.repeat(self.centres(steps), np.diff([0, *steps, len(self.values)]))

    def plausible(self, low: int, high: int, levels: Sequence[float]) -> Indices:
        """The places that are as plausible for a step between its neighbours, by squares about the
        two ``levels``; outliers say little of the place.
        """
        before, after = levels
        reach = REACH * self.scale[low:high]
        part = np.clip(self.values[low:high], min(levels) - reach, max(levels) + reach)
        left, right = (part - before) ** 2, (part - after) ** 2
        squares = np.cumsum(left)[:-1] + np.cumsum(right[::-1])[-2::-1]
        least = max(float(squares.min()), float(squares.max()) * 1e-15, 1e-300)
        limit = least * exp(min(PLAUSIBLE * self.inflation / len(part), 700.0))
        places: Indices = np.flatnonzero(squares <= limit) + low + 1
        return places


class Scores(NamedTuple):
    """Per step (k,): |t|, degrees of freedom, and how far the centres on both sides lie apart."""

    t: Floats
    df: Floats
    sizes: Floats


def scores(series: Sequence[Segments], steps: Sequence[Sequence[int]]) -> Scores:
    """The scores of the ascending ``steps`` of all series, between each step and its neighbours; no
    series is without.

    By Student's t of the values clipped at one standard deviation outside both levels: an outlier
    counts as a value that lies there, and the values of a rarer component count as the same on both
    sides. The pooled variance is multiplied by the inflation for dependence. If nothing varies, t
    is infinite, or 0 if the means are equal, too, or fewer than three values are left.
    """
    y = np.concatenate([segments.values for segments in series])
    reach = CLIP * np.concatenate([segments.scale for segments in series])
    offset, bounds, levels = 0, [], []
    for segments, places in zip(series, steps, strict=True):
        bounds.append(offset + np.array([0, *places, len(segments.values)]))
        levels.append(segments.centres(places))
        offset += len(segments.values)
    low, place, high = (
        np.concatenate([part[turn : len(part) - 2 + turn] for part in bounds]) for turn in range(3)
    )
    left, right = (
        np.concatenate([part[turn : len(part) - 1 + turn] for part in levels]) for turn in range(2)
    )
    least, most = np.minimum(left, right), np.maximum(left, right)
    middle = (least + most) / 2  # about which sums lose nothing
    sides = []
    for start, stop in ((low, place), (place, high)):
        counts = stop - start
        firsts = np.cumsum(counts) - counts
        where = np.arange(int(counts.sum())) + np.repeat(start - firsts, counts)
        about, away = np.repeat(middle, counts), reach[where]
        part = np.clip(
            y[where] - about,
            np.repeat(least, counts) - about - away,
            np.repeat(most, counts) - about + away,
        )
        total = np.add.reduceat(part, firsts)
        squares = np.add.reduceat(part * part, firsts)
        sides.append((total / counts, squares - total * total / counts))
    (before, spread), (after, other) = sides
    df = (high - low - 2).astype(np.float64)
    variance = (
        np.maximum(spread + other, 0.0)
        / np.maximum(df, 1)
        * (1 / (place - low) + 1 / (high - place))
        * np.repeat([segments.inflation for segments in series], [len(places) for places in steps])
    )
    error, change = np.sqrt(variance), np.abs(after - before)
    flat = error <= 1e-9 * change
    t = np.where(flat, np.where(change > 0, np.inf, 0.0), change / np.where(flat, 1.0, error))
    return Scores(np.where(df > 0, t, 0.0), df, np.abs(right - left))


def confirm(series: Sequence[Segments], steps: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ``steps`` of each series without the weak ones: p above .01 / n, smaller than half a
    percent, or the end of five values or fewer.

    They are taken away, those first that are weaker than both their neighbours, until none is weak;
    those that are settled stay. An inflation stays what it is: it was estimated before.
    """
    return thinned(steps, lambda some, left: _weakest([series[turn] for turn in some], left))


def thinned(
    steps: Sequence[Sequence[int]],
    weakest: Callable[[Sequence[int], Sequence[Sequence[int]]], Sequence[bool]],
) -> list[list[int]]:
    """The ``steps`` of each series without those that are ``weakest``, until none is.

    It gets the numbers of some series and the steps that each of these has left, at least one, and
    says of each step whether it goes.
    """
    left = [list(places) for places in steps]
    open_ = [turn for turn, places in enumerate(left) if places]
    while open_:
        gone = iter(weakest(open_, [left[turn] for turn in open_]))
        stronger = {turn: [place for place in left[turn] if not next(gone)] for turn in open_}
        open_ = [turn for turn, places in stronger.items() if 0 < len(places) < len(left[turn])]
        for turn, places in stronger.items():
            left[turn] = places
    return left


def _weakest(series: Sequence[Segments], steps: Sequence[Sequence[int]]) -> list[bool]:
    """Which steps are taken away first, of all series."""
    fixed = are_settled(series, steps)
    t, df, sizes = scores(series, steps)
    # Twice the logarithm of the likelihood ratio, whose chances hardly depend on df.
    strength = np.where(np.isinf(t), np.inf, df * np.log1p(t * t / np.maximum(df, 1)))
    counts = np.array([len(places) for places in steps])
    least = np.repeat([_least(len(segments.values)) for segments in series], counts)
    starts = np.cumsum(counts) - counts
    weak = (strength < least) | (sizes < SMALLEST_STEP)
    places = np.concatenate(steps)
    spikes = np.append(np.diff(places) <= SPIKE, False)
    spikes[starts[1:] - 1] = False
    for turn in np.flatnonzero(spikes).tolist():
        # of equally certain ones, such as exact counts, the smaller
        is_second = (strength[turn + 1], sizes[turn + 1]) < (strength[turn], sizes[turn])
        weaker = int(not fixed[turn] and not fixed[turn + 1] and is_second)
        weak[turn + (weaker or int(fixed[turn]))] = True
    weak &= ~np.array(fixed)
    strength = np.where(weak, strength, np.inf)
    before, after = np.roll(strength, 1), np.roll(strength, -1)
    before[starts] = after[starts - 1] = np.inf
    first = (strength <= before) & (strength < after) & weak
    none = np.repeat(~np.logical_or.reduceat(first, starts), counts)
    smallest = strength == np.repeat(np.minimum.reduceat(strength, starts), counts)
    first |= weak & none & smallest
    gone: list[bool] = first.tolist()
    return gone


def are_settled(series: Sequence[Segments], steps: Sequence[Sequence[int]]) -> list[bool]:
    """Whether each step of all series is settled."""
    return [
        place in segments.settled
        for segments, places in zip(series, steps, strict=True)
        for place in places
    ]


@lru_cache
def _least(n: int) -> float:
    """The smallest strength of a step among n values."""
    return NormalDist().inv_cdf(level(n) / 2) ** 2


def level(n: int) -> float:
    """The largest p of a step among n values."""
    return FALSE_ALARM_RATE / n


def chances(t: Floats, df: Floats) -> list[float]:
    """The two-sided p of each t, 1 without degrees of freedom."""
    from perfvcs.statistics.student import tail

    return [
        tail(value, degrees) if degrees > 0 else 1.0
        for value, degrees in zip(t.tolist(), df.tolist(), strict=True)
    ]
