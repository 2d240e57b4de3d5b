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
MOST_ARRANGEMENTS = 20_000  # arrangements that are still enumerated
CHUNK_ARRANGEMENTS = 4_000_000  # arrangements x groups held at once


def two_sample(first: ArrayLike, second: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Two-sided p of the difference of means of independent samples, shapes (groups, m) and (groups, k); result (groups,).

    For vectors, shapes (groups, m, d) and (groups, k, d), the difference is Hotelling's T^2.
    The share of arrangements whose difference is at least the observed one. All C(m+k, m) of them when they are at most
    ``MOST_ARRANGEMENTS``, else ``ARRANGEMENTS`` random ones, with the observed one counted in so that p is never 0. The values are finite.
    """
    import numpy as np

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    m, k = a.shape[1], b.shape[1]
    pooled = np.concatenate([a, b], axis=1)
    pooled = pooled - pooled.mean(axis=1, keepdims=True)
    if pooled.ndim == 3:
        return _share_of_lengths(_memberships(m, k, seed), _whitened(pooled), m, exact=comb(m + k, m) <= MOST_ARRANGEMENTS)
    # With the pooled mean taken away, the difference is proportional to the first sample's sum.
    return _share(_memberships(m, k, seed), pooled, pooled[:, :m].sum(axis=1), exact=comb(m + k, m) <= MOST_ARRANGEMENTS)


def sign_flips(gaps: ArrayLike, seed: int = 0) -> NDArray[np.float64]:
    """Two-sided p of the mean of paired differences, shape (groups, n), under flips of their signs; result (groups,).

    For vectors, shape (groups, n, d), the mean's length is Hotelling's T^2.
    All 2**n flips when half of them are at most ``MOST_ARRANGEMENTS``, else ``ARRANGEMENTS`` random ones. The values are finite.
    """
    import numpy as np

    d = np.asarray(gaps, dtype=np.float64)
    n = d.shape[1]
    rows, exact = signs(n, seed=seed)
    if d.ndim == 3:
        return _share_of_lengths(rows, _whitened(d), n, exact=exact)
    return _share(rows, d, d.sum(axis=1), exact=exact)


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
    step = max(1, CHUNK_ARRANGEMENTS // count)
    reached = np.empty(len(values))
    for start in range(0, len(values), step):
        here = slice(start, start + step)
        sums = arrangements @ values[here].T
        np.abs(sums, out=sums)
        reached[here] = np.count_nonzero(sums >= bar[here], axis=0)
    return reached / count if exact else (1 + reached) / (1 + count)


def _whitened(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Vectors (groups, n, d) turned so that their sum of squares about 0, the same in every arrangement, is the unit matrix.

    T^2 rises with the squared length of the sum of these. Directions in which nothing varies are left out.
    """
    import numpy as np

    scale = np.abs(values).max(axis=1, keepdims=True)
    unit = values / np.where(scale > 0, scale, 1.0)
    left, singular, _ = np.linalg.svd(unit, full_matrices=False)
    found: NDArray[np.float64] = np.where(singular[:, None, :] > 1e-10 * singular[:, None, :1], left, 0.0)
    return found


def _share_of_lengths(
    arrangements: NDArray[np.float64], values: NDArray[np.float64], first: int, *, exact: bool
) -> NDArray[np.float64]:
    """The share of arrangements in which the sum of the vectors (groups, n, d) is at least as long as that of the ``first`` of them."""
    import numpy as np

    count = len(arrangements)
    bar = (values[:, :first].sum(axis=1) ** 2).sum(axis=1) * (1 - 1e-10)
    step = max(1, CHUNK_ARRANGEMENTS // (count * values.shape[2]))
    reached = np.empty(len(values))
    for start in range(0, len(values), step):
        here = slice(start, start + step)
        lengths = (np.einsum("an,gnd->agd", arrangements, values[here], optimize=True) ** 2).sum(axis=2)
        reached[here] = np.count_nonzero(lengths >= bar[here], axis=0)
    return reached / count if exact else (1 + reached) / (1 + count)


@lru_cache(maxsize=16)
def _memberships(m: int, k: int, seed: int) -> NDArray[np.float64]:
    """Rows of 0 and 1 with m ones: who is in the first sample."""
    import numpy as np

    if comb(m + k, m) <= MOST_ARRANGEMENTS:
        rows = np.zeros((comb(m + k, m), m + k))
        chosen = np.array(list(combinations(range(m + k), m)), dtype=np.intp)
    else:
        rows = np.zeros((ARRANGEMENTS, m + k))
        chosen = np.random.default_rng(seed).random(rows.shape).argsort(axis=1)[:, :m]
    np.put_along_axis(rows, chosen, 1.0, axis=1)
    return rows


@lru_cache(maxsize=16)
def signs(n: int, most: int = MOST_ARRANGEMENTS, seed: int = 0) -> tuple[NDArray[np.float64], bool]:
    """Rows of ``n`` signs, and whether they are all that there are; else ``most`` random ones, at most ``ARRANGEMENTS``.

    Of each pair of opposite rows, which have the same absolute sum, the exact ones hold one.
    """
    import numpy as np

    exact = 2 ** (n - 1) <= most
    if exact:
        bits = np.arange(2 ** (n - 1))[:, None] >> np.arange(n) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (min(most, ARRANGEMENTS), n))
    return 1.0 - 2.0 * bits.astype(np.float64), exact
