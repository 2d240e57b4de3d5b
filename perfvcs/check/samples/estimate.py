"""The numbers behind verdicts: difference, interval and both p-values of many pairs at once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import isnan
from typing import TYPE_CHECKING

from perfvcs.statistics import huber
from perfvcs.statistics.difference import Difference, combine, moments, paired, settle
from perfvcs.statistics.permutation import sign_flips, smallest, two_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.samples.scale import Scaled

VETO = 0.01
Shape = tuple[int, ...]  # executions per session


@dataclass(frozen=True)
class Estimate:
    """Target minus baseline of one pair, on the pair's scale; NaN and infinite where a side has one execution.

    ``veto`` is the largest ``permutation_p`` that lets a change pass: 1 %, or the smallest that so few executions
    can reach; nothing was permuted where it is NaN. ``widest`` is how far from 0 Student's interval (90 %) reaches where
    outliers were drawn in, None where there were none.
    """

    theta: float
    low: float
    high: float
    p: float
    permutation_p: float
    veto: float
    widest: float | None = None


def estimates(pairs: Sequence[Scaled], confidence: float, alpha: float, *, robust: bool = False) -> list[Estimate]:
    """One estimate per pair, in their order; pairs with the same counts are computed together.

    ``robust``: of pairs measured in turns, outliers are drawn in. Only those with p <= ``alpha`` are permuted: the permutation is a
    veto, and it is what takes the time.
    """
    buckets: dict[tuple[bool, Shape, Shape], list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        buckets[pair.pair.paired, tuple(map(len, pair.baseline)), tuple(map(len, pair.target))].append(place)
    found: dict[int, Estimate] = {}
    for (together, *shapes), places in buckets.items():
        members = [pairs[place] for place in places]
        found |= zip(places, _bucket(members, together, shapes, confidence, alpha, robust=robust), strict=True)
    return [found[place] for place in range(len(pairs))]


def _bucket(
    members: list[Scaled], together: bool, shapes: Sequence[Shape], confidence: float, alpha: float, *, robust: bool
) -> list[Estimate]:
    import numpy as np

    first = np.array([[value for session in one.baseline for value in session] for one in members])
    second = np.array([[value for session in one.target for value in session] for one in members])
    before, after = shapes
    gaps: NDArray[np.float64] | None = None
    widest = np.full(len(members), np.nan)
    if together:
        difference, gaps, veto = paired(first, second, confidence), second - first, smallest(sum(before))
        if robust:
            shift = huber.paired(first, second, confidence)
            difference, gaps = shift.difference, shift.gaps
            widest = np.where(shift.drawn, shift.reach, np.nan)
    else:
        difference, veto = _apart(members, first, second, before, after, confidence), smallest(sum(before), sum(after))
    promising = np.flatnonzero(difference.p <= alpha)
    permuted = np.full(len(members), np.nan)
    if len(promising):
        chosen = first[promising], second[promising]
        permuted[promising] = two_sample(*chosen) if gaps is None else sign_flips(gaps[promising])
    columns = difference.estimate, difference.low, difference.high, difference.p, permuted, widest
    return [
        Estimate(theta, low, high, p, chance, max(VETO, veto), None if isnan(far) else far)
        for theta, low, high, p, chance, far in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _apart(
    members: list[Scaled], first: NDArray[np.float64], second: NDArray[np.float64], before: Shape, after: Shape, confidence: float
) -> Difference:
    """Welch's difference, with what sessions differ by added once per session of a side."""
    import numpy as np

    known = [(one.between.variance, one.between.df) if one.between else (0.0, 1.0) for one in members]
    extra, extra_df = np.array(known).T
    old, new = _side(first, before), _side(second, after)
    gap = settle(new[0] - old[0], first, second)
    return combine(gap, [old[1], new[1], extra * (1 / len(before) + 1 / len(after))], [old[2], new[2], extra_df], confidence)


def _side(values: NDArray[np.float64], shape: Shape) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Mean of the session means, its variance from inside the sessions (pooled over them), and the degrees of freedom, each
    (groups,).
    """
    import numpy as np

    parts = [moments(values[:, start:end]) for start, end in pairwise(accumulate(shape, initial=0))]
    mean = np.mean([part.mean for part in parts], axis=0)
    df = np.sum([part.df for part in parts], axis=0)
    squares = np.sum([np.where(part.df > 0, part.variance * part.df, 0.0) for part in parts], axis=0)
    variance = np.where(df > 0, squares / np.maximum(df, 1), np.nan)
    return mean, variance * sum(1 / count for count in shape) / len(shape) ** 2, df
