"""How much neighbours that resemble each other enlarge the variance of a mean."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

LARGEST_AUTOCORRELATION = 0.95  # autocorrelation
ABSORBED = 14.0  # share of the autocorrelation that a segment takes away, times n: simulated, r of .3 to .8, 200 to 1,000 values
BATCHES = (10, 20, 40)  # values
FEWEST_DF = 4  # degrees of freedom


def dependence(left: NDArray[np.float64], segments: int) -> float:
    """The inflation of the variance of a mean by a first-order dependence of the residuals ``left`` of a generous segmentation.

    (1 + r) / (1 - r), at least 1, with their lag 1 autocorrelation r, which is enlarged by what ``segments`` that are placed where they fit
    best have absorbed of it.
    """
    left = left - left.mean()
    total = float(left @ left)
    if total <= 0:
        return 1.0
    r = float(left[1:] @ left[:-1]) / total * (1 + ABSORBED * segments / len(left))
    r = min(max(r, 0.0), LARGEST_AUTOCORRELATION)
    return (1 + r) / (1 - r)


def batches(left: NDArray[np.float64], places: Sequence[int]) -> float:
    """The inflation by any dependence, by the means of batches of 10, 20 and 40 residuals about the levels between ``places``; at least 1.

    It sees what wanders slowly, too, which no lag 1 autocorrelation shows. Source: Conway 1963 (batch means).
    """
    import numpy as np

    whole, found = float(left @ left) / max(len(left) - len(places) - 1, 1), 1.0
    for length in BATCHES:
        squares, df = 0.0, 0
        for low, high in pairwise([0, *places, len(left)]):
            count = (high - low) // length
            if count > 1:
                means = left[high - count * length : high].reshape(count, length).mean(axis=1)
                squares, df = squares + float(((means - means.mean()) ** 2).sum()), df + count - 1
        if df >= FEWEST_DF and whole > 0:
            found = max(found, length * squares / df / whole)
    return float(np.float64(found))
