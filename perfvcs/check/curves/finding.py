"""What a method found beyond the effect, in words: ``+10 ns per element (linear), O(log n) -> O(n)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.statement import finite
from perfvcs.statistics.regression.models import ORDERS, growth
from perfvcs.text.quantity import number, quantity

if TYPE_CHECKING:
    from perfvcs.check.change import Curve

STEEPER = 0.25  # difference of two exponents from which two orders of growth differ; a fitted exponent is never exact

PER = {
    "constant": "whatever the size",
    "logarithmic": "per ln of the size",
    "linear": "per element",
    "linearithmic": "per element, times the ln of the size",
    "quadratic": "per element squared",
    "cubic": "per element cubed",
}

SMALL_COEFFICIENT = 1e-12  # a smaller coefficient, in the metric's unit, is given per thousand
THOUSANDS = {"linear": (1e3, "per 1,000 elements"), "quadratic": (1e6, "per 1,000 x 1,000 elements")}


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
    """``O(log n) -> O(n)`` where the kind of error grows faster than the side without it, else empty; where ``replaced``, by the models.

    The models' own orders say too little: of two curves nearly alike the fit takes now this model and now that.
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
