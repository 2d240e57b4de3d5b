"""The scale on which a pair is judged: logarithms, or where a value is 0 or below the values
themselves.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from math import exp, expm1, fsum, inf, isinf, log, log1p
from statistics import fmean, median
from typing import TYPE_CHECKING

import msgspec

from perfvcs.profile.units import is_read
from perfvcs.statistics import sessions
from perfvcs.statistics.runs import step
from perfvcs.text.quantity import quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfvcs.check.case import Pair, Sessions
    from perfvcs.check.pastsessions import EarlierSessions
    from perfvcs.profile import Metric


LARGEST_EXPONENT = 700.0  # exp of more is beyond a float
SQUARABLE = 1e100  # squares of more are
SEVERAL_DF = 3  # degrees of freedom from which several sessions of the two sides replace a history
DISTINCT = 3  # values of a side from which it shows the step of its clock without the other one
CLOCK_STEPS = 4  # of a clock that a delta must have, so that "same" can be seen
COARSE = "{} of {} cannot show {:.3g} %"
ALL_EQUAL = (
    "all readings are equal: the clock is too coarse; if the metric is exact, declare it"
    " deterministic"
)


class Scaled(msgspec.Struct, frozen=True, dict=True):
    """What of a pair is replicated, on its scale: the executions, or where builds were repeated
    each build's mean of them.

    ``centres`` in the metric's unit; ``between`` is what is known of sessions that were apart.
    Where the scale is not ``logarithmic``, its numbers are in ``unit``s of the metric's unit.
    ``step`` is the finest step that readings of the metric have, in its unit: 0 where none is to be
    seen, infinite where all readings are equal, so that it may be any. Source of the builds:
    Kalibera 2006, eq. 16: executions of one build share its variance.
    """

    pair: Pair
    baseline: Sessions
    target: Sessions
    centres: tuple[float, float]
    logarithmic: bool
    between: sessions.Spread | None
    unit: float = 1.0
    step: float = 0.0

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Executions, or builds, on both sides."""
        return sum(map(len, self.baseline)), sum(map(len, self.target))

    @property
    def equal(self) -> bool:
        """Whether all values of both sides are."""
        first = self.baseline[0][0]
        return all(
            value == first
            for side in (self.baseline, self.target)
            for session in side
            for value in session
        )

    @property
    def medians(self) -> tuple[float, float]:
        """The medians of both sides, in the metric's unit, which outliers do not move."""
        old, new = (
            2 * median(value / 2 for value in flatten(side))
            for side in (self.pair.baseline, self.pair.target)
        )
        return old, new

    @property
    def reference(self) -> float:
        """The reference of delta without logarithms: the larger of the centres, whatever their
        signs.
        """
        return max(map(abs, self.centres))

    def relative(self, difference: float) -> float | None:
        """A difference on this scale as target/baseline - 1; infinite where it is beyond a float,
        None where it has no meaning.
        """
        if self.logarithmic:
            return expm1(difference) if abs(difference) <= LARGEST_EXPONENT else inf
        lowest = min(map(min, (*self.baseline, *self.target)))
        return share(difference * self.unit, self.centres[0]) if lowest >= 0 or self.equal else None

    def shift(self, difference: float) -> float | None:
        """A difference on this scale in the metric's unit; None where it follows from the relative
        one.
        """
        return None if self.logarithmic else difference * self.unit

    def bar(self, delta: float) -> float:
        """The smallest effect that counts, on this scale; a change and its way back have the same
        size.
        """
        return log1p(delta) if self.logarithmic else delta * self.reference / self.unit

    def reach(self, low: float, high: float) -> float:
        """How far from 0 an interval on this scale reaches, as a share, to the side where that is
        more; infinite where it has no end.
        """
        if self.logarithmic:
            return max(-expm1(min(low, 0.0)), expm1(high) if high <= LARGEST_EXPONENT else inf)
        return max(-low, high) * self.unit / self.reference if self.reference else inf

    @cached_property
    def rounding(self) -> float:
        """What the finest step of the readings can hide or pretend of a difference, on this
        scale.
        """
        if not 0 < self.step < inf:
            return self.step
        return log1p(self.step / min(self.centres)) if self.logarithmic else self.step / self.unit

    @property
    def value(self) -> float:
        """What the readings are about, in the metric's unit: a step of the clock is a share of
        it.
        """
        return min(self.centres) if self.logarithmic else self.reference


def scale(pair: Pair, finest: float = 0.0) -> Scaled:
    """The pair ready for arithmetic; ``finest`` is the step of its readings."""
    sides = flatten(pair.baseline), flatten(pair.target)
    if min(map(min, sides)) > 0:
        logs = _each(pair, log)
        centres = _within(exp(_centre(logs[0])), sides[0]), _within(exp(_centre(logs[1])), sides[1])
        return Scaled(pair, *logs, centres, True, _apart(pair, pair.past, *logs), step=finest)
    unit = max(abs(value) for side in sides for value in side) or 1.0
    shares = _each(pair, lambda value: value / unit)
    centres = (
        _within(_centre(shares[0]) * unit, sides[0]),
        _within(_centre(shares[1]) * unit, sides[1]),
    )
    # A history is kept in logarithms and says nothing on this scale.
    past = pair.past if pair.past.alike else None
    return Scaled(pair, *shares, centres, False, _apart(pair, past, *shares), unit, finest)


def share(difference: float, baseline: float) -> float | None:
    """A difference of values none of which is negative as a share of the baseline's centre; None
    where that is 0, or next to it.
    """
    if isinf(difference):
        return difference
    if baseline > abs(difference) / SQUARABLE:
        return difference / baseline
    return 0.0 if difference == 0 else None


def flatten(side: Sessions) -> list[float]:
    """All executions of one side."""
    return [value for session in side for value in session]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, without overflow on the way."""
    centre = fmean(value / len(values) for value in values) * len(values)
    return _within(centre, values)


def _each(pair: Pair, function: Callable[[float], float]) -> tuple[Sessions, Sessions]:
    """Both sides through ``function``, the executions of a build as their mean."""
    baseline = tuple([tuple(map(function, session)) for session in pair.baseline])
    target = tuple([tuple(map(function, session)) for session in pair.target])
    if pair.builds is None:
        return baseline, target
    return (
        tuple(map(_build_means, baseline, pair.builds[0])),
        tuple(map(_build_means, target, pair.builds[1])),
    )


def _build_means(session: tuple[float, ...], builds: tuple[int, ...]) -> tuple[float, ...]:
    """One mean per build, in the order of their numbers, so that both sides of a pair have the
    same.
    """
    grouped: dict[int, list[float]] = defaultdict(list)
    for value, build in zip(session, builds, strict=True):
        grouped[build].append(value)
    return tuple(_within(fmean(grouped[build]), grouped[build]) for build in sorted(grouped))


def _within(centre: float, values: Sequence[float]) -> float:
    """A centre freed from rounding past the values that it is of; equal values are their own
    centre.
    """
    return min(max(centre, min(values)), max(values))


def _centre(side: Sessions) -> float:
    return _mean([_mean(session) for session in side])


def _mean(values: Sequence[float]) -> float:
    """``fmean`` without what it looks at before."""
    return fsum(values) / len(values)


def _apart(
    pair: Pair, past: EarlierSessions | None, baseline: Sessions, target: Sessions
) -> sessions.Spread | None:
    """The between-session variance: of the history, else of several sessions on the sides
    themselves; None without either, in turns, and of single executions, of which no interval is
    known whatever sessions do.
    """
    if pair.paired or sum(map(len, (*baseline, *target))) <= 2:
        return None
    within = fmean(map(_variance_of_mean, (*baseline, *target)))
    if past is not None:
        spread = past.spread(within)
        if spread is not None:
            return spread
    if len(baseline) + len(target) - 2 < SEVERAL_DF:
        return None
    sides = ["baseline"] * len(baseline) + ["target"] * len(target)
    spread = sessions.repeats([*map(fmean, baseline), *map(fmean, target)], sides)
    return spread and sessions.Spread(max(0.0, spread.variance - within), spread.df)


def _variance_of_mean(session: tuple[float, ...]) -> float:
    """The variance that a session's mean has from inside the session; 0 where it is unknown, which
    errs on the wide side.
    """
    n = len(session)
    if n < 2:
        return 0.0
    centre = fmean(session)
    return sum((value - centre) ** 2 for value in session) / (n - 1) / n


def finest_step(pair: Pair) -> float:
    """The finest step of the readings on either side, as they were taken, in the metric's unit; 0
    for what is exact: counts, bytes, and what is declared deterministic.

    A rate is the reciprocal of a time that was read, whose step counts if it is the coarser one.
    """
    return finest(pair.about, lambda: (flatten(pair.baseline), flatten(pair.target)))


def finest(meaning: Metric, readings: Callable[[], tuple[list[float], list[float]]]) -> float:
    """As ``finest_step``, of the readings of both sides, which are taken only where they matter."""
    if meaning.kind == "deterministic" or not is_read(meaning.unit):
        return 0.0
    sides = readings()
    direct = _step(sides)
    if "/" not in meaning.unit or direct == inf or min(map(min, sides)) <= 0:
        return direct
    inverse = _step(tuple([1 / value for value in side] for side in sides))
    return max(direct, inverse * max(map(max, sides)) ** 2)


def _step(sides: tuple[list[float], ...]) -> float:
    """The step of each side by itself, since they may come from different clocks, or of both where
    neither has values enough.
    """
    alone = [step(side) for side in sides if len(set(side)) >= DISTINCT]
    return max(alone) if alone else step([value for side in sides for value in side])


def is_coarse(step_: float, value: float, delta: float) -> bool:
    """Whether a step is more than a quarter of ``delta``, a share of ``value``."""
    return step_ > delta * value / CLOCK_STEPS


def too_coarse(meaning: Metric, step_: float, delta: float) -> str:
    """In words, why readings of such a step settle nothing."""
    if isinf(step_):
        return ALL_EQUAL
    return COARSE.format(
        "a clock" if meaning.unit == "s" else "steps", quantity(step_, meaning.unit), 100 * delta
    )
