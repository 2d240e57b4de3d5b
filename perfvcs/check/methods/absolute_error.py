"""The absolute error of the target's curve against the baseline's, and its kind."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

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
from perfvcs.statistics.regression.kind import KIND_ALPHA
from perfvcs.text.quantity import quantity


@dataclass(frozen=True)
class AbsoluteError(CurveMethod):
    """Changed if the errors f(x) - f_b(x) follow a curve: constant, linear or quadratic; the same
    if they are only noise.

    If they follow none and are more than 5 % on average, it is ``inconclusive``. F-tests at .8 % on
    the means at each size find the kind of error (``statistics.regression.kind``). With two or more
    executions a side, these must confirm it at the same level, else it is ``inconclusive``, too: a
    start may move a whole curve. With a single execution all values count as independent, so such a
    start is mistaken for an error. Below three sizes it has no answer. The effect is the mean
    relative difference of the best models where both have r2 >= .9, else of the means at each size.
    Source: Stupinsky 2018, 5.1 and formulas 5.1 and 5.3, chapter 6.
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides, values = fits.sides[number], fits.values(number)
        kind, measured_effect = fits.kinds.name(number), effect(*values)
        if kind is None or sides.equal:
            return judged(
                sides,
                "absolute-error",
                *unknown(
                    sides,
                    "fewer than 3 sizes: an error of one kind cannot be distinguished from noise",
                ),
                effect=measured_effect,
            )
        if kind == "none":
            word, reason = undirected(
                measured_effect, self.delta, "the curves differ, but the errors follow no kind"
            )
            return judged(
                sides,
                "absolute-error",
                word,
                reason,
                effect=measured_effect,
                curve=fits.curve(number),
                p=float(fits.kinds.p[number]),
            )
        p = max(
            float(fits.kinds.p[number]),
            borne_out(sides, lambda sizes: fits.kinds.predict(sizes, number)),
        )
        if p >= KIND_ALPHA:
            return judged(
                sides,
                "absolute-error",
                "inconclusive",
                f"the errors are {kind}, but the executions do not confirm it: each start may have"
                " shifted a whole curve",
                effect=measured_effect,
                curve=fits.curve(number),
                p=p,
            )
        mean = float(fits.kinds.predict(fits.sizes(number), number).mean())
        squared = float(curveerrors.mean_squared(values[1], values[0]))
        size = quantity(sqrt(max(squared, 0.0)) * sides.unit, sides.case.about.unit)
        formula = sentence(
            kind, float(fits.kinds.coefficient[number]) * sides.unit, sides.case.about.unit
        )
        return judged(
            sides,
            "absolute-error",
            direction(sides.case.about, mean),
            effect=measured_effect,
            delta=self.delta,
            curve=fits.curve(number),
            p=p,
            finding=f"{formula}; root mean square error {size}",
        )
