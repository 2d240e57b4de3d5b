"""Changes that are one drift: staircases that a ramp explains better, and drifts that follow each other."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints.steps import Step


def residuals(series: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """The values of a series without the means between ``places``."""
    import numpy as np

    return np.concatenate([part - part.mean() for part in np.split(series, places)])


def ramps(series: NDArray[np.float64], found: list[Step]) -> list[Step]:
    """The changes, those in the same direction that follow each other closely as one drift where a ramp has the smaller BIC.

    A staircase of k steps has 2 k + 1 parameters, a ramp four.
    """
    import numpy as np

    from perfvcs.statistics.changepoints.trend import SIDE, WIDE, ramp

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
        squares = float((residuals(part, [step.place - low for step in stairs]) ** 2).sum())
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


def join(found: Sequence[Step]) -> list[Step]:
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
