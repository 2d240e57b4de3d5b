"""Many units as one: per execution what all of them take together, so that their common effect is judged like that of one unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Together:
    """What all units take together, ``baseline`` of shape (m,) and ``target`` of shape (k,), and the ``shares`` (units,) of each unit.

    The geometric means of both sides are the sums of the units' geometric means.
    """

    baseline: NDArray[np.float64]
    target: NDArray[np.float64]
    shares: NDArray[np.float64]


def together(baseline: ArrayLike, target: ArrayLike, *, rates: bool = False) -> Together:
    """The units of two sides as one, from values of shape (units, m) and (units, k), all above 0; column by column the executions.

    Units of one execution share its noise, so they are combined first, inside each execution, and executions remain what is
    replicated. Each unit has a weight, its share in the total, and weighs on a logarithmic scale, on which a single odd value moves
    the sum less than its own size. With the logarithmic mean of both sides as weight the weighted mean of the logarithms of ratios is
    exactly that of the ratio of the totals. ``rates`` are amounts per time: added up is the time that one of each takes, and the
    result is a rate again. Source: Montgomery 1937; Vartia 1976, eq. 12.
    """
    import numpy as np

    sign = -1.0 if rates else 1.0
    logs = [sign * np.log(np.asarray(side, dtype=np.float64)) for side in (baseline, target)]
    centres = [side.mean(axis=1) for side in logs]
    peak = max(float(centre.max()) for centre in centres)
    amounts = [np.exp(centre - peak) for centre in centres]
    weights = _logarithmic_mean(amounts[0], amounts[1], centres[1] - centres[0])
    shares = weights / weights.sum()
    first, second = (
        np.exp(sign * (shares @ (side - centre[:, None]) + np.log(amount.sum()) + peak))
        for side, centre, amount in zip(logs, centres, amounts, strict=True)
    )
    return Together(first, second, shares)


def _logarithmic_mean(first: NDArray[np.float64], second: NDArray[np.float64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """(b - a) / ``ratio``, which is log(b / a), and a where both are equal; near that by the series, where the quotient is rounding."""
    import numpy as np

    near = np.abs(ratio) < 1e-4
    quotient = (second - first) / np.where(near, 1.0, ratio)
    mean: NDArray[np.float64] = np.where(near, np.sqrt(first * second) * (1 + ratio**2 / 24), quotient)
    return mean
