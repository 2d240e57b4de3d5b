"""Likelihood-ratio test of a change of mean or variance somewhere in a series of normal
observations, for long histories.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from math import exp, expm1, log, nan, sqrt
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.statistics.changepoints.judgement import Judgement
from perfvcs.statistics.changepoints.steps import BY_HORVATH, TURNS, ChangePoint
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST_VALUES = 16  # ln ln ln n needs n > 15


class LikelihoodRatio(Struct, frozen=True):
    """``place``: the first index behind the likeliest change; ``statistic``: Z_n there; ``p``:
    asymptotic, 1 - exp(-2 exp(b_n - a_n Z_n)).

    With fewer than 16 values, or constant ones, ``place`` is 0, ``statistic`` 0 and ``p`` 1.
    """

    place: int
    statistic: float
    p: float


def ratio(values: ArrayLike) -> LikelihoodRatio:
    """Test of one change of mean or variance against none.

    Z_k^2 = n ln s^2 - k ln s_k^2 - (n - k) ln s_(n-k)^2 with maximum likelihood variances of all,
    the first k and the other values, for 2 <= k <= n - 2; Z_n is the largest |Z_k|, a_n = sqrt(2 ln
    ln n), b_n = 2 ln ln n + ln ln ln n; a change at level alpha when a_n Z_n - b_n > ln(-2 / ln(1 -
    alpha)). A side without variance is taken to have that of rounding. The values are finite.
    Sources: Horvath 1993; Kalibera 2006, ch. 13.2 (which prints Z_n as the largest Z_k^2; the
    theorem has the root).
    """
    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    if n < FEWEST_VALUES:
        return LikelihoodRatio(0, 0.0, 1.0)
    y = y - y.mean()
    whole = float(y @ y) / n
    floor = (np.abs(np.asarray(values, dtype=np.float64)).max() * 8 * np.finfo(np.float64).eps) ** 2
    if whole <= floor:
        return LikelihoodRatio(0, 0.0, 1.0)
    places = np.arange(2, n - 1)
    logarithms = []
    for part in (y, y[::-1]):
        total, square = np.cumsum(part)[1 : n - 2], np.cumsum(part**2)[1 : n - 2]
        variance = square / places - (total / places) ** 2
        # The rounding of the sums over all values bounds what is known of a part's variance.
        logarithms.append(places * np.log(np.maximum(variance, max(floor, whole * 1e-13))))
    squares = n * log(whole) - logarithms[0] - logarithms[1][::-1]
    best = int(squares.argmax())
    z = sqrt(max(0.0, float(squares[best])))
    a, b = sqrt(2 * log(log(n))), 2 * log(log(n)) + log(log(log(n)))
    return LikelihoodRatio(int(places[best]), z, -expm1(-2 * exp(min(b - a * z, 50.0))))


def horvath(values: ArrayLike, level: float = 0.01) -> list[int]:
    """Changes of a series, ascending, found one after the other: the parts before and behind each
    are tested again.

    The later ones rest on shorter parts, for which the test is only roughly valid, as the source
    warns.
    """
    y = np.asarray(values, dtype=np.float64)
    places, parts = [], [(0, len(y))]
    while parts:
        low, high = parts.pop()
        here = ratio(y[low:high])
        if here.p < level:
            places.append(low + here.place)
            parts += [(low, low + here.place), (low + here.place, high)]
    return sorted(places)


def judge(values: ArrayLike, evidence: Collection[int] = ()) -> Judgement:
    """The steps of a series of n finite values by this test, and those at the places ``evidence``,
    which verdicts measured in turns have settled; nothing else is judged.

    A step's ``before`` and ``after`` are means, its error and degrees of freedom Welch's, and its
    ``p`` that of the test between the neighbouring steps. Where the interval of the difference of
    the means holds 0, there is no step: the spread changed. Source: Welch 1947.
    """
    y = np.asarray(values, dtype=np.float64)
    detected = set(horvath(y))
    bounds = [0, *sorted(detected.union(evidence)), len(y)]
    parts = [y[low:high] for low, high in pairwise(bounds)]
    found = []
    for turn, place in enumerate(bounds[1:-1]):
        before, after = parts[turn : turn + 2]
        names = ((BY_HORVATH, detected), (TURNS, evidence))
        step = ChangePoint(
            place,
            place,
            place,
            float(before.mean()),
            float(after.mean()),
            float(after.mean() - before.mean()),
            *_welch(before, after),
            ratio(y[bounds[turn] : bounds[turn + 2]]).p,
            tuple(name for name, places in names if place in places),
        )
        # otherwise the spread changed, and not the level
        if place in evidence or not step.holds_no_change():
            found.append(step)
    return Judgement(tuple(found), None)


def _welch(before: Floats, after: Floats) -> tuple[float, float]:
    """The standard error of a difference of means, and df; NaN and 0 where nothing is known."""
    sides = [side for side in (before, after) if len(side) > 1]
    variances = [float(side.var(ddof=1)) / len(side) for side in sides]
    if len(sides) < 2 or not any(variances):
        return nan, 0.0
    divisor = sum(
        variance**2 / (len(side) - 1) for variance, side in zip(variances, sides, strict=True)
    )
    return sqrt(sum(variances)), sum(variances) ** 2 / divisor
