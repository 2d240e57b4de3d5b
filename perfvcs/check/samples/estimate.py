"""The numbers behind verdicts: difference, interval and both p-values of many pairs at once."""

from __future__ import annotations

from collections import defaultdict
from itertools import accumulate, chain, pairwise
from math import inf, isnan, nan
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from perfvcs.check.samples.pace import hosts, later
from perfvcs.statistics import huber, period
from perfvcs.statistics.difference import Difference, combine, moments, paired, settle
from perfvcs.statistics.period import chosen
from perfvcs.statistics.permutation import sign_flips, smallest, two_sample
from perfvcs.system.numeric import Flags, Floats, np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from perfvcs.check.samples.scale import Scaled


VETO = 0.01
# apart, nobody drew who came first: Welch's p has the level, and the veto is for what fools it
# altogether
VETO_APART = 0.03
Shape = tuple[int, ...]  # executions per session
# who came first: now one, now the other; not known; the same but once at most
Order = Literal["mixed", "unknown", "one"]


class Estimate(msgspec.Struct, frozen=True):
    """Target minus baseline of one pair, on the pair's scale; NaN and infinite where a side has one
    execution.

    ``veto`` is the largest ``permutation_p`` that lets a change pass: 1 % (apart 3 %), or the
    smallest that so few executions can reach; nothing was permuted where it is NaN. ``widest`` is
    how far from 0 Student's interval (90 %) reaches where outliers were pulled in, None if there
    were none. ``order`` says who was measured first in the pairs. ``by_host`` has the effect on
    each host if several measured, ``unlike`` the p of the test that these are the same.
    """

    theta: float
    low: float
    high: float
    p: float
    permutation_p: float
    veto: float
    widest: float | None = None
    order: Order = "mixed"
    by_host: dict[str, float] = {}
    unlike: float = nan


def estimates(
    pairs: Sequence[Scaled], confidence: float, alpha: float, *, robust: bool = False
) -> list[Estimate]:
    """One estimate per pair, in their order; pairs with the same counts are computed together.

    ``robust``: outliers among pairs measured in turns are pulled in. Only those with p <= ``alpha``
    are permuted: the permutation is a veto, and it is what takes the time.
    """
    bend = huber.BEND if robust else inf
    buckets: dict[tuple[bool, bool, tuple[str, ...], Shape, Shape], list[int]] = defaultdict(list)
    orders = [later(pair) if pair.pair.paired else None for pair in pairs]
    for number, (pair, order) in enumerate(zip(pairs, orders, strict=True)):
        shape = tuple(map(len, pair.baseline)), tuple(map(len, pair.target))
        buckets[pair.pair.paired, order is not None, hosts(pair.pair), *shape].append(number)
    estimate_of: dict[int, Estimate] = {}
    for (together, _, names, before, after), numbers in buckets.items():
        members = [pairs[number] for number in numbers]
        if together:
            host_of_pair: list[str] = []
            if names:
                for name, count in zip(names, before, strict=True):
                    host_of_pair += [name] * count
            results = _in_turns(
                members,
                [orders[number] for number in numbers],
                confidence,
                alpha,
                bend,
                host_of_pair,
            )
        else:
            results = _apart(members, before, after, confidence, alpha)
        estimate_of |= zip(numbers, results, strict=True)
    return [estimate_of[number] for number in range(len(pairs))]


def _sides(members: list[Scaled]) -> tuple[Floats, Floats]:
    """The values of both sides, each (members, executions)."""
    first = np.array([list(chain.from_iterable(scaled.baseline)) for scaled in members])
    second = np.array([list(chain.from_iterable(scaled.target)) for scaled in members])
    return first, second


def _in_turns(
    members: list[Scaled],
    orders: Sequence[list[bool] | None],
    confidence: float,
    alpha: float,
    bend: float,
    hosts: Sequence[str],
) -> list[Estimate]:
    """Student's difference with outliers pulled in, and the period effect removed if the order is
    known (of all, or of none).

    ``hosts`` measured the pairs; if there are several, the variance between them is added.

    If sign flips veto a change of values that were pulled in, these may have been the pairs of the
    rarer order, and all pairs count as they are.
    """
    first, second = _sides(members)
    veto = smallest(first.shape[1])
    known_orders = [order for order in orders if order is not None]
    if known_orders:
        executions = _executions(members)
        shift = period.paired(first, second, known_orders, confidence, bend, executions)
    else:
        shift = huber.paired(first, second, confidence, bend)
    permuted = np.full(len(members), np.nan)
    promising = np.flatnonzero(shift.difference.p <= alpha)
    if len(promising):
        permuted[promising] = (huber.chance if bend < inf else sign_flips)(shift.free[promising])
    vetoed = shift.drawn & (permuted > max(VETO, veto))
    difference = shift.difference
    if vetoed.any():
        difference = chosen(vetoed, paired(first, second, confidence), difference)
        permuted[vetoed] = sign_flips((second - first)[vetoed])
    widest = np.where(shift.drawn & ~vetoed, shift.reach, np.nan)
    mixed = [
        order_of(order, alternating=bool(scaled.pair.builds))
        for scaled, order in zip(members, orders, strict=True)
    ]
    if not hosts:
        return _rows(difference, permuted, max(VETO, veto), widest, mixed)
    from perfvcs.statistics.sessions import over

    names = list(dict.fromkeys(hosts))
    over_hosts = over(difference, shift.widened, [names.index(name) for name in hosts], confidence)
    rows = _rows(over_hosts.difference, permuted, max(VETO, veto), widest, mixed)
    return [
        replace(row, by_host=dict(zip(names, effects, strict=True)), unlike=p)
        for row, effects, p in zip(
            rows, over_hosts.effects.tolist(), over_hosts.p.tolist(), strict=True
        )
    ]


def _executions(members: Sequence[Scaled]) -> list[int]:
    """A number for each pair, the same for one metric of the same executions."""
    numbers: dict[tuple[str, str, str], int] = {}
    cases = [scaled.pair.case for scaled in members]
    return [
        numbers.setdefault((case.series, case.environment, case.metric), len(numbers))
        for case in cases
    ]


def order_of(later: Collection[bool] | Flags | None, *, alternating: bool) -> Order:
    """Who was measured first in the pairs; ``known``: that now one was and now the other, though
    nothing says when (as with builds).
    """
    if later is None:
        return "mixed" if alternating else "unknown"
    count = sum(map(bool, later))
    lopsided = min(count, len(later) - count) <= 1
    return "one" if lopsided and len(later) >= period.FEWEST_SETTLING else "mixed"


def _apart(
    members: list[Scaled], before: Shape, after: Shape, confidence: float, alpha: float
) -> list[Estimate]:
    first, second = _sides(members)
    difference = _welch(members, first, second, before, after, confidence)
    permuted = np.full(len(members), np.nan)
    promising = np.flatnonzero(difference.p <= alpha)
    if len(promising):
        permuted[promising] = two_sample(first[promising], second[promising])
    veto = max(VETO_APART, smallest(sum(before), sum(after)))
    return _rows(
        difference, permuted, veto, np.full(len(members), np.nan), ["mixed"] * len(members)
    )


def _rows(
    difference: Difference, permuted: Floats, veto: float, widest: Floats, orders: Sequence[Order]
) -> list[Estimate]:
    columns = difference.estimate, difference.low, difference.high, difference.p, permuted, widest
    return [
        Estimate(
            theta=theta,
            low=low,
            high=high,
            p=p,
            permutation_p=chance,
            veto=veto,
            widest=None if isnan(far) else far,
            order=order,
        )
        for theta, low, high, p, chance, far, order in zip(
            *(column.tolist() for column in columns), orders, strict=True
        )
    ]


def _welch(
    members: list[Scaled],
    first: Floats,
    second: Floats,
    before: Shape,
    after: Shape,
    confidence: float,
) -> Difference:
    """Welch's difference, with what sessions differ by added once per session of a side."""
    spreads = [
        (scaled.between.variance, scaled.between.df) if scaled.between else (0.0, 1.0)
        for scaled in members
    ]
    extra, extra_df = np.array(spreads).T
    old, new = _side(first, before), _side(second, after)
    gap = settle(new.mean - old.mean, first, second)
    between = extra * (1 / len(before) + 1 / len(after))
    return combine(
        gap, [old.variance, new.variance, between], [old.df, new.df, extra_df], confidence
    )


class _Side(NamedTuple):
    """Mean of the session means, its variance from inside the sessions (pooled over them), and the
    degrees of freedom, each (groups,).
    """

    mean: Floats
    variance: Floats
    df: Floats


def _side(values: Floats, shape: Shape) -> _Side:
    parts = [moments(values[:, start:end]) for start, end in pairwise(accumulate(shape, initial=0))]
    mean = np.mean([part.mean for part in parts], axis=0)
    df = np.sum([part.df for part in parts], axis=0)
    squares = np.sum(
        [np.where(part.df > 0, part.variance * part.df, 0.0) for part in parts], axis=0
    )
    variance = np.where(df > 0, squares / np.maximum(df, 1), np.nan)
    return _Side(mean, variance * sum(1 / count for count in shape) / len(shape) ** 2, df)
