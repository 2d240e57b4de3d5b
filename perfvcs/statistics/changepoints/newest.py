"""The newest value of a series, judged by what one more value at the present level would be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import lgamma, log, pi, sqrt
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

CHANCE = 1e-3  # of an alarm per commit and benchmark where nothing changed
SUPPORT = 10  # earlier values at the level from which an alarm is a change, and not only suspected
FEWEST = 3  # earlier values
SMALLEST = 0.005  # as of steps
WINDOW = 25  # values whose median is what the next one is expected to be
RECENT = 64  # values whose deviations count: machines change
RUN = 4  # newest values that may be outside together
FREEDOM = (4.0, 6.0, 10.0, 30.0, 200.0)  # degrees of freedom of the tails that are tried
USUAL = 4.0  # degrees of freedom that are expected before anything is known, and the fewest: the fence keeps out heavier tails
PRIOR = 5  # values that this expectation counts as
MEDIAN = 1.57  # variance of a median, times that of the mean
LEAST = 0.3  # of the spread of values about their level: what the deviations' scale is at least
SURE = 2.5  # standard deviations within which nothing is outside
ROUNDS = 8
ONCE = 1  # a single value that was as far away is no pattern
SIDED = 40  # deviations from which each side has tails of its own

Word = Literal["usual", "suspected", "changed"]


@dataclass(frozen=True)
class Newest:
    """The newest value of a series against the level of the values before it. All are logarithms.

    ``place`` is its index, ``value`` what it is, ``expected`` the level and ``low``..``high`` where one more value at that level lies but
    for a chance of 1 in 1,000. ``chance`` is that of a value as far away (two-sided), and ``support`` how many earlier values the level
    has. ``word``: ``usual`` inside; outside ``changed``, or ``suspected`` where fewer than ten values support it and no second one confirms
    it. ``since`` is the index of the first of the newest values that all lie outside on the same side (``place`` where it is the only one;
    of several the later ones confirm the first), None where the newest is usual. ``withdrawn`` is the index of the value before, where that
    was outside and the newest one is not: the alarm was a false one.
    """

    place: int
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int
    word: Word
    since: int | None
    withdrawn: int | None

    @property
    def effect(self) -> float:
        """How far the value is from the level, a difference of logarithms."""
        return self.value - self.expected


@dataclass(frozen=True)
class Tail:
    """How far values lie from what was expected, on one side: Student's t of ``df`` degrees of freedom and ``scale``.

    ``share`` is that of the values on this side, ``past`` are their distances, ascending, of ``count`` values on both sides.
    """

    df: float
    scale: float
    share: float
    past: NDArray[np.float64]
    count: int

    def chance(self, distance: float, widening: float = 1.0) -> float:
        """Twice the chance of a value at least so far away on this side, and of what happened more than once at least how often."""
        import numpy as np

        from perfvcs.statistics.student import tail

        if distance <= 0:
            return 1.0
        rare = tail(distance / (self.scale * widening), self.df)
        beyond = max(0, len(self.past) - int(np.searchsorted(self.past, distance)) - ONCE)
        return min(1.0, max(2 * self.share * rare, 2 * beyond / self.count))

    def fence(self, widening: float = 1.0) -> float:
        """The distance whose chance is 1 in 1,000."""
        from perfvcs.statistics.student import point

        reach = point(CHANCE / (2 * self.share), self.df) * self.scale * widening
        allowed = int(CHANCE * self.count / 2) + ONCE
        return max(reach, float(self.past[-1 - allowed]) if len(self.past) > allowed else 0.0)


@dataclass(frozen=True)
class Past:
    """What the values before a place say about the next one: the ``level``, its ``support`` in values, and the tails below and above.

    ``widening`` is by how much fewer values at this level than elsewhere widen the tails.
    """

    level: float
    support: int
    tails: tuple[Tail, Tail]
    widening: float

    def chance(self, value: float) -> float:
        """That of a value as far away."""
        return self.tails[value > self.level].chance(abs(value - self.level), self.widening)

    def outside(self, value: float) -> int:
        """1 above, -1 below what is expected, 0 inside."""
        away = value - self.level
        return 0 if abs(away) < SMALLEST or self.chance(value) >= CHANCE else 1 if away > 0 else -1


def newest(
    series: NDArray[np.float64], places: Sequence[int], scale: float, variance: NDArray[np.float64] | None = None
) -> Newest | None:
    """The newest of the finite values (n,) against the level before it; ``places`` are where the series changed for good.

    What is expected is the median of the last 25 values since the last change. How far values lie from it is learned from all earlier ones,
    each against the values before it: Student's t with its own scale and degrees of freedom (likeliest, with five values' worth of trust in
    4), on each side where there are enough, and no rarer than it has happened, but for one. ``scale`` is the spread of the newest values,
    ``variance`` (n,) are the values' own, NaN unknown: a newest value that is less sure than others is allowed as much more. None where
    fewer than three values came before.
    """
    place = len(series) - 1
    if place < FEWEST:
        return None
    value, base = float(series[-1]), place
    past = _past(series, places, scale, base, _extra(variance))
    # Values right before it that were outside, too, are not what the newest one is compared with.
    while base > FEWEST and place - base < RUN and abs(float(series[base - 1]) - past.level) > SURE * scale:
        before = _past(series, places, scale, base - 1, 0.0)
        if not before.outside(float(series[base - 1])):
            break
        past, base = before, base - 1
    side = past.outside(value)
    since = place
    while side and since > base and past.outside(float(series[since - 1])) == side:
        since -= 1
    word: Word = "usual"
    if side:
        word = "changed" if past.support >= SUPPORT or since < place else "suspected"
    return Newest(
        place, value, past.level, past.level - past.tails[False].fence(past.widening), past.level + past.tails[True].fence(past.widening),
        past.chance(value), past.support, word, since if side else None, place - 1 if base < place and since == place else None,
    )  # fmt: skip


def _past(series: NDArray[np.float64], places: Sequence[int], scale: float, base: int, extra: float) -> Past:
    import numpy as np

    bounds = [0, *(one for one in places if one < base), base]
    since = bounds[-2]
    level = float(np.median(series[max(since, base - WINDOW) : base]))
    parts: list[NDArray[np.float64]] = []
    for low, high in pairwise(bounds):
        if high > base - RECENT:
            parts += _deviations(series[max(low, base - RECENT) : high])
    away = np.concatenate(parts)
    floor = max(scale * LEAST, float(np.abs(series).max()) * 1e-12, 1e-100)
    sided = len(away) >= SIDED
    both = np.sort(np.abs(away))
    tails = []
    for sign in (-1, 1):
        here = np.sort(sign * away[sign * away > 0]) if sided else both
        df, spread = _fitted(here if len(here) else both, floor)
        share = (len(here) + 1) / (len(away) + 2) if sided else 0.5
        # The fitted scale and degrees of freedom are not known exactly, either.
        df = 1 / (1 / df + 1 / max(len(here), 2))
        tails.append(Tail(df, spread, share, here, max(len(away), 1)))
    support = base - since
    widening = sqrt((1 + MEDIAN / min(support, WINDOW)) / (1 + MEDIAN / WINDOW) * (1 + extra / tails[0].scale ** 2))
    return Past(level, support, (tails[0], tails[1]), widening)


def _deviations(part: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """How far each value of a level lies from the median of the 25 before it; the first ones from that of all of these."""
    import numpy as np

    first, n = part[:WINDOW], len(part)
    about = (first - np.median(first)) * sqrt((len(first) + MEDIAN) / max(len(first) - 1, 1))
    if n <= WINDOW:
        return [about]
    windows = np.sort(np.lib.stride_tricks.sliding_window_view(part[:-1], WINDOW), axis=1)
    return [about, part[WINDOW:] - windows[:, WINDOW // 2]]


def _fitted(distances: NDArray[np.float64], floor: float) -> tuple[float, float]:
    """Degrees of freedom and scale of the likeliest t about 0 of some distances from it, ascending."""
    import numpy as np

    middle = max(float(distances[len(distances) // 2]) / 0.74, floor)
    freedom, constant, prior = _trials()
    values = np.concatenate([distances, prior * middle])[None, :]
    squares = values**2
    variance = np.full((len(freedom), 1), middle**2)
    for _ in range(ROUNDS):
        variance = np.maximum(((freedom + 1) * squares / (freedom + squares / variance)).mean(axis=1, keepdims=True), floor**2)
    likelihood = (constant - np.log(variance) / 2 - (freedom + 1) / 2 * np.log1p(squares / (freedom * variance))).sum(axis=1)
    best = int(likelihood.argmax())
    return float(freedom[best, 0]), sqrt(float(variance[best, 0]))


@lru_cache(maxsize=1)
def _trials() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Degrees of freedom (m, 1), the logarithms of their densities' constants, and typical distances of the usual tails."""
    import numpy as np

    from perfvcs.statistics.student import point

    freedom = np.array(FREEDOM)[:, None]
    constant = np.array([[lgamma((df + 1) / 2) - lgamma(df / 2) - log(df * pi) / 2] for df in FREEDOM])
    shares = [0.5 + (turn + 0.5) / (2 * PRIOR) for turn in range(PRIOR)]
    return freedom, constant, np.array([point(2 * (1 - share), USUAL) for share in shares])


def _extra(variance: NDArray[np.float64] | None) -> float:
    """By how much the newest value's own variance is above the usual one."""
    import numpy as np

    if variance is None or not np.isfinite(variance[-1]) or not np.isfinite(variance[:-1]).any():
        return 0.0
    return max(0.0, float(variance[-1] - np.nanmedian(variance[:-1])))
