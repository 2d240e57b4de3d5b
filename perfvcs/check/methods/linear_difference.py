"""The difference of the two models, named by a line."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.curves.sides import FittedCurves
from perfvcs.check.curves.thresholds import DifferenceMethod, sentence
from perfvcs.system.numeric import np

FLAT_SHARE = 0.05  # a line that rises by less than this share of the largest error is a constant
STRAIGHT = 0.9  # r2 from which the line stands for the error


@dataclass(frozen=True)
class LinearDifference(DifferenceMethod):
    """Changed where the best models differ by more than 25 % on average, same where their
    coefficients agree within 5 %, else suspected.

    The difference of the best models is named by a straight line: constant where the line is flat,
    linear where it rises; by the best of all models where a line does not explain 90 % of it. The
    effect is the mean relative difference of the best models. Noise does not enter. Source: Perun,
    linear regression.
    """

    name = "linear-difference"

    def finding(self, fits: FittedCurves, number: int) -> str:
        """The kind of difference."""
        from perfvcs.statistics.regression.choice import choose
        from perfvcs.statistics.regression.fitting import fit

        sides, (sizes, error) = fits.sides[number], self.error(fits, number)
        unit = sides.case.about.unit
        if len(sizes) < 2:
            return sentence("constant", float(error.mean()) * sides.unit, unit)
        every = fit(sizes, error)
        line = every["linear"]
        slope, largest = float(line.coefficients[0, 1]), float(np.abs(error).max())
        if not abs(slope) * (sides.high - sides.low) > FLAT_SHARE * largest:
            return sentence("constant", float(error.mean()) * sides.unit, unit)
        if line.r2[0] >= STRAIGHT:
            return sentence("linear", slope * sides.unit, unit)
        best = choose(every, "r2")
        model = best.model() or "constant"
        scale = best.coefficients[0, 0 if model in ("constant", "power", "exponential") else 1]
        return sentence(model, float(scale) * sides.unit, unit, float(best.coefficients[0, 1]))
