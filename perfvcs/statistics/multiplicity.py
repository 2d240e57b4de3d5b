"""Many comparisons, and interim analyses of one: false discoveries, e-values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


PRIOR = 1.0  # variance of the expected size of a change, in standard deviations of a pair
PAIRS = 30
# Pairs that a comparison takes on average: the mean over seven kinds of noise at +5 %, of at least
# 10.1 and at most 24.7 (docs/evaluation/pairs.md).
USUAL_PAIRS = 17
FIRST_PAIRS = 5  # pairs: fewer have no distribution worth the name
# Pairs that a comparison takes at most where a budget allows more than the usual number: with one
# look in five from the 31st on, no difference is called one in 2.2 % of all cases (1.5 % with 30
# pairs), by simulation (benchmarks/looks.py).
MOST_PAIRS = 200
EARLY = 0.001  # level of each interim analysis, which leaves
FINAL = 0.0095  # of 1 % so much for the last one


class EValue(Struct, frozen=True):
    """``e`` against no difference: at most a share a of all comparisons without one ever reaches
    1/a, whenever one stops.

    ``estimate`` is the mean difference and ``low``..``high`` its interval, which holds for all
    numbers of pairs at once. Shape (groups,).
    """

    estimate: Floats
    low: Floats
    high: Floats
    e: Floats


def t_mixture(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.99, prior: float = PRIOR
) -> EValue:
    """Evidence of paired samples, shapes (groups, n), by a normal mixture over the standardised
    difference.

    With c = 1 + n ``prior`` and t of n - 1 degrees of freedom: e = c^-1/2 ((1 + t^2/(n-1)) / (1 +
    t^2/((n-1) c)))^(n/2), the likelihood ratio of t under a normal effect size with variance
    ``prior`` to t under none: the group-invariant e-process of the t-test. The interval holds the
    shifts whose e stays below 1 / (1 - confidence); it is infinite while n is small. A single pair
    has e = 1. Equal differences of one size other than 0 have the limit c^((n-1)/2); no difference
    at all has c^-1/2. A NaN gives NaN. Sources: Lai 1976; Rouder et al. 2009; Perez-Ortiz, Lardy,
    de Heide, Gruenwald 2024.
    """
    from perfvcs.statistics.difference import moments, settle

    a, b = (
        np.where(np.isfinite(side), side, np.nan)
        for side in (np.asarray(first, float), np.asarray(second, float))
    )
    n = a.shape[1]
    gap = moments(b - a)
    mean = settle(gap.mean, a, b)
    finite = np.isfinite(mean)
    if n < 2:
        e = np.where(finite, 1.0, np.nan)
        return EValue(mean, np.full(e.shape, -np.inf), np.full(e.shape, np.inf), e)
    df, c = n - 1, 1 + n * prior
    estimate = np.where(finite, mean, 0.0)
    error = np.sqrt(np.where(finite, gap.variance, 0.0) / n)
    # Differences are rounded like the values that they come from.
    varies = error > 8 * np.finfo(np.float64).eps * np.where(
        finite, np.maximum(np.abs(a), np.abs(b)).max(axis=1), 0.0
    )
    square = (estimate / np.where(varies, error, 1.0)) ** 2 / df
    growth = np.where(varies, (1 + square) / (1 + square / c), np.where(estimate != 0, c, 1.0))
    with np.errstate(over="ignore"):  # evidence beyond what a float holds is infinite
        e = np.exp(n / 2 * np.log(growth) - np.log(c) / 2)
    limit = (np.sqrt(c) / (1 - confidence)) ** (2 / n)
    bound = np.sqrt(df * (limit - 1) / (1 - limit / c)) if limit < c else np.inf
    half = np.where(varies, bound, 0.0 if limit < c else np.inf)
    half = np.where(
        finite,
        np.where(varies & np.isfinite(half), half * np.where(varies, error, 1.0), half),
        np.inf,
    )
    return EValue(mean, estimate - half, estimate + half, np.where(finite, e, np.nan))


def schedule(pairs: int = PAIRS) -> tuple[int, ...]:
    """The numbers of pairs after which to make an interim analysis: each from the fifth to
    ``pairs``, which is always the last.

    An analysis costs nothing beside a pair, and analyses that follow each other closely nearly
    always agree: 25 early ones at one level have hardly more false alarms than five, and end two
    pairs earlier.
    """
    return (*range(FIRST_PAIRS, pairs), pairs)


def is_look(pairs: int) -> bool:
    """Whether to look at what came of so many pairs: of those beyond the usual number at every
    fifth, so that chance gets few more occasions.
    """
    if pairs > PAIRS:
        return pairs % 5 == 0
    return pairs >= FIRST_PAIRS


def level(pairs: int, final: int = PAIRS) -> float:
    """The p-value that a change needs after ``pairs`` of at most ``final`` pairs.

    With analyses at all of 5 to 30 pairs of normal differences, Student's test at these levels has
    false alarms of 1.5 % and the power of a single test after 30 pairs at 1 %. Source of the shape,
    strict early and nearly the whole level at the end: Haybittle 1971; Peto et al. 1976; the share
    of both levels was computed by simulation.
    """
    return FINAL if pairs >= final else EARLY


def q_values(p: ArrayLike) -> Floats:
    """Benjamini and Hochberg's adjusted p-values, shape (comparisons,); a NaN is not a comparison
    and stays NaN.

    Those with q <= .05 hold at most 5 % false discoveries on average. Source: Benjamini, Hochberg
    1995, the step-up rule.
    """
    given = np.asarray(p, dtype=np.float64)
    q = np.full(given.shape, np.nan)
    places = np.flatnonzero(~np.isnan(given))
    order = places[np.argsort(given[places], kind="stable")]
    stepped = given[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum(np.minimum.accumulate(stepped[::-1])[::-1], 1.0)
    return q
