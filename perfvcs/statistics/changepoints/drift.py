"""Changes that are one drift: staircases that a ramp explains better, and drifts that follow each other."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.steps import TURNS
from perfvcs.statistics.changepoints.trend import SIDE, WIDE_SIDE, ramp

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints.steps import ChangePoint


def residuals(series: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """The values of a series without the means between ``places``."""
    import numpy as np

    return np.concatenate([part - part.mean() for part in np.split(series, places)])


def ramps(series: NDArray[np.float64], changes: list[ChangePoint]) -> list[ChangePoint]:
    """The changes, those in the same direction that follow each other closely as one drift where a ramp has the smaller BIC.

    A staircase of k steps has 2 k + 1 parameters, a ramp four. The longest staircases that a ramp explains become drifts; what was measured
    in turns stays.
    """
    kept: list[ChangePoint] = []
    rest = list(changes)
    while rest:
        stairs = [rest.pop(0)]
        while rest and _follows(stairs[-1], rest[0]):
            stairs.append(rest.pop(0))
        kept += _explained(series, stairs, kept[-1].place if kept else 0, rest[0].place if rest else len(series))
    return kept


def _follows(step: ChangePoint, following: ChangePoint) -> bool:
    near = following.effect * step.effect > 0 and following.place - step.place <= WIDE_SIDE
    return near and TURNS not in step.detectors + following.detectors


def _explained(series: NDArray[np.float64], stairs: list[ChangePoint], low: int, high: int) -> list[ChangePoint]:
    """A staircase between two other changes, with the longest part of it that is a ramp as a drift."""
    for length in range(len(stairs), 1, -1):
        for first in range(len(stairs) - length + 1):
            before, part, after = stairs[:first], stairs[first : first + length], stairs[first + length :]
            start, stop = before[-1].place if before else low, after[0].place if after else high
            drift = _drift(series, part, start, stop)
            if drift:
                return [*_explained(series, before, low, part[0].place), drift, *_explained(series, after, part[-1].place, high)]
    return stairs


def _drift(series: NDArray[np.float64], stairs: list[ChangePoint], start: int, stop: int) -> ChangePoint | None:
    import numpy as np

    low, high = max(start, stairs[0].place - SIDE), min(stop, stairs[-1].place + SIDE)
    part = series[low:high]
    n = len(part)
    squares = float((residuals(part, [step.place - low for step in stairs]) ** 2).sum())
    if squares <= 0:
        return None
    line = ramp(part)
    if n * np.log(max(line.squares, squares * 1e-9) / squares) >= (2 * len(stairs) - 3) * np.log(n):
        return None
    surest = min(stairs, key=lambda one: one.p)
    error, df = float(np.hypot(stairs[0].error, stairs[-1].error)), min(step.df for step in stairs)
    return replace(
        surest, first=low + line.first, last=low + line.last, before=line.before, after=line.after, effect=line.after - line.before,
        error=error, df=df, word="drift",
    )  # fmt: skip


def join(changes: Sequence[ChangePoint]) -> list[ChangePoint]:
    """Neighbouring drifts in the same direction as one, at the place of the surest, from the first level to the last."""
    joined: list[ChangePoint] = []
    for step in changes:
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
