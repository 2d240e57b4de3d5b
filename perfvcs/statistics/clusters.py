"""Observations that fall into clusters, such as cache hits and misses: how many, where, and their
comparison one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import TYPE_CHECKING

from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

MOST_CLUSTERS = 6
TOLERANCE = 1e-8  # of the logarithm of the likelihood per value: nothing more is gained
NARROWEST = 1e-3  # smallest standard deviation of a cluster, in those of all values
RAREST = 0.02  # smallest share of a cluster: rarer ones are outliers


@dataclass(frozen=True)
class Mixture:
    """Normal components in ascending order of their ``centres``, with ``spreads`` (standard
    deviations) and ``shares``, shape (k,).

    ``labels``, shape (n,), is the likeliest component of each value, and ``bic`` that of the
    mixture (smaller is better).
    """

    centres: Floats
    spreads: Floats
    shares: Floats
    labels: Integers
    bic: float


@dataclass(frozen=True)
class Matched:
    """Two versions with their clusters matched in ascending order.

    ``alike`` is False when the versions have different numbers of clusters, of which the smaller
    one was then taken for both. ``means`` and ``shares`` hold, per version, each execution's mean
    of its values in each cluster (NaN without any) and their share, shape (k, executions).
    """

    old: Mixture
    new: Mixture
    alike: bool
    means: tuple[Floats, Floats]
    shares: tuple[Floats, Floats]


def clusters(values: ArrayLike, most: int = MOST_CLUSTERS) -> Mixture:
    """Clusters of values (n,), as many, up to ``most``, as give the smallest BIC.

    Give logarithms of what is skewed.

    Mixtures of normal distributions of different variances by expectation maximisation from an even
    start; BIC = -2 ln L + (3 k - 1) ln n. A component may not be narrower than a thousandth of the
    spread of all, nor rarer than 2 %. Equal values are one cluster of spread 0. ``ValueError`` for
    none, or for a value that is not finite. Sources: Fraley, Raftery 2002 (Mclust, which the Mono
    papers used).
    """
    best = fit(values, 1)
    for k in range(2, most + 1):
        mixture = fit(values, k)
        if len(mixture.centres) == k and mixture.shares.min() >= RAREST and mixture.bic < best.bic:
            best = mixture
    return best


def fit(values: ArrayLike, k: int) -> Mixture:
    """The mixture of ``k`` components, or of as many as there are distinct values."""
    y = np.asarray(values, dtype=np.float64).ravel()
    if not y.size or not np.isfinite(y).all():
        raise ValueError("clusters need finite values")
    n, spread = len(y), float(y.std())
    if spread <= 8 * np.finfo(np.float64).eps * np.abs(y).max():
        return Mixture(y[:1].copy(), np.zeros(1), np.ones(1), np.zeros(n, dtype=np.int64), -np.inf)
    if k == 1:
        bic = n * (1 + log(2 * pi) + 2 * log(spread)) + 2 * log(n)
        return Mixture(
            np.array([y.mean()]), np.array([spread]), np.ones(1), np.zeros(n, dtype=np.int64), bic
        )
    k = min(k, len(np.unique(y)))
    z = (y - y.mean()) / spread
    chance = np.zeros((k, n))  # a row for each component: numpy adds along long rows fast
    chance[_nearest(z, k), np.arange(n)] = 1.0
    likelihood = -np.inf
    for _ in range(200):
        shares = np.maximum(chance.sum(axis=1), 1e-300)
        centres = chance @ z / shares
        squares = z - centres[:, None]
        squares *= squares
        variances = np.maximum((squares * chance).sum(axis=1) / shares, NARROWEST**2)
        density = np.divide(squares, -2 * variances[:, None], out=squares)  # its logarithm
        density += (np.log(shares / n) - np.log(2 * pi * variances) / 2)[:, None]
        top = density.max(axis=0)
        np.exp(density - top, out=chance)
        total = chance.sum(axis=0)
        chance /= total
        before, likelihood = likelihood, float((top + np.log(total)).sum())
        if likelihood - before <= TOLERANCE * n:
            break
    order = np.argsort(centres, kind="stable")
    rank = np.empty(k, dtype=np.int64)
    rank[order] = np.arange(k)
    bic = -2 * (likelihood - n * log(spread)) + (3 * k - 1) * log(n)
    centres, variances, shares = centres[order], variances[order], shares[order] / n
    return Mixture(
        y.mean() + spread * centres,
        spread * np.sqrt(variances),
        shares,
        rank[chance.argmax(axis=0)],
        bic,
    )


def match(
    old: Sequence[ArrayLike],
    new: Sequence[ArrayLike],
    most: int = MOST_CLUSTERS,
    visited: float = 0.0,
) -> Matched:
    """Cluster two versions, each by itself, so that a shifted cluster stays one.

    If a cluster of a side has values from less than a share ``visited`` of its executions, the side
    is one cluster: executions that differ as a whole make clusters, too.
    """
    from perfvcs.statistics.runs import stack

    sides = [stack(old), stack(new)]
    mixtures = [clusters(side.values[side.there], most) for side in sides]
    for number, side in enumerate(sides):
        k = len(mixtures[number].centres)
        seen = np.zeros((len(side.counts), k), dtype=bool)
        seen[np.repeat(np.arange(len(side.counts)), side.counts), mixtures[number].labels] = True
        if seen.mean(axis=0).min() < visited:
            mixtures[number] = fit(side.values[side.there], 1)
    counts = [len(mixture.centres) for mixture in mixtures]
    k = min(counts)
    if counts[0] != counts[1]:
        mixtures = [
            mixture if len(mixture.centres) == k else fit(side.values[side.there], k)
            for mixture, side in zip(mixtures, sides, strict=True)
        ]
    means, shares = [], []
    for mixture, side in zip(mixtures, sides, strict=True):
        execution = np.repeat(np.arange(len(side.counts)), side.counts)
        place = execution * k + mixture.labels
        there = np.bincount(place, minlength=len(side.counts) * k)
        total = np.bincount(place, side.values[side.there], len(side.counts) * k)
        means.append(np.where(there > 0, total / np.maximum(there, 1), np.nan).reshape(-1, k).T)
        shares.append((there.reshape(-1, k) / side.counts[:, None]).T)
    return Matched(
        mixtures[0],
        mixtures[1],
        counts[0] == counts[1],
        (means[0], means[1]),
        (shares[0], shares[1]),
    )


def _nearest(values: Floats, k: int) -> Integers:
    """The nearest of k centres, by k-means from an even start over the middle 98 %."""
    low, high = np.quantile(values, [0.01, 0.99])
    centres = np.linspace(low, high, k)
    labels = np.zeros(len(values), dtype=np.int64)
    for _ in range(50):
        labels = np.searchsorted((centres[1:] + centres[:-1]) / 2, values).astype(np.int64)
        counts = np.bincount(labels, minlength=k)
        moved = np.where(
            counts > 0, np.bincount(labels, values, k) / np.maximum(counts, 1), centres
        )
        if np.array_equal(moved, centres):
            break
        centres = np.sort(moved)
    return labels
