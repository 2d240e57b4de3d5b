"""One level per commit and line, and the levels of a line between its steps."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.check.subject import Level
from perfvcs.history.finding import LARGEST_EXPONENT
from perfvcs.index.lines import Course, Spreads
from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints import steps as statistics
    from perfvcs.statistics.changepoints.steps import ChangePoint


CONFIDENCE = 0.99
BATCHES = (10, 20, 40)  # values
FEWEST_DF = 4  # degrees of freedom


class Flat(Struct, frozen=True):
    """One element per line and commit: level, variance of the level, its degrees of freedom,
    executions, and whether it was measured in turns with the one before.
    """

    line: Integers
    position: Integers
    level: Floats
    variance: Floats
    df: Integers
    executions: Integers
    turns: Flags


def combine(spreads: Spreads) -> Flat:
    """One level per commit: its profiles' mean, with the larger of their variances."""
    count = len(spreads.line)
    if not count:
        nothing = (
            spreads.line,
            spreads.position,
            spreads.level,
            spreads.level,
            spreads.executions,
            spreads.executions,
        )
        return Flat(*nothing, spreads.executions > 0)
    first = np.flatnonzero(
        np.r_[True, (np.diff(spreads.line) != 0) | (np.diff(spreads.position) != 0)]
    )
    many = np.diff(np.r_[first, count])

    def total(values: Floats) -> Floats:
        return np.add.reduceat(values, first)

    level = total(spreads.level) / many
    own_variance = total(spreads.deviation**2 / spreads.executions) / many**2
    scatter = total((spreads.level - np.repeat(level, many)) ** 2) / np.maximum(many - 1, 1) / many
    executions = np.add.reduceat(spreads.executions, first)
    return Flat(
        line=spreads.line[first],
        position=spreads.position[first],
        level=level,
        variance=np.fmax(own_variance, np.where(many > 1, scatter, np.nan)),
        df=executions - many,
        executions=executions,
        turns=_turns(spreads, first),
    )


def _turns(spreads: Spreads, first: Integers) -> Flags:
    """Whether each level was measured in turns with the one before it on its line."""
    in_turns = np.zeros(len(first), dtype=bool)
    if not spreads.session.any():
        return in_turns
    ends = [*first.tolist(), len(spreads.line)]
    sessions = [set(spreads.session[start:end].tolist()) - {0} for start, end in pairwise(ends)]
    same = np.diff(spreads.line[first]) == 0
    in_turns[1:] = [
        bool(before & after) and here
        for before, after, here in zip(sessions[:-1], sessions[1:], same.tolist(), strict=True)
    ]
    return in_turns


def courses(flat: Flat) -> dict[int, Course]:
    """The course of each line, as the index gives it."""
    numbers, starts = np.unique(flat.line, return_index=True)
    courses_by_line = {}
    for number, (start, end) in zip(
        numbers.tolist(), pairwise([*starts.tolist(), len(flat.line)]), strict=True
    ):
        part = slice(start, end)
        turns = tuple(np.flatnonzero(flat.turns[part]).tolist())
        columns = (
            _array("q", flat.position[part]),
            _array("d", flat.level[part]),
            0,
            _array("d", flat.variance[part]),
        )
        courses_by_line[number] = Course(*columns, turns)
    return courses_by_line


def reach(flat: Flat) -> Floats:
    """Half the width of each level's 99 % interval; NaN where there were fewer than three
    executions: of two it may reach over twenty orders of magnitude.
    """
    from perfvcs.statistics.student import quantile

    usable = (flat.df > 1) & np.isfinite(flat.variance)
    points = quantile((1 + CONFIDENCE) / 2, np.where(usable, flat.df, 2))
    return np.where(usable, points * np.sqrt(np.where(usable, flat.variance, 0)), np.nan)


def _array(kind: str, values: NDArray[np.generic]) -> array:  # type: ignore[type-arg]
    column = array(kind)
    column.frombytes(values.tobytes())
    return column


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
