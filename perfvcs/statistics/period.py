"""The period effect of a comparison in pairs (what the first and the second measurement differ by), where the order is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from perfvcs.statistics import huber
from perfvcs.statistics.difference import Difference, combine, reach, rounding
from perfvcs.statistics.huber import BEND, DISTANCE_NEIGHBOURS, EQUIVALENCE, NORMAL_IN_DISTANCES, Shift, draw_in, median, widening

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

FEWEST_SETTLING = 5  # pairs; fewer settle nothing
# p up to which a period effect is removed: at .01, five pairs without one would be called changed in 1.2 % of cases.
EVIDENT_SHARE = 0.003
ORDER_RATIO = 3  # with so many pairs, one in the rarer order is enough for its mean


@dataclass(frozen=True)
class Orders:
    """Half the sum and half the difference of the means in both orders, each (groups,): the ``shift`` and the ``period`` effect.

    Both have the same ``variance``. ``drawn`` (groups,) says where outliers were pulled in. ``widened`` as in ``huber.Shift``.
    """

    shift: NDArray[np.float64]
    period: NDArray[np.float64]
    variance: NDArray[np.float64]
    drawn: NDArray[np.bool_]
    widened: NDArray[np.float64]


def paired(first: ArrayLike, second: ArrayLike, later: ArrayLike, confidence: float = 0.99, bend: float = BEND) -> Shift:
    """``huber.paired`` with the period effect removed; ``later`` (groups, n): where the second sample was measured after the first.

    d = shift + period where it was, shift - period elsewhere: two means, of each order. It costs a degree of freedom, so it is done
    where the effect is evident (p <= ``EVIDENT_SHARE``); one that is not leaves a balanced comparison unbiased, and only widens its
    interval. Where the rarer order has less than a third of the pairs, an outlier there and an effect look alike: nothing is pulled in,
    and the interval covers that of the means of both orders and Student's. Where one order is all there is, shift and period are one,
    and the interval is infinite. Fewer than ``FEWEST_SETTLING`` pairs are left as they are. Source: Fisher 1935, chapter 4.
    """
    import numpy as np

    found, order = huber.paired(first, second, confidence, bend), np.asarray(later, dtype=np.bool_)
    n = order.shape[1]
    if n < FEWEST_SETTLING:
        return found
    known = np.isfinite(found.difference.estimate)
    gaps, tiny = np.where(known[:, None], found.free, 0.0), np.where(known, rounding(first, second), 0.0)
    rarer = np.minimum(order.sum(axis=1), n - order.sum(axis=1))
    enough = (ORDER_RATIO * rarer >= n - 1) & (rarer > 1)
    plain, robust = _orders(gaps, order, tiny, np.inf), _orders(gaps, order, tiny, bend)
    df = np.full(len(gaps), n - 2.0)
    evident = known & enough & (combine(robust.period, [robust.variance], [df], None).p <= EVIDENT_SHARE)
    lopsided = known & ~enough
    shift = np.where(np.abs(robust.shift) <= tiny, 0.0, robust.shift)
    result = chosen(evident, combine(shift, [robust.variance], [df], confidence), found.difference)
    if lopsided.any():
        result = chosen(lopsided, _lopsided(gaps, plain, df, rarer, confidence), result)
    narrow = reach(plain.shift, [plain.variance], [df], EQUIVALENCE)
    away = np.where(evident, robust.period, 0.0)[:, None] * np.where(order, 1.0, -1.0)
    return replace(
        found,
        difference=result,
        free=found.free - away,
        widened=np.where(
            evident[:, None], robust.widened, np.where((lopsided & (rarer > 0))[:, None], plain.widened, found.widened)
        ),
        removed=evident,
        lopsided=lopsided,
        drawn=np.where(evident, robust.drawn, found.drawn & ~lopsided),
        reach=np.where(evident, narrow, found.reach),
    )


def _lopsided(
    gaps: NDArray[np.float64], plain: Orders, df: NDArray[np.float64], rarer: NDArray[np.int64], confidence: float
) -> Difference:
    """What covers Student's interval and that of both orders, the less certain p; without an interval where one order is all."""
    import numpy as np

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


def _orders(gaps: NDArray[np.float64], later: NDArray[np.bool_], tiny: NDArray[np.float64], bend: float) -> Orders:
    """The means in both orders; NaN where one is missing. Groups with equally many of each are computed together."""
    import numpy as np

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
        rest = np.concatenate([side - mean[:, None] for side, mean in zip(sides, means, strict=True)], axis=1)
        squares = (rest**2).sum(axis=1)
        alone = np.concatenate(sides, axis=1) == sorted_gaps
        pooled = np.where(squares <= n * tiny[here] ** 2, 0.0, squares / (n - 2)) * widening(alone) ** 2
        shift[here], effect[here] = (means[0] + means[1]) / 2, (means[0] - means[1]) / 2
        variance[here] = pooled * (1 / count + 1 / (n - count)) / 4
        drawn[here] = ~alone.all(axis=1)
        factor = np.sqrt(variance[here] * n * (n - 1) / np.where(squares > 0, squares, 1.0))
        away[here] = shift[here, None] + factor[:, None] * np.take_along_axis(rest, np.argsort(order, axis=1), axis=1)
    return Orders(shift, effect, variance, drawn, away)


def _spread(gaps: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """``huber.spread`` of distances inside an order: the first ``count`` columns, and the others."""
    import numpy as np

    distances = []
    for side in (gaps[:, :count], gaps[:, count:]):
        rows, columns = np.triu_indices(side.shape[1], 1)
        near = columns - rows <= DISTANCE_NEIGHBOURS
        distances.append(np.abs(side[:, rows[near]] - side[:, columns[near]]))
    found: NDArray[np.float64] = median(np.concatenate(distances, axis=1)) * NORMAL_IN_DISTANCES
    return found


def chosen(where: NDArray[np.bool_], yes: Difference, no: Difference) -> Difference:
    """One difference where ``where`` (groups,) says so, the other elsewhere."""
    import numpy as np

    names = ("estimate", "low", "high", "p", "error", "df")
    return Difference(**{name: np.where(where, getattr(yes, name), getattr(no, name)) for name in names})
