"""The mean relative error of the target's curve against the baseline's."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.change import Change
from perfvcs.check.curves.sides import FittedCurves
from perfvcs.check.curves.thresholds import CurveMethod, effect, graded, judged

SAME_ERROR = 0.05  # as a share of the baseline: up to here the same,
CHANGED_SHARE = 0.25  # and from here on changed


@dataclass(frozen=True)
class RelativeError(CurveMethod):
    """Changed where the mean of f(x) / f_b(x) - 1 over the common sizes is beyond 25 %, the same up
    to 5 %, suspected between.

    f are the best models where both have r2 >= .9, else the means at each size; the effect is that
    mean. Without sizes it is the relative difference of the means. Noise does not enter. Source:
    Stupinsky 2018, 5.1 and formula 5.2, which name no limits: these are those of Perun, the tool in
    which the thesis was built.
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides, measured_effect = fits.sides[number], effect(*fits.values(number))
        word, reason = graded(sides, measured_effect, SAME_ERROR, CHANGED_SHARE)
        return judged(
            sides,
            "relative-error",
            word,
            reason,
            effect=measured_effect,
            delta=self.delta,
            curve=fits.curve(number) if sides.sized else None,
        )
