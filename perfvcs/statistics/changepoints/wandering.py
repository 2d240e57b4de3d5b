"""Steps of a series that wanders slowly: those that are sudden nevertheless."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.changepoints.confirmation import Segments

CLIP = 1.345  # standard deviations about the levels, for an efficiency of 95 % where the noise is normal (Huber 1981)
SLOWEST, FASTEST, SPEEDS = 1e-4, 1.0, 13  # of a walk, in variances of the noise per value
SMALLEST_SQUARES = 1e-300


def sudden(segments: Segments, steps: Sequence[int], inflation: float, settled: Collection[int] = ()) -> list[int]:
    """The ascending ``steps`` that a series which wanders does not explain as well; those at ``settled`` places stay.

    The weakest is removed first, and the others are tested again: they may be parts of the same walk. That does not go on
    until no step is left: a walk that is to explain a sudden step is too fast for all other values.
    """
    from perfvcs.statistics.changepoints.trend import EVIDENCE

    left = list(steps)
    while left:
        found = evidence(segments, left, inflation)
        weak = [(value, step) for value, step in zip(found, left, strict=True) if value < EVIDENCE and step not in settled]
        if not weak:
            break
        left.remove(min(weak)[1])
    return left


def evidence(segments: Segments, steps: Sequence[int], inflation: float) -> list[float]:
    """For each of the ascending ``steps``, and against a level that wanders: twice the logarithm of their likelihood ratio.

    A series may have no level at all: a random walk beneath the noise goes up here and down there, and a few steps fit that, too. Both
    models have all other steps, and a walk where that is worth it: its speed costs ln n, as the place of the step does (BIC).
    ``inflation`` is that by a first-order dependence of the noise. Outliers are pulled in, by pseudo-values. ``steps`` is not empty.

    The covariance of the differences of a random walk with independent noise has the sines as its eigenvectors (Harvey 1989, 4.1), and
    with dependent noise nearly (Whittle). So one transform of the series serves all walks.
    """
    import numpy as np

    y, scale, n = segments.values, segments.scale, len(segments.values)
    left = (y - segments.along(steps)) / scale
    inside = max(float(np.mean(np.abs(left) < CLIP)), 1 / n)
    around = _sines(np.diff(np.clip(left, -CLIP, CLIP))) / inside
    sizes = np.diff(segments.centres(steps)) / scale[list(steps)]
    frequency = np.pi * np.arange(1, n) / n
    shapes = np.sqrt(2 / n) * np.sin(np.outer(steps, frequency))  # the differences of a step are an impulse
    noise = _noise(frequency, inflation)
    speeds = [0.0, *np.geomspace(SLOWEST, FASTEST, SPEEDS).tolist()]
    with_all, without = np.empty(len(speeds)), np.empty((len(speeds), len(steps)))
    for turn, speed in enumerate(speeds):
        variance = speed + noise
        weighted = shapes / variance
        inverse = np.linalg.inv(weighted @ shapes.T)
        product = weighted @ around
        squares = float(around @ (around / variance) - product @ inverse @ product)
        more = (inverse @ product + sizes) ** 2 / np.diagonal(inverse)
        price = float(np.log(variance).sum()) + (log(n) if speed else 0.0)
        with_all[turn] = (n - 1) * log(max(squares, SMALLEST_SQUARES)) + price
        without[turn] = (n - 1) * np.log(np.maximum(squares + more, SMALLEST_SQUARES)) + price
    found: list[float] = (without.min(axis=0) - with_all.min() - log(n)).tolist()
    return found


def _noise(frequency: NDArray[np.float64], inflation: float) -> NDArray[np.float64]:
    """The variances along the sines of the differences of noise of variance 1, each value of which is like the one before."""
    import numpy as np

    r = (inflation - 1) / (inflation + 1)
    found: NDArray[np.float64] = 2 * (1 - np.cos(frequency)) * (1 - r * r) / (1 - 2 * r * np.cos(frequency) + r * r)
    return found


def _sines(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The discrete sine transform of the first kind, orthonormal."""
    import numpy as np

    n = len(values) + 1
    odd = np.zeros(2 * n)
    odd[1:n], odd[n + 1 :] = values, -values[::-1]
    found: NDArray[np.float64] = -np.fft.rfft(odd).imag[1:n] / np.sqrt(2 * n)
    return found
