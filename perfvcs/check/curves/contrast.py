"""The numbers behind verdicts on curves: differences at both ends and over all sizes, and the chance of the whole."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from perfvcs.statistics import difference, huber, sessions
from perfvcs.statistics.permutation import sign_flips, smallest, two_sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.curves.replication import ExecutionLines
    from perfvcs.check.sessions import EarlierSessions

VETO = 0.01
FEWEST = 5  # executions a side from which offset and slope are tested together
FAR = 3.0  # standard errors that hardly any difference between sessions has

Three = tuple[float, float, float]
PARTS = (2, 3, 0)  # the columns of lines: smallest sizes, largest sizes, all sizes


@dataclass(frozen=True)
class Contrast:
    """Target minus baseline at the smallest, at the largest and over all sizes, with their intervals, infinite for one execution a side.

    ``veto`` is the largest ``permutation_p`` that lets a change pass; nothing was permuted where it is NaN. ``widest`` is how far from 0
    Student's intervals (90 %) reach where outliers were drawn in. ``between`` is what is known of sessions that were apart,
    and a part of ``error``, the standard errors.
    """

    theta: Three
    low: Three
    high: Three
    error: Three
    p: float
    permutation_p: float
    veto: float
    widest: float
    between: sessions.Spread | None

    def stands_out(self, bar: float) -> bool:
        """Whether it is too large for what sessions apart are known to differ by, if not for how little is known of that."""
        return self.between is not None and any(
            abs(theta) >= max(bar, FAR * error) for theta, error in zip(self.theta, self.error, strict=True)
        )

    def part(self, bar: float) -> int:
        """Where the curve changed: 1 at the largest sizes, else 0 at the smallest, else 2 over all; if none tells, the likeliest."""

        def likely(place: int) -> tuple[bool, bool, float]:
            theta, half = abs(self.theta[place]), self._half(place)
            return self.tells(bar, place), theta >= bar, 0.0 if theta > half else theta / half if half > 0 else 0.0

        return max((1, 0, 2), key=likely)

    def tells(self, bar: float, place: int) -> bool:
        """Whether it is large enough there, and its interval on one side of 0."""
        return abs(self.theta[place]) >= bar and abs(self.theta[place]) > self._half(place)

    def _half(self, place: int) -> float:
        return (self.high[place] - self.low[place]) / 2


def contrasts(
    members: Sequence[tuple[ExecutionLines, bool, Sequence[EarlierSessions]]], confidence: float, alpha: float
) -> list[Contrast]:
    """One contrast per curve: its lines, whether they are paired, and what earlier sessions show; in their order.

    Curves with equally many executions are computed together. Only those with p <= ``alpha`` are permuted.
    """
    buckets: dict[tuple[bool, int, int], list[int]] = defaultdict(list)
    for place, (lines, paired, _) in enumerate(members):
        buckets[paired, *lines.counts].append(place)
    found: dict[int, Contrast] = {}
    for (paired, *_), places in buckets.items():
        found |= zip(places, _bucket([members[place] for place in places], paired, confidence, alpha), strict=True)
    return [found[place] for place in range(len(members))]


def _bucket(
    members: Sequence[tuple[ExecutionLines, bool, Sequence[EarlierSessions]]], paired: bool, confidence: float, alpha: float
) -> list[Contrast]:
    import numpy as np

    from perfvcs.statistics.hotelling import hotelling

    lines = [one for one, *_ in members]
    first, second = np.stack([one.first for one in lines]), np.stack([one.second for one in lines])
    m, k = first.shape[1], second.shape[1]
    between = [None if paired or not one.logarithmic else _between(past, one) for one, _, past in members]
    columns = [(first[..., column], second[..., column]) for column in range(first.shape[2])]
    shifts = [huber.paired(*both, confidence) for both in columns] if paired else []
    away = [one.difference for one in shifts] or _apart(columns, between, confidence)
    parts = [away[part] for part in PARTS]
    widest = np.zeros(len(lines))
    if paired:
        widest = np.max([np.where(shifts[part].drawn, shifts[part].reach, 0.0) for part in PARTS], axis=0)
    p = np.minimum(1.0, len(PARTS) * np.min([part.p for part in parts], axis=0))
    line = first[..., :2], second[..., :2]
    if min(m, k) >= FEWEST:
        alone = np.array([one is None for one in between])
        p = np.where(alone, _together(shifts[:2]) if paired else hotelling(*line), p)
    permuted = np.full(len(lines), np.nan)
    promising = np.flatnonzero(p <= alpha)
    if len(promising) and paired:
        permuted[promising] = sign_flips(np.stack([one.gaps[promising] for one in shifts[:2]], axis=2))
    elif len(promising):
        permuted[promising] = two_sample(line[0][promising], line[1][promising])
    veto = max(VETO, smallest(m) if paired else smallest(m, k))
    found = []
    for place, spread in enumerate(between):
        theta, low, high, error = (
            (float(column[0][place]), float(column[1][place]), float(column[2][place]))
            for column in ([getattr(part, name) for part in parts] for name in ("estimate", "low", "high", "error"))
        )
        found.append(
            Contrast(theta, low, high, error, float(p[place]), float(permuted[place]), veto, float(widest[place]), spread)
        )
    return found


def _apart(
    columns: Sequence[tuple[NDArray[np.float64], NDArray[np.float64]]],
    between: Sequence[sessions.Spread | None],
    confidence: float,
) -> list[difference.Difference]:
    """Welch's differences, with what sessions differ by once from each side."""
    import numpy as np

    extra = np.array([2 * one.variance if one else 0.0 for one in between])
    free = np.array([one.df if one else 1.0 for one in between])
    return [difference.welch(*both, confidence, extra, free) for both in columns]


def _together(gaps: Sequence[huber.Shift]) -> NDArray[np.float64]:
    """Hotelling's p of the paired gaps of offset and slope, outliers drawn in."""
    import numpy as np

    from perfvcs.statistics.hotelling import hotelling

    away = np.stack([gap.widened for gap in gaps], axis=2)
    return hotelling(np.zeros_like(away), away, paired=True)


def _between(pasts: Sequence[EarlierSessions], lines: ExecutionLines) -> sessions.Spread | None:
    """The largest between-session variance that the histories of the curve's sizes show; None where they are too short.

    The variance that is added from inside the sessions is taken away, and no more, though medians have more of it than lines have.
    """
    within = fmean(float(side[:, 0].var(ddof=1)) / len(side) if len(side) > 1 else 0.0 for side in (lines.first, lines.second))
    known = [sessions.between(past.means, past.commits, within) for past in pasts]
    return max((one for one in known if one), key=lambda one: one.variance, default=None)
