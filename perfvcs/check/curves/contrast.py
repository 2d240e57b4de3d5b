"""The contrast of two curves: their differences at both ends and over all sizes, and the chance of
the whole.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from perfvcs.check.samples.estimate import VETO, Order, order_of
from perfvcs.statistics import difference, huber, period, sessions
from perfvcs.statistics.permutation import smallest, two_sample
from perfvcs.system.numeric import Flags, Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.curves.replication import ExecutionLines
    from perfvcs.check.pastsessions import EarlierSessions
    from perfvcs.statistics.difference import Difference


FEWEST_CONTRASTED = 5  # executions a side from which offset and slope are tested together
FAR_ERRORS = 3.0  # standard errors that hardly any difference between sessions has
ContrastValues = tuple[float, float, float]  # one for each of CONTRAST_COLUMNS
CONTRAST_COLUMNS = (2, 3, 0)  # the columns of lines: smallest sizes, largest sizes, all sizes


class Contrast(Struct, frozen=True):
    """Target minus baseline at the smallest, at the largest and over all sizes, with their
    intervals, infinite for one execution a side.

    ``veto`` is the largest ``permutation_p`` that lets a change pass; nothing was permuted where it
    is NaN. ``widest`` is how far from 0 Student's intervals (90 %) reach if outliers were pulled
    in. ``between`` is what is known about separate sessions, and a part of ``error``, the standard
    errors. ``order`` says who was measured first in the pairs.
    """

    theta: ContrastValues
    low: ContrastValues
    high: ContrastValues
    error: ContrastValues
    p: float
    permutation_p: float
    veto: float
    widest: float
    between: sessions.Spread | None
    order: Order = "mixed"

    def stands_out(self, bar: float) -> bool:
        """Whether it is too large for the known differences between sessions, even if too few
        sessions are known for a change.
        """
        return self.between is not None and any(
            abs(theta) >= max(bar, FAR_ERRORS * error)
            for theta, error in zip(self.theta, self.error, strict=True)
        )

    def part(self, bar: float) -> int:
        """Where the curve changed: 1 at the largest sizes, else 0 at the smallest, else 2 over all;
        if unclear, the likeliest.
        """

        def likely(number: int) -> tuple[bool, bool, float]:
            theta, half = abs(self.theta[number]), self._half(number)
            nearness = theta / half if half > 0 and not theta > half else 0.0
            return self.tells(bar, number), theta >= bar, nearness

        return max((1, 0, 2), key=likely)

    def tells(self, bar: float, number: int) -> bool:
        """Whether it is large enough there, and its interval on one side of 0."""
        return abs(self.theta[number]) >= bar and abs(self.theta[number]) > self._half(number)

    def beyond(self, bar: float, number: int) -> bool:
        """Whether the whole interval there is."""
        return max(self.low[number], -self.high[number]) > bar

    def _half(self, number: int) -> float:
        return (self.high[number] - self.low[number]) / 2


class _Contrasted(NamedTuple):
    """Many curves compared at once: differences at the ``CONTRAST_COLUMNS``, and p and permutation
    p of the whole.

    ``widest`` is how far Student's intervals reach if values were pulled in, else 0.
    """

    parts: list[Difference]
    p: Floats
    permuted: Floats
    widest: Floats


def contrasts(
    members: Sequence[tuple[ExecutionLines, bool, Sequence[EarlierSessions]]],
    confidence: float,
    alpha: float,
) -> list[Contrast]:
    """One contrast per curve: its lines, whether they are paired, and what earlier sessions show;
    in their order.

    Curves with equally many executions are computed together. Only those with p <= ``alpha`` are
    permuted.
    """
    buckets: dict[tuple[bool, bool, int, int], list[int]] = defaultdict(list)
    for number, (lines, paired, _) in enumerate(members):
        buckets[paired, lines.later is not None, *lines.counts].append(number)
    contrast_of: dict[int, Contrast] = {}
    for (paired, *_), numbers in buckets.items():
        bucket = [members[number] for number in numbers]
        alike = _bucket(bucket, paired=paired, confidence=confidence, alpha=alpha)
        contrast_of |= zip(numbers, alike, strict=True)
    return [contrast_of[number] for number in range(len(members))]


def _bucket(
    members: Sequence[tuple[ExecutionLines, bool, Sequence[EarlierSessions]]],
    *,
    paired: bool,
    confidence: float,
    alpha: float,
) -> list[Contrast]:
    lines = [member for member, *_ in members]
    first, second = (
        np.stack([member.first for member in lines]),
        np.stack([member.second for member in lines]),
    )
    m, k = first.shape[1], second.shape[1]
    between = [
        None if paired or not member.logarithmic else _between(past, member)
        for member, _, past in members
    ]
    if paired:
        later = [member.later for member in lines if member.later is not None]
        whole = _in_turns(first, second, later, confidence, alpha)
    else:
        whole = _apart(first, second, between, confidence, alpha)
    veto = max(VETO, smallest(m) if paired else smallest(m, k))
    contrasts = []
    for number, (member, spread) in enumerate(zip(lines, between, strict=True)):
        theta, low, high, error = (
            _of_parts(whole.parts, name, number) for name in ("estimate", "low", "high", "error")
        )
        order = order_of(member.later, alternating=member.builds or not paired)
        chances = float(whole.p[number]), float(whole.permuted[number])
        contrasts.append(
            Contrast(
                theta, low, high, error, *chances, veto, float(whole.widest[number]), spread, order
            )
        )
    return contrasts


def _of_parts(parts: Sequence[Difference], name: str, number: int) -> tuple[float, float, float]:
    """A field of the differences at the ``CONTRAST_COLUMNS``, of one curve."""
    first, second, third = (float(getattr(part, name)[number]) for part in parts)
    return first, second, third


def _in_turns(
    first: Floats, second: Floats, later: Sequence[Flags], confidence: float, alpha: float
) -> _Contrasted:
    """Curves whose executions were paired: by the differences of the pairs.

    The period effect is removed where the orders are known (``later``: of all, or of none). Sign
    flips permute the largest |t| of all columns of the lines. If they veto a change of values that
    were pulled in, these may have been the pairs of the rarer order, and all pairs count as they
    are.
    """
    columns = [(first[..., column], second[..., column]) for column in range(first.shape[2])]
    if later:
        shifts = [period.paired(*both, np.stack(later), confidence) for both in columns]
    else:
        shifts = [huber.paired(*both, confidence) for both in columns]
    parts, permuted = (
        [shifts[part].difference for part in CONTRAST_COLUMNS],
        np.full(len(first), np.nan),
    )
    p = _together(first, second, shifts) if first.shape[1] >= FEWEST_CONTRASTED else _least(parts)
    promising = np.flatnonzero(p <= alpha)
    if len(promising):
        permuted[promising] = huber.chance(
            np.stack([shift.free[promising] for shift in shifts], axis=2)
        )
    vetoed = np.any([shift.drawn for shift in shifts], axis=0) & (
        permuted > max(VETO, smallest(first.shape[1]))
    )
    widest = np.max(
        [
            np.where(shifts[part].drawn & ~vetoed, shifts[part].reach, 0.0)
            for part in CONTRAST_COLUMNS
        ],
        axis=0,
    )
    if vetoed.any():
        plain = [difference.paired(*columns[part], confidence) for part in CONTRAST_COLUMNS]
        parts = [
            period.chosen(vetoed, whole, bent) for whole, bent in zip(plain, parts, strict=True)
        ]
    return _Contrasted(parts, p, permuted, widest)


def _together(first: Floats, second: Floats, shifts: Sequence[huber.Shift]) -> Floats:
    """Hotelling's p of the shifts of offset and slope; where the orders are lopsided, the larger
    one of both orders and of all pairs.
    """
    from perfvcs.statistics.period import hotelling

    away = np.stack([shift.widened for shift in shifts[:2]], axis=2)
    none, lopsided = np.zeros_like(away), shifts[0].lopsided
    removed = lopsided | shifts[0].removed | shifts[1].removed
    p: Floats = np.where(
        removed, hotelling(none, away, paired=True, lost=1), hotelling(none, away, paired=True)
    )
    plain: Floats = hotelling(first[..., :2], second[..., :2], paired=True) if lopsided.any() else p
    largest: Floats = np.where(lopsided, np.fmax(p, plain), p)
    return largest


def _least(parts: Sequence[Difference]) -> Floats:
    """The p of the parts tested one by one."""
    p: Floats = np.minimum(1.0, len(CONTRAST_COLUMNS) * np.min([part.p for part in parts], axis=0))
    return p


def _apart(
    first: Floats,
    second: Floats,
    between: Sequence[sessions.Spread | None],
    confidence: float,
    alpha: float,
) -> _Contrasted:
    """Curves whose executions were not: by Welch's t of the sides' means, with the variance
    ``between`` sessions added.
    """
    from perfvcs.statistics.period import hotelling

    extra = np.array([2 * spread.variance if spread else 0.0 for spread in between])
    free = np.array([spread.df if spread else 1.0 for spread in between])
    parts = [
        difference.welch(first[..., part], second[..., part], confidence, extra, free)
        for part in CONTRAST_COLUMNS
    ]
    p, lines = _least(parts), (first[..., :2], second[..., :2])
    if min(first.shape[1], second.shape[1]) >= FEWEST_CONTRASTED:
        p = np.where(np.array([spread is None for spread in between]), hotelling(*lines), p)
    permuted = np.full(len(first), np.nan)
    promising = np.flatnonzero(p <= alpha)
    if len(promising):
        permuted[promising] = two_sample(lines[0][promising], lines[1][promising])
    return _Contrasted(parts, p, permuted, np.zeros(len(first)))


def _between(pasts: Sequence[EarlierSessions], lines: ExecutionLines) -> sessions.Spread | None:
    """The largest between-session variance that the histories of the curve's sizes show; None where
    they are too short.

    The variance that is added from inside the sessions is taken away, and no more, though medians
    have more of it than lines have.
    """
    within = fmean(
        float(side[:, 0].var(ddof=1)) / len(side) if len(side) > 1 else 0.0
        for side in (lines.first, lines.second)
    )
    spreads = [past.spread(within) for past in pasts]
    return max(
        (spread for spread in spreads if spread), key=lambda spread: spread.variance, default=None
    )
