"""What the values of many series say about the next one: the present level, and how far from it
values use to lie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from math import lgamma, log, pi, sqrt
from typing import NamedTuple

from msgspec import Struct

from perfvcs.statistics.changepoints.batches import batches
from perfvcs.system.numeric import Floats, Indices, np

FALSE_ALARM_RATE = 1e-3  # of an alarm per commit and benchmark where nothing changed
SUSPICIOUS = 5e-3  # chance from which a value is usual
SMALLEST_STEP = 0.005  # as of steps
MEDIAN_WINDOW = 25  # values whose median is what the next one is expected to be
RECENT = 256  # values whose deviations count: of fewer, normal and heavy tails look the same
# degrees of freedom of the tails that are tried: the fence keeps out heavier ones
FREEDOM = (3.0, 4.0, 6.0, 10.0, 30.0, 200.0)
PRIOR_DF = 4.0  # degrees of freedom that are expected before anything is known
PRIOR = 5  # values that this expectation counts as
OTHER = 0.5  # what a value on the other side counts
MEDIAN_VARIANCE = 1.57  # variance of a median, times that of the mean
# of the spread of values about their level: what the deviations' scale is at least
LEAST_SCALE = 0.3
ALLOWED_OUTLIERS = 1  # a single value that was as far away is not a pattern


class Earlier(NamedTuple):
    """The ``values`` (n,) before a place, where they changed for good (``places``), the spread of
    the newest value, and how large the ``largest`` value of the series is; ``extra`` is by how much
    the variance of the value to be judged is above the usual one.
    """

    values: Floats
    places: Sequence[int]
    scale: float
    largest: float
    extra: float

    @property
    def since(self) -> int:
        """Where the present level begins."""
        return self.places[-1] if self.places else 0

    @property
    def level(self) -> float:
        """What the next value is expected to be."""
        return _median(self.values[max(self.since, len(self.values) - MEDIAN_WINDOW) :])


class StudentTail(Struct, frozen=True):
    """The distance of values from the expected one, on one side: Student's t with ``df`` degrees of
    freedom and ``scale``.

    ``past`` are the distances of earlier values on this side, ascending, of ``count`` values on
    both sides.
    """

    df: float
    scale: float
    past: Floats
    count: int

    def chance(self, distance: float, widening: float = 1.0) -> float:
        """Twice the chance of a value at least so far away on this side.

        It is at least twice the share of earlier values that were as far away, of which
        ``ALLOWED_OUTLIERS`` are not counted.
        """
        from perfvcs.statistics.student import tail

        if distance <= 0:
            return 1.0
        beyond = max(
            0, len(self.past) - int(np.searchsorted(self.past, distance)) - ALLOWED_OUTLIERS
        )
        return min(
            1.0, max(tail(distance / (self.scale * widening), self.df), 2 * beyond / self.count)
        )

    def fence(self, widening: float = 1.0) -> float:
        """The distance whose chance is 1 in 1,000."""
        from perfvcs.statistics.student import point

        allowed = int(FALSE_ALARM_RATE * self.count / 2) + ALLOWED_OUTLIERS
        reach = point(FALSE_ALARM_RATE, self.df) * self.scale * widening
        return max(reach, float(self.past[-1 - allowed]) if len(self.past) > allowed else 0.0)


class PresentLevel(Struct, frozen=True):
    """What the values before a place say about the next one: the ``level``, its ``support`` in
    values, and the tails below and above.

    ``widening`` is by how much fewer values at this level than elsewhere widen the tails.
    """

    level: float
    support: int
    tails: tuple[StudentTail, StudentTail]
    widening: float

    def chance(self, value: float) -> float:
        """The chance of a value as far from the level."""
        return self.tails[value > self.level].chance(abs(value - self.level), self.widening)

    def outside(self, value: float) -> int:
        """1 unusually far above what is expected, -1 below, 0 otherwise."""
        away = value - self.level
        if abs(away) < SMALLEST_STEP or self.chance(value) >= SUSPICIOUS:
            return 0
        return 1 if away > 0 else -1


def present_levels(asked: Sequence[Earlier]) -> list[PresentLevel]:
    """What each series says about its next value, n >= 1; together is much quicker."""
    levels: list[PresentLevel | None] = [None] * len(asked)
    for indices in batches([min(len(earlier.values), RECENT) for earlier in asked]):
        members = [asked[index] for index in indices]
        away = _deviations(members)
        floors = np.array([_floor(earlier) for earlier in members])
        fitted = _fitted(away, floors)
        ordered = np.sort(away, axis=1)
        for turn, index in enumerate(indices):
            past = ordered[turn]
            below, above = np.searchsorted(past, 0.0), np.searchsorted(past, 0.0, "right")
            sides = -past[:below][::-1], past[above:]
            tails = [
                StudentTail(df, scale, side, len(past))
                for (df, scale), side in zip(fitted[turn].tolist(), sides, strict=True)
            ]
            levels[index] = _level(members[turn], tails)
    return [level for level in levels if level is not None]


def ordinary(asked: Sequence[Earlier], values: Sequence[float]) -> list[float | None]:
    """The level of each series whose next one of the ``values`` is usual by what was before alone:
    it is at the level, or earlier ones were as far away on its side. None of the others, whose
    tails say whether it is.
    """
    levels: list[float | None] = [None] * len(asked)
    for indices in batches([min(len(earlier.values), RECENT) for earlier in asked]):
        members = [asked[index] for index in indices]
        level = np.array([earlier.level for earlier in members])
        away = np.array([values[index] for index in indices]) - level
        side = np.sign(away)[:, None] * _deviations(members)
        beyond = np.count_nonzero(side >= np.abs(away)[:, None], axis=1) - ALLOWED_OUTLIERS
        usual = (np.abs(away) < SMALLEST_STEP) | (2 * beyond / side.shape[1] >= SUSPICIOUS)
        for turn in np.flatnonzero(usual).tolist():
            levels[indices[turn]] = float(level[turn])
    return levels


def _level(earlier: Earlier, tails: Sequence[StudentTail]) -> PresentLevel:
    below, above = tails
    support = len(earlier.values) - earlier.since
    widening = sqrt(
        (1 + MEDIAN_VARIANCE / min(support, MEDIAN_WINDOW))
        / (1 + MEDIAN_VARIANCE / MEDIAN_WINDOW)
        * (1 + earlier.extra / below.scale**2)
    )
    return PresentLevel(earlier.level, support, (below, above), widening)


def _floor(earlier: Earlier) -> float:
    return max(earlier.scale * LEAST_SCALE, earlier.largest * 1e-12, 1e-100)


def _median(values: Floats) -> float:
    ordered: list[float] = sorted(values.tolist())
    half = len(ordered) // 2
    return (ordered[half] + ordered[(len(ordered) - 1) // 2]) / 2


def _deviations(members: Sequence[Earlier]) -> Floats:
    """How far each of the last values (members, n <= 256) lies from the median of the 25 before it
    at its level; the first ones of a level from that of all of these.
    """
    recent = np.concatenate([earlier.values[-RECENT:] for earlier in members])
    away = np.empty(len(recent))
    later: list[Indices] = []
    start = 0
    for earlier in members:
        n = len(earlier.values)
        offset = start - max(0, n - RECENT)
        inner = [offset + place for place in earlier.places if offset + place > start]
        end = start + min(n, RECENT)
        for low, high in pairwise([start, *inner, end]):
            first = recent[low : min(high, low + MEDIAN_WINDOW)]
            wider = sqrt((len(first) + MEDIAN_VARIANCE) / max(len(first) - 1, 1))
            away[low : low + len(first)] = (first - _median(first)) * wider
            later.append(np.arange(low + MEDIAN_WINDOW, high))
        start = end
    places = np.concatenate(later)
    windows = recent[places[:, None] + np.arange(-MEDIAN_WINDOW, 0)]
    half = MEDIAN_WINDOW // 2
    away[places] = recent[places] - np.partition(windows, half, axis=1)[:, half]
    return away.reshape(len(members), -1)


class _UsualTails(NamedTuple):
    """Degrees of freedom (m, 1), constants of densities, and typical distances of usual tails."""

    df: Floats
    constant: Floats
    distances: Floats


def _fitted(away: Floats, floors: Floats) -> Floats:
    """The degrees of freedom and the scale of the tails below and above, (k, 2, 2), from deviations
    (k, n).

    The likeliest scale for each of several degrees of freedom, and the mean of these fits by their
    likelihoods (1 / df, and the logarithm of the scale): hundreds of values hardly tell normal
    tails from heavy ones, and the likeliest degrees of freedom alone would be now these, now those.
    """
    freedom, constant, prior = _usual_tails()
    distances, n = np.abs(away), away.shape[1]
    middle = np.maximum(np.median(distances, axis=1) / 0.74, floors)[:, None]
    squares = (np.concatenate([distances, prior * middle], axis=1) ** 2)[:, None, None]
    weights = np.ones((len(away), 2, 1, n + len(prior)))
    weights[:, 0, 0, :n][away > 0] = OTHER
    weights[:, 1, 0, :n][away < 0] = OTHER
    total = weights.sum(axis=3, keepdims=True)
    weighted = np.swapaxes(weights * squares, 2, 3) / total
    least = floors[:, None, None, None] ** 2
    variance = np.broadcast_to(middle[:, :, None, None] ** 2, (len(away), 2, len(freedom), 1))
    for _ in range(8):
        variance = np.maximum(
            (freedom + 1) * ((1 / (freedom + squares / variance)) @ weighted), least
        )
    inner = np.log1p(squares / (freedom * variance)) @ np.swapaxes(weights, 2, 3)
    likelihood = total * (constant - np.log(variance) / 2) - (freedom + 1) / 2 * inner
    share = np.exp(likelihood - likelihood.max(axis=2, keepdims=True))[..., 0]
    share /= share.sum(axis=2, keepdims=True)
    # The scale and the degrees of freedom are not known exactly, either.
    rest = share @ (1 / freedom[:, 0]) + 1 / (total[:, :, 0, 0] - len(prior))
    spread = np.exp((share * np.log(variance[..., 0])).sum(axis=2) / 2)
    return np.stack([1 / rest, spread], axis=2)


@lru_cache(maxsize=1)
def _usual_tails() -> _UsualTails:
    from perfvcs.statistics.student import point

    freedom = np.array(FREEDOM)[:, None]
    constant = np.array(
        [[lgamma((df + 1) / 2) - lgamma(df / 2) - log(df * pi) / 2] for df in FREEDOM]
    )
    shares = [0.5 + (turn + 0.5) / (2 * PRIOR) for turn in range(PRIOR)]
    return _UsualTails(
        freedom, constant, np.array([point(2 * (1 - share), PRIOR_DF) for share in shares])
    )
