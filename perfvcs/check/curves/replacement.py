"""Whether a function was replaced by one of another order of growth, rather than something added to it or taken from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.curves.finding import outgrows

if TYPE_CHECKING:
    from perfvcs.check.change import Curve
    from perfvcs.check.curves.curve import FittedCurves

ORDER_R2 = 0.98  # r2 from which the order of a model is named
FARTHER = 1.25  # times as far from the values as its own model must be what an added error explains: that has more coefficients,
SMALLEST_SHARE = 0.001  # and by this share of the values, or it is rounding


def replaced(fits: FittedCurves, number: int, curve: Curve) -> bool:
    """Whether the side that is above by the error outgrows the other by its own model, which explains it better than that error does.

    Compared are the mean distances from its means at all sizes, in shares of these: of its own model, and of the other side's with the
    error added, be it that one's model or, which may not fit, its means. log n and a little of n looks like a power, but log n with a
    linear error explains it better.
    """
    import numpy as np

    if curve.coefficient is None or not outgrows(curve, side := int(curve.coefficient > 0)) or curve.r2[side] < ORDER_R2:
        return False
    sizes = fits.sizes(number)
    models, measured = fits.predicted(number, sizes), fits.measured(number)
    error = fits.kinds.predict(sizes, number) * (1 if side else -1)
    with np.errstate(all="ignore"):
        curves = np.stack([models[side], models[1 - side] + error, measured[1 - side] + error])
        away = np.abs(curves / measured[side] - 1)
    known = np.isfinite(away).all(axis=0)
    if not known.any():
        return False
    own, *added = away[:, known].mean(axis=1).tolist()
    return bool(min(added) >= max(SMALLEST_SHARE, FARTHER * own))
