"""The period effect of a comparison in pairs (what the first and the second measurement differ by),
where the order is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.statistics import huber
from perfvcs.statistics.difference import Difference, combine, reach, rounding
from perfvcs.statistics.huber import (
    BEND,
    DISTANCE_NEIGHBOURS,
    EQUIVALENCE,
    NORMAL_IN_DISTANCES,
    Shift,
    draw_in,
    median,
    widening,
)
from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

FEWEST_SETTLING = 5  # pairs; fewer settle nothing
# p up to which a period effect is removed: at .01, five pairs without one would be called changed
# in 1.2 % of cases.
EVIDENT_SHARE = 0.003
ORDER_RATIO = 3  # with so many pairs, one in the rarer order is enough for its mean
# pairs of the rarer order, below which outliers in all of them are no rarity: of five pairs with
# two outliers in one version, one in ten has both in the rarer order
FEWEST_ALONE = 4
# benchmarks of the same executions, from which the median of their values is what these share
FEWEST_TOGETHER = 20
ONE_SIDED = 0.5  # of a period effect: half-way from one of both versions (0) to one of only one (1)


def hotelling(
    first: ArrayLike, second: ArrayLike, *, paired: bool = False, lost: int = 0
) -> Floats:
    """The p of equal means of two samples of the shapes (groups, m, 2) and (groups, k, 2); shape
    (groups,).

    Paired: one sample of the differences, an F with 2 and m - 2 degrees of freedom; apart: two
    samples with a pooled covariance, 2 and m + k - 3. ``lost`` are degrees of freedom that
    something else took, whose part of the variance is restored already. If only one dimension
    varies (the other's values are all equal, or it is a multiple), it is Student's test in that
    one, and p is 0 if the other one differs. Too few executions (less than three pairs, or four
    apart) and any NaN make p NaN. ``ValueError`` for paired samples of different sizes. Source:
    Hotelling 1931; Anderson 2003, 5.2 and 5.3.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    m, k = a.shape[1], b.shape[1]
    if paired and m != k:
        raise ValueError("paired executions come in equal numbers")
    if not m or not k:
        return np.full(a.shape[0], np.nan)
    with np.errstate(invalid="ignore"):
        mean = b.mean(axis=1) - a.mean(axis=1)
        rounding = (
            64 * np.finfo(np.float64).eps * np.maximum(np.abs(a).max(axis=1), np.abs(b).max(axis=1))
        )
        if paired:
            rest, free, factor = (b - a) - mean[:, None, :], m - 1, float(m)
        else:
            apart = [side - side.mean(axis=1, keepdims=True) for side in (a, b)]
            rest, free, factor = np.concatenate(apart, axis=1), m + k - 2, m * k / (m + k)
    return _test(
        mean, np.einsum("gei,gej->gij", rest, rest) / max(free, 1), rounding, factor, free - lost
    )


def _test(mean: Floats, covariance: Floats, rounding: Floats, factor: float, free: int) -> Floats:
    from perfvcs.statistics.student import f_tail

    defined = np.isfinite(mean[:, 0] + mean[:, 1]) & np.isfinite(covariance.sum(axis=(1, 2)))
    mean = np.where(defined[:, None] & (np.abs(mean) > rounding), mean, 0.0)
    scale = np.sqrt(np.where(defined[:, None], np.diagonal(covariance, axis1=1, axis2=2), 0.0))
    varies = scale > rounding
    unit = np.where(varies, scale, 1.0)
    z = mean / unit
    full = (varies[:, 0] & varies[:, 1])[:, None]
    correlation = np.where(
        defined & full[:, 0], covariance[:, 0, 1] / (unit[:, 0] * unit[:, 1]), 0.0
    )
    # Along the sum and the difference of the two scaled parts a correlation leaves the variances 1
    # + r and 1 - r.
    turned = np.stack([z[:, 0] + z[:, 1], z[:, 0] - z[:, 1]], axis=1) / np.sqrt(2)
    parts = np.where(full, turned, z)
    spread = np.where(full, np.stack([1 + correlation, 1 - correlation], axis=1), 1.0 * varies)
    has = spread > 1e-12
    squares = factor * (np.where(has, parts, 0.0) ** 2 / np.where(has, spread, 1.0)).sum(axis=1)
    elsewhere = (~has & (np.abs(parts) > 1e-9)).sum(axis=1) > 0
    dimensions = has.sum(axis=1)
    degrees = max(free - 1.0, 1.0)
    two = f_tail(squares * degrees / (2 * max(free, 1)), 2, degrees)
    single = f_tail(squares, 1, max(free, 1.0))
    p = np.where(dimensions == 2, two, np.where(dimensions == 1, single, 1.0))
    return np.where(defined & (free > 1), np.where(elsewhere, 0.0, p), np.nan)


class Orders(Struct, frozen=True):
    """Half the sum and half the difference of the means in both orders, each (groups,): the
    ``shift`` and the ``period`` effect.

    Both have the same ``variance``. ``drawn`` (groups,) says where outliers were pulled in.
    ``widened`` as in ``huber.Shift``.
    """

    shift: Floats
    period: Floats
    variance: Floats
    drawn: Flags
    widened: Floats


def paired(
    first: ArrayLike,
    second: ArrayLike,
    later: ArrayLike,
    confidence: float = 0.99,
    bend: float = BEND,
    executions: ArrayLike | None = None,
) -> Shift:
    """``huber.paired`` with the period effect removed; ``later`` (groups, n): where the second
    sample was measured after the first.

    ``executions`` (groups,) are numbers, the same for groups that were measured by the same
    executions. What these share (a disturbance of one of them is one of all its benchmarks) is no
    evidence of each: an effect has to be there without it, or in what is shared alone (see
    ``_apart_from_shared``).

    d = shift + period where it was, shift - period elsewhere: two means, of each order. It costs a
    degree of freedom, so it is done where the effect is evident (p <= ``EVIDENT_SHARE``); one that
    is not leaves a balanced comparison unbiased, and only widens its interval. Where the rarer
    order has fewer than ``FEWEST_ALONE`` pairs, it also has to be one of both versions (see
    ``_of_both``): outliers of one version in just these pairs look like one otherwise. Where the
    rarer order has less than a third of the pairs, an outlier there and an effect look alike:
    nothing is pulled in, and the interval covers that of the means of both orders and Student's.
    Where one order is all there is, shift and period are one, and the interval is infinite. Fewer
    than ``FEWEST_SETTLING`` pairs are left as they are. Sources: Fisher 1935, chapter 4; Grizzle
    1965 (the sums of the pairs).
    """
    unadjusted = huber.paired(first, second, confidence, bend)
    order = np.asarray(later, dtype=np.bool_)
    n = order.shape[1]
    if n < FEWEST_SETTLING:
        return unadjusted
    defined = np.isfinite(unadjusted.difference.estimate)
    gaps = np.where(defined[:, None], unadjusted.free, 0.0)
    tiny = np.where(defined, rounding(first, second), 0.0)
    rarer = np.minimum(order.sum(axis=1), n - order.sum(axis=1))
    enough = (ORDER_RATIO * rarer >= n - 1) & (rarer > 1)
    plain, robust = _orders(gaps, order, tiny, np.inf), _orders(gaps, order, tiny, bend)
    df = np.full(len(gaps), n - 2.0)
    evident = defined & enough & _is_evident(robust, (first, second), order)
    if executions is not None and evident.any():
        evident &= _apart_from_shared(first, second, order, np.asarray(executions), tiny, bend)
    lopsided = defined & ~enough
    shift = np.where(np.abs(robust.shift) <= tiny, 0.0, robust.shift)
    result = chosen(
        evident, combine(shift, [robust.variance], [df], confidence), unadjusted.difference
    )
    if lopsided.any():
        result = chosen(lopsided, _lopsided(gaps, plain, df, rarer, confidence), result)
    narrow = reach(plain.shift, [plain.variance], [df], EQUIVALENCE)
    away = np.where(evident, robust.period, 0.0)[:, None] * np.where(order, 1.0, -1.0)
    return replace(
        unadjusted,
        difference=result,
        free=unadjusted.free - away,
        widened=np.where(
            evident[:, None],
            robust.widened,
            np.where((lopsided & (rarer > 0))[:, None], plain.widened, unadjusted.widened),
        ),
        removed=evident,
        lopsided=lopsided,
        drawn=np.where(evident, robust.drawn, unadjusted.drawn & ~lopsided),
        reach=np.where(evident, narrow, unadjusted.reach),
    )


def _is_evident(robust: Orders, sides: Sequence[ArrayLike], order: Flags) -> Flags:
    """Whether the period effect of ``robust`` is beyond chance, and no outliers of one version."""
    n = order.shape[1]
    rarer = np.minimum(order.sum(axis=1), n - order.sum(axis=1))
    df = np.full(len(order), n - 2.0)
    beyond: Flags = combine(robust.period, [robust.variance], [df], None).p <= EVIDENT_SHARE
    found: Flags = beyond & (
        (rarer >= FEWEST_ALONE) | _of_both(sides[0], sides[1], order, robust.period)
    )
    return found


def _apart_from_shared(
    first: ArrayLike,
    second: ArrayLike,
    order: Flags,
    executions: Integers,
    tiny: Floats,
    bend: float,
) -> Flags:
    """Where a period effect is evident in what groups of the same executions share, or in a group
    without that; everywhere where there are fewer than ``FEWEST_TOGETHER`` of them.

    What executions share is the median over their groups of the distance from the group's own
    median, for each execution of both versions. Source: Mosteller, Tukey 1977, chapter 9 (median
    polish: rows are groups, columns are executions).
    """
    sides = [np.asarray(side, dtype=np.float64) for side in (first, second)]
    usable = np.isfinite(sides[0]).all(axis=1) & np.isfinite(sides[1]).all(axis=1)
    evident = np.ones(len(order), dtype=np.bool_)
    for execution in np.unique(executions):
        here = np.flatnonzero((executions == execution) & usable)
        if len(here) < FEWEST_TOGETHER:
            continue
        own = [side[here] - median(side[here])[:, None] for side in sides]
        shared = [median(side.T)[None] for side in own]
        own = [side - common for side, common in zip(own, shared, strict=True)]
        both = [np.concatenate(parts) for parts in zip(own, shared, strict=True)]
        orders = np.concatenate([order[here], order[here[:1]]])
        rounded = np.append(tiny[here], tiny[here].max())
        found = _orders(both[1] - both[0], orders, rounded, bend)
        without = _is_evident(found, both, orders)
        evident[here] = without[:-1] | without[-1]
    return evident


def _of_both(first: ArrayLike, second: ArrayLike, later: Flags, period: Floats) -> Flags:
    """Where the second place slows both versions alike, shape (groups,).

    Such an effect leaves the sums of the pairs equal in both orders. One of one version alone moves
    them as far apart as the differences: that is an interaction, or its outliers. Source: Grizzle
    1965, the test for carry-over in a design of two periods.
    """
    counts = later.sum(axis=1)
    with np.errstate(invalid="ignore", over="ignore"):
        sums = np.asarray(first, dtype=np.float64) + np.asarray(second, dtype=np.float64)
        means = [
            np.where(here, sums, 0.0).sum(axis=1) / np.maximum(count, 1)
            for here, count in ((later, counts), (~later, later.shape[1] - counts))
        ]
        away: Flags = np.abs(means[0] - means[1]) / 2 <= ONE_SIDED * np.abs(period)
    return away


def _lopsided(
    gaps: Floats, plain: Orders, df: Floats, rarer: Integers, confidence: float
) -> Difference:
    """What covers both intervals, the less certain p; without one where one order is all."""
    n = gaps.shape[1]
    student = combine(gaps.mean(axis=1), [gaps.var(axis=1, ddof=1) / n], [df + 1], confidence)
    orders = combine(plain.shift, [plain.variance], [df], confidence)
    both = rarer > 0
    return replace(
        student,
        low=np.where(both, np.minimum(student.low, orders.low), -np.inf),
        high=np.where(both, np.maximum(student.high, orders.high), np.inf),
        p=np.where(both, np.fmax(student.p, orders.p), student.p),
    )


def _orders(gaps: Floats, later: Flags, tiny: Floats, bend: float) -> Orders:
    """The means in both orders; NaN where one is missing.

    Groups with equally many of each are computed together.
    """
    n, counts = gaps.shape[1], later.sum(axis=1)
    shift, effect, variance = np.full((3, len(gaps)), np.nan)
    drawn, away = np.zeros(len(gaps), dtype=np.bool_), gaps.copy()
    for count in set(counts.tolist()) - {0, n}:
        here = np.flatnonzero(counts == count)
        order = np.argsort(~later[here], axis=1, kind="stable")
        sorted_gaps = np.take_along_axis(gaps[here], order, axis=1)
        scale = _spread(sorted_gaps, count) if n >= huber.FEWEST_PAIRS else np.zeros(len(here))
        bound = np.full((len(here), 1), np.inf)
        bound[scale > tiny[here], 0] = bend * scale[scale > tiny[here]]
        sides = [draw_in(side, bound) for side in (sorted_gaps[:, :count], sorted_gaps[:, count:])]
        means = [side.mean(axis=1) for side in sides]
        rest = np.concatenate(
            [side - mean[:, None] for side, mean in zip(sides, means, strict=True)], axis=1
        )
        squares = (rest**2).sum(axis=1)
        alone = np.concatenate(sides, axis=1) == sorted_gaps
        pooled = (
            np.where(squares <= n * tiny[here] ** 2, 0.0, squares / (n - 2)) * widening(alone) ** 2
        )
        shift[here], effect[here] = (means[0] + means[1]) / 2, (means[0] - means[1]) / 2
        variance[here] = pooled * (1 / count + 1 / (n - count)) / 4
        drawn[here] = ~alone.all(axis=1)
        factor = np.sqrt(variance[here] * n * (n - 1) / np.where(squares > 0, squares, 1.0))
        away[here] = shift[here, None] + factor[:, None] * np.take_along_axis(
            rest, np.argsort(order, axis=1), axis=1
        )
    return Orders(shift, effect, variance, drawn, away)


def _spread(gaps: Floats, count: int) -> Floats:
    """``huber.spread`` of distances inside an order: the first ``count`` columns, the others."""
    distances = []
    for side in (gaps[:, :count], gaps[:, count:]):
        rows, columns = np.triu_indices(side.shape[1], 1)
        near = columns - rows <= DISTANCE_NEIGHBOURS
        distances.append(np.abs(side[:, rows[near]] - side[:, columns[near]]))
    deviation: Floats = median(np.concatenate(distances, axis=1)) * NORMAL_IN_DISTANCES
    return deviation


def chosen(where: Flags, yes: Difference, no: Difference) -> Difference:
    """One difference where ``where`` (groups,) says so, the other elsewhere."""
    names = ("estimate", "low", "high", "p", "error", "df")
    return Difference(
        **{name: np.where(where, getattr(yes, name), getattr(no, name)) for name in names}
    )
