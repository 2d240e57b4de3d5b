"""Likelihood-ratio test of a change of mean or variance somewhere in a series of normal
observations, for long histories.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, expm1, log, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST_VALUES = 16  # ln ln ln n needs n > 15


@dataclass(frozen=True)
class LikelihoodRatio:
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
    import numpy as np

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
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    found, parts = [], [(0, len(y))]
    while parts:
        low, high = parts.pop()
        here = ratio(y[low:high])
        if here.p < level:
            found.append(low + here.place)
            parts += [(low, low + here.place), (low + here.place, high)]
    return sorted(found)
