"""What a step or a drift of a history is."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence


VERSION = 8  # of what `judge` finds: results that were kept are used only under the same number
BY_SERIES, TURNS = "series", "turns"  # what says that there is a step: the series itself, or a verdict measured in turns


@dataclass(frozen=True)
class ChangePoint:
    """A lasting change of a series of log medians.

    ``place`` is the index of the first value at the new level, likeliest; it may as well be any of ``first``..``last``. ``before`` and
    ``after`` are the levels, ``effect`` their difference with its standard ``error`` on ``df`` degrees of freedom, ``p`` its chance
    without a change, ``detectors`` what says so: ``series``, ``turns``, or both. A ``drift`` is a change that a straight line from
    ``first`` to ``last`` describes as well.
    """

    place: int
    first: int
    last: int
    before: float
    after: float
    effect: float
    error: float
    df: float
    p: float
    word: Literal["step", "drift"]
    detectors: tuple[str, ...]

    def interval(self, confidence: float = 0.99) -> tuple[float, float]:
        """The confidence interval of the effect, by Student's t; infinite where no variance could be estimated."""
        return intervals([self], confidence)[0]


def intervals(changes: Sequence[ChangePoint], confidence: float = 0.99) -> list[tuple[float, float]]:
    """The confidence intervals of many steps' effects, in one go."""
    import numpy as np

    from perfvcs.statistics.student import quantile

    df = np.array([step.df for step in changes], dtype=np.float64)
    points = quantile((1 + confidence) / 2, np.where(df > 0, df, 1.0)) if changes else df
    halves = [point * step.error if step.df > 0 else inf for point, step in zip(points.tolist(), changes, strict=True)]
    return [(step.effect - half, step.effect + half) for step, half in zip(changes, halves, strict=True)]
