"""The errors of the target's curve in their own standard deviations."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.change import Change
from perfvcs.check.curves.confirmation import borne_out
from perfvcs.check.curves.sides import FittedCurves
from perfvcs.check.curves.thresholds import (
    CurveMethod,
    effect,
    judged,
    sentence,
    undirected,
    unknown,
)
from perfvcs.check.vocabulary import direction
from perfvcs.statistics.regression import curveerrors
from perfvcs.system.numeric import Floats, np
from perfvcs.text.quantity import number

SIGNIFICANCE = 0.01
OUTSTANDING = 3.0  # standard deviations: a size whose residual is named
MOST_NAMED_SIZES = 5  # sizes that are listed

NOISE = "the residuals have no direction"


@dataclass(frozen=True)
class Studentized(CurveMethod):
    """Changed where the externally studentized residuals of the target against the baseline have a
    direction.

    The errors at each size are taken in standard deviations of the noise at its level
    (``statistics.regression.scatter``; without that the largest sizes would decide alone). An error
    of one sign gives residuals about 1 (or -1), noise as many above as below 0: the mean of the
    errors is tested by Student at 1 %, which two or more executions a side must confirm. Without a
    direction it is the same only where the errors follow no kind of curve either
    (``absolute-error``). Sizes whose residual is beyond 3 are named. Below three sizes it has no
    answer. The effect is the mean relative difference of the means at each size. Source: Stupinsky
    2018, formulas 5.4 to
    5.6; the thesis names no limit, the test and the 3 are the usual ones.
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        from perfvcs.statistics.difference import paired

        sides, (before, after), sizes = (
            fits.sides[number],
            fits.measured(number),
            fits.sizes(number),
        )
        measured_effect = effect(before, after)
        if len(sizes) < 3 or sides.equal:
            return judged(
                sides,
                "studentized",
                *unknown(sides, "fewer than 3 sizes: residuals cannot be studentized"),
                effect=measured_effect,
            )
        noise = fits.deviations(number)
        residuals = curveerrors.studentized(after / noise, before / noise)
        test = paired((before / noise)[None], (after / noise)[None], None)
        mean, p = float(test.estimate[0]), float(test.p[0])
        if p <= SIGNIFICANCE:
            p = max(p, borne_out(sides, lambda at: np.interp(at, sizes, noise)))
        curve = fits.curve(number)
        named = _outstanding(sizes, residuals)
        if p > SIGNIFICANCE:
            word, reason = undirected(measured_effect, self.delta, NOISE)
            if curve.kind != "none":
                word, reason = (
                    "inconclusive",
                    f"the residuals have no direction for sure, but the errors look {curve.kind}",
                )
            return judged(
                sides,
                "studentized",
                word,
                reason or NOISE,
                effect=measured_effect,
                curve=curve,
                p=p,
                finding=named,
            )
        kind = (
            sentence(curve.kind, curve.coefficient or 0.0, sides.case.about.unit)
            if curve.coefficient
            else ""
        )
        return judged(
            sides,
            "studentized",
            direction(sides.case.about, mean),
            effect=measured_effect,
            delta=self.delta,
            curve=curve,
            p=p,
            finding="; ".join(part for part in (kind, named) if part),
        )


def _outstanding(sizes: Floats, residuals: Floats) -> str:
    """The sizes whose residual is beyond 3, in words."""
    places = np.flatnonzero(np.abs(residuals) > OUTSTANDING).tolist()
    if not places:
        return ""
    listed = ", ".join(number(float(sizes[place])) for place in places[:MOST_NAMED_SIZES])
    more = f" and {len(places) - MOST_NAMED_SIZES} more" if len(places) > MOST_NAMED_SIZES else ""
    return f"outstanding at size {listed}{more}"
