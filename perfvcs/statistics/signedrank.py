"""Wilcoxon's signed ranks: exact test, estimate and interval of the shift of paired values, for many groups at once."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from perfvcs.statistics.difference import Difference
    from perfvcs.statistics.interval import Interval

MOST_RANKED_PAIRS = 200  # pairs: their 20,100 means are still cheap, and nobody measures more


def signed_rank(first: ArrayLike, second: ArrayLike, confidence: float = 0.99) -> Difference:
    """Shift of the second sample against the first, paired, both of shape (groups, n); exact up to 200 pairs.

    ``estimate`` is Hodges and Lehmann's: the median of the means of all pairs of differences, each with itself too. The interval consists
    of their order statistics; it has at least the given confidence for any symmetric distribution of the differences, and is infinite where
    so few pairs cannot reach it (fewer than eight at 99 %). ``p`` is two-sided; differences of 0 are left out, tied ones share their
    ranks and p is then that of all flips of signs of these very ranks; without any difference p is 1. ``error`` and ``df`` are NaN: there
    is none. Groups with a NaN are NaN. More than 200 pairs raise ``ValueError``.
    Sources: Wilcoxon 1945; Hodges, Lehmann 1963; Tukey's interval in Hollander, Wolfe, Chicken 2014, sections 3.1-3.3.
    """
    import numpy as np

    from perfvcs.statistics.difference import Difference

    a, b = (np.where(np.isfinite(side), side, np.nan) for side in (np.asarray(first, float), np.asarray(second, float)))
    gaps = b - a
    groups, n = gaps.shape
    if not 1 <= n <= MOST_RANKED_PAIRS:
        raise ValueError(f"signed ranks need 1 to {MOST_RANKED_PAIRS} pairs, not {n}")
    # What differences round to are zeros and ties, as ``difference.settle`` has it.
    rounding = np.maximum(np.abs(a), np.abs(b)).max(axis=1, keepdims=True) * (8 * np.finfo(np.float64).eps)
    gaps = np.where(np.abs(gaps) <= rounding, 0.0, gaps)
    known = np.isfinite(gaps).all(axis=1)
    estimate, low, high = np.full(groups, np.nan), np.full(groups, -np.inf), np.full(groups, np.inf)
    if known.any():
        shift = _shift(gaps[known], confidence)
        estimate[known], low[known], high[known] = shift.centre, shift.low, shift.high
    p = np.full(groups, np.nan)
    for group in np.flatnonzero(known):
        p[group] = _chance(gaps[group], float(rounding[group, 0]))
    nothing = np.full(groups, np.nan)
    return Difference(estimate=estimate, low=low, high=high, p=p, error=nothing, df=nothing)


def depth(n: int, confidence: float = 0.99) -> int:
    """Which of the n (n + 1) / 2 ordered means of pairs, from either end, bounds the exact interval; 0 if there is no such.

    The largest k with 2 P(W <= k - 1) <= 1 - confidence.
    """
    import numpy as np

    below = np.cumsum(_distribution(tuple(range(1, n + 1))))
    return int(np.searchsorted(below, (1 - confidence) / 2 * (1 + 1e-12), side="right"))


def _shift(gaps: NDArray[np.float64], confidence: float) -> Interval:
    import numpy as np

    from perfvcs.statistics.interval import Interval

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


def _chance(gaps: NDArray[np.float64], rounding: float) -> float:
    """Two-sided p of one group."""
    import numpy as np

    size = np.sort(np.abs(gaps[gaps != 0]))
    if not size.size:
        return 1.0
    # Ranks from 1 upwards; those no further apart than rounding are tied. Doubled, they are whole numbers.
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
def _distribution(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """The chance of each sum of those ranks whose sign is positive, for fair signs."""
    import numpy as np

    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    reached = 0
    for rank in ranks:
        shifted = chances[: reached + 1].copy()
        chances[: reached + 1] /= 2
        chances[rank : rank + reached + 1] += shifted / 2
        reached += rank
    return chances
