"""How much the mean of a benchmark moves from one session to the next, and what an A/A comparison
of it shows.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from math import sqrt
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.statistics.difference import NORMAL, Difference, combine
from perfvcs.statistics.period import chosen
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


# p up to which hosts evidently differ; with a larger one, more comparisons over hosts that agree
# would be left open
EVIDENT = 0.05
CLIPPED = 2.0  # percent at either end that are outliers for the slope
STEEPEST = 1.5  # on logarithmic scales; in proportion is 1
SEVERAL = 8  # executions
FAR_ERRORS = 4.0  # standard errors by which the sides' means do not differ by chance
UNMOVED = 1e-6  # standard deviation of the covariate's logarithm below which it says nothing
FEWEST_SESSIONS = 5  # sessions of a history from which a variance is believed
CLIP = 2.5  # standard deviations beyond which a step of the history counts as a change of the code
CONSISTENT = 0.97756  # mean of min(z^2, CLIP^2) of a standard normal z
# Of the variance that 4 to 9 normal steps keep without the largest, simulated.
SHARES = (0.565, 0.604, 0.634, 0.658, 0.678, 0.697)
USED = 0.6  # degrees of freedom per difference of neighbours: they overlap, and clipping costs some
AA_POINT = 1.96  # of the normal distribution, 95 % two-sided
AA_FEWEST = 3  # comparisons


class OverHosts(Struct, frozen=True):
    """The ``difference`` with what hosts differ by in its interval, each host's own ``effects``
    (groups, hosts), and the ``p`` (groups,) of the test that all hosts have the same effect; NaN
    where no host has two pairs.
    """

    difference: Difference
    effects: Floats
    p: Floats


def over(
    difference: Difference, gaps: Floats, hosts: Sequence[int], confidence: float = 0.99
) -> OverHosts:
    """A ``difference`` of pairs whose ``gaps`` (groups, n) were measured on ``hosts`` (n numbers
    from 0 on, each with a pair).

    gap = effect + host + block. The variance of hosts is that of their means beyond what blocks
    explain, never below 0 (analysis of variance of a random effect). Where it is 0 the difference
    stays as it is: one host with the same blocks would have said no more. Elsewhere both variances
    add up, that of k hosts with k - 1 degrees of freedom (Satterthwaite); where hosts evidently
    differ (p <= ``EVIDENT``), their means are all that counts, with k - 1 degrees of freedom.
    Source: Kalibera, Jones 2013; Searle, Casella, McCulloch 1992, section 3.6.
    """
    from scipy.special import fdtrc

    places = np.asarray(hosts)
    member = places[:, None] == np.arange(places.max() + 1)
    counts, n = member.sum(axis=0), len(places)
    k = len(counts)
    effects = gaps @ (member / counts)
    centre = gaps.mean(axis=1)
    df = n - k
    outside = (counts * (effects - centre[:, None]) ** 2).sum(axis=1) / max(k - 1, 1)
    if k < 2 or not df:
        return OverHosts(difference, effects, np.full(len(gaps), np.nan))
    inside = ((gaps - effects[:, places]) ** 2).sum(axis=1) / df
    per_host = (n - (counts**2).sum() / n) / (k - 1)
    variance = np.maximum(0.0, outside - inside) / per_host * (counts**2).sum() / n**2
    degrees = [np.full(len(gaps), float(k - 1)), np.full(len(gaps), float(df))]
    wide = combine(difference.estimate, [variance, inside / n], degrees, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = fdtrc(
            k - 1, df, np.where(inside > 0, outside / inside, np.where(outside > 0, np.inf, np.nan))
        )
    alone = combine(
        difference.estimate,
        [outside * (counts**2).sum() / (n**2 * per_host)],
        degrees[:1],
        confidence,
    )
    wider = chosen((variance > 0) & (wide.error > difference.error), wide, difference)
    return OverHosts(chosen(p <= EVIDENT, alone, wider), effects, p)


def adjusted(
    value: ArrayLike, covariate: ArrayLike, cell: ArrayLike, execution: ArrayLike
) -> Floats:
    """``value`` at the geometric mean of ``covariate``; columns of equal length, whole numbers for
    ``cell`` and ``execution``.

    Analysis of covariance (Fisher 1932) on logarithms with one slope for all cells, from 0 to 1.5,
    by least squares after the tails of the values are cut. Cells (side and size) must not influence
    the slope. From eight executions on the slope is that through their means, since a single
    reading of the covariate is inexact and would flatten it. The slope costs a degree of freedom,
    which intervals of ten pairs and more do not notice (5 % of their width). Values and covariates
    that are not above 0, or unknown, change nothing and stay as they are.
    """
    values, beside = np.array(value, dtype=np.float64), np.asarray(covariate, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        usable = (values > 0) & (beside > 0) & np.isfinite(beside) & np.isfinite(values)
    if not usable.any():
        return values
    x, y = np.log(beside[usable]), np.log(values[usable])
    place = np.unique(np.asarray(cell)[usable], return_inverse=True)[1]
    count = np.bincount(place)
    away, moved = (column - (np.bincount(place, column) / count)[place] for column in (x, y))
    moved = np.clip(moved, *np.percentile(moved, [CLIPPED, 100 - CLIPPED]))
    run = np.unique(np.asarray(execution)[usable], return_inverse=True)[1]
    calls = np.bincount(run)
    weight = np.ones(len(away))
    if len(calls) >= SEVERAL:
        away = np.bincount(run, away) / calls
        moved = np.bincount(run, moved) / calls
        weight = calls.astype(np.float64)
    exponent = slope(
        float((weight * away * moved).sum()), float((weight * away**2).sum()), float(weight.sum())
    )
    values[usable] *= np.exp(-exponent * (x - x.mean()))
    return values


def slope(products: float, squares: float, count: float) -> float:
    """The slope by the sums of products and squares of ``count`` distances from the means; from 0
    to 1.5, 0 where nothing moved.
    """
    return min(STEEPEST, max(0.0, products / squares)) if squares > UNMOVED**2 * count else 0.0


def far_apart(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the executions' logarithms of the covariate on two sides differ by more than chance:
    Welch's t beyond 4.

    Then it may be a part of what is compared. False where a side has one execution.
    """
    if min(len(first), len(second)) < 2:
        return False
    error = sqrt(variance(first) / len(first) + variance(second) / len(second))
    return abs(fmean(second) - fmean(first)) > FAR_ERRORS * error + UNMOVED


class Together(Struct, frozen=True):
    """What all units take together, ``baseline`` of shape (m,) and ``target`` of shape (k,), and
    the ``shares`` (units,) of each unit.

    The geometric means of both sides are the sums of the units' geometric means.
    """

    baseline: Floats
    target: Floats
    shares: Floats


def together(baseline: ArrayLike, target: ArrayLike, *, rates: bool = False) -> Together:
    """The units of two sides as one, from values of shape (units, m) and (units, k), all above 0;
    column by column the executions.

    Units of one execution share its noise, so they are combined first, inside each execution, and
    executions remain what is replicated. Each unit has a weight, its share in the total, and weighs
    on a logarithmic scale, on which a single odd value moves the sum less than its own size. With
    the logarithmic mean of both sides as weight the weighted mean of the logarithms of ratios is
    exactly that of the ratio of the totals. ``rates`` are amounts per time: added up is the time
    that one of each takes, and the result is a rate again. Source: Montgomery 1937; Vartia 1976,
    eq. 12.
    """
    sign = -1.0 if rates else 1.0
    logs = [sign * np.log(np.asarray(side, dtype=np.float64)) for side in (baseline, target)]
    centres = [side.mean(axis=1) for side in logs]
    peak = max(float(centre.max()) for centre in centres)
    amounts = [np.exp(centre - peak) for centre in centres]
    weights = _logarithmic_mean(amounts[0], amounts[1], centres[1] - centres[0])
    shares = weights / weights.sum()
    first, second = (
        np.exp(sign * (shares @ (side - centre[:, None]) + np.log(amount.sum()) + peak))
        for side, centre, amount in zip(logs, centres, amounts, strict=True)
    )
    return Together(first, second, shares)


def _logarithmic_mean(first: Floats, second: Floats, ratio: Floats) -> Floats:
    """(b - a) / ``ratio``, which is log(b / a), and a where both are equal; near that by the
    series, where the quotient is rounding.
    """
    near = np.abs(ratio) < 1e-4
    quotient = (second - first) / np.where(near, 1.0, ratio)
    mean: Floats = np.where(near, np.sqrt(first * second) * (1 + ratio**2 / 24), quotient)
    return mean


class Spread(Struct, frozen=True):
    """A variance (of one session's mean, squared unit of the means) and the degrees of freedom that
    it was estimated with.
    """

    variance: float
    df: float


def between(
    means: Sequence[float], commits: Sequence[str] = (), within: float = 0.0
) -> Spread | None:
    """The between-session variance of a series of session means in their order, each of one commit;
    None for too few.

    ``commits`` names the commit of each session. When some were measured again often enough, the
    variance is that of repeats of a commit (Kalibera 2006, eq. 16). Otherwise it comes from
    differences of neighbouring sessions (von Neumann 1941), in which a step of the code, that which
    is judged perhaps, shows once: those beyond ``CLIP`` robust standard deviations are clipped; of
    fewer than ten the largest is left out. ``within`` is the part of a mean's variance that is
    known from inside a session; it is taken away, never below 0.
    """
    if len(means) < FEWEST_SESSIONS:
        return None
    spread = repeats(means, commits) if commits else None
    if spread is None or spread.df < FEWEST_SESSIONS - 1:
        spread = _neighbours(means)
    return Spread(max(0.0, spread.variance - within), spread.df)


def repeats(means: Sequence[float], groups: Sequence[str]) -> Spread | None:
    """The pooled variance of session means about their group's mean; None if none has two."""
    grouped: dict[str, list[float]] = defaultdict(list)
    for mean, group in zip(means, groups, strict=True):
        grouped[group].append(mean)
    df = sum(len(members) - 1 for members in grouped.values())
    if not df:
        return None
    total = 0.0
    for members in grouped.values():
        centre = fmean(members)
        total += sum((mean - centre) ** 2 for mean in members)
    return Spread(total / df, df)


def _neighbours(means: Sequence[float]) -> Spread:
    steps = [abs(later - earlier) for earlier, later in pairwise(means)]
    bound = CLIP * NORMAL * median(steps)
    usual = sorted(steps)[:-1]
    if len(steps) < 2 * FEWEST_SESSIONS and any(usual):  # too few for a usable median
        share = SHARES[len(steps) - FEWEST_SESSIONS + 1]
        return Spread(fmean(step**2 for step in usual) / share / 2, USED * len(usual))
    # a median of 0 is not informative: take them unchanged, which errs on the wide side
    if not bound:
        return Spread(fmean(step**2 for step in steps) / 2, USED * len(steps))
    return Spread(
        fmean(min(step, bound) ** 2 for step in steps) / CONSISTENT / 2, USED * len(steps)
    )


def aa_floor(effects: Sequence[float]) -> float:
    """The size that 95 % of a benchmark's A/A effects stay below, for effects around 0; 0 while
    fewer than three are known.
    """
    if len(effects) < AA_FEWEST:
        return 0.0
    return AA_POINT * sqrt(fmean(effect**2 for effect in effects))
