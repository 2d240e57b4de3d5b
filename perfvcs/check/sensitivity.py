"""How far a comparison can be trusted: the smallest effect that it would have found, and how often
a project's measurements raise a false alarm.
"""

from __future__ import annotations

from functools import lru_cache
from math import expm1, log1p, sqrt
from typing import TYPE_CHECKING

import msgspec

from perfvcs.statistics.power import detectable

if TYPE_CHECKING:
    from perfvcs.check.change import Change

FEWEST = 2  # executions, below which nothing is known of their scatter


class FalseAlarms(msgspec.Struct, frozen=True, kw_only=True):
    """What stored measurements of a revision against itself (A/A) say of the series that are
    compared: how often they were called changed.

    ``rate`` is a share of the comparisons, ``low`` and ``high`` are its bounds, each with 95 %
    confidence; ``trials`` is a job in one of the ``sessions``.
    """

    rate: float
    low: float
    high: float
    sessions: int
    trials: int


def smallest(change: Change) -> float | None:
    """The smallest effect that a comparison would have found with a chance of 80 %, as a share of
    the baseline; None where its interval does not say it.

    What counts is the scatter by which the interval is as wide as it is, and the smallest effect
    that counts.
    """
    executions = min(change.builds or change.executions)
    if change.low is None or change.high is None or executions < FEWEST or change.low <= -1:
        return None
    half = (log1p(change.high) - log1p(change.low)) / 2
    factor = _factor(executions, change.confidence, paired=change.paired)
    return max(expm1(half * factor), change.delta or 0.0)


@lru_cache
def _factor(executions: int, confidence: float, *, paired: bool) -> float:
    """The smallest effect over half the width of the interval."""
    from scipy.special import stdtrit

    degrees = executions - 1 if paired else 2 * (executions - 1)
    width = float(stdtrit(degrees, (1 + confidence) / 2)) / sqrt(executions)
    return (detectable(1.0, executions, 1 - confidence) or 0.0) / width
