"""Whether the best model grows faster than the baseline's."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.change import Change
from perfvcs.check.curves.sides import GOOD_R2, FittedCurves
from perfvcs.check.curves.thresholds import CurveMethod, effect, judged
from perfvcs.check.vocabulary import Word, direction
from perfvcs.statistics.regression.models import growth

# difference of exponents from which a power is of another order; a fitted exponent is never exact
STEEPER = 0.25


@dataclass(frozen=True)
class BestModelOrder(CurveMethod):
    """Changed where the model of the highest r2 is of another order: constant < logarithmic <
    linear < linearithmic < quadratic < cubic < exponential.

    A power has the place of its exponent, and is of the same order as what is less than .25 away:
    the source puts it between cubic and exponential, whatever its exponent, by which n^1.02 -> n^2
    is an improvement. Suspected where the r2 of one of the models is below .9. Without sizes, and
    below three, both are constant: the same. The effect is the mean relative difference of the
    models where both are good, else of the means at each size; it does not enter. Two models that
    fit equally well change places by noise: that is the rule's own false alarm. Source: Perun, best
    model order equality.
    """

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides, (old, new) = fits.sides[number], fits.models(number)
        step, confidence = _step((old, new), fits.shapes(number)), min(fits.r2(number))
        word: Word = "same"
        reason = ""
        if step:
            word = direction(sides.case.about, step) if confidence >= GOOD_R2 else "suspected"
            reason = (
                "" if confidence >= GOOD_R2 else f"a model with r2 = {confidence:.2f}, below .9"
            )
        curve = fits.curve(number) if sides.sized else None
        return judged(
            sides,
            "best-model-order",
            word,
            reason,
            effect=effect(*fits.values(number)),
            curve=curve,
            finding=f"{old} -> {new}, {curve.orders[0]} -> {curve.orders[1]}"
            if curve and step
            else "",
        )


def _step(models: tuple[str, str], shapes: tuple[float, float]) -> int:
    """Whether the target's model grows faster (1), slower (-1) or as fast (0)."""
    old, new = (growth(model, shape) for model, shape in zip(models, shapes, strict=True))
    if old == new or ("power" in models and abs(new[0] - old[0]) < STEEPER):
        return 0
    return 1 if new > old else -1
