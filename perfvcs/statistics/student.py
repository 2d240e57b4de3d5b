"""Student's t distribution in numpy alone: importing scipy.special takes longer than everything
else that `perf check` does.
"""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, inf, lgamma, log, log1p, pi, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LARGE_DF = 300.0  # degrees of freedom from which Hill's expansion is used
FEW_VALUES = 64  # values that are faster one by one than in arrays: of one 20 times, of 64 twice
PRECISION = 1e-15
MOST_ROUNDS = 200
SERIES_TERMS = 100
TINY = 1e-300


def f_tail(f: ArrayLike, above: ArrayLike, below: ArrayLike) -> Floats:
    """The chance of a value above ``f`` >= 0 with ``above`` (1 or 2) and ``below`` > 0 degrees of
    freedom; broadcast, NaN stays.

    With one degree it is Student's two-sided chance of the root, with two (1 + 2 f / d)^(-d / 2).
    """
    ratio, parts, df = np.broadcast_arrays(
        *(np.asarray(part, dtype=np.float64) for part in (f, above, below))
    )
    sure = np.where(np.isfinite(ratio), ratio, 0.0)
    chance = np.where(
        parts == 1, two_sided(np.sqrt(sure), df), np.exp(-df / 2 * np.log1p(2 * sure / df))
    )
    return np.where(np.isfinite(ratio), chance, np.where(np.isnan(ratio), np.nan, 0.0))


def two_sided(t: ArrayLike, df: ArrayLike) -> Floats:
    """The chance of a value at least as far from 0 as ``t``, for ``df`` > 0 degrees of freedom;
    elementwise, broadcast.

    Relative error of chances above 1e-60 against scipy.special.stdtr: below 1e-11 up to 300 degrees
    of freedom, and below 3e-9 beyond. Sources: the continued fraction of the incomplete beta
    function, Lentz 1976; for many degrees of freedom Hill 1970, algorithm 395.
    """
    values, degrees = np.broadcast_arrays(
        np.abs(np.asarray(t, dtype=np.float64)), np.asarray(df, dtype=np.float64)
    )
    large = degrees > LARGE_DF
    if values.ndim and not large.any():  # as a rule
        return _beta(values.ravel() ** 2, degrees.ravel()).reshape(values.shape)
    chances = np.empty(values.shape)
    chances[large] = _hill(values[large], degrees[large])
    square = values[~large] ** 2
    chances[~large] = _beta(square, degrees[~large])
    return chances


def quantile(p: float, df: ArrayLike) -> Floats:
    """The value that a share ``p`` (0.5 < p < 1) of Student's distribution lies below, for every
    element of ``df`` > 0.

    Relative error below 1e-9, against scipy.special.stdtrit. Newton's method on the logarithms of
    value and chance, where the tail is concave, so that it converges from anywhere; each distinct
    number of degrees of freedom is computed once.
    """
    degrees = np.asarray(df, dtype=np.float64)
    if degrees.size and (degrees == degrees.flat[0]).all():  # as a rule
        return np.full(degrees.shape, _known(p, float(degrees.flat[0])))
    distinct, where = np.unique(degrees, return_inverse=True)
    value = np.array([_known(p, distinct.item())]) if len(distinct) == 1 else _solve(p, distinct)
    values: Floats = value[where].reshape(degrees.shape)
    return values


@lru_cache(maxsize=1024)
def _known(p: float, df: float) -> float:
    """One quantile; whoever looks again and again asks for the same ones."""
    return float(_solve(p, np.array([df]))[0])


def _solve(p: float, distinct: Floats) -> Floats:
    chance = 2 * (1 - p)
    value = np.full(distinct.shape, NormalDist().inv_cdf(p))
    moving = np.ones(
        distinct.shape, dtype=bool
    )  # each stops separately: its last digit must not depend on the values computed along with it
    for _ in range(SERIES_TERMS):
        tail = two_sided(value, distinct)
        step = np.log(tail / chance) * tail / (2 * value * _density(value, distinct))
        value = np.where(moving, value * np.exp(np.clip(step, -2, 2)), value)
        moving &= np.abs(step) >= 1e-13
        if not moving.any():
            break
    return value


def _density(t: Floats, df: Floats) -> Floats:
    constant = np.array(
        [
            exp(lgamma((value + 1) / 2) - lgamma(value / 2)) / sqrt(pi * value)
            for value in df.tolist()
        ]
    )
    density: Floats = constant * np.exp(-(df + 1) / 2 * np.log1p(t**2 / df))
    return density


def _beta(square: Floats, df: Floats) -> Floats:
    """The regularised incomplete beta function I(df / (df + t^2); df/2, 1/2)."""
    a, b = df / 2, np.full(df.shape, 0.5)
    x, rest = df / (df + square), square / (df + square)
    constant = {
        value: lgamma(value / 2 + 0.5) - lgamma(value / 2) - lgamma(0.5)
        for value in set(df.tolist())
    }
    with np.errstate(divide="ignore"):
        logarithm = (
            np.array([constant[value] for value in df.tolist()]) + a * np.log(x) + b * np.log(rest)
        )
    front = np.exp(logarithm)
    swap = x > (a + 1) / (a + b + 2)
    first, second, point = np.where(swap, b, a), np.where(swap, a, b), np.where(swap, rest, x)
    part = front * _fraction(first, second, point) / first
    beta: Floats = np.where(swap, 1 - part, part)
    return beta


def _fraction(a: Floats, b: Floats, x: Floats) -> Floats:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    if x.size <= FEW_VALUES:  # the same to the last digit
        return np.array(list(map(_continued, a.tolist(), b.tolist(), x.tolist())))
    upper = np.ones(x.shape)
    lower = 1 / _away(1 - (a + b) * x / (a + 1))
    fraction = lower.copy()
    live = np.arange(len(x))  # those that still move
    for round_ in range(1, MOST_ROUNDS):
        twice = a + 2 * round_
        for term in (
            round_ * (b - round_) * x / ((twice - 1) * twice),
            -(a + round_) * (a + b + round_) * x / (twice * (twice + 1)),
        ):
            lower = 1 / _away(1 + term * lower)
            upper = _away(1 + term / upper)
            step = upper * lower
            fraction[live] *= step
        moving = np.abs(step - 1) >= PRECISION
        if not moving.all():
            live = live[moving]
            if not len(live):
                break
            a, b, x, lower, upper = a[moving], b[moving], x[moving], lower[moving], upper[moving]
    return fraction


def _away(values: Floats) -> Floats:
    """The values, those too near to 0 moved away from it."""
    near = np.abs(values) < TINY
    return np.where(near, TINY, values) if near.any() else values


def _hill(t: Floats, df: Floats) -> Floats:
    """Through the normal value of the same chance."""
    a = df - 0.5
    b = 48 * a**2
    y = a * np.log1p(t**2 / df)
    z = (
        ((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y**2 + 100 + b) + y + 3) / b + 1
    ) * np.sqrt(y)
    return np.array([erfc(value / sqrt(2)) for value in z.tolist()])


def tail(t: float, df: float) -> float:
    """``two_sided`` of one t >= 0, in plain Python: of few values thirty times as fast."""
    if t <= 0:
        return 1.0
    square = t * t
    if square == inf:
        return 0.0
    x, rest, a = df / (df + square), square / (df + square), df / 2
    if x > 0 and rest > 0:
        front = exp(lgamma(a + 0.5) - lgamma(a) - lgamma(0.5) + a * log(x) + 0.5 * log(rest))
    else:
        front = float(x > 0)
    if x > (a + 1) / (a + 2.5):
        return 1 - front * _continued(0.5, a, rest) / 0.5
    return front * _continued(a, 0.5, x) / a


def point(chance: float, df: float) -> float:
    """The t >= 0 whose ``tail`` is ``chance``, for 0 < chance < 1; ``quantile`` of one value."""
    constant = lgamma((df + 1) / 2) - lgamma(df / 2) - log(df * pi) / 2
    value = max(NormalDist().inv_cdf(1 - chance / 2), 1e-3)
    for _ in range(SERIES_TERMS):
        here = tail(value, df)
        if here <= 0:
            break
        density = exp(constant - (df + 1) / 2 * log1p(value * value / df))
        step = log(here / chance) * here / (2 * value * density)
        value *= exp(min(max(step, -2.0), 2.0))
        if abs(step) < 1e-12:
            break
    return value


def _continued(a: float, b: float, x: float) -> float:
    """``_fraction`` of single values."""
    upper = 1.0
    lower = 1 - (a + b) * x / (a + 1)
    lower = 1 / (lower or TINY)
    fraction = lower
    for round_ in range(1, MOST_ROUNDS):
        twice = a + 2 * round_
        step = 1.0
        for term in (
            round_ * (b - round_) * x / ((twice - 1) * twice),
            -(a + round_) * (a + b + round_) * x / (twice * (twice + 1)),
        ):
            lower = 1 / ((1 + term * lower) or TINY)
            upper = (1 + term / upper) or TINY
            step = upper * lower
            fraction *= step
        if not abs(step - 1) >= PRECISION:  # as above of what is not a number, too
            break
    return fraction
