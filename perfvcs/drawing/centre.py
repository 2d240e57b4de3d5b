"""The centre of a sample with its interval, as figures and tables state it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.text.quantity import interval as interval_text
from perfvcs.text.quantity import quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check import Change

CENTRE_CONFIDENCE = 0.99


@dataclass(frozen=True)
class Centre:
    """Centre of the executions' medians with its 99 % interval, in the metric's unit; the ends are None with one execution.

    The geometric mean with Student's interval on the log scale; the arithmetic mean where a value is not positive.
    """

    value: float
    low: float | None
    high: float | None
    executions: int

    def at(self, level: float | None) -> Centre:
        """The same at the level that a verdict states, where there is one; ends move by as much."""
        if level is None or not self.value:
            return self
        low, high = (None if end is None else level * end / self.value for end in (self.low, self.high))
        return Centre(level, low, high, self.executions)

    def text(self, unit: str) -> str:
        """The centre with its unit, and the interval in percent of it."""
        text = quantity(self.value, unit)
        if self.low is None or self.high is None or not self.value:
            return text
        low, high = ((end - self.value) / abs(self.value) for end in (self.low, self.high))
        return f"{text} {interval_text(low, high)}"


def stated(change: Change | None, *, newer: bool) -> float | None:
    """The level of the target, or of the baseline, as a verdict states it; None if it states no effect."""
    if change is None or change.effect is None:
        return None
    return change.target if newer else change.baseline


def centre(medians: NDArray[np.float64]) -> Centre | None:
    """The centre of executions' medians, shape (executions,); None for an empty array."""
    import numpy as np

    from perfvcs.statistics.interval import interval

    if not len(medians):
        return None
    positive = bool((medians > 0).all())
    scaled = np.log(medians) if positive else medians
    found = interval(scaled[np.newaxis, :], CENTRE_CONFIDENCE)
    value, low, high = (float(end[0]) for end in (found.centre, found.low, found.high))
    if positive:
        with np.errstate(over="ignore"):
            value, low, high = (float(np.exp(end)) for end in (value, low, high))
    alone = len(medians) < 2
    return Centre(value, None if alone else low, None if alone else high, len(medians))
