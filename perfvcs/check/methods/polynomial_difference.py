"""The difference of the two models, named by a polynomial."""

from __future__ import annotations

from dataclasses import dataclass

from perfvcs.check.curves.sides import FittedCurves
from perfvcs.check.curves.thresholds import DifferenceMethod
from perfvcs.system.numeric import np
from perfvcs.text.quantity import quantity

DEGREE_NAMES = ("constant", "linear", "quadratic", "cubic")
UNEXPLAINED = 0.05  # the share of the error (root mean square) that a polynomial may leave


@dataclass(frozen=True)
class PolynomialDifference(DifferenceMethod):
    """Changed where the best models differ by more than 25 % on average, same where their
    coefficients agree within 5 %, else suspected.

    The difference of the best models is named by the polynomial of the lowest degree, up to 3, that
    leaves at most 5 % of it: constant, linear, quadratic or cubic; Perun asks for a residual below
    a fixed number, which depends on the unit. The effect is the mean relative difference of the
    best models. Noise does not enter. Source: Perun, polynomial regression.
    """

    name = "polynomial-difference"

    def finding(self, fits: FittedCurves, number: int) -> str:
        """The kind of difference."""
        sides, (sizes, error) = fits.sides[number], self.error(fits, number)
        scale = float(np.abs(sizes).max()) or 1.0
        x, total = sizes / scale, float(np.sqrt((error**2).mean()))
        degree = 0
        for degree in range(min(len(DEGREE_NAMES), len(np.unique(x)))):
            columns = np.vander(x, degree + 1)
            coefficients = np.linalg.lstsq(columns, error, rcond=None)[0]
            if np.sqrt(((error - columns @ coefficients) ** 2).mean()) <= UNEXPLAINED * total:
                break
        mean = float(error.mean()) * sides.unit
        return (
            f"{'-' if mean < 0 else '+'}{quantity(abs(mean), sides.case.about.unit)} on average"
            f" ({DEGREE_NAMES[degree]})"
        )
