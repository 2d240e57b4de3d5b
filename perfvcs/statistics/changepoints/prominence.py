"""How far a step stands out of the noise and of the slow wandering beside it, as people see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.stepfilter import SPIKE, are_settled, thinned
from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.statistics.changepoints.stepfilter import Segments

# values on each side: of the levels, of the lines that meet at the step, and of what is in sight
LEVEL, LINE, SIGHT = 60, 25, 200
FEWEST_OF_LINE = 8  # values: fewer have a level, and no slope
FEWEST_AT_END = 25  # the same at the ends of the series, where more values will follow
CLIP = 2.5  # standard deviations that a value may be away from the running median
FLOOR = 0.3  # standard deviations that a side is taken to differ by at least
LEAST = 3.7  # see `Prominence.of`; by cross-validation (docs/evaluation/histories.md)
BURST = 9  # values between two moves there and back that are no level
RETURN = 0.5  # share of a move that may be left after the way back
BURST_LEVEL = 40  # values on each side of a burst
EDGE = 3  # values: fewer at the end may be outliers
SHIFT = 12  # values by which a step may be moved to where it stands out most


class Prominence:
    """The prefix sums of series of logarithms, from which their steps are judged, all at once."""

    def __init__(self, series: Sequence[Segments]) -> None:
        self.series = series
        self.counts = np.array([len(each.values) for each in series], dtype=np.intp)
        self._bases = np.cumsum(self.counts + 1) - self.counts - 1  # sums begin with 0
        self._sum, self._squares, self._moment, self._scale = np.zeros(
            (4, int(self.counts.sum()) + len(series))
        )
        for base, segments in zip(self._bases.tolist(), series, strict=True):
            scale, middle = segments.scale, segments.middle
            y = np.clip(segments.values, middle - CLIP * scale, middle + CLIP * scale)
            y = y - y.mean()
            part = slice(base + 1, base + 1 + len(y))
            np.cumsum(y, out=self._sum[part])
            np.cumsum(y * y, out=self._squares[part])
            np.cumsum(np.arange(len(y)) * y, out=self._moment[part])
            self._scale[base : base + len(y)] = scale

    def of(self, which: Indices, low: Indices, place: Indices, high: Indices) -> Floats:
        """The prominence (k,) of steps of the series ``which`` (k,) at ``place`` (k,) between the
        neighbours ``low`` and ``high`` (k,): ln t + 1.5 ln j + ln d.

        t is Student's of the levels of at most 60 values on each side. j is that of the jump
        between two lines of at most 25 values that meet at the step: a drift has none. d is the
        size in standard deviations of all that is in sight, 200 values on each side, steps among
        them: in a series that wanders, no move of the usual size stands out.
        """
        left, right = np.maximum(low, place - LEVEL), np.minimum(high, place + LEVEL)
        before, rest = self._level(which, left, place)
        after, other = self._level(which, place, right)
        sizes = place - left, right - place
        floor = 2 * (FLOOR * self._scale[self._bases[which] + place]) ** 2
        variance = (rest + other + floor) / (sizes[0] + sizes[1])
        size = after - before
        t = size / np.sqrt(variance * (1 / sizes[0] + 1 / sizes[1]))
        first, last = np.maximum(low, place - LINE), np.minimum(high, place + LINE)
        ends = [self._end(which, first, place, place), self._end(which, place, last, place)]
        free = np.maximum(last - first - ends[0][3] - ends[1][3], 1)
        variance = (ends[0][1] + ends[1][1] + floor) / free
        jump = (ends[1][0] - ends[0][0]) / np.sqrt(variance * (ends[0][2] + ends[1][2]))
        start, stop = np.maximum(place - SIGHT, 0), np.minimum(place + SIGHT, self.counts[which])
        _, squares = self._level(which, start, stop)
        seen = np.abs(size) / np.sqrt(np.maximum(squares / (stop - start), 1e-300))
        prominence: Floats = (
            np.log(np.maximum(np.abs(t), FLOOR))
            + 1.5 * np.log(np.maximum(jump * np.sign(size), FLOOR))
            + np.log(np.maximum(seen, 0.02))
        )
        return prominence

    def level(self, which: int, low: int, high: int) -> float:
        """The mean of some values of a series."""
        base = self._bases[which]
        return float(self._sum[base + high] - self._sum[base + low]) / (high - low)

    def _level(self, which: Indices, low: Indices, high: Indices) -> tuple[Floats, Floats]:
        """The means of values and their squares about them."""
        start, stop = self._bases[which] + low, self._bases[which] + high
        count, total = high - low, self._sum[stop] - self._sum[start]
        squares = self._squares[stop] - self._squares[start] - total * total / count
        return total / count, np.maximum(squares, 0.0)

    def _end(
        self, which: Indices, low: Indices, high: Indices, place: Indices
    ) -> tuple[Floats, ...]:
        """What the line through some values is at a place: its value, the squares about it, the
        variance of that value in those of one, and how many parameters it has.
        """
        base, count = self._bases[which], high - low
        mean, squares = self._level(which, low, high)
        middle = (low + high - 1) / 2
        away = place - 0.5 - middle
        spread = count * (count * count - 1.0) / 12
        fewest = np.where((low == 0) | (high == self.counts[which]), FEWEST_AT_END, FEWEST_OF_LINE)
        sloped = count >= fewest
        slope = np.where(
            sloped,
            (self._moment[base + high] - self._moment[base + low] - middle * count * mean)
            / np.maximum(spread, 1.0),
            0.0,
        )
        return (
            mean + slope * away,
            np.maximum(squares - slope * slope * spread, 0.0),
            1 / count + np.where(sloped, away * away / np.maximum(spread, 1.0), 0.0),
            np.where(sloped, 2, 1),
        )


def prominent(series: Sequence[Segments], steps: Sequence[Sequence[int]]) -> list[list[int]]:
    """The ascending ``steps`` of each series without those that do not stand out, and without
    bursts; those that are settled stay. Each is moved to where it stands out most, if that is as
    plausible by the levels.

    In turns, those are left out that stand out less than both their neighbours.
    """
    prominence = Prominence(series)
    return _moved(prominence, thinned(steps, lambda some, left: _weakest(prominence, some, left)))


def _weakest(
    prominence: Prominence, some: Sequence[int], steps: Sequence[Sequence[int]]
) -> list[bool]:
    """Which steps of ``some`` of the series are taken away first."""
    bounds = [
        [0, *places, int(prominence.counts[turn])] for turn, places in zip(some, steps, strict=True)
    ]
    low, place, high = (
        np.concatenate([ends[turn : len(ends) - 2 + turn] for ends in bounds]) for turn in range(3)
    )
    counts = np.array([len(places) for places in steps])
    starts = np.cumsum(counts) - counts
    value = prominence.of(np.repeat(some, counts), low, place, high)
    for start, turn, ends in zip(starts.tolist(), some, bounds, strict=True):
        for first in range(len(ends) - 3):
            if _burst(prominence, turn, ends[first : first + 4]):
                weaker = start + first + int(value[start + first + 1] < value[start + first])
                value[weaker] = min(value[weaker], LEAST - 0.1)
    value[are_settled([prominence.series[turn] for turn in some], steps)] = np.inf
    before, after = np.roll(value, 1), np.roll(value, -1)
    before[starts] = after[starts - 1] = np.inf
    gone: list[bool] = ((value < LEAST) & (value <= before) & (value < after)).tolist()
    return gone


def _burst(prominence: Prominence, which: int, bounds: Sequence[int]) -> bool:
    """Whether few values between two moves are a burst: afterwards the level is that of before."""
    low, start, stop, high = bounds
    if stop - start > BURST:
        return False
    before = prominence.level(which, max(low, start - BURST_LEVEL), start)
    after = prominence.level(which, stop, min(high, stop + BURST_LEVEL))
    inside = prominence.level(which, start, stop)
    there, back = inside - before, inside - after
    return there * back > 0 and abs(after - before) < RETURN * min(abs(there), abs(back))


def _moved(prominence: Prominence, steps: Sequence[Sequence[int]]) -> list[list[int]]:
    """The steps, each where it stands out most between its neighbours."""
    moved = [list(places) for places in steps]
    tried: list[tuple[int, int, int, int, range]] = []
    for which, places in enumerate(steps):
        n = int(prominence.counts[which])
        bounds = [0, *places, n]
        for turn, place in enumerate(places):
            low, high = bounds[turn], bounds[turn + 2]
            fewest = EDGE if high == n else SPIKE + 1
            start, stop = max(low + SPIKE + 1, place - SHIFT), min(high - fewest, place + SHIFT) + 1
            if place not in prominence.series[which].settled and start < stop:
                tried.append((which, turn, low, high, range(start, stop)))
    if not tried:
        return moved
    counts = [len(near) for *_, near in tried]
    of_series, _, lows, highs = np.repeat([ends for *ends, _ in tried], counts, axis=0).T
    among = np.concatenate([near for *_, near in tried])
    values = prominence.of(of_series, lows, among, highs)
    for (which, turn, low, high, near), end in zip(tried, np.cumsum(counts).tolist(), strict=True):
        segments = prominence.series[which]
        place = near[int(values[end - len(near) : end].argmax())]
        if place in segments.plausible(low, high, segments.centres(steps[which])[turn : turn + 2]):
            moved[which][turn] = place
    return moved
