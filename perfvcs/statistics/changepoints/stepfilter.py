"""Steps of a series without those that chance explains, that are too small, or that are the ends of
a spike.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log1p, sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.difference import NORMAL

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


LARGEST_AUTOCORRELATION = 0.95  # autocorrelation
# share of the autocorrelation that a segment takes away, times n: simulated, r of .3 to .8, 200 to
# 1,000 values
ABSORBED = 14.0
BATCHES = (10, 20, 40)  # values
FEWEST_DF = 4  # degrees of freedom
FALSE_ALARM_RATE = 0.01  # of a false step per series, shared among its places
SMALLEST_STEP = 0.005  # of the level, as values are logarithms
SPIKE = 5  # values that are not a level of their own between two others
CLIP = 1.0  # standard deviations that a value may lie outside both levels
DENSITY = 0.7978845608028654  # twice that of the normal distribution at 0
SPREAD_FALSE_ALARMS = 0.01  # of a false change per series
RATIO = 1.5  # of the spreads
FEWEST_VALUES = 20  # values on both sides
LEAST_DEVIATION = 0.2  # of the spread: smaller deviations are equally small


def dependence(left: NDArray[np.float64], segments: int) -> float:
    """The inflation of the variance of a mean by a first-order dependence of the residuals ``left``
    of a generous segmentation.

    (1 + r) / (1 - r), at least 1, with their lag 1 autocorrelation r, which is enlarged by what
    ``segments`` that are placed where they fit best have absorbed of it.
    """
    left = left - left.mean()
    total = float(left @ left)
    if total <= 0:
        return 1.0
    r = float(left[1:] @ left[:-1]) / total * (1 + ABSORBED * segments / len(left))
    r = min(max(r, 0.0), LARGEST_AUTOCORRELATION)
    return (1 + r) / (1 - r)


def batches(left: NDArray[np.float64], places: Sequence[int]) -> float:
    """The inflation by any dependence, by the means of batches of 10, 20 and 40 residuals about the
    levels between ``places``; at least 1.

    It sees what wanders slowly, too, which no lag 1 autocorrelation shows. Source: Conway 1963
    (batch means).
    """
    import numpy as np

    whole, inflation = float(left @ left) / max(len(left) - len(places) - 1, 1), 1.0
    for length in BATCHES:
        squares, df = 0.0, 0
        for low, high in pairwise([0, *places, len(left)]):
            count = (high - low) // length
            if count > 1:
                means = left[high - count * length : high].reshape(count, length).mean(axis=1)
                squares, df = squares + float(((means - means.mean()) ** 2).sum()), df + count - 1
        if df >= FEWEST_DF and whole > 0:
            inflation = max(inflation, length * squares / df / whole)
    return float(np.float64(inflation))


class Segments:
    """The centres of a series between steps, each computed once."""

    def __init__(self, values: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self.values, self.scale = values, scale
        self._known: dict[tuple[int, int], float] = {}

    def centres(self, steps: Sequence[int]) -> NDArray[np.float64]:
        """The centre of each segment between the ``steps``."""
        import numpy as np

        from perfvcs.statistics.changepoints.steps import start

        for low, high in pairwise([0, *steps, len(self.values)]):
            if (low, high) not in self._known:
                self._known[low, high] = start(self.values[low:high])
        return np.array([self._known[part] for part in pairwise([0, *steps, len(self.values)])])

    def along(self, steps: Sequence[int]) -> NDArray[np.float64]:
        """The centre of its segment for each of the values."""
        import numpy as np

        return np.repeat(self.centres(steps), np.diff([0, *steps, len(self.values)]))


def scores(
    segments: Segments, steps: Sequence[int], inflation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|t| and its degrees of freedom of each of the ascending ``steps``, between it and its
    neighbours; ``steps`` is not empty.

    By Student's t of the values clipped at one standard deviation outside both levels: an outlier
    counts as a value that lies there, and the values of a rarer component count as the same on both
    sides. The pooled variance is multiplied by ``inflation`` for dependence. If nothing varies, t
    is infinite, or 0 if the means are equal, too, or fewer than three values are left.
    """
    import numpy as np

    y, scale = segments.values, segments.scale
    bounds = np.array([0, *steps, len(y)])
    lengths = np.diff(bounds)
    centres = segments.centres(steps)
    least, most = np.minimum(centres[:-1], centres[1:]), np.maximum(centres[:-1], centres[1:])
    reach = CLIP * scale
    sides = []
    for low, high, counts in ((0, bounds[-2], lengths[:-1]), (bounds[1], len(y), lengths[1:])):
        middle = np.repeat((least + most) / 2, counts)  # about which sums lose nothing
        part = np.clip(
            y[low:high] - middle,
            np.repeat(least, counts) - middle - reach[low:high],
            np.repeat(most, counts) - middle + reach[low:high],
        )
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        total = np.add.reduceat(part, starts)
        sides.append(
            (total / counts, np.add.reduceat(part * part, starts) - total * total / counts)
        )
    (before, spread), (after, other) = sides
    df = (lengths[:-1] + lengths[1:] - 2).astype(np.float64)
    variance = (
        np.maximum(spread + other, 0.0)
        / np.maximum(df, 1)
        * (1 / lengths[:-1] + 1 / lengths[1:])
        * inflation
    )
    error, change = np.sqrt(variance), np.abs(after - before)
    flat = error <= 1e-9 * change
    t = np.where(flat, np.where(change > 0, np.inf, 0.0), change / np.where(flat, 1.0, error))
    return np.where(df > 0, t, 0.0), df


def confirm(
    segments: Segments, steps: Sequence[int], inflation: float = 1.0, settled: Collection[int] = ()
) -> list[int]:
    """The ``steps`` without the weak ones: p above ``level``, smaller than half a percent, or the
    end of five values or fewer.

    They are taken away, those first that are weaker than both their neighbours, until none is weak;
    those at ``settled`` places stay. ``inflation`` stays what it is: it was estimated before.
    """
    import numpy as np

    left = list(steps)
    while left:
        t, df = scores(segments, left, inflation)
        # Comparable among different degrees of freedom: the logarithm of the likelihood ratio.
        strength = np.where(
            np.isfinite(t),
            df * np.log1p(np.where(np.isfinite(t), t, 0.0) ** 2 / np.maximum(df, 1)),
            np.inf,
        )
        weak = np.zeros(len(left), dtype=np.bool_)
        weak[exceeding(t, df, level(len(segments.values), inflation))] = True
        centres = segments.centres(left)
        weak |= np.abs(np.diff(centres)) < SMALLEST_STEP
        for turn, (low, high) in enumerate(pairwise(left)):
            if high - low <= SPIKE:
                weaker = int(
                    low not in settled
                    and high not in settled
                    and strength[turn + 1] < strength[turn]
                )
                weak[turn + (weaker or int(low in settled))] = True
        weak &= np.array([place not in settled for place in left])
        if not weak.any():
            break
        strength = np.where(weak, strength, np.inf)
        beside = np.concatenate([[np.inf], strength, [np.inf]])
        first = (strength <= beside[:-2]) & (strength < beside[2:]) & weak
        if not first.any():
            first = weak & (strength == strength[weak].min())
        left = [place for place, gone in zip(left, first.tolist(), strict=True) if not gone]
    return left


def level(n: int, inflation: float) -> float:
    """The largest p of a step among n values.

    Of independent values, the price of a step keeps most chance steps out before they are tested.
    Dependence undercuts it, and more so for both of a step's sides: p is to be as much smaller as
    ``inflation`` squared. Simulated.
    """
    return FALSE_ALARM_RATE / n / inflation**2


def limits(t: float, df: float) -> tuple[float, float]:
    """What the two-sided p of ``t`` is surely not below, and not above: fast, of large t a few
    percent apart; 0 and inf below df 2.

    Above it is the integral of u f(u) / t beyond t instead of that of the density f(u), with the
    normal density's constant; below what is left of it by parts, with Kershaw's bound on the
    constant.
    """
    if df < 2 or t <= 0:
        return 0.0, inf
    most = (
        DENSITY * df / ((df - 1) * t) * exp(-(df - 1) / 2 * log1p(t * t / df)) if t < inf else 0.0
    )
    return most * sqrt(1 - 0.5 / df) / (1 + (df / t / t + 1) / (df - 1)), most


def exceeding(t: NDArray[np.float64], df: NDArray[np.float64], chance: float) -> list[int]:
    """The indices whose two-sided p is above ``chance``; it is computed only where ``limits`` leave
    that open: it takes long.
    """
    indices = []
    for place, (value, degrees) in enumerate(zip(t.tolist(), df.tolist(), strict=True)):
        least, most = limits(value, degrees)
        if most > chance and (
            least > chance or chances(t[place : place + 1], df[place : place + 1])[0] > chance
        ):
            indices.append(place)
    return indices


def chances(t: NDArray[np.float64], df: NDArray[np.float64]) -> list[float]:
    """The two-sided p of each t, 1 without degrees of freedom."""
    from perfvcs.statistics.student import tail

    return [
        tail(value, degrees) if degrees > 0 else 1.0
        for value, degrees in zip(t.tolist(), df.tolist(), strict=True)
    ]


@dataclass(frozen=True)
class SpreadChange:
    """A lasting change of the spread of a series of logarithms; it may have become calmer, too.

    ``place`` is the likeliest index of the first value with the new spread. ``before`` and
    ``after`` are the standard deviations about the levels (logarithms: .02 is about 2 %), ``p`` the
    chance of such a change anywhere where there is none.
    """

    place: int
    before: float
    after: float
    p: float


def noisier(left: NDArray[np.float64]) -> list[SpreadChange]:
    """The changes of the spread of the deviations ``left`` (n,) of values from their levels,
    ascending.

    The place at which the logarithms of the absolute deviations differ most, by Student's t with
    their own first-order dependence and n places to choose from; the parts before and after are
    searched again. Changes by less than half and of fewer than twenty values on a side are left
    out.
    """
    import numpy as np

    size = np.abs(left)
    usual = float(np.median(size)) if len(size) else 0.0
    if not usual:
        return []
    logs = np.log(np.maximum(size, LEAST_DEVIATION * usual))
    places: list[int] = []
    chances: dict[int, float] = {}
    parts = [(0, len(left))]
    while parts:
        low, high = parts.pop()
        place, p = _split(logs[low:high], len(left))
        if p < SPREAD_FALSE_ALARMS:
            places.append(low + place)
            chances[low + place] = p
            parts += [(low, low + place), (low + place, high)]
    places.sort()
    spreads = [NORMAL * float(np.median(np.abs(part))) for part in np.split(left, places)]
    return [
        SpreadChange(place, before, after, chances[place])
        for place, before, after in zip(places, spreads, spreads[1:], strict=False)
        if max(before, after) >= RATIO * min(before, after)
    ]


def _split(logs: NDArray[np.float64], total: int) -> tuple[int, float]:
    """The best place to divide some values, and its p among so many places."""
    import numpy as np

    from perfvcs.statistics.student import tail

    n = len(logs)
    if n < 2 * FEWEST_VALUES:
        return 0, 1.0
    rest = logs - logs.mean()
    before = np.arange(FEWEST_VALUES, n - FEWEST_VALUES + 1)
    gain = np.cumsum(rest)[FEWEST_VALUES - 1 : n - FEWEST_VALUES] ** 2 * n / (before * (n - before))
    best = int(gain.argmax())
    place = int(before[best])
    within = np.concatenate(
        [logs[:place] - logs[:place].mean(), logs[place:] - logs[place:].mean()]
    )
    squares = float(within @ within)
    if squares <= 0:
        return 0, 1.0
    t = sqrt(float(gain[best]) / squares * (n - 2) / dependence(within, 2))
    return place, min(1.0, total * tail(t, n - 2))
