"""The newest value of a series, judged by what one more value at the present level would be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from math import lgamma, log, pi, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

FALSE_ALARM_RATE = 1e-3  # of an alarm per commit and benchmark where nothing changed
SUSPICIOUS = 5e-3  # chance from which a value is usual
SURE_ALONE = 1e-4  # chance below which a value needs no second one to be a change
SUPPORT = 10  # earlier values at the level from which an alarm is a change, and not only suspected
FEWEST_EARLIER = 3  # earlier values
SMALLEST_STEP = 0.005  # as of steps
MEDIAN_WINDOW = 25  # values whose median is what the next one is expected to be
RECENT = 256  # values whose deviations count: of fewer, normal and heavy tails look the same
RUN = 4  # newest values that may be outside together
# degrees of freedom of the tails that are tried: the fence keeps out heavier ones
FREEDOM = (3.0, 4.0, 6.0, 10.0, 30.0, 200.0)
PRIOR_DF = 4.0  # degrees of freedom that are expected before anything is known
PRIOR = 5  # values that this expectation counts as
OTHER = 0.5  # what a value on the other side counts
MEDIAN_VARIANCE = 1.57  # variance of a median, times that of the mean
# of the spread of values about their level: what the deviations' scale is at least
LEAST_SCALE = 0.3
SURE = 2.5  # standard deviations within which nothing is outside
FAR = 4.0  # standard deviations from which on values are elsewhere, and not only off
ASIDE = 3.0  # standard deviations within which values are at the level
LASTING = 5  # values in a row that are no visit
ALLOWED_OUTLIERS = 1  # a single value that was as far away is not a pattern

NewestWord = Literal["usual", "suspected", "changed"]


@dataclass(frozen=True)
class NewestValue:
    """The newest value of a series against the level of the values before it. All are logarithms.

    ``place`` is its index, ``value`` what it is, ``expected`` the level and ``low``..``high`` where
    one more value at that level lies but for a chance of 1 in 1,000. ``chance`` is that of a value
    as far away (two-sided), and ``support`` how many earlier values the level has. ``word``:
    ``usual`` from a chance of 5 in 1,000 on; below it ``suspected``; ``changed`` where a second
    value confirms it, or where it is below 1 in 10,000 and ten values or more support the level:
    those that are less rare are mostly outliers. ``since`` is the index of the first of the newest
    values that are all unusual on the same side (``place`` where it is the only one; of several the
    later ones confirm the first), None where the newest is usual. ``withdrawn`` is the index of the
    value before, where that was unusual and the newest one is not: the alarm was a false one.
    ``visited``: so many values in a row were there before.
    """

    place: int
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int
    word: NewestWord
    since: int | None
    withdrawn: int | None
    visited: bool

    @property
    def effect(self) -> float:
        """How far the value is from the level, a difference of logarithms."""
        return self.value - self.expected

    @property
    def reported(self) -> bool:
        """Whether it is news: it has changed, or chance is below 1 in 1,000, and the series was not
        there before. What is less rare only counts where the next value confirms it.
        """
        rare = self.word == "suspected" and self.chance < FALSE_ALARM_RATE
        return (self.word == "changed" or rare) and not self.visited


@dataclass(frozen=True)
class StudentTail:
    """The distance of values from the expected one, on one side: Student's t with ``df`` degrees of
    freedom and ``scale``.

    ``past`` are the distances of earlier values on this side, ascending, of ``count`` values on
    both sides.
    """

    df: float
    scale: float
    past: NDArray[np.float64]
    count: int

    def chance(self, distance: float, widening: float = 1.0) -> float:
        """Twice the chance of a value at least so far away on this side.

        It is at least twice the share of earlier values that were as far away, of which
        ``ALLOWED_OUTLIERS`` are not counted.
        """
        import numpy as np

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


@dataclass(frozen=True)
class PresentLevel:
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


def newest(
    series: NDArray[np.float64],
    places: Sequence[int],
    scale: NDArray[np.float64],
    variance: NDArray[np.float64] | None = None,
) -> NewestValue | None:
    """The newest of the finite values (n,) against the level before it; ``places`` are where the
    series changed for good.

    The expected value is the median of the last 25 values since the last change. The usual distance
    from it is learned from the last 256, each against the values before it: Student's t, on each
    side (where values on the other one count half), and no rarer than it has happened, but for one.
    ``scale`` (n,) is the spread of the values, ``variance`` (n,) are their own, NaN unknown: a
    newest value that is less sure than others is allowed as much more. None where fewer than three
    values came before.
    """
    place = len(series) - 1
    if place < FEWEST_EARLIER:
        return None
    value, base = float(series[-1]), place
    past = _present_level(series, places, scale, base, _extra(variance))
    # Values right before it that were outside, too, are not what the newest one is compared with.
    while (
        base > FEWEST_EARLIER
        and place - base < RUN
        and abs(float(series[base - 1]) - past.level) > SURE * scale[base - 1]
    ):
        before = _present_level(series, places, scale, base - 1, 0.0)
        if not before.outside(float(series[base - 1])):
            break
        past, base = before, base - 1
    side = past.outside(value)
    since = place
    while side and since > base and past.outside(float(series[since - 1])) == side:
        since -= 1
    chance = past.chance(value)
    sure = chance < SURE_ALONE and past.support >= SUPPORT
    word: NewestWord = "usual"
    if side:
        word = "changed" if since < place or sure else "suspected"
    set_aside = base < place and since == place
    level, sd = series[base - past.support : since], float(scale[-1])
    return NewestValue(
        place,
        value,
        past.level,
        past.level - past.tails[False].fence(past.widening),
        past.level + past.tails[True].fence(past.widening),
        chance,
        past.support,
        word,
        since if side else None,
        place - 1 if set_aside else None,
        visited(level, series[since:], (past.level, value), sd),
    )


def visited(
    before: NDArray[np.float64], after: NDArray[np.float64], levels: tuple[float, float], sd: float
) -> bool:
    """Whether the values ``after`` are where some of the level ``before`` were for as long: runs of
    up to four values beyond the middle of both ``levels``, and three standard deviations ``sd``
    from the old one, where these are four apart or more.

    On a machine of several processor models a series goes there and back.
    """
    old, new = levels
    if abs(new - old) < FAR * sd:
        return False
    sign, least = 1 if new > old else -1, max(abs(new - old) / 2, ASIDE * sd)
    runs = [_longest(sign * (part - old) > least) for part in (before, after)]
    return runs[1] <= min(runs[0], LASTING - 1)


def _longest(there: NDArray[np.bool_]) -> int:
    """The length of the longest run."""
    return max((len(list(run)) for value, run in groupby(there.tolist()) if value), default=0)


def _present_level(
    series: NDArray[np.float64],
    places: Sequence[int],
    scale: NDArray[np.float64],
    base: int,
    extra: float,
) -> PresentLevel:
    import numpy as np

    bounds = [0, *(place for place in places if place < base), base]
    since = bounds[-2]
    level = float(np.median(series[max(since, base - MEDIAN_WINDOW) : base]))
    parts: list[NDArray[np.float64]] = []
    for low, high in pairwise(bounds):
        if high > base - RECENT:
            parts += _deviations(series[max(low, base - RECENT) : high])
    away = np.concatenate(parts)
    floor = max(float(scale[-1]) * LEAST_SCALE, float(np.abs(series).max()) * 1e-12, 1e-100)
    first, second = (
        StudentTail(tail.df, tail.scale, np.sort(tail.sign * away[tail.sign * away > 0]), len(away))
        for tail in _fitted(away, floor)
    )
    support = base - since
    widening = sqrt(
        (1 + MEDIAN_VARIANCE / min(support, MEDIAN_WINDOW))
        / (1 + MEDIAN_VARIANCE / MEDIAN_WINDOW)
        * (1 + extra / first.scale**2)
    )
    return PresentLevel(level, support, (first, second), widening)


def _deviations(part: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """How far each value of a level lies from the median of the 25 before it; the first ones from
    that of all of these.
    """
    import numpy as np

    first, n = part[:MEDIAN_WINDOW], len(part)
    early = (first - np.median(first)) * sqrt(
        (len(first) + MEDIAN_VARIANCE) / max(len(first) - 1, 1)
    )
    if n <= MEDIAN_WINDOW:
        return [early]
    windows = np.lib.stride_tricks.sliding_window_view(part[:-1], MEDIAN_WINDOW)
    return [
        early,
        part[MEDIAN_WINDOW:]
        - np.partition(windows, MEDIAN_WINDOW // 2, axis=1)[:, MEDIAN_WINDOW // 2],
    ]


class _FittedTail(NamedTuple):
    """The side (-1 or 1), and the degrees of freedom and the scale of a t about 0."""

    sign: int
    df: float
    scale: float


class _UsualTails(NamedTuple):
    """Degrees of freedom (m, 1), the logarithms of their densities' constants, and typical
    distances of the usual tails.
    """

    df: NDArray[np.float64]
    constant: NDArray[np.float64]
    distances: NDArray[np.float64]


def _fitted(away: NDArray[np.float64], floor: float) -> list[_FittedTail]:
    """The tails on both sides, from deviations (n,).

    The likeliest scale for each of several degrees of freedom, and the mean of these fits by their
    likelihoods (1 / df, and the logarithm of the scale): hundreds of values hardly tell normal
    tails from heavy ones, and the likeliest degrees of freedom alone would be now these, now those.
    """
    import numpy as np

    freedom, constant, prior = _usual_tails()
    distances = np.abs(away)
    middle = max(float(np.median(distances)) / 0.74, floor)
    squares = np.concatenate([distances, prior * middle]) ** 2
    weights = np.ones((2, 1, len(squares)))
    weights[0, 0, : len(away)][away > 0] = OTHER
    weights[1, 0, : len(away)][away < 0] = OTHER
    total = weights.sum(axis=2, keepdims=True)
    weighted = np.swapaxes(weights * squares, 1, 2) / total
    variance = np.full((2, len(freedom), 1), middle**2)
    for _ in range(8):
        variance = np.maximum(
            (freedom + 1) * ((1 / (freedom + squares / variance)) @ weighted), floor**2
        )
    inner = np.log1p(squares / (freedom * variance)) @ np.swapaxes(weights, 1, 2)
    likelihood = (total * (constant - np.log(variance) / 2) - (freedom + 1) / 2 * inner)[:, :, 0]
    share = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    # The scale and the degrees of freedom are not known exactly, either.
    rest = share @ (1 / freedom[:, 0]) + 1 / (total[:, 0, 0] - len(prior))
    spread = np.exp((share * np.log(variance[:, :, 0])).sum(axis=1) / 2)
    return [
        _FittedTail(sign, 1 / float(rest[turn]), float(spread[turn]))
        for turn, sign in enumerate((-1, 1))
    ]


@lru_cache(maxsize=1)
def _usual_tails() -> _UsualTails:
    import numpy as np

    from perfvcs.statistics.student import point

    freedom = np.array(FREEDOM)[:, None]
    constant = np.array(
        [[lgamma((df + 1) / 2) - lgamma(df / 2) - log(df * pi) / 2] for df in FREEDOM]
    )
    shares = [0.5 + (turn + 0.5) / (2 * PRIOR) for turn in range(PRIOR)]
    return _UsualTails(
        freedom, constant, np.array([point(2 * (1 - share), PRIOR_DF) for share in shares])
    )


def _extra(variance: NDArray[np.float64] | None) -> float:
    """By how much the newest value's own variance is above the usual one."""
    import numpy as np

    if variance is None or not np.isfinite(variance[-1]) or not np.isfinite(variance[:-1]).any():
        return 0.0
    return max(0.0, float(variance[-1] - np.nanmedian(variance[:-1])))
