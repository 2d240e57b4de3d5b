"""Permutation tests of a difference of means: exact where the arrangements are few, else seeded random ones."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

ARRANGEMENTS = 10_000
EXACT = 20_000  # arrangements that are still enumerated
CHUNK = 4_000_000  # arrangements x groups held at once


def two_sample(first: ArrayLike, second: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Two-sided p of the difference of means of independent samples, shapes (groups, m) and (groups, k); result (groups,).

    The share of arrangements whose difference is at least the observed one. All C(m+k, m) of them when they are at most
    ``EXACT``, else ``ARRANGEMENTS`` random ones, with the observed one counted in so that p is never 0. The values are finite.
    """
    import numpy as np

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    m, k = a.shape[1], b.shape[1]
    pooled = np.concatenate([a, b], axis=1)
    pooled = pooled - pooled.mean(axis=1, keepdims=True)
    # With the pooled mean taken away, the difference is proportional to the first sample's sum.
    return _share(_memberships(m, k, seed), pooled, pooled[:, :m].sum(axis=1), exact=comb(m + k, m) <= EXACT)


def sign_flips(gaps: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Two-sided p of the mean of paired differences, shape (groups, n), under flips of their signs; result (groups,).

    All 2**n flips when half of them are at most ``EXACT``, else ``ARRANGEMENTS`` random ones. The values are finite.
    """
    import numpy as np

    d = np.asarray(gaps, dtype=np.float64)
    n = d.shape[1]
    return _share(_signs(n, seed), d, d.sum(axis=1), exact=2 ** (n - 1) <= EXACT)


def smallest(m: int, k: int | None = None) -> float:
    """The smallest p that a permutation test can reach: of m against k values, or with ``k`` None of m pairs."""
    return min(1.0, 2 / (2**m if k is None else comb(m + k, m)))


def _share(
    arrangements: NDArray[np.float64], values: NDArray[np.float64], observed: NDArray[np.float64], *, exact: bool
) -> NDArray[np.float64]:
    import numpy as np

    count = len(arrangements)
    # Sums of the same numbers in another order differ by rounding; they are ties.
    bar = np.abs(observed) - 1e-10 * np.abs(values).sum(axis=1)
    step = max(1, CHUNK // count)
    reached = np.empty(len(values))
    for start in range(0, len(values), step):
        here = slice(start, start + step)
        sums = arrangements @ values[here].T
        np.abs(sums, out=sums)
        reached[here] = np.count_nonzero(sums >= bar[here], axis=0)
    return reached / count if exact else (1 + reached) / (1 + count)


@lru_cache(maxsize=16)
def _memberships(m: int, k: int, seed: int) -> NDArray[np.float64]:
    """Rows of 0 and 1 with m ones: who is in the first sample."""
    import numpy as np

    if comb(m + k, m) <= EXACT:
        rows = np.zeros((comb(m + k, m), m + k))
        chosen = np.array(list(combinations(range(m + k), m)), dtype=np.intp)
    else:
        rows = np.zeros((ARRANGEMENTS, m + k))
        chosen = np.random.default_rng(seed).random(rows.shape).argsort(axis=1)[:, :m]
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


@lru_cache(maxsize=16)
def _signs(n: int, seed: int) -> NDArray[np.float64]:
    """Rows of signs; of each pair of opposite rows, which have the same absolute sum, exact enumeration holds one."""
    import numpy as np

    if 2 ** (n - 1) <= EXACT:
        bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (ARRANGEMENTS, n))
    signs: NDArray[np.float64] = 1.0 - 2.0 * bits.astype(np.float64)
    return signs
