"""How far a step stands out of the noise and of the slow wandering beside it, as people see it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from perfvcs.system.numeric import Floats, Indices, np

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
SPIKE = 5  # values that are not a level of their own between two others
EDGE = 3  # values: fewer at the end may be outliers
SHIFT = 12  # values by which a step may be moved to where it stands out most


class Prominence:
    """The prefix sums of a series of logarithms, from which steps are judged, all at once."""

    def __init__(self, values: Floats, scale: Floats, middle: Floats) -> None:
        """``middle`` (n,): running medians of ``values`` (n,), ``scale``: their deviations."""
        y = np.clip(values, middle - CLIP * scale, middle + CLIP * scale)
        y = y - y.mean()
        self.n, self.scale = len(y), scale
        self._sum, self._squares, self._moment = (
            np.concatenate([[0.0], np.cumsum(part)]) for part in (y, y * y, np.arange(len(y)) * y)
        )

    def of(self, low: Indices, place: Indices, high: Indices) -> Floats:
        """The prominence (k,) of steps at ``place`` (k,) between the neighbours ``low`` and
        ``high`` (k,): ln t + 1.5 ln j + ln d.

        t is Student's of the levels of at most 60 values on each side. j is that of the jump
        between two lines of at most 25 values that meet at the step: a drift has none. d is the
        size in standard deviations of all that is in sight, 200 values on each side, steps among
        them: in a series that wanders, no move of the usual size stands out.
        """
        left, right = np.maximum(low, place - LEVEL), np.minimum(high, place + LEVEL)
        before, rest = self._level(left, place)
        after, other = self._level(place, right)
        sizes = place - left, right - place
        floor = 2 * (FLOOR * self.scale[place]) ** 2
        variance = (rest + other + floor) / (sizes[0] + sizes[1])
        size = after - before
        t = size / np.sqrt(variance * (1 / sizes[0] + 1 / sizes[1]))
        first, last = np.maximum(low, place - LINE), np.minimum(high, place + LINE)
        ends = [self._end(first, place, place), self._end(place, last, place)]
        free = np.maximum(last - first - ends[0][3] - ends[1][3], 1)
        variance = (ends[0][1] + ends[1][1] + floor) / free
        jump = (ends[1][0] - ends[0][0]) / np.sqrt(variance * (ends[0][2] + ends[1][2]))
        start, stop = np.maximum(place - SIGHT, 0), np.minimum(place + SIGHT, self.n)
        _, squares = self._level(start, stop)
        seen = np.abs(size) / np.sqrt(np.maximum(squares / (stop - start), 1e-300))
        prominence: Floats = (
            np.log(np.maximum(np.abs(t), FLOOR))
            + 1.5 * np.log(np.maximum(jump * np.sign(size), FLOOR))
            + np.log(np.maximum(seen, 0.02))
        )
        return prominence

    def level(self, low: int, high: int) -> float:
        """The mean of some values."""
        return float(self._sum[high] - self._sum[low]) / (high - low)

    def _level(self, low: Indices, high: Indices) -> tuple[Floats, Floats]:
        """The means of values and their squares about them."""
        count, total = high - low, self._sum[high] - self._sum[low]
        squares = self._squares[high] - self._squares[low] - total * total / count
        return total / count, np.maximum(squares, 0.0)

    def _end(self, low: Indices, high: Indices, place: Indices) -> tuple[Floats, ...]:
        """What the line through some values is at a place: its value, the squares about it, the
        variance of that value in those of one, and how many parameters it has.
        """
        count = high - low
        mean, squares = self._level(low, high)
        middle = (low + high - 1) / 2
        away = place - 0.5 - middle
        spread = count * (count * count - 1.0) / 12
        fewest = np.where((low == 0) | (high == self.n), FEWEST_AT_END, FEWEST_OF_LINE)
        sloped = count >= fewest
        slope = np.where(
            sloped,
            (self._moment[high] - self._moment[low] - middle * count * mean)
            / np.maximum(spread, 1.0),
            0.0,
        )
        return (
            mean + slope * away,
            np.maximum(squares - slope * slope * spread, 0.0),
            1 / count + np.where(sloped, away * away / np.maximum(spread, 1.0), 0.0),
            np.where(sloped, 2, 1),
        )


def prominent(
    prominence: Prominence, places: Sequence[int], settled: Collection[int] = ()
) -> list[int]:
    """The ascending ``places`` without steps that do not stand out, and without bursts; those that
    are ``settled`` stay.

    In turns, those are left out that stand out less than both their neighbours.
    """
    left = list(places)
    fixed = frozenset(settled)
    while left:
        bounds = np.array([0, *left, prominence.n], dtype=np.intp)
        value = prominence.of(bounds[:-2], bounds[1:-1], bounds[2:])
        for turn in np.flatnonzero(np.diff(left) <= BURST).tolist():
            if _burst(prominence, bounds[turn : turn + 4].tolist()):
                weaker = turn + int(value[turn + 1] < value[turn])
                value[weaker] = min(value[weaker], LEAST - 0.1)
        value[[place in fixed for place in left]] = np.inf
        weak = value < LEAST
        if not weak.any():
            break
        beside = np.concatenate([[np.inf], value, [np.inf]])
        gone = weak & (value <= beside[:-2]) & (value < beside[2:])
        if not gone.any():
            gone[int(value.argmin())] = True
        left = [place for place, out in zip(left, gone.tolist(), strict=True) if not out]
    return _moved(prominence, left, fixed)


def _burst(prominence: Prominence, bounds: Sequence[int]) -> bool:
    """Whether the values between two moves are a burst: afterwards the level is that of before."""
    low, start, stop, high = bounds
    before = prominence.level(max(low, start - BURST_LEVEL), start)
    after = prominence.level(stop, min(high, stop + BURST_LEVEL))
    there, back = prominence.level(start, stop) - before, prominence.level(start, stop) - after
    return there * back > 0 and abs(after - before) < RETURN * min(abs(there), abs(back))


def _moved(prominence: Prominence, places: Sequence[int], fixed: Collection[int]) -> list[int]:
    """The places, each where it stands out most between its neighbours."""
    bounds = [0, *places, prominence.n]
    moved = []
    for turn, place in enumerate(places):
        low, high = bounds[turn], bounds[turn + 2]
        fewest = EDGE if high == prominence.n else SPIKE + 1
        start, stop = max(low + SPIKE + 1, place - SHIFT), min(high - fewest, place + SHIFT) + 1
        if place in fixed or start >= stop:
            moved.append(place)
            continue
        tried = np.arange(start, stop)
        values = prominence.of(np.full(len(tried), low), tried, np.full(len(tried), high))
        moved.append(int(tried[values.argmax()]))
    return moved
