"""The level of the commonest component of some values, robust against outliers and rarer components."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TUNING = 4.685  # standard deviations from which a value does not count: 95 % as efficient as the mean of normal values
CLIP = 3.0
MOST_ROUNDS = 20
CONVERGED_DEVIATIONS = 1e-6  # standard deviations


@dataclass(frozen=True)
class LevelEstimate:
    """``centre``, the ``variance`` of one value about it, ``error`` (that of the centre, squared), and of how many values."""

    centre: float
    variance: float
    error: float
    n: int


def start(values: NDArray[np.float64]) -> float:
    """The mean of the shortest half of some values: roughly the centre of the commonest component."""
    ordered = values.copy()
    ordered.sort()
    half = (len(ordered) + 1) // 2
    first = int((ordered[half - 1 :] - ordered[: len(ordered) - half + 1]).argmin())
    return float(ordered[first : first + half].mean())


def level(values: NDArray[np.float64], scale: NDArray[np.float64]) -> LevelEstimate:
    """Tukey's bisquare location of n values with standard deviations ``scale``, starting from their shortest half; n >= 1.

    The error is the asymptotic one, sum psi^2 / (sum psi')^2, and at least that of the mean of values clipped at 3 standard deviations: of
    skewed values the former is too small. Infinite of a single value. Source: Beaton, Tukey 1974; Huber 1981, 6.3.
    """
    import numpy as np

    n, centre = len(values), start(values)
    for _ in range(MOST_ROUNDS):
        z = (values - centre) / scale
        share = np.maximum(1 - (z / TUNING) ** 2, 0.0)
        weight = share**2
        moved = float(weight @ (values - centre) / max(float(weight.sum()), 1e-300))
        centre += moved
        if abs(moved) <= CONVERGED_DEVIATIONS * float(scale[0]):
            break
    z = (values - centre) / scale
    share = np.maximum(1 - (z / TUNING) ** 2, 0.0)
    slope = float((share * (1 - 5 * (z / TUNING) ** 2)).sum())
    psi = scale * z * share**2
    # Few values may all lie where psi falls.
    slope = max(slope, float(np.count_nonzero(share)) / 4, 0.25)
    plain = scale * np.clip(z, -CLIP, CLIP)
    error = max(float(psi @ psi) / slope**2, float(plain @ plain) / n**2) * n / (n - 1) if n > 1 else inf
    return LevelEstimate(centre, error * n, error, n)
