"""Changes that are one drift: staircases that a ramp explains better, and drifts that follow each
other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, log, sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.steps import TURNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from perfvcs.statistics.changepoints.steps import ChangePoint


SIDE = 60
WIDE_SIDE = 4 * SIDE  # where the noise leaves it open
EVIDENCE = 6.0


@dataclass(frozen=True)
class TrendTest:
    """``evidence`` for a step and against a line, n ln(SSE_line / SSE_step) - ln n; ``step`` says
    whether it is enough.

    ``slope`` is that of the line, per commit, in the unit of the values.
    """

    evidence: float
    step: bool
    slope: float


def trend(
    values: ArrayLike, index: int, low: int = 0, high: int | None = None, side: int = SIDE
) -> TrendTest:
    """Compare a step at index ``index`` with a straight line, on the values from ``low`` up to
    ``high``, at most ``side`` on each side.

    ``low`` and ``high`` are the neighbouring steps. The logarithm of n stands for the place of the
    step, which the line does not have (BIC). Where both fit perfectly, as with two values, it is a
    step. The values are finite; ``ValueError`` unless low < place < high.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    end = len(y) if high is None else high
    if not low < index < end:
        raise ValueError("a step lies between its neighbours")
    start, stop = max(low, index - side), min(end, index + side)
    part = y[start:stop] - y[start:stop].mean()
    n = len(part)
    time = np.arange(n) - (n - 1) / 2
    slope = float(time @ part / (time @ time)) if n > 1 else 0.0
    line = _squares(part - slope * time)
    step = sum(
        _squares(side_ - side_.mean()) for side_ in (part[: index - start], part[index - start :])
    )
    rounding = _squares(part) * 1e-20
    if step <= rounding:
        evidence = inf
    elif line <= rounding:
        evidence = -inf
    else:
        evidence = n * log(line / step) - log(n)
    return TrendTest(evidence, evidence >= EVIDENCE, slope)


@dataclass(frozen=True)
class Ramp:
    """A level up to index ``first``, a straight line to ``last``, another level from there;
    ``before`` and ``after`` are the levels.

    ``squares`` is the sum of the squared residuals.
    """

    first: int
    last: int
    before: float
    after: float
    squares: float


def ramp(values: ArrayLike, corners: int = 40) -> Ramp:
    """The ramp that fits a series best by least squares, on a grid of about ``corners`` places for
    either of its ends.

    The values are finite and at least three.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    n = len(y)
    grid = np.unique(np.linspace(0, n - 1, min(n, corners)).astype(np.intp))
    first, last = (index.ravel() for index in np.meshgrid(grid, grid, indexing="ij"))
    first, last = first[last > first], last[last > first]
    # For each ramp from 0 to 1: its mean, its squares about that, and its product with the values,
    # from prefix sums.
    rest = y - y.mean()
    total, moment = (
        np.concatenate([[0.0], np.cumsum(part)]) for part in (rest, np.arange(n) * rest)
    )
    width = (last - first).astype(np.float64)
    mean = (n - last + (width - 1) / 2) / n
    spread = n - last + (width - 1) * (2 * width - 1) / (6 * width) - n * mean**2
    rising = moment[last] - moment[first] - first * (total[last] - total[first])
    product = total[n] - total[last] + rising / width
    height = product / spread
    squares = _squares(rest) - height * product
    best = int(squares.argmin())
    before = float(y.mean() - height[best] * mean[best])
    return Ramp(
        int(first[best]),
        int(last[best]),
        before,
        before + float(height[best]),
        max(0.0, float(squares[best])),
    )


def stepped(values: ArrayLike, index: int, low: int, high: int) -> bool:
    """Whether the change at ``index`` is a step, and not a drift: by ``trend``; where that leaves
    it open, by a ramp on longer sides.

    For a step of one standard deviation, 60 values on each side cannot decide. Then it is a step
    unless the best ramp on at most 240 values on each side fits better by more than its additional
    corner costs (BIC: ln n).
    """
    import numpy as np

    near = trend(values, index, low, high)
    if near.step or near.evidence < -EVIDENCE:
        return near.step
    start, stop = max(low, index - WIDE_SIDE), min(high, index + WIDE_SIDE)
    if index - start <= SIDE and stop - index <= SIDE:  # nothing more to see
        return near.step
    y = np.asarray(values, dtype=np.float64)[start:stop]
    step = sum(_squares(side - side.mean()) for side in (y[: index - start], y[index - start :]))
    return step <= 0 or len(y) * log(max(ramp(y).squares, step * 1e-9) / step) > -log(len(y))


def _squares(values: NDArray[np.float64]) -> float:
    return float(values @ values)


def residuals(series: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """The values of a series without the means between ``places``."""
    import numpy as np

    return np.concatenate([part - part.mean() for part in np.split(series, places)])


def ramps(series: NDArray[np.float64], changes: list[ChangePoint]) -> list[ChangePoint]:
    """The changes, those in the same direction that follow each other closely as one drift where a
    ramp has the smaller BIC.

    A staircase of k steps has 2 k + 1 parameters, a ramp four. The longest staircases that a ramp
    explains become drifts; what was measured in turns stays.
    """
    explained: list[ChangePoint] = []
    rest = list(changes)
    while rest:
        stairs = [rest.pop(0)]
        while rest and _follows(stairs[-1], rest[0]):
            stairs.append(rest.pop(0))
        low = explained[-1].place if explained else 0
        high = rest[0].place if rest else len(series)
        explained += _explained(series, stairs, low, high)
    return explained


def _follows(step: ChangePoint, following: ChangePoint) -> bool:
    near = following.effect * step.effect > 0 and following.place - step.place <= WIDE_SIDE
    return near and TURNS not in step.detectors + following.detectors


def _explained(
    series: NDArray[np.float64], stairs: list[ChangePoint], low: int, high: int
) -> list[ChangePoint]:
    """A staircase between two other changes, with the longest part of it that is a ramp as a
    drift.
    """
    for length in range(len(stairs), 1, -1):
        for first in range(len(stairs) - length + 1):
            before, part, after = (
                stairs[:first],
                stairs[first : first + length],
                stairs[first + length :],
            )
            start = before[-1].place if before else low
            stop = after[0].place if after else high
            drift = _drift(series, part, start, stop)
            if drift:
                return [
                    *_explained(series, before, low, part[0].place),
                    drift,
                    *_explained(series, after, part[-1].place, high),
                ]
    return stairs


def _drift(
    series: NDArray[np.float64], stairs: list[ChangePoint], start: int, stop: int
) -> ChangePoint | None:
    import numpy as np

    low, high = max(start, stairs[0].place - SIDE), min(stop, stairs[-1].place + SIDE)
    part = series[low:high]
    n = len(part)
    squares = float((residuals(part, [change.place - low for change in stairs]) ** 2).sum())
    if squares <= 0:
        return None
    line = ramp(part)
    if n * np.log(max(line.squares, squares * 1e-9) / squares) >= (2 * len(stairs) - 3) * np.log(n):
        return None
    surest = min(stairs, key=lambda change: change.p)
    error, df = (
        float(np.hypot(stairs[0].error, stairs[-1].error)),
        min(change.df for change in stairs),
    )
    return replace(
        surest,
        first=low + line.first,
        last=low + line.last,
        before=line.before,
        after=line.after,
        effect=line.after - line.before,
        error=error,
        df=df,
        word="drift",
    )


def join(changes: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Neighbouring drifts in the same direction as one, at the place of the surest, from the first
    level to the last.
    """
    joined: list[ChangePoint] = []
    for step in changes:
        last = joined[-1] if joined else None
        if (
            last
            and last.word == step.word == "drift"
            and last.effect * step.effect > 0
            and step.first <= last.last + 1
        ):
            surer = min(last, step, key=lambda drift: drift.p)
            joined[-1] = replace(
                surer,
                first=last.first,
                last=step.last,
                before=last.before,
                after=step.after,
                effect=step.after - last.before,
                error=sqrt(last.error**2 + step.error**2),
                df=min(last.df, step.df),
            )
        else:
            joined.append(step)
    return joined
