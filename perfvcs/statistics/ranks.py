"""Tests of two samples by ranks and by distribution functions, for many groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, exp, floor, lgamma, log, log1p, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple

from perfvcs.statistics.difference import Interval
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike


TRANSFORMS = ("none", "log", "1/x", "1/sqrt x")
MOST_VALUES = 5000  # with more values, the p of the test is no longer exact enough to report
SMALLEST_NUMBER = 1e-300  # 1/x of less is beyond a float
NORMAL_VARIANCE = 100.0  # of a binomial number, from which it is taken as normal
EXACT = 30  # up to this many values per side, the exact distribution is used
CHUNK_DIFFERENCES = 4_000_000  # differences held at once


@dataclass(frozen=True)
class Normality:
    """W and p of Shapiro and Wilk's test by the name of the transformation, each of shape
    (groups,).

    NaN where it says nothing: fewer than three values or more than 5000, no variance, a NaN, or a
    value that is not positive (transformed).
    """

    w: dict[str, Floats]
    p: dict[str, Floats]


def transform(values: ArrayLike, name: str) -> Floats:
    """The values under one of ``TRANSFORMS``, elementwise; NaN where it is not defined.

    ``ValueError`` for another name.
    """
    y = np.asarray(values, dtype=np.float64)
    if name not in TRANSFORMS:
        raise ValueError(f"no transformation {name}; there are {', '.join(TRANSFORMS)}")
    if name == "none":
        return y
    x = np.where(y > SMALLEST_NUMBER, y, np.nan)
    if name == "log":
        return np.asarray(np.log(x))
    return np.asarray(1 / x if name == "1/x" else 1 / np.sqrt(x))


def normality(values: ArrayLike) -> Normality:
    """Shapiro and Wilk's test of each group, shape (groups, n), unchanged and after each
    transformation.

    Sources: Shapiro, Wilk 1965; Royston 1995; scipy.stats.shapiro; the transformations: Kalibera
    2006, ch. 3.3.
    """
    from scipy import stats

    w, p = {}, {}
    for name in TRANSFORMS:
        y = transform(values, name)
        groups, n = y.shape
        w[name], p[name] = np.full(groups, np.nan), np.full(groups, np.nan)
        if not 3 <= n <= MOST_VALUES:
            continue
        testable = np.asarray(np.isfinite(y).all(axis=1))
        sure = np.where(testable[:, None], y, 0.0)
        width = np.ptp(sure, axis=1)
        # below, the test counts rounding
        testable = testable & (width > 1e-10 * np.abs(sure).max(axis=1))
        if testable.any():
            # W does not depend on unit and origin, but the library's sums of squares do not reach
            # as far as a float.
            rows = (y[testable] - y[testable].mean(axis=1, keepdims=True)) / width[testable, None]
            tested = stats.shapiro(rows, axis=1)
            w[name][testable], p[name][testable] = tested.statistic, tested.pvalue
    return Normality(w, p)


@dataclass(frozen=True)
class Tested:
    """Statistic and two-sided p per group, shape (groups,); NaN where a value is NaN.

    All values equal: p is 1.
    """

    statistic: Floats
    p: Floats


def mann_whitney(first: ArrayLike, second: ArrayLike) -> Tested:
    """Mann and Whitney's U of the first sample, shapes (groups, m) and (groups, k), m and k at
    least 1.

    Exact without ties and with at most 30 values a side, group by group; otherwise the normal
    approximation with corrections for ties and continuity. Sources: Mann, Whitney 1947;
    scipy.stats.mannwhitneyu.
    """

    def tested(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        from scipy import stats

        pooled = np.sort(np.concatenate([a, b], axis=1), axis=1)
        exact = (np.diff(pooled, axis=1) > 0).all(axis=1) & (max(a.shape[1], b.shape[1]) <= EXACT)
        statistic, p = np.empty(len(a)), np.empty(len(a))
        methods: tuple[Literal["exact", "asymptotic"], ...] = ("exact", "asymptotic")
        for method in methods:
            chosen = exact if method == "exact" else ~exact
            if chosen.any():
                result = stats.mannwhitneyu(a[chosen], b[chosen], axis=1, method=method)
                statistic[chosen], p[chosen] = result.statistic, result.pvalue
        return statistic, p

    return _test(first, second, tested, lambda m, k: m * k / 2)


def kolmogorov_smirnov(first: ArrayLike, second: ArrayLike) -> Tested:
    """Kolmogorov and Smirnov's largest distance of the distribution functions, shapes (groups, m)
    and (groups, k), at least 1 each.

    Exact up to 10,000 values a side. Sources: Hodges 1958; scipy.stats.ks_2samp.
    """

    def tested(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        import warnings

        from scipy import stats

        with warnings.catch_warnings():
            # If its exact sum is just above 1, scipy warns and takes the approximation.
            warnings.filterwarnings(
                "ignore", "ks_2samp: Exact calculation unsuccessful", RuntimeWarning
            )
            results = [stats.ks_2samp(*pair) for pair in zip(a, b, strict=True)]
        statistic = np.array([result.statistic for result in results])
        p = np.array([result.pvalue for result in results])
        # Samples of one size are at least one value apart.
        least = (a.shape[1] == b.shape[1]) & (statistic * a.shape[1] < 1.5)
        return statistic, np.where(least, 1.0, p)

    return _test(first, second, tested, lambda m, k: 0.0)  # noqa: ARG005


def kruskal_wallis(first: ArrayLike, second: ArrayLike) -> Tested:
    """Kruskal and Wallis' H, corrected for ties, shapes (groups, m) and (groups, k), at least 1
    each.

    Sources: Kruskal, Wallis 1952; scipy.stats.kruskal.
    """

    def tested(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        from scipy import stats

        result = stats.kruskal(a, b, axis=1)
        return np.asarray(result.statistic), np.asarray(result.pvalue)

    return _test(first, second, tested, lambda m, k: 0.0)  # noqa: ARG005


def shift(first: ArrayLike, second: ArrayLike, confidence: float = 0.95) -> Interval:
    """Hodges and Lehmann's shift of the second sample against the first, shapes (groups, m) and
    (groups, k), with its interval.

    ``centre`` is the median of all m k differences, ``low`` and ``high`` are order statistics of
    them that go with Mann and Whitney's test: exact for at most 30 values a side, else by its
    normal approximation; infinite where so few values cannot reach the confidence. The values are
    finite. Sources: Hodges, Lehmann 1963; Moses' interval in Hollander, Wolfe, Chicken 2014,
    section 4.3.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    (groups, m), k = a.shape, b.shape[1]
    depth = shift_depth(m, k, confidence)
    columns = np.empty((3, groups))
    step = max(1, CHUNK_DIFFERENCES // (m * k))
    for start in range(0, groups, step):
        here = slice(start, start + step)
        gaps = np.sort((b[here, :, None] - a[here, None, :]).reshape(-1, m * k), axis=1)
        infinite = np.full(len(gaps), np.inf)
        ends = (gaps[:, depth - 1], gaps[:, -depth]) if depth else (-infinite, infinite)
        columns[:, here] = np.median(gaps, axis=1), *ends
    return Interval(*columns)


@lru_cache(maxsize=256)
def shift_depth(m: int, k: int, confidence: float) -> int:
    """Which of the m k ordered differences, from either end, bounds the interval of the shift; 0 if
    there is none.

    The largest c with 2 P(U <= c - 1) <= 1 - confidence.
    """
    if max(m, k) > EXACT:
        point = NormalDist().inv_cdf((1 + confidence) / 2)
        return max(0, round(m * k / 2 - point * sqrt(m * k * (m + k + 1) / 12)))
    # How many arrangements have U = u: the coefficients of the product of (1 - q^(k+i)) / (1 -
    # q^i).
    counts = [1] + [0] * (m * k)
    for i in range(1, m + 1):
        for u in range(m * k, k + i - 1, -1):
            counts[u] -= counts[u - k - i]
        for u in range(i, m * k + 1):
            counts[u] += counts[u - i]
    allowed, below, c = (1 - confidence) / 2 * sum(counts) * (1 + 1e-12), 0, 0
    while (below := below + counts[c]) <= allowed:
        c += 1
    return c


def _test(
    first: ArrayLike,
    second: ArrayLike,
    test: Callable[[Floats, Floats], tuple[Floats, Floats]],
    middle: Callable[[int, int], float],
) -> Tested:
    """Apply the test to the groups that it can judge; ``middle``: the statistic of equals."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b) or not (a.shape[1] and b.shape[1]):
        raise ValueError("both samples need the shape (groups, values) with at least one value")
    both = np.concatenate([a, b], axis=1)
    finite = np.isfinite(both).all(axis=1)
    equal = finite & (both == both[:, :1]).all(axis=1)
    statistic = np.where(equal, middle(a.shape[1], b.shape[1]), np.nan)
    p = np.where(equal, 1.0, np.nan)
    chosen = finite & ~equal
    if chosen.any():
        statistic[chosen], p[chosen] = test(a[chosen], b[chosen])
    return Tested(statistic, p)


class PercentileInterval(NamedTuple):
    """A percentile of a sample with its interval; None for an end that too few values have."""

    level: float
    low: float | None
    high: float | None


def percentile(values: Sequence[float], share: float, confidence: float) -> PercentileInterval:
    """The percentile ``share`` (0.99: the 99th) of independent values, between order statistics,
    with its interval of any distribution.

    The ends are the order statistics that a binomial number of values lies below with at least that
    ``confidence``, half of the error at each end; from n p (1 - p) = 100 on by the normal
    distribution. Source: David, Nagaraja, Order Statistics, section 7.1; the level is Hyndman and
    Fan's definition 7.
    """
    ordered = sorted(values)
    n, tail = len(ordered), (1 - confidence) / 2
    place = share * (n - 1)
    low = int(place)
    level = ordered[low] + (place - low) * (ordered[min(low + 1, n - 1)] - ordered[low])
    first, last = _ends(n, share, tail)
    below = ordered[first - 1] if first >= 1 else None
    return PercentileInterval(level, below, ordered[last - 1] if last <= n else None)


def _ends(n: int, share: float, tail: float) -> tuple[int, int]:
    """The largest number r with P(X < r) <= tail, and the smallest s with P(X >= s) <= tail, of a
    binomial X; 0 and n + 1 where there is none.
    """
    variance = n * share * (1 - share)
    if variance >= NORMAL_VARIANCE:
        half = NormalDist().inv_cdf(1 - tail) * sqrt(variance)
        return floor(n * share - half), ceil(n * share + half) + 1
    below, first, last = 0.0, 0, n + 1
    for count in range(n + 1):  # below is P(X < count)
        if below <= tail:
            first = count
        if 1 - below <= tail:
            last = min(last, count)
        below += exp(
            lgamma(n + 1)
            - lgamma(count + 1)
            - lgamma(n - count + 1)
            + count * log(share)
            + (n - count) * log1p(-share)
        )
    return first, last
