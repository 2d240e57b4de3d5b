"""How often to build, execute and measure: the counts that give the most precise mean for their cost."""

from __future__ import annotations

from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray


def measurements(within: ArrayLike, executions: ArrayLike, warmup: ArrayLike) -> NDArray[np.float64]:
    """The best number of measurements per execution, n0 = sqrt(w S_E^2 / S_B^2); elementwise, not rounded, at least 1.

    ``within`` is S_E^2 and ``executions`` S_B^2 in the same unit; ``warmup`` is w, what starting and warming up an execution costs, in
    measurements. Infinite where executions do not differ (never start again), 1 where nothing varies. It is the same with two levels
    and with three, and where the measured operation is a part of the repeated one.
    Sources: Kalibera, Bulej, Tuma 2005, section 3.1; Kalibera 2006, eq. 8 of ch. 4, eq. 21 and 23 of ch. 7.
    """
    import numpy as np

    return _root(np.multiply(warmup, within), executions)


def executions(
    executions: ArrayLike, binaries: ArrayLike, warmup: ArrayLike, build: ArrayLike, part: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """The best number of executions per binary, m0 = sqrt(b S_B^2 / (q w S_V^2)); elementwise, not rounded, at least 1.

    ``executions`` is S_B^2, ``binaries`` S_V^2; ``build`` (b) is the cost of a build and ``warmup`` (w) that of an execution's start, in
    measurements; the repeated operation takes ``part`` (q) times as long as the measured one. Infinite where binaries do not differ,
    or starting costs nothing. Source: Kalibera 2006, ch. 7, eq. 21; eq. 23 with q.
    """
    import numpy as np

    return _root(np.multiply(build, executions), np.multiply(np.multiply(part, warmup), binaries))


def variance(
    within: ArrayLike, executions: ArrayLike, binaries: ArrayLike, builds: ArrayLike, runs: ArrayLike, times: ArrayLike
) -> NDArray[np.float64]:
    """The variance of the mean of l ``builds`` with m ``runs`` each that measure n ``times``; elementwise.

    S_E^2/(lmn) + S_B^2/(lm) + S_V^2/l. Source: Kalibera 2006, ch. 7, eq. 19.
    """
    import numpy as np

    e, b, v, l_, m, n = (np.asarray(part, dtype=np.float64) for part in (within, executions, binaries, builds, runs, times))
    return np.asarray((e / (m * n) + b / m + v) / l_)


def cost(
    builds: ArrayLike, runs: ArrayLike, times: ArrayLike, warmup: ArrayLike, build: ArrayLike = 0.0, part: ArrayLike = 1.0
) -> NDArray[np.float64]:
    """What the design costs, in measurements: (b + (w + n) m q) l; elementwise.

    Source: Kalibera 2006, ch. 7, eq. 18; eq. 22 with ``part`` (q).
    """
    import numpy as np

    l_, m, n, w, b, q = (np.asarray(part_, dtype=np.float64) for part_ in (builds, runs, times, warmup, build, part))
    return np.asarray((b + (w + n) * m * q) * l_)


def observations(precision: float = 0.005, quantile: float = 0.5, confidence: float = 0.95) -> int:
    """How many independent observations place a quantile within +-``precision`` of its share of the distribution.

    n >= z^2 p (1 - p) / eps^2; .005 about the median at 95 % needs 38416 with z = 1.96. A quantile of 0 or 1 needs 1.
    ``ValueError`` outside 0 < precision, 0 <= quantile <= 1, 0 < confidence < 1. Source: Chen, Kelton 1999; Kalibera 2006, ch. 3.
    """
    if not (precision > 0 and 0 <= quantile <= 1 and 0 < confidence < 1):
        raise ValueError("precision must be positive, quantile and confidence shares")
    z = round(NormalDist().inv_cdf((1 + confidence) / 2), 4)  # tables of z have no more; the published 38416 rests on them
    return max(1, ceil(round(z**2 * quantile * (1 - quantile) / precision**2, 6)))


def _root(above: ArrayLike, below: ArrayLike) -> NDArray[np.float64]:
    """sqrt(above / below), at least 1; 1 for 0 / 0, infinite for x / 0, NaN for NaN."""
    import numpy as np

    a, b = np.broadcast_arrays(np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64))
    found = np.where(b > 0, np.sqrt(np.abs(a) / np.where(b > 0, b, 1.0)), np.where(a > 0, np.inf, 1.0))
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.maximum(found, 1.0))
