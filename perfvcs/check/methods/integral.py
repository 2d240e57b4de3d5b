"""The areas under both models."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.change import Change
from perfvcs.check.curves.sides import FittedCurves
from perfvcs.check.curves.thresholds import CurveMethod, graded, judged
from perfvcs.check.statement import finite
from perfvcs.system.numeric import Floats, np

SAME_INTEGRAL = 0.10  # of the baseline's integral: up to here the same,
CHANGED_SHARE = 0.25  # and from here on changed
GRID_POINTS = 1001  # sizes at which the curves are summed up


@dataclass(frozen=True)
class Integral(CurveMethod):
    """Changed where the areas under the best models over the common sizes differ by more than 25 %,
    the same up to 10 %, else suspected.

    The effect is the relative difference of the areas, which the largest values decide. Without
    sizes it is that of the means. Noise does not enter, nor whether the models fit. Source: Perun,
    integral comparison (Stupinsky 2019).
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides = fits.sides[number]
        grid = np.linspace(sides.low, sides.high, GRID_POINTS if sides.high > sides.low else 1)
        areas = [_area(values) for values in fits.predicted(number, grid)]
        measured_effect = 0.0 if sides.equal else None
        if areas[0] > 0:
            measured_effect = finite(areas[1] / areas[0] - 1)
        word, reason = graded(sides, measured_effect, SAME_INTEGRAL, CHANGED_SHARE)
        return judged(
            sides,
            "integral",
            word,
            reason,
            effect=measured_effect,
            delta=self.delta,
            curve=fits.curve(number) if sides.sized else None,
        )


def _area(values: Floats) -> float:
    """By trapezoids, in units of the grid's step; of one value, the value."""
    if len(values) == 1:
        return float(values[0])
    return float(values.sum() - (values[0] + values[-1]) / 2)
