"""The scale on which a pair is judged: logarithms, or shares of the baseline's mean where a value is 0 or below."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import exp, expm1, log, log1p
from statistics import fmean, median
from typing import TYPE_CHECKING

from perfvcs.statistics import sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from perfvcs.check.case import Pair, Sessions
    from perfvcs.check.past import Past

LARGEST_EXPONENT = 700.0  # exp of more is beyond a float
LARGEST_SHARE = 1e100  # squares of more are
REPEATS = 3  # degrees of freedom from which several sessions of the two sides stand in for a history


@dataclass(frozen=True)
class Scaled:
    """What of a pair is replicated, on its scale: the executions, or where builds were repeated each build's mean of them.

    ``centres`` in the metric's unit; ``between`` is what is known of sessions that were apart. Source of the builds: Kalibera 2006,
    eq. 16: executions of one build share its variance.
    """

    pair: Pair
    baseline: Sessions
    target: Sessions
    centres: tuple[float, float]
    logarithmic: bool
    between: sessions.Spread | None

    @property
    def counts(self) -> tuple[int, int]:
        """Executions, or builds, on both sides."""
        return sum(map(len, self.baseline)), sum(map(len, self.target))

    @property
    def medians(self) -> tuple[float, float]:
        """The medians of both sides, in the metric's unit, which outliers do not move."""
        old, new = (2 * median(value / 2 for value in flatten(side)) for side in (self.pair.baseline, self.pair.target))
        return old, new

    def relative(self, difference: float) -> float:
        """A difference on this scale as target/baseline - 1; infinite where it is unknown or beyond a float."""
        if not self.logarithmic:
            return difference
        return expm1(difference) if abs(difference) <= LARGEST_EXPONENT else float("inf")

    def bar(self, delta: float) -> float:
        """The smallest relative effect that counts, on this scale; a change and its way back have the same size."""
        return log1p(delta) if self.logarithmic else delta


def scale(pair: Pair) -> Scaled | None:
    """The pair ready for arithmetic; None where the baseline's mean is not above 0, so that no relative change has a meaning."""
    sides = flatten(pair.baseline), flatten(pair.target)
    if min(map(min, sides)) > 0:
        logs = _each(pair, log)
        centres = _within(exp(_centre(logs[0])), sides[0]), _within(exp(_centre(logs[1])), sides[1])
        return Scaled(pair, *logs, centres, True, None if pair.paired else _between(pair.past, *logs))
    unit = mean(sides[0])
    if unit <= 0 or max(abs(value) / LARGEST_SHARE for side in sides for value in side) > unit:
        return None
    shares = _each(pair, lambda value: value / unit)
    centres = _within(_centre(shares[0]) * unit, sides[0]), _within(_centre(shares[1]) * unit, sides[1])
    # A history is kept in logarithms and says nothing on this scale.
    return Scaled(pair, *shares, centres, False, None if pair.paired else _between(None, *shares))


def flatten(side: Sessions) -> list[float]:
    """All executions of one side."""
    return [value for session in side for value in session]


def mean(values: Sequence[float]) -> float:
    """The arithmetic mean, without overflow on the way."""
    found = fmean(value / len(values) for value in values) * len(values)
    return _within(found, values)


def _each(pair: Pair, function: Callable[[float], float]) -> tuple[Sessions, Sessions]:
    """Both sides through ``function``, the executions of a build as their mean."""
    sides = (tuple(tuple(map(function, session)) for session in side) for side in (pair.baseline, pair.target))
    if pair.builds is None:
        first, second = sides
    else:
        first, second = (tuple(map(_build_means, *each)) for each in zip(sides, pair.builds, strict=True))
    return first, second


def _build_means(session: tuple[float, ...], builds: tuple[int, ...]) -> tuple[float, ...]:
    """One mean per build, in the order of their numbers, so that both sides of a pair have the same."""
    grouped: dict[int, list[float]] = defaultdict(list)
    for value, build in zip(session, builds, strict=True):
        grouped[build].append(value)
    return tuple(_within(fmean(grouped[build]), grouped[build]) for build in sorted(grouped))


def _within(centre: float, values: Sequence[float]) -> float:
    """A centre freed from rounding past the values that it is of; equal values are their own centre."""
    return min(max(centre, min(values)), max(values))


def _centre(side: Sessions) -> float:
    return fmean(map(fmean, side))


def _between(past: Past | None, baseline: Sessions, target: Sessions) -> sessions.Spread | None:
    """The between-session variance: of the history, else of several sessions on the sides themselves, else None."""
    within = fmean(map(_variance_of_mean, (*baseline, *target)))
    if past is not None:
        found = sessions.between(past.means, past.commits, within)
        if found is not None:
            return found
    if len(baseline) + len(target) - 2 < REPEATS:
        return None
    sides = ["baseline"] * len(baseline) + ["target"] * len(target)
    found = sessions.repeats([*map(fmean, baseline), *map(fmean, target)], sides)
    return found and sessions.Spread(max(0.0, found.variance - within), found.df)


def _variance_of_mean(session: tuple[float, ...]) -> float:
    """The variance that a session's mean has from inside the session; 0 where it is unknown, which errs on the wide side."""
    n = len(session)
    if n < 2:
        return 0.0
    centre = fmean(session)
    return sum((value - centre) ** 2 for value in session) / (n - 1) / n
