"""Student's paired comparison with outliers pulled in: Huber's estimate of the shift, its interval
and p-value, for many groups at once.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.statistics import difference
from perfvcs.statistics.difference import Difference, combine, moments
from perfvcs.statistics.permutation import sign_flips, signs
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

BEND = 2.5  # standard deviations from the centre beyond which a value is pulled in
FEWEST_PAIRS = 8  # pairs from which their standard deviation is known well enough for that
NORMAL_IN_DISTANCES = 1.0483  # a normal standard deviation in medians of the distance of two values
DISTANCE_NEIGHBOURS = 50  # distances of a value to that many others are enough
CLOSE = 7  # the same where it is computed for many patterns of signs
# of signs for which the whole statistic is computed; at p = .01 this is exact to .003
SIGN_PATTERNS = 1000
SORTED = 1000  # values of a row
EQUIVALENCE = 0.9  # two one-sided tests at 5 %


class Shift(Struct, frozen=True):
    """What ``paired`` finds: the ``difference``, and the ``free`` gaps (groups, n), second minus
    first without the period effect.

    Flips of the signs of ``free`` are the permutation test that belongs to it (``chance``); nothing
    is pulled in there, and a pair without any difference has 0, whose sign says nothing.
    ``widened`` (groups, n) are these with outliers pulled in and further from their mean, so that
    Student's standard error of theirs is the difference's: for tests of several such columns
    together. ``removed`` and ``lopsided`` (groups,) say where a period effect was removed, and
    where the orders are too unequal for that (see ``period``; ``widened`` has it removed from
    both). ``drawn`` (groups,) says where there were outliers, and ``reach`` (groups,) how far from
    0 Student's interval of ``EQUIVALENCE`` reaches of the gaps as they are: within a bound it is
    the test at 5 % that the mean is, outliers and all.
    """

    difference: Difference
    free: Floats
    gaps: Floats
    widened: Floats
    drawn: Flags
    reach: Floats
    removed: Flags
    lopsided: Flags


def paired(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.99, bend: float = BEND
) -> Shift:
    """Shift of the second sample against the first, paired, both of shape (groups, n), n >= 1.

    Differences d further than ``bend`` standard deviations from their centre are pulled in to that
    distance; the centre is the mean of what results. Its standard error is that of Student's mean
    of the n drawn-in values, times K / m: m is the share that was left alone, K = 1 + (1 - m) / (m
    n); n - 1 degrees of freedom. The standard deviation is taken from the median distance of two
    values, which up to 29 % of outliers leave finite. So without outliers this is exactly Student's
    test; with them its interval is not stretched by what a burst did to one pair. Of fewer than
    ``FEWEST_PAIRS`` pairs, or where most are equal, none is pulled in. A NaN or infinity makes its
    group unknown: NaN, its interval infinite; as does a single pair. Sources: Huber 1964; Huber
    1981, sections 6.4-6.5 (K); Bickel, Lehmann 1979 (the median distance); Schuirmann 1987
    (equivalence).
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = b - a
    n = gaps.shape[1]
    finite = np.isfinite(gaps).all(axis=1)
    whole = np.expand_dims(finite, 1)
    a, b, gaps = (np.where(whole, values, 0.0) for values in (a, b, gaps))
    # Differences are rounded like the values that they come from, not like themselves.
    rounding = difference.rounding(a, b)
    bound = allowance(gaps, rounding, bend)
    drawn = draw_in(gaps, bound)
    sample, (plain, error) = moments(drawn), difference.gaps_of(gaps, rounding)
    variance = (
        np.where(sample.variance <= rounding**2, 0.0, sample.variance)
        * widening(drawn == gaps) ** 2
        / n
    )
    estimate = np.where(finite, difference.settled(sample.mean, rounding), np.nan)
    equal, no = np.abs(gaps) <= np.expand_dims(rounding, 1), np.zeros(len(gaps), dtype=np.bool_)
    return Shift(
        difference=combine(estimate, [variance], [sample.df], confidence),
        free=np.where(whole, np.where(equal, 0.0, gaps), np.nan),
        gaps=np.where(whole, np.where(equal, 0.0, drawn), np.nan),
        widened=np.where(whole, widened(gaps, drawn), np.nan),
        drawn=(drawn != gaps).any(axis=1),
        reach=np.where(
            finite, difference.reach(plain.mean, [error], [plain.df], EQUIVALENCE), np.inf
        ),
        removed=no,
        lopsided=no,
    )


def chance(free: ArrayLike) -> Floats:
    """Two-sided p of the shift of paired differences, shape (groups, n), under flips of their
    signs; result (groups,).

    Of several columns, shape (groups, n, columns), it is that of the largest |t| of them, all
    flipped together. |t| is computed anew for each pattern of signs, outliers pulled in anew:
    values that were pulled in before would keep the pairs of the rarer order small in every pattern
    alike. All 2**n patterns where half of them are at most ``SIGN_PATTERNS``, else so many random
    ones, with the observed one counted in. The values are finite. Where all differences have one
    sign and none is an outlier, no other pattern has a larger t, and nothing is computed; nor with
    outliers where patterns are drawn: only those that flip nothing but outliers come near, too few
    to be among them.
    """
    d = np.asarray(free, dtype=np.float64)
    groups, n = d.shape[:2]
    if d.ndim == 3:
        return _largest(d)
    if n < FEWEST_PAIRS:
        return sign_flips(d)
    rows, exact = signs(n, SIGN_PATTERNS)
    clear = (np.abs(np.sign(d).sum(axis=1)) == n) & (
        (drawn_in(d) == d).all(axis=1) if exact else True
    )
    reached, observed = np.full(groups, float(exact)), _t(d)
    for place in np.flatnonzero(~clear):
        reached[place] = np.count_nonzero(_t(rows * d[place]) >= observed[place] * (1 - 1e-9))
    return reached / len(rows) if exact else (1 + reached) / (1 + len(rows))


def _t(gaps: Floats) -> Floats:
    """|t| of the shift of differences (groups, n), but for a factor; infinite, or 0, of equals."""
    away = widened(gaps, drawn_in(gaps))
    mean, tiny = away.mean(axis=1), difference.rounding(gaps, gaps)
    error = np.sqrt(((away - mean[:, None]) ** 2).sum(axis=1))
    with np.errstate(divide="ignore"):
        t: Floats = np.where(
            np.abs(mean) <= tiny, 0.0, np.abs(mean) / np.where(error <= tiny, 0.0, error)
        )
    return t


def _largest(gaps: Floats) -> Floats:
    """``chance`` of several columns of differences (groups, n, columns).

    Not T^2: each column has its own outliers, and in a flipped pattern that draws a pair in, T^2
    adds the noise of the other column. Source: Westfall, Young 1993.
    """
    rows, exact = signs(gaps.shape[1], SIGN_PATTERNS)
    columns = np.moveaxis(gaps, 2, 0)
    observed = np.max([_t(column) for column in columns], axis=0)
    reached = np.empty(len(gaps))
    for group, bar in enumerate(observed):
        largest = np.max([_t(rows * column[group]) for column in columns], axis=0)
        reached[group] = np.count_nonzero(largest >= bar * (1 - 1e-9))
    return reached / len(rows) if exact else (1 + reached) / (1 + len(rows))


def drawn_in(gaps: Floats) -> Floats:
    """Differences (groups, n) with outliers pulled in as ``paired``; ``CLOSE`` values of many."""
    return draw_in(gaps, allowance(gaps, difference.rounding(gaps, gaps), neighbours=CLOSE))


def widened(gaps: Floats, drawn: Floats) -> Floats:
    """Differences ``drawn`` in, further from their mean by K / m of ``paired``; (groups, n)."""
    mean = drawn.mean(axis=1)[:, None]
    away: Floats = mean + widening(drawn == gaps)[:, None] * (drawn - mean)
    return away


def allowance(
    gaps: Floats, rounding: Floats, bend: float = BEND, neighbours: int = DISTANCE_NEIGHBOURS
) -> Floats:
    """How far from their centre differences (groups, n) are left alone, shape (groups, 1): infinite
    where none is to be pulled in.
    """
    scale = spread(gaps, neighbours) if gaps.shape[1] >= FEWEST_PAIRS else np.zeros(len(gaps))
    spread_out = scale > rounding
    return np.where(spread_out, bend * np.where(spread_out, scale, 1.0), np.inf)[:, None]


def widening(alone: Flags) -> Floats:
    """K / m of ``paired``, by which differences (groups, n) were left alone; (groups,)."""
    n = alone.shape[1]
    share = np.maximum(alone.mean(axis=1), 1 / n)
    factor: Floats = (1 + (1 - share) / (share * n)) / share
    return factor


def spread(values: ArrayLike, neighbours: int = DISTANCE_NEIGHBOURS) -> Floats:
    """The standard deviation of each group, shape (groups, n), from the median distance of two of
    its values; 0 for n = 1.

    All distances count up to twice as many values as ``neighbours`` and one; of more, those of
    values at most ``neighbours`` places apart (round the end). ``values`` are finite. Source:
    Bickel, Lehmann 1979.
    """
    y = np.asarray(values, dtype=np.float64)
    groups, n = y.shape
    if n < 2:
        return np.zeros(groups)
    rows, columns = _near(n, neighbours)
    deviations = np.empty(groups)
    step = max(1, 4_000_000 // len(rows))
    for start in range(0, groups, step):
        here = y[start : start + step]
        with np.errstate(over="ignore"):
            deviations[start : start + step] = (
                median(np.abs(here[:, rows] - here[:, columns])) * NORMAL_IN_DISTANCES
            )
    return deviations


@lru_cache(maxsize=64)
def _near(n: int, neighbours: int) -> tuple[Indices, Indices]:
    """Which of n values' distances count; the same for all groups and patterns of signs."""
    if n <= 2 * neighbours + 1:
        return np.triu_indices(n, 1)
    rows = np.repeat(np.arange(n), neighbours)
    return rows, (rows + np.tile(np.arange(1, neighbours + 1), n)) % n


def draw_in(values: Floats, bound: Floats) -> Floats:
    """Values (groups, n) at most ``bound`` (groups, 1) away from the mean of the result."""
    drawn = values.copy()
    live = np.flatnonzero((np.abs(values - values.mean(axis=1, keepdims=True)) > bound).any(axis=1))
    if not len(live):  # as a rule: nothing is far from the mean, which then is the centre
        return drawn
    centre = median(values[live])[:, None]
    for _ in range(200):
        inside, reach = values[live], bound[live]
        far = np.abs(inside - centre) > reach
        edge = centre + np.copysign(np.where(far, reach, 0.0), inside - centre)
        drawn[live] = np.where(far, edge, inside)
        step = drawn[live].mean(axis=1, keepdims=True) - centre
        still = (np.abs(step) > 1e-13 * reach)[:, 0]
        # Newton's step where most are inside; a longer one might swing to and fro.
        live = live[still]
        centre = (centre + step / np.maximum(1 - far.mean(axis=1, keepdims=True), 0.6))[still]
        if not len(live):
            break
    return drawn


def median(values: Floats) -> Floats:
    """The median of each row of finite values; numpy's imports its masked arrays."""
    n = values.shape[1]
    # Short rows are sorted in less time than two of their places are looked for.
    if n <= SORTED:
        middle = np.sort(values, axis=1)
    else:
        middle = np.partition(values, [(n - 1) // 2, n // 2], axis=1)
    medians: Floats = (middle[:, (n - 1) // 2] + middle[:, n // 2]) / 2
    return medians
