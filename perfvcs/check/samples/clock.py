"""Whether the clock that a pair was read from is fine enough for the difference that counts."""

from __future__ import annotations

from math import inf, isinf
from typing import TYPE_CHECKING

from perfvcs.check.samples.scale import flatten
from perfvcs.statistics.resolution import step
from perfvcs.text.quantity import quantity
from perfvcs.units import is_read

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfvcs.check.case import Pair
    from perfvcs.profile import Metric

DISTINCT = 3  # values of a side from which it shows the step of its clock without the other one
CLOCK_STEPS = 4  # of a clock that a delta must have, so that "same" can be seen
COARSE = "{} of {} cannot show {:.3g} %"
ALL_EQUAL = "all readings are equal: the clock is too coarse; if the metric is exact, declare it deterministic"


def finest_step(pair: Pair) -> float:
    """The finest step of the readings on either side, as they were taken, in the metric's unit; 0 for what is exact: counts, bytes, and
    what is declared deterministic.

    A rate is the reciprocal of a time that was read, whose step counts if it is the coarser one.
    """
    return finest(pair.about, lambda: (flatten(pair.baseline), flatten(pair.target)))


def finest(about: Metric, readings: Callable[[], tuple[list[float], list[float]]]) -> float:
    """The same of the readings of both sides, which are taken only where they matter."""
    if about.kind == "deterministic" or not is_read(about.unit):
        return 0.0
    sides = readings()
    found = _step(sides)
    if "/" not in about.unit or found == inf or min(map(min, sides)) <= 0:
        return found
    inverse = _step(tuple([1 / value for value in side] for side in sides))
    return max(found, inverse * max(map(max, sides)) ** 2)


def _step(sides: tuple[list[float], ...]) -> float:
    """Of each side by itself, since they may come from different clocks, or of both where neither has values enough."""
    alone = [step(side) for side in sides if len(set(side)) >= DISTINCT]
    return max(alone) if alone else step([value for side in sides for value in side])


def is_coarse(step_: float, value: float, delta: float) -> bool:
    """Whether a step is more than a quarter of ``delta``, a share of ``value``."""
    return step_ > delta * value / CLOCK_STEPS


def too_coarse(about: Metric, step_: float, delta: float) -> str:
    """In words, why readings of such a step settle nothing."""
    if isinf(step_):
        return ALL_EQUAL
    return COARSE.format("a clock" if about.unit == "s" else "steps", quantity(step_, about.unit), 100 * delta)
