"""Least squares of a quadratic with all its terms, b0 + b1 n + b2 n^2, to many groups at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.regression.block import RowBlock

FLAT = 1e-12  # of the largest square, below which squares of sizes about their straight line are rounding: there are two sizes


class Parabola(NamedTuple):
    """A parabola per group: ``coefficients`` (groups, 3) are NaN below three sizes, ``factors`` (groups, 3) are what their variances
    are in units of that of the residuals, ``squares`` (groups,) the sum of squared residuals.
    """

    coefficients: NDArray[np.float64]
    factors: NDArray[np.float64]
    squares: NDArray[np.float64]


def parabola(block: RowBlock) -> Parabola:
    """Fit each group by polynomials that are orthogonal on its own sizes, which lose nothing to large sizes far from 0.

    Source: Forsythe 1957, Generation and use of orthogonal polynomials for data-fitting.
    """
    import numpy as np

    weight = block.total(np.ones(len(block.x)))
    centre, mean = block.total(block.x) / weight, block.total(block.y) / weight
    u, rest = block.x - block.spread(centre), block.y - block.spread(mean)
    left = block.total(u) / weight  # the rounding of the first mean, which is that of the sizes, not of their distances
    u -= block.spread(left)
    centre = centre + left
    spread = block.total(u * u)
    slope = block.total(u * rest) / spread
    rest -= block.spread(slope) * u
    level, lean = spread / weight, block.total(u * u * u) / spread
    v = u * u - block.spread(level) - block.spread(lean) * u
    width, largest = block.total(v * v), block.most(np.abs(u)) ** 2
    several = block.most(block.x) > -block.most(-block.x)  # the mean of equal sizes need not be exactly that size
    bend = np.where(several & (width > weight * (FLAT * largest) ** 2), block.total(v * rest) / width, np.nan)
    rest -= block.spread(bend) * v
    tilt, lift = lean + 2 * centre, centre * centre + lean * centre - level  # v is x^2 - tilt x + lift
    coefficients = [mean - slope * centre + bend * lift, slope - bend * tilt, bend]
    factors = [1 / weight + centre**2 / spread + lift**2 / width, 1 / spread + tilt**2 / width, 1 / width]
    return Parabola(np.stack(coefficients, axis=1), np.stack(factors, axis=1), block.squares(rest, block.y))
