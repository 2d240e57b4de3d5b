"""What the published methods on curves share: one judgement a case, by thresholds, with the mean
relative difference as its effect.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.case import Case
from perfvcs.check.change import Change, Curve
from perfvcs.check.curves.sides import FittedCurves, Sides, fitted, share
from perfvcs.check.method import Method
from perfvcs.check.statement import Chances, EffectInterval, PairNumbers, PairVerdict, finite, state
from perfvcs.check.vocabulary import Word, direction
from perfvcs.statistics.regression.models import ORDERS, growth
from perfvcs.system.numeric import Floats, np
from perfvcs.text.quantity import number, quantity

# difference of two exponents from which two orders of growth differ; a fitted exponent is never
# exact
STEEPER = 0.25

PER = {
    "constant": "whatever the size",
    "logarithmic": "per ln of the size",
    "linear": "per element",
    "linearithmic": "per element, times the ln of the size",
    "quadratic": "per element squared",
    "cubic": "per element cubed",
}

SMALL_COEFFICIENT = 1e-12  # a smaller coefficient, in the metric's unit, is given per thousand
THOUSANDS = {
    "linear": (1e3, "per 1,000 elements"),
    "quadratic": (1e6, "per 1,000 x 1,000 elements"),
}
# the relative difference up to which a published rule's "no change" is believed: that of
# ``relative-error``
BELIEVED_DIFFERENCE = 0.05
NO_RATIO = "no relative change: the baseline's mean is not above 0"
AGREE = 0.05  # coefficients within this share are the same
CHANGED_SHARE = 0.25
GRID_POINTS = 201  # sizes at which two models are compared


def sentence(kind: str, coefficient: float, unit: str, shape: float | None = None) -> str:
    """A kind of error with its size: ``+10 ns per element (linear)``; empty for none."""
    if kind == "none" or finite(coefficient) is None:
        return ""
    sign = "-" if coefficient < 0 else "+"
    if kind in THOUSANDS and abs(coefficient) < SMALL_COEFFICIENT:
        factor, per = THOUSANDS[kind]
        return f"{sign}{quantity(abs(coefficient) * factor, unit)} {per} ({kind})"
    if kind == "power":
        per = f"times size^{number(shape or 0.0)}"
    elif kind == "exponential":
        per = f"times {number(shape or 0.0)}^size"
    else:
        per = PER[kind]
    return f"{sign}{quantity(abs(coefficient), unit)} {per} ({kind})"


def orders(curve: Curve, *, replaced: bool = False) -> str:
    """``O(log n) -> O(n)`` where the kind of error grows faster than the side without it, else
    empty; where ``replaced``, by the models.

    The models' own orders say too little: of two curves nearly alike the fit takes now this model
    and now that.
    """
    if curve.kind in ("none", "power", "exponential") or curve.coefficient is None:
        return ""
    if replaced:
        return " -> ".join(curve.orders)
    side = 0 if curve.coefficient > 0 else 1
    if not _steeper(growth(curve.kind), _growth(curve, side)):
        return ""
    steps = [curve.orders[side], ORDERS[curve.kind]]
    return " -> ".join(steps if side == 0 else steps[::-1])


def outgrows(curve: Curve, side: int) -> bool:
    """Whether a side (0 baseline, 1 target) grows faster than the other by its own model."""
    return _steeper(_growth(curve, side), _growth(curve, 1 - side))


def _growth(curve: Curve, side: int) -> tuple[float, float]:
    flat = curve.orders[side] == ORDERS["constant"]
    return growth("constant" if flat else curve.models[side], _exponent(curve.orders[side]))


def _steeper(first: tuple[float, float], second: tuple[float, float]) -> bool:
    return first[0] - second[0] >= STEEPER or (first[0] == second[0] and first[1] > second[1])


def _exponent(order: str) -> float | None:
    """The exponent or base that is written in an order of a power or an exponential."""
    if order.startswith("O(n^") and order.count("^") == 1:
        return float(order[4:-1])
    if order.endswith("^n)"):
        return float(order[2:-3])
    return None


@dataclass(frozen=True)
class CurveMethod(Method):
    """A method that looks at both sides' values over all their sizes, one change a case; the best
    models are those of the highest r2.

    A unit without sizes is a curve of one size. It has nothing to say of profiles of counters.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per case."""
        sides, decided = share(cases)
        if not sides:
            return decided
        fits = fitted(sides, "r2")
        return [*(self.judge(fits, place) for place in range(len(sides))), *decided]

    @abstractmethod
    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""


def effect(baseline: Floats, target: Floats) -> float | None:
    """The mean relative difference of two curves' values at the same sizes.

    Where the baseline is not above 0 throughout, the difference of the means relative to the
    baseline's; None where that is not above 0.
    """
    both = np.isfinite(baseline) & np.isfinite(target)
    before, after = baseline[both], target[both]
    if not len(before):
        return None
    with np.errstate(over="ignore"):
        if (before > 0).all():
            return finite(float((after / before).mean() - 1))
        mean = float(before.mean())
        return finite(float(after.mean() / mean - 1)) if mean > 0 else None


def unknown(sides: Sides, reason: str) -> tuple[Word, str]:
    """The word where a rule has no answer: the same if all values are, else open for that
    reason.
    """
    return ("same", "") if sides.equal else ("inconclusive", reason)


def undirected(effect: float | None, delta: float, reason: str) -> tuple[Word, str]:
    """The word if a rule finds no change of its kinds: not the same if the values have moved
    nevertheless.
    """
    return (
        ("inconclusive", reason)
        if effect is not None and abs(effect) > max(delta, BELIEVED_DIFFERENCE)
        else ("same", "")
    )


def graded(sides: Sides, effect: float | None, same: float, changed: float) -> tuple[Word, str]:
    """The word of a relative difference by a published rule's two thresholds: up to ``same``, above
    ``changed``, or suspected between.
    """
    if effect is None:
        return unknown(sides, NO_RATIO)
    if abs(effect) <= same:
        return "same", ""
    if abs(effect) <= changed:
        return "suspected", f"between {100 * same:g} and {100 * changed:g} %"
    return direction(sides.case.about, effect), ""


def judged(
    sides: Sides,
    method: str,
    word: Word,
    reason: str = "",
    *,
    effect: float | None = None,
    delta: float = 0.0,
    centres: tuple[float, float] | None = None,
    finding: str = "",
    curve: Curve | None = None,
    p: float | None = None,
) -> Change:
    """The change of a case as a whole by a rule that has no interval; ``centres`` are in the
    values' own unit (default: their means).

    The gate stops a degradation whose effect is at least ``delta``, or has none. An open comparison
    has no bound, and says so.
    """
    if word == "inconclusive":
        reason = f"{reason}; no bound, since this rule has no interval"
    known = None if effect is None else finite(effect)
    verdict = PairVerdict(
        word,
        method,
        reason,
        finding,
        delta or None,
        gate=word == "degradation" and (known is None or abs(known) >= delta),
        curve=curve,
    )
    levels = centres or (sides.means[0] * sides.unit, sides.means[1] * sides.unit)
    return state(sides, verdict, PairNumbers(levels, EffectInterval(effect), chances=Chances(p=p)))


@dataclass(frozen=True)
class DifferenceMethod(CurveMethod):
    """Judges by the mean relative difference of the best models: changed beyond 25 %, else
    suspected; the same where the models agree.
    """

    name: ClassVar[str]

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides = fits.sides[number]
        difference = effect(*fits.predicted(number, self._grid(fits, number)))
        curve = fits.curve(number) if sides.sized else None
        if _agree(fits, number) or sides.equal:
            return judged(sides, self.name, "same", effect=difference, curve=curve)
        word, reason = graded(sides, difference, 0.0, CHANGED_SHARE)
        if word == "suspected":
            reason = f"the models differ by at most {100 * CHANGED_SHARE:g} %"
        return judged(
            sides,
            self.name,
            word,
            reason,
            effect=difference,
            delta=self.delta,
            finding=self.finding(fits, number),
            curve=curve,
        )

    @abstractmethod
    def finding(self, fits: FittedCurves, number: int) -> str:
        """The kind of difference, in words."""

    def error(self, fits: FittedCurves, number: int) -> tuple[Floats, Floats]:
        """Sizes spread over the common range, and the difference of the best models there, if
        known.
        """
        grid = self._grid(fits, number)
        before, after = fits.predicted(number, grid)
        finite_values = np.isfinite(before) & np.isfinite(after)
        return grid[finite_values], (after - before)[finite_values]

    def _grid(self, fits: FittedCurves, number: int) -> Floats:
        sides = fits.sides[number]
        return np.linspace(sides.low, sides.high, GRID_POINTS if sides.high > sides.low else 1)


def _agree(fits: FittedCurves, number: int) -> bool:
    """Whether both best models are the same one with nearly the same coefficients."""
    if fits.models(number)[0] != fits.models(number)[1]:
        return False
    old, new = fits.baseline.coefficients[number], fits.target.coefficients[number]
    return bool(np.isclose(new, old, rtol=AGREE, atol=0.0, equal_nan=True).all())
