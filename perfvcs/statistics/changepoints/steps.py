"""Steps and drifts of a history: where at least two of three detectors agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, nan, sqrt
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

VERSION = 2  # of what `steps` finds: results that were kept are used only under the same number
FEWEST = 4
EDGE = 3  # fewer values than this at either end may be outliers: a running median of five cannot tell


@dataclass(frozen=True)
class Step:
    """A lasting change of a series of log medians.

    ``place`` is the index of the first value at the new level, likeliest; it may as well be any of ``first``..``last``. ``before`` and
    ``after`` are the levels, ``effect`` their difference with its standard ``error`` on ``df`` degrees of freedom, ``p`` its chance
    without a change, ``detectors`` who found it. A ``drift`` is a change that a straight line from ``first`` to ``last`` describes as well.
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


def intervals(found: Sequence[Step], confidence: float = 0.99) -> list[tuple[float, float]]:
    """The confidence intervals of the effects of many steps, in one go."""
    import numpy as np

    from perfvcs.statistics.student import quantile

    df = np.array([step.df for step in found], dtype=np.float64)
    points = quantile((1 + confidence) / 2, np.where(df > 0, df, 1.0)) if found else df
    halves = [point * step.error if step.df > 0 else inf for point, step in zip(points.tolist(), found, strict=True)]
    return [(step.effect - half, step.effect + half) for step, half in zip(found, halves, strict=True)]


def steps(series: ArrayLike) -> list[Step]:
    """Steps and drifts of a series (n,) of log medians, one per commit in their order; places that are NaN or infinite are skipped.

    PELT, E-divisive and the weighted t-window look at it; where two of them agree within two commits (of the places that are as plausible
    as the one found, at most 30 away: a step of one standard deviation can hardly be placed within ten), the likeliest place nearby is
    reported, unless a straight line explains it as well: then it is a drift. Drifts that follow each other in the same direction are one,
    as are steps that one ramp explains better. The first and the last two values are no level of their own, and before the last twelve the
    t-window is blind: there PELT and E-divisive must agree. Levels, effect and p are of winsorised values up to the neighbouring steps,
    with the first-order dependence of the residuals taken into account. Fewer than four values, or constant ones, have no steps.
    """
    import numpy as np

    from perfvcs.statistics.changepoints.agreement import agree, reach, settle
    from perfvcs.statistics.changepoints.drift import join, ramps
    from perfvcs.statistics.changepoints.pelt import winsorise

    given = np.asarray(series, dtype=np.float64)
    there = np.flatnonzero(np.isfinite(given))
    y = given[there]
    if len(y) < FEWEST:
        return []
    found_by = detect(y)
    if sum(map(bool, found_by.values())) < 2:
        return []
    clipped = winsorise(y)
    spans = {tuple(places): reach(clipped, places) for places in found_by.values()}  # often of all detectors the same
    agreed = agree(found_by, within={name: spans[tuple(places)] for name, places in found_by.items()})
    likeliest = settle(clipped, [places for places, _ in agreed])
    settled = {where[0]: (*where, names) for where, (_, names) in zip(likeliest, agreed, strict=True)}
    inner = [place for place in sorted(settled) if EDGE <= place <= len(y) - EDGE]
    found = describe(clipped, [settled[place] for place in _confirm(clipped, inner)])
    return [
        replace(step, place=int(there[step.place]), first=int(there[step.first]), last=int(there[step.last]))
        for step in join(ramps(clipped, found))
    ]


def detect(series: NDArray[np.float64]) -> dict[str, list[int]]:
    """What each detector finds in a series of finite values; PELT is not asked where the others find nothing."""
    from perfvcs.statistics.changepoints.divisive import divisive
    from perfvcs.statistics.changepoints.pelt import pelt
    from perfvcs.statistics.changepoints.window import window

    others = {"divisive": divisive(series), "window": window(series)}
    # Alone, PELT, the slowest, could not report anything.
    return {"pelt": pelt(series) if any(others.values()) else [], **others}


def _confirm(series: NDArray[np.float64], places: list[int]) -> list[int]:
    """The places whose p is small enough with the dependence of the residuals, which grows with every step that is taken away."""
    from perfvcs.statistics.changepoints.pruning import prune

    while places:
        kept = prune(series, places, inflation=_inflation(series, places))
        if len(kept) == len(places):
            break
        places = kept
    return places


def _inflation(series: NDArray[np.float64], places: Sequence[int]) -> float:
    from perfvcs.statistics.autocorrelation import autocorrelation
    from perfvcs.statistics.changepoints.drift import residuals

    return float(autocorrelation(residuals(series, places)[None], 1).inflation()[0])


def describe(series: NDArray[np.float64], settled: Sequence[tuple[int, int, int, tuple[str, ...]]]) -> list[Step]:
    """The steps at places with their first, last and detectors, between each one's neighbours."""
    import numpy as np

    from perfvcs.statistics.changepoints.drift import residuals
    from perfvcs.statistics.changepoints.pruning import chances
    from perfvcs.statistics.changepoints.trend import SIDE, stepped

    places = [place for place, *_ in settled]
    bounds = [0, *places, len(series)]
    means = [float(part.mean()) for part in np.split(series, places)]
    squares = np.add.reduceat(residuals(series, places) ** 2, bounds[:-1])
    inflation = _inflation(series, places)
    p, size = chances(series, places, inflation)
    found = []
    for turn, (place, *range_, names) in enumerate(settled):
        low, high = bounds[turn], bounds[turn + 2]
        df = float(high - low - 2)
        lengths = 1 / (place - low) + 1 / (high - place)
        error = sqrt(float(squares[turn] + squares[turn + 1]) / df * lengths * inflation) if df > 0 else nan
        sudden = stepped(series, place, low, high)
        first, last = range_ if sudden else (max(low, place - SIDE), min(high, place + SIDE) - 1)
        found.append(
            Step(
                place, first, last, means[turn], means[turn + 1], float(size[turn]), error, df, float(p[turn]),
                "step" if sudden else "drift", names,
            )
        )  # fmt: skip
    return found
