"""The intervals of a line's levels: of each commit, and of all between two steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING

from perfvcs.check.subject import Level
from perfvcs.history.finding import LARGEST_EXPONENT
from perfvcs.index.lines import Course
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from perfvcs.statistics.changepoints import steps as statistics
    from perfvcs.statistics.changepoints.steps import ChangePoint


CONFIDENCE = 0.99
BATCHES = (10, 20, 40)  # values
FEWEST_DF = 4  # degrees of freedom


def measured(courses: Iterable[Course]) -> list[int]:
    """The places that any of the courses has, ascending; most have the same."""
    places = {course.places.tobytes(): course.places for course in courses}
    return sorted(set[int]().union(*places.values()))


def reaches(courses: Sequence[Course]) -> list[Floats]:
    """Half the width of the 99 % interval of each level of each course; NaN where there were fewer
    than three executions: of two it may reach over twenty orders of magnitude.
    """
    from perfvcs.statistics.student import quantile

    if not courses:
        return []
    df = np.concatenate([course.df for course in courses])
    variance = np.concatenate([course.variances for course in courses])
    usable = (df > 1) & np.isfinite(variance)
    points = quantile((1 + CONFIDENCE) / 2, np.where(usable, df, 2))
    reach = np.where(usable, points * np.sqrt(np.where(usable, variance, 0)), np.nan)
    return np.split(reach, np.cumsum([len(course.df) for course in courses])[:-1])


def between(course: Course, steps: Sequence[ChangePoint], commits: Sequence[str]) -> list[Level]:
    """The stretches before, between and after the steps.

    Their intervals take into account that neighbouring commits resemble each other, as those of the
    steps do.
    """
    from perfvcs.statistics.changepoints.stepfilter import residuals
    from perfvcs.statistics.changepoints.steps import level, scale, start

    values = np.array(course.levels)
    spread = scale(values)
    cuts = sorted({step.place for step in steps})
    inflation = _batches(np.clip(residuals(values, cuts) / spread, -3.0, 3.0), cuts)
    return [
        _level(
            commits[course.places[low]],
            commits[course.places[high - 1]],
            level(values[low:high], spread[low:high], start(values[low:high])),
            inflation,
        )
        for low, high in pairwise([0, *cuts, len(values)])
    ]


def _batches(left: Floats, places: Sequence[int]) -> float:
    """The inflation by any dependence, by the means of batches of 10, 20 and 40 residuals about the
    levels between ``places``; at least 1.

    It sees what wanders slowly, too, which no lag 1 autocorrelation shows. Source: Conway 1963
    (batch means).
    """
    whole, inflation = float(left @ left) / max(len(left) - len(places) - 1, 1), 1.0
    for length in BATCHES:
        squares, df = 0.0, 0
        for low, high in pairwise([0, *places, len(left)]):
            count = (high - low) // length
            if count > 1:
                means = left[high - count * length : high].reshape(count, length).mean(axis=1)
                squares, df = squares + float(((means - means.mean()) ** 2).sum()), df + count - 1
        if df >= FEWEST_DF and whole > 0:
            inflation = max(inflation, length * squares / df / whole)
    return float(np.float64(inflation))


def _level(first: str, last: str, estimate: statistics.LevelEstimate, inflation: float) -> Level:
    """The level of a stretch of commits with its 99 % interval."""
    from perfvcs.statistics.student import point

    if estimate.n < 2:
        return Level(first, last, exp(estimate.centre))
    half = point(1 - CONFIDENCE, estimate.n - 1) * (estimate.error * inflation) ** 0.5
    if not estimate.centre + half < LARGEST_EXPONENT:  # beyond a float
        return Level(first, last, exp(estimate.centre))
    low, high = exp(estimate.centre - half), exp(estimate.centre + half)
    return Level(first, last, exp(estimate.centre), low, high)
