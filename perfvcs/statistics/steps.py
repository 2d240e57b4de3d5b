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
NEAR = 2  # commits that detectors may be apart
FAR = 30  # and how many at most, where the noise leaves the place open
FEWEST = 4
EDGE = 3  # fewer values than this at either end may be outliers: a running median of five cannot tell
PLAUSIBLE = 6.0  # twice the logarithm of the likelihood ratio that a place may lose against the best one


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

    from perfvcs.statistics.pelt import winsorise

    given = np.asarray(series, dtype=np.float64)
    there = np.flatnonzero(np.isfinite(given))
    y = given[there]
    if len(y) < FEWEST:
        return []
    found_by = detect(y)
    if sum(map(bool, found_by.values())) < 2:
        return []
    clipped = winsorise(y)
    agreed = agree(found_by, reach={name: _reach(clipped, places) for name, places in found_by.items()})
    settled = {where[0]: (*where, names) for where, (_, names) in zip(_settle(clipped, agreed), agreed, strict=True)}
    inner = [place for place in sorted(settled) if EDGE <= place <= len(y) - EDGE]
    found = _describe(clipped, [settled[place] for place in _confirm(clipped, inner)])
    return [
        replace(step, place=int(there[step.place]), first=int(there[step.first]), last=int(there[step.last]))
        for step in _join(_ramps(clipped, found))
    ]


def detect(series: NDArray[np.float64]) -> dict[str, list[int]]:
    """What each detector finds in a series of finite values; PELT is not asked where the others find nothing."""
    from perfvcs.statistics.divisive import divisive
    from perfvcs.statistics.pelt import pelt
    from perfvcs.statistics.window import window

    others = {"divisive": divisive(series), "window": window(series)}
    # Alone, PELT, the slowest, could not report anything.
    return {"pelt": pelt(series) if any(others.values()) else [], **others}


def agree(
    found: dict[str, list[int]], near: int = NEAR, reach: dict[str, dict[int, tuple[int, int]]] | None = None
) -> list[tuple[list[int], tuple[str, ...]]]:
    """Where at least two detectors are within ``near`` of each other: their places and names, ascending; no place counts twice.

    ``reach`` gives, per detector and place, the first and last place that it may as well be: from these on ``near`` counts.

    The middles of the groups differ. The first detector's places come first, each with the nearest one of every other; then what the
    others have among themselves.
    """
    names = list(found)
    left = {name: set(places) for name, places in found.items()}
    agreed: list[tuple[list[int], tuple[str, ...]]] = []
    for turn, name in enumerate(names):
        for place in sorted(left[name]):
            near_ones = {name: place}
            low, high = (reach or {}).get(name, {}).get(place, (place, place))
            for other in names[turn + 1 :]:
                close = [there for there in left[other] if low - near <= there <= high + near]
                if close:
                    near_ones[other] = min(close, key=lambda there: (abs(there - place), there))
            if len(near_ones) > 1:
                for member, there in near_ones.items():
                    left[member].discard(there)
                agreed.append((sorted(set(near_ones.values())), tuple(near_ones)))
    # Groups may overlap; one place is one step.
    return sorted({_middle(group): (group, who) for group, who in agreed}.values(), key=lambda found: _middle(found[0]))


def _middle(places: list[int]) -> int:
    return places[len(places) // 2]


def _settle(series: NDArray[np.float64], agreed: Sequence[tuple[list[int], tuple[str, ...]]]) -> list[tuple[int, int, int]]:
    """Per group of places the likeliest one, and the first and last that are plausible, by least squares up to the neighbours."""
    import numpy as np

    groups = [group for group, _ in agreed]
    middles = [_middle(group) for group in groups]
    settled = []
    for turn, group in enumerate(groups):
        low = middles[turn - 1] if turn else 0
        high = middles[turn + 1] if turn + 1 < len(groups) else len(series)
        part = series[low:high] - series[low:high].mean()
        n = len(part)
        lengths = np.arange(1, n)
        total = np.cumsum(part)[:-1]
        squares = np.maximum(part @ part - total**2 * n / (lengths * (n - lengths)), 0.0)
        inside = np.arange(max(1, group[0] - NEAR - low), min(n - 1, group[-1] + NEAR - low) + 1)
        best = int(inside[squares[inside - 1].argmin()])
        least = max(float(squares[best - 1]), float(part @ part) * 1e-15, 1e-300)
        plausible = np.flatnonzero(n * np.log(np.maximum(squares, least) / least) <= PLAUSIBLE) + 1
        settled.append((low + best, low + min(int(plausible.min()), best), low + max(int(plausible.max()), best)))
    return settled


def _reach(series: NDArray[np.float64], places: Sequence[int]) -> dict[int, tuple[int, int]]:
    """Per place of one detector the first and last that are as plausible, at most ``FAR`` away."""
    settled = _settle(series, [([place], ()) for place in places])
    return {
        place: (min(place, max(first, place - FAR)), max(place, min(last, place + FAR)))
        for place, (_, first, last) in zip(places, settled, strict=True)
    }


def _confirm(series: NDArray[np.float64], places: list[int]) -> list[int]:
    """The places whose p is small enough with the dependence of the residuals, which grows with every step that is taken away."""
    from perfvcs.statistics.pelt import prune

    while places:
        kept = prune(series, places, inflation=_inflation(series, places))
        if len(kept) == len(places):
            break
        places = kept
    return places


def _inflation(series: NDArray[np.float64], places: Sequence[int]) -> float:
    from perfvcs.statistics.autocorrelation import autocorrelation

    return float(autocorrelation(_residuals(series, places)[None], 1).inflation()[0])


def _residuals(series: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    import numpy as np

    return np.concatenate([part - part.mean() for part in np.split(series, places)])


def _describe(series: NDArray[np.float64], settled: Sequence[tuple[int, int, int, tuple[str, ...]]]) -> list[Step]:
    import numpy as np

    from perfvcs.statistics.pelt import chances
    from perfvcs.statistics.trend import SIDE, stepped

    places = [place for place, *_ in settled]
    bounds = [0, *places, len(series)]
    means = [float(part.mean()) for part in np.split(series, places)]
    squares = np.add.reduceat(_residuals(series, places) ** 2, bounds[:-1])
    inflation = _inflation(series, places)
    p, size = chances(series, places, inflation)
    found = []
    for turn, (place, *reach, names) in enumerate(settled):
        low, high = bounds[turn], bounds[turn + 2]
        df = float(high - low - 2)
        lengths = 1 / (place - low) + 1 / (high - place)
        error = sqrt(float(squares[turn] + squares[turn + 1]) / df * lengths * inflation) if df > 0 else nan
        sudden = stepped(series, place, low, high)
        first, last = reach if sudden else (max(low, place - SIDE), min(high, place + SIDE) - 1)
        found.append(
            Step(
                place, first, last, means[turn], means[turn + 1], float(size[turn]), error, df, float(p[turn]),
                "step" if sudden else "drift", names,
            )
        )  # fmt: skip
    return found


def _ramps(series: NDArray[np.float64], found: list[Step]) -> list[Step]:
    """The changes, those in the same direction that follow each other closely as one drift where a ramp has the smaller BIC.

    A staircase of k steps has 2 k + 1 parameters, a ramp four.
    """
    import numpy as np

    from perfvcs.statistics.trend import SIDE, WIDE, ramp

    kept: list[Step] = []
    rest = list(found)
    while rest:
        stairs = [rest.pop(0)]
        while rest and rest[0].effect * stairs[-1].effect > 0 and rest[0].place - stairs[-1].place <= WIDE:
            stairs.append(rest.pop(0))
        low = max(kept[-1].place if kept else 0, stairs[0].place - SIDE)
        high = min(rest[0].place if rest else len(series), stairs[-1].place + SIDE)
        part = series[low:high]
        n = len(part)
        squares = float((_residuals(part, [step.place - low for step in stairs]) ** 2).sum())
        if len(stairs) > 1 and squares > 0:
            line = ramp(part)
            if n * np.log(max(line.squares, squares * 1e-9) / squares) < (2 * len(stairs) - 3) * np.log(n):
                surest = min(stairs, key=lambda one: one.p)
                error, df = float(np.hypot(stairs[0].error, stairs[-1].error)), min(step.df for step in stairs)
                stairs = [
                    replace(
                        surest, first=low + line.first, last=low + line.last, before=line.before, after=line.after,
                        effect=line.after - line.before, error=error, df=df, word="drift",
                    )
                ]  # fmt: skip
        kept += stairs
    return kept


def _join(found: Sequence[Step]) -> list[Step]:
    """Neighbouring drifts in the same direction as one, at the place of the surest, from the first level to the last."""
    joined: list[Step] = []
    for step in found:
        last = joined[-1] if joined else None
        if last and last.word == step.word == "drift" and last.effect * step.effect > 0 and step.first <= last.last + 1:
            surer = min(last, step, key=lambda one: one.p)
            joined[-1] = replace(
                surer, first=last.first, last=step.last, before=last.before, after=step.after, effect=step.after - last.before,
                error=sqrt(last.error**2 + step.error**2), df=min(last.df, step.df),
            )  # fmt: skip
        else:
            joined.append(step)
    return joined
