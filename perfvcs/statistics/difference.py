"""Difference of two means with its interval and p-value, for many groups at once."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike


# standard deviations in a median distance from the middle, of normal values: 1 / Phi^-1(3/4)
NORMAL = 1.482602218505602
SHORT_ROW = 32  # values
# degrees of freedom from which Student's t is the normal distribution to double precision
NORMAL_DEGREES = 1e9


def medians(values: Floats, group: Indices, groups: int) -> Floats:
    """The (upper) median of each of ``groups`` groups, shape (groups,); 0 without values."""
    counts, middles = np.bincount(group, minlength=groups), np.zeros(groups)
    there, most = counts > 0, int(counts.max(initial=0))
    # as curves at the same sizes have it
    if most and (counts[there] == most).all() and (group[1:] >= group[:-1]).all():
        middles[there] = np.partition(values.reshape(-1, most), most // 2, axis=1)[:, most // 2]
        return middles
    order = np.lexsort((values, group))
    places = np.cumsum(counts) - counts + counts // 2
    middles[there] = values[order][places[there]]
    return middles


class Interval(Struct, frozen=True):
    """Mean and its confidence interval per group, (groups,), in the values' unit, or infinite."""

    centre: Floats
    low: Floats
    high: Floats


def interval(values: ArrayLike, confidence: float = 0.99) -> Interval:
    """Student's interval of the mean of each group; ``values`` has the shape (groups, n), n >= 1.

    For an interval of geometric means pass logarithms and take ``exp`` of the result.
    """
    sample = moments(values)
    mean = combine(sample.mean, [sample.variance / np.shape(values)[1]], [sample.df], confidence)
    return Interval(sample.mean, mean.low, mean.high)


class MeanInterval(NamedTuple):
    """A mean with its interval; None for the ends of a single value."""

    level: float
    low: float | None
    high: float | None


def geometric(values: Sequence[float], confidence: float = 0.99) -> MeanInterval:
    """The geometric mean of values with its interval; arithmetic if one is not above 0."""
    positive = min(values) > 0
    scaled = [log(value) for value in values] if positive else list(values)
    found = interval([scaled], confidence)
    back = exp if positive else float
    level = back(float(found.centre[0]))
    if len(values) < 2:
        return MeanInterval(level, None, None)
    return MeanInterval(level, back(float(found.low[0])), back(float(found.high[0])))


class Difference(Struct, frozen=True):
    """Second mean minus first, per group, shape (groups,), in the unit of the values.

    ``low``..``high`` is the confidence interval, ``error`` the standard error, ``df`` its degrees
    of freedom (infinite where the error is 0). If no variance can be estimated (one value, or a
    NaN), ``p``, ``error`` and ``df`` are NaN and the interval is infinite.
    """

    estimate: Floats
    low: Floats
    high: Floats
    p: Floats
    error: Floats
    df: Floats

    def rows(self) -> Iterator[tuple[float, float, float, float]]:
        """Estimate, low, high and p of each group."""
        columns = self.estimate, self.low, self.high, self.p
        return zip(*(column.tolist() for column in columns), strict=True)


class Moments(Struct, frozen=True):
    """Mean, and unbiased variance with its degrees of freedom (NaN and 0 for a single value), each
    of shape (groups,).
    """

    mean: Floats
    variance: Floats
    df: Floats


def moments(values: ArrayLike) -> Moments:
    """Mean and variance of each group; ``values`` has the shape (groups, n), n >= 1.

    A variance which is only the rounding of the mean is 0, so that equal values have none.
    """
    y = np.asarray(values, dtype=np.float64)
    groups, n = y.shape
    mean = y.mean(axis=1)
    if n < 2:
        return Moments(mean, np.full(groups, np.nan), np.zeros(groups))
    variance = ((y - mean[:, None]) ** 2).sum(axis=1) / (n - 1)
    return Moments(
        mean, np.where(variance <= _rounding(y) ** 2, 0.0, variance), np.full(groups, n - 1.0)
    )


def combine(
    estimate: Floats,
    variances: Sequence[Floats],
    dfs: Sequence[Floats],
    confidence: float | None = 0.99,
) -> Difference:
    """The difference whose variance is the sum of independent estimated ``variances``, each with
    its degrees of freedom.

    Without a ``confidence`` only p is asked for: the interval is infinite.

    All arrays have the shape (groups,). The degrees of freedom of the sum are Welch and
    Satterthwaite's. With no variance at all the interval is the estimate, and p is 1 for equal
    means, else 0. Source: Satterthwaite 1946; Welch 1947.
    """
    from perfvcs.statistics.student import two_sided

    errors = _errors(estimate, variances, dfs)
    t = np.abs(errors.sure) / np.where(errors.spread, errors.error, 1.0)
    p = np.where(errors.spread, two_sided(t, errors.df), np.where(errors.sure == 0, 1.0, 0.0))
    half = np.full(p.shape, np.inf) if confidence is None else _half(errors, confidence)
    return Difference(
        estimate=estimate,
        low=errors.sure - half,
        high=errors.sure + half,
        p=np.where(errors.known, p, np.nan),
        error=np.where(errors.known, errors.error, np.nan),
        df=np.where(errors.spread, errors.df, np.where(errors.known, np.inf, np.nan)),
    )


def reach(
    estimate: Floats, variances: Sequence[Floats], dfs: Sequence[Floats], confidence: float
) -> Floats:
    """How far from 0 ``combine``'s interval reaches, to either side; infinite if unknown."""
    errors = _errors(estimate, variances, dfs)
    return np.asarray(np.abs(errors.sure) + _half(errors, confidence))


class _Errors(NamedTuple):
    """Where a difference is ``known``, and has a ``spread``; the ``sure`` estimate (0 where
    unknown), its standard error and its df.
    """

    known: Flags
    spread: Flags
    sure: Floats
    error: Floats
    df: Floats


def _errors(estimate: Floats, variances: Sequence[Floats], dfs: Sequence[Floats]) -> _Errors:
    parts, degrees = np.array(variances), np.array(dfs)
    total = parts.sum(axis=0)
    defined = (
        np.isfinite(estimate) & np.isfinite(total) & ((degrees > 0) | (parts == 0)).all(axis=0)
    )
    spread = defined & (total > 0)
    share = np.where(spread, parts, 0.0) / np.where(spread, total, 1.0)
    weight = np.where(spread, (share**2 / np.where(degrees > 0, degrees, 1.0)).sum(axis=0), 1.0)
    df = np.where(spread, 1 / np.maximum(weight, 1 / NORMAL_DEGREES), NORMAL_DEGREES)
    return _Errors(
        defined, spread, np.where(defined, estimate, 0.0), np.sqrt(np.where(spread, total, 0.0)), df
    )


def _half(errors: _Errors, confidence: float) -> Floats:
    """Half of the width of the confidence interval; infinite where the difference is unknown."""
    from perfvcs.statistics.student import quantile

    return np.where(errors.known, quantile((1 + confidence) / 2, errors.df) * errors.error, np.inf)


def welch(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float | None = 0.99,
    extra: ArrayLike = 0.0,
    extra_df: ArrayLike = float("inf"),
) -> Difference:
    """Welch's difference of the means of two independent samples, shapes (groups, m) and (groups,
    k).

    ``extra`` is a further variance of the difference (between sessions, say) with ``extra_df``
    degrees of freedom, scalars or (groups,).
    """
    a, b = moments(first), moments(second)
    estimate = settle(b.mean - a.mean, first, second)
    variances = [a.variance / np.shape(first)[1], b.variance / np.shape(second)[1]]
    return combine(
        estimate,
        [*variances, _each(extra, estimate)],
        [a.df, b.df, _degrees(extra_df, estimate)],
        confidence,
    )


def paired(
    first: ArrayLike,
    second: ArrayLike,
    confidence: float | None = 0.99,
    extra: ArrayLike = 0.0,
    extra_df: ArrayLike = float("inf"),
) -> Difference:
    """Student's mean difference of paired samples (groups, n); ``extra`` as in ``welch``."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    gap, variance = gaps_of(b - a, rounding(a, b))
    variances, dfs = [variance], [gap.df]
    if np.any(extra):
        variances, dfs = [variance, _each(extra, variance)], [gap.df, _degrees(extra_df, variance)]
    return combine(gap.mean, variances, dfs, confidence)


def gaps_of(gaps: Floats, tiny: Floats) -> tuple[Moments, Floats]:
    """The moments of paired differences (groups, n), and the variance of their mean.

    Differences are rounded like the values that they come from, not like themselves: by so much a
    mean and a standard deviation are ``tiny`` (groups,) and count as 0.
    """
    sample = moments(gaps)
    variance = np.where(sample.variance <= tiny**2, 0.0, sample.variance)
    return Moments(settled(sample.mean, tiny), variance, sample.df), variance / gaps.shape[1]


def rounding(first: ArrayLike, second: ArrayLike) -> Floats:
    """What the rounding of differences of two samples can pretend, per group."""
    return np.maximum(_rounding(first), _rounding(second))


def _rounding(values: ArrayLike) -> Floats:
    """What the rounding of a sum can pretend, per group."""
    y = np.asarray(values, dtype=np.float64)
    # Of short rows numpy finds the largest values of all rows, column by column, in a third of the
    # time.
    largest = (
        np.abs(y.T, order="C").max(axis=0) if y.shape[1] <= SHORT_ROW else np.abs(y).max(axis=1)
    )
    rounding: Floats = largest * (8 * np.finfo(np.float64).eps)
    return rounding


def settle(estimate: Floats, first: ArrayLike, second: ArrayLike) -> Floats:
    """Differences of means which are only rounding as 0."""
    return settled(estimate, rounding(first, second))


def settled(estimate: Floats, tiny: Floats) -> Floats:
    """Estimates, those which are but ``tiny`` as 0."""
    return np.where(np.abs(estimate) <= tiny, 0.0, estimate)


def _each(value: ArrayLike, like: Floats) -> Floats:
    return np.broadcast_to(np.asarray(value, dtype=np.float64), like.shape)


def _degrees(value: ArrayLike, like: Floats) -> Floats:
    return np.minimum(_each(value, like), NORMAL_DEGREES)
