"""Permutation tests of a difference of means: exact where the arrangements are few, else seeded
random ones.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from perfvcs.statistics.difference import Difference, Interval


MOST_RANKED_PAIRS = 200  # pairs: their 20,100 means are still cheap, and nobody measures more
ARRANGEMENTS = 10_000
MOST_ARRANGEMENTS = 20_000  # arrangements that are still enumerated
CHUNK_ARRANGEMENTS = 4_000_000  # arrangements x groups held at once


def signed_rank(first: ArrayLike, second: ArrayLike, confidence: float = 0.99) -> Difference:
    """Shift of the second sample against the first, paired, both of shape (groups, n); exact up to
    200 pairs.

    ``estimate`` is Hodges and Lehmann's: the median of the means of all pairs of differences, each
    with itself too. The interval consists of their order statistics; it has at least the given
    confidence for any symmetric distribution of the differences, and is infinite where so few pairs
    cannot reach it (fewer than eight at 99 %). ``p`` is two-sided; differences of 0 are left out,
    tied ones share their ranks and p is then that of all flips of signs of these very ranks;
    without any difference p is 1. ``error`` and ``df`` are NaN: there is none. Groups with a NaN
    are NaN. More than 200 pairs raise ``ValueError``. Sources: Wilcoxon 1945; Hodges, Lehmann 1963;
    Tukey's interval in Hollander, Wolfe, Chicken 2014, sections 3.1-3.3.
    """
    from perfvcs.statistics.difference import Difference

    a, b = (
        np.where(np.isfinite(side), side, np.nan)
        for side in (np.asarray(first, float), np.asarray(second, float))
    )
    gaps = b - a
    groups, n = gaps.shape
    if not 1 <= n <= MOST_RANKED_PAIRS:
        raise ValueError(f"signed ranks need 1 to {MOST_RANKED_PAIRS} pairs, not {n}")
    # What differences round to are zeros and ties, as ``difference.settle`` has it.
    rounding = np.maximum(np.abs(a), np.abs(b)).max(axis=1, keepdims=True) * (
        8 * np.finfo(np.float64).eps
    )
    gaps = np.where(np.abs(gaps) <= rounding, 0.0, gaps)
    finite = np.isfinite(gaps).all(axis=1)
    estimate, low, high = np.full(groups, np.nan), np.full(groups, -np.inf), np.full(groups, np.inf)
    if finite.any():
        shift = _shift(gaps[finite], confidence)
        estimate[finite], low[finite], high[finite] = shift.centre, shift.low, shift.high
    p = np.full(groups, np.nan)
    for group in np.flatnonzero(finite):
        p[group] = _chance(gaps[group], float(rounding[group, 0]))
    nothing = np.full(groups, np.nan)
    return Difference(estimate=estimate, low=low, high=high, p=p, error=nothing, df=nothing)


def depth(n: int, confidence: float = 0.99) -> int:
    """Which of the n (n + 1) / 2 ordered means of pairs, from either end, bounds the exact
    interval; 0 if there is none.

    The largest k with 2 P(W <= k - 1) <= 1 - confidence.
    """
    below = np.cumsum(_distribution(tuple(range(1, n + 1))))
    return int(np.searchsorted(below, (1 - confidence) / 2 * (1 + 1e-12), side="right"))


def _shift(gaps: Floats, confidence: float) -> Interval:
    from perfvcs.statistics.difference import Interval

    groups, n = gaps.shape
    rows, columns = np.triu_indices(n)
    means = np.empty((groups, len(rows)))
    step = max(1, 4_000_000 // len(rows))
    for start in range(0, groups, step):
        here = slice(start, start + step)
        means[here] = np.sort((gaps[here][:, rows] + gaps[here][:, columns]) / 2, axis=1)
    estimate = np.median(means, axis=1)
    k = depth(n, confidence)
    if not k:
        return Interval(estimate, np.full(groups, -np.inf), np.full(groups, np.inf))
    return Interval(estimate, means[:, k - 1], means[:, -k])


def _chance(gaps: Floats, rounding: float) -> float:
    """Two-sided p of one group."""
    size = np.sort(np.abs(gaps[gaps != 0]))
    if not size.size:
        return 1.0
    # Ranks from 1 upwards; those no further apart than rounding are tied. Doubled, they are whole
    # numbers.
    starts = np.flatnonzero(np.concatenate([[True], np.diff(size) > 2 * rounding]))
    ends = np.append(starts[1:], len(size))
    double = np.repeat(starts + ends + 1, ends - starts)
    order = np.argsort(np.abs(gaps[gaps != 0]), kind="stable")
    positive = (gaps[gaps != 0] > 0)[order]
    plus = int(double[positive].sum())
    if len(starts) == len(size):
        double, plus = double // 2, plus // 2
    distribution = _distribution(tuple(double.tolist()))
    least = min(plus, int(double.sum()) - plus)
    return min(1.0, 2 * float(distribution[: least + 1].sum()))


@lru_cache(maxsize=256)
def _distribution(ranks: tuple[int, ...]) -> Floats:
    """The chance of each sum of those ranks whose sign is positive, for fair signs."""
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    reached = 0
    for rank in ranks:
        shifted = chances[: reached + 1].copy()
        chances[: reached + 1] /= 2
        chances[rank : rank + reached + 1] += shifted / 2
        reached += rank
    return chances


def two_sample(first: ArrayLike, second: ArrayLike, seed: int = 0) -> Floats:
    """Two-sided p of the difference of means of independent samples, shapes (groups, m) and
    (groups, k); result (groups,).

    For vectors, shapes (groups, m, d) and (groups, k, d), the difference is Hotelling's T^2. The
    share of arrangements whose difference is at least the observed one. All C(m+k, m) of them when
    they are at most ``MOST_ARRANGEMENTS``, else ``ARRANGEMENTS`` random ones, with the observed one
    counted in so that p is never 0. The values are finite.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    m, k = a.shape[1], b.shape[1]
    pooled = np.concatenate([a, b], axis=1)
    pooled = pooled - pooled.mean(axis=1, keepdims=True)
    if pooled.ndim == 3:
        return _share_of_lengths(
            _memberships(m, k, seed),
            _whitened(pooled),
            m,
            exact=comb(m + k, m) <= MOST_ARRANGEMENTS,
        )
    # With the pooled mean taken away, the difference is proportional to the first sample's sum.
    return _share(
        _memberships(m, k, seed),
        pooled,
        pooled[:, :m].sum(axis=1),
        exact=comb(m + k, m) <= MOST_ARRANGEMENTS,
    )


def sign_flips(gaps: ArrayLike, seed: int = 0) -> Floats:
    """Two-sided p of the mean of paired differences, shape (groups, n), under flips of their signs;
    result (groups,).

    For vectors, shape (groups, n, d), the mean's length is Hotelling's T^2. All 2**n flips when
    half of them are at most ``MOST_ARRANGEMENTS``, else ``ARRANGEMENTS`` random ones. The values
    are finite.
    """
    d = np.asarray(gaps, dtype=np.float64)
    n = d.shape[1]
    rows, exact = signs(n, seed=seed)
    if d.ndim == 3:
        return _share_of_lengths(rows, _whitened(d), n, exact=exact)
    return _share(rows, d, d.sum(axis=1), exact=exact)


def smallest(m: int, k: int | None = None) -> float:
    """The smallest p of a permutation test of m against k values, or (``k`` None) m pairs."""
    return min(1.0, 2 / (2**m if k is None else comb(m + k, m)))


def _share(arrangements: Floats, values: Floats, observed: Floats, *, exact: bool) -> Floats:
    count = len(arrangements)
    # Sums of the same numbers in another order differ by rounding; they are ties.
    bar = np.abs(observed) - 1e-10 * np.abs(values).sum(axis=1)
    step = max(1, CHUNK_ARRANGEMENTS // count)
    reached = np.empty(len(values))
    for start in range(0, len(values), step):
        here = slice(start, start + step)
        sums = arrangements @ values[here].T
        np.abs(sums, out=sums)
        reached[here] = np.count_nonzero(sums >= bar[here], axis=0)
    return reached / count if exact else (1 + reached) / (1 + count)


def _whitened(values: Floats) -> Floats:
    """Vectors (groups, n, d) turned so that their sum of squares about 0, the same in every
    arrangement, is the unit matrix.

    T^2 rises with the squared length of the sum of these. Directions in which nothing varies are
    left out.
    """
    scale = np.abs(values).max(axis=1, keepdims=True)
    unit = values / np.where(scale > 0, scale, 1.0)
    left, singular, _ = np.linalg.svd(unit, full_matrices=False)
    whitened: Floats = np.where(singular[:, None, :] > 1e-10 * singular[:, None, :1], left, 0.0)
    return whitened


def _share_of_lengths(arrangements: Floats, values: Floats, first: int, *, exact: bool) -> Floats:
    """The share of arrangements in which the sum of the vectors (groups, n, d) is at least as long
    as that of the ``first`` of them.
    """
    count = len(arrangements)
    bar = (values[:, :first].sum(axis=1) ** 2).sum(axis=1) * (1 - 1e-10)
    step = max(1, CHUNK_ARRANGEMENTS // (count * values.shape[2]))
    reached = np.empty(len(values))
    for start in range(0, len(values), step):
        here = slice(start, start + step)
        lengths = (np.einsum("an,gnd->agd", arrangements, values[here], optimize=True) ** 2).sum(
            axis=2
        )
        reached[here] = np.count_nonzero(lengths >= bar[here], axis=0)
    return reached / count if exact else (1 + reached) / (1 + count)


@lru_cache(maxsize=16)
def _memberships(m: int, k: int, seed: int) -> Floats:
    """Rows of 0 and 1 with m ones: who is in the first sample."""
    if comb(m + k, m) <= MOST_ARRANGEMENTS:
        rows = np.zeros((comb(m + k, m), m + k))
        chosen = np.array(list(combinations(range(m + k), m)), dtype=np.intp)
    else:
        rows = np.zeros((ARRANGEMENTS, m + k))
        chosen = np.random.default_rng(seed).random(rows.shape).argsort(axis=1)[:, :m]
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


@lru_cache(maxsize=16)
def signs(n: int, most: int = MOST_ARRANGEMENTS, seed: int = 0) -> tuple[Floats, bool]:
    """Rows of ``n`` signs, and whether they are all that there are; else ``most`` random ones, at
    most ``ARRANGEMENTS``.

    Of each pair of opposite rows, which have the same absolute sum, the exact ones hold one.
    """
    exact = 2 ** (n - 1) <= most
    if exact:
        bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (min(most, ARRANGEMENTS), n))
    return 1.0 - 2.0 * bits.astype(np.float64), exact
