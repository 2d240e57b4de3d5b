"""What a comparison in pairs finds: its power, the pairs that it needs, and the smallest effect
that it sees.
"""

from __future__ import annotations

from functools import lru_cache
from math import pi, sqrt

from perfvcs.system.numeric import Floats, np

POWER = 0.8
MOST_POWER_PAIRS = 100_000  # pairs; nobody measures more
VARIANCE_POINTS = 400  # at which the distribution of an estimated variance is taken
BISECTIONS = 40
EXACT = 1e-9  # share of an effect to which it is known
NORMAL_DEGREES = 100  # degrees of freedom from which a simpler formula does


def power(
    effect: float, deviation: float, pairs: int, alpha: float = 0.01, bar: float = 0.0
) -> float:
    """The chance that a paired t-test at ``alpha`` (two-sided) finds ``effect`` and estimates it at
    ``bar`` or more.

    ``effect`` >= 0 and ``bar`` >= 0 are differences on the scale (usually logarithms) on which the
    differences of pairs have the standard ``deviation``; 0 for fewer than two pairs. Normal
    differences; their estimated variance is integrated over its chi-square distribution. With
    ``bar`` 0 it is the upper tail of the noncentral t distribution. Source: Johnson, Welch 1940.
    """
    from scipy.special import ndtr, stdtrit

    if pairs < 2:
        return 0.0
    error = deviation / sqrt(pairs)
    if error <= 0:
        return float(effect > 0 and effect >= bar)
    point = stdtrit(pairs - 1, 1 - alpha / 2)
    reached = np.maximum(point * error * _spreads(pairs - 1), bar)
    return float(ndtr((effect - reached) / error).mean())


def pairs(
    effect: float,
    deviation: float,
    alpha: float = 0.01,
    bar: float = 0.0,
    wanted: float = POWER,
    least: int = 5,
    most: int = MOST_POWER_PAIRS,
) -> int | None:
    """The fewest pairs, at least ``least``, with which ``effect`` is found with the power
    ``wanted``; None where ``most`` do not do.

    An effect that is not above ``bar`` is estimated below it half of the time, however many pairs
    there are.
    """
    if power(effect, deviation, least, alpha, bar) >= wanted:
        return least
    if effect <= bar or power(effect, deviation, most, alpha, bar) < wanted:
        return None
    low, high = least, 2 * least
    while high < most and power(effect, deviation, high, alpha, bar) < wanted:
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (
            (low, middle)
            if power(effect, deviation, middle, alpha, bar) >= wanted
            else (middle, high)
        )
    return high


def detectable(
    deviation: float, pairs: int, alpha: float = 0.01, bar: float = 0.0, wanted: float = POWER
) -> float | None:
    """The smallest effect that so many pairs find with power ``wanted``; None below two.

    Newton's steps, or halves of the bracket where they leave it, to the last digit but a few.
    """
    from scipy.special import ndtr, ndtri, stdtrit

    if pairs < 2:
        return None
    error = deviation / sqrt(pairs)
    if error <= 0:
        return bar
    reached = np.maximum(stdtrit(pairs - 1, 1 - alpha / 2) * _spreads(pairs - 1), bar / error)
    low, high = (float(end + ndtri(wanted)) for end in (reached.min(), reached.max()))
    effect = float(reached.mean() + ndtri(wanted))
    for _ in range(BISECTIONS):
        distance = effect - reached
        missing = wanted - float(ndtr(distance).mean())
        low, high = (effect, high) if missing > 0 else (low, effect)
        density = float(np.exp(-distance * distance / 2).mean()) / sqrt(2 * pi)
        following = effect + missing / density if density else high + 1
        if not low <= following <= high:
            following = (low + high) / 2
        if abs(following - effect) <= EXACT * following:
            return following * error
        effect = following
    return effect * error


def settled(
    deviation: float, pairs: int, confidence: float = 0.99, wanted: float = POWER
) -> float | None:
    """The smallest bound within which the interval of two equal versions lies with the chance
    ``wanted``; None for fewer than two pairs.

    |mean| + t s / sqrt(n) <= bound, the estimated s integrated over its chi-square distribution.
    Source: Schuirmann 1987.
    """
    from scipy.special import ndtr, stdtrit

    if pairs < 2:
        return None
    error = deviation / sqrt(pairs)
    half = stdtrit(pairs - 1, (1 + confidence) / 2) * _spreads(pairs - 1)
    low, high = 0.0, float(half.max()) + 10
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        chance = float(np.maximum(2 * ndtr(middle - half) - 1, 0.0).mean())
        low, high = (low, middle) if chance >= wanted else (middle, high)
    return high * error


def limits(deviation: float, df: float, confidence: float = 0.8) -> tuple[float, float]:
    """The interval in which the true standard deviation lies, of normal values, when ``deviation``
    was estimated with ``df`` > 0.
    """
    from scipy.special import gammaincinv

    low, high = (
        2 * gammaincinv(df / 2, share) for share in ((1 + confidence) / 2, (1 - confidence) / 2)
    )
    return deviation * sqrt(df / low), deviation * sqrt(df / high)


@lru_cache(maxsize=4096)
def _spreads(df: int) -> Floats:
    """Estimated over true standard deviation at the middles of ``VARIANCE_POINTS`` equally likely
    parts.

    For many degrees of freedom by the cube root, which is nearly normal (to 5 digits). Source:
    Wilson, Hilferty 1931.
    """
    from scipy.special import gammaincinv, ndtri

    shares = (np.arange(VARIANCE_POINTS) + 0.5) / VARIANCE_POINTS
    roughly = 1 - 2 / (9 * df) + ndtri(shares) * sqrt(2 / (9 * df))
    variances = roughly**3 if df > NORMAL_DEGREES else 2 * gammaincinv(df / 2, shares) / df
    spreads: Floats = np.sqrt(variances)
    spreads.flags.writeable = False
    return spreads
