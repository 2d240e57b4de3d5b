"""Steps of a series without those that chance explains, that are too small, or that are the ends of
a spike.
"""

from __future__ import annotations

from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np
    from numpy.typing import NDArray


LARGEST_AUTOCORRELATION = 0.95  # autocorrelation
# share of the autocorrelation that a segment takes away, times n: simulated, r of .3 to .8, 200 to
# 1,000 values
ABSORBED = 14.0
ROUNDED = 0.05  # autocorrelation; its standard error among 400 values
FALSE_ALARM_RATE = 0.01  # of a false step per series, shared among its places
SMALLEST_STEP = 0.005  # of the level, as values are logarithms
SPIKE = 5  # values that are not a level of their own between two others
CLIP = 1.0  # standard deviations that a value may lie outside both levels


def residuals(series: NDArray[np.float64], places: Sequence[int]) -> NDArray[np.float64]:
    """The values of a series without the means between ``places``."""
    import numpy as np

    return np.concatenate([part - part.mean() for part in np.split(series, places)])


def dependence(left: NDArray[np.float64], segments: int) -> float:
    """The inflation of the variance of a mean by a first-order dependence of the residuals ``left``
    of a generous segmentation.

    (1 + r) / (1 - r), at least 1, with their lag 1 autocorrelation r, which is enlarged by what
    ``segments`` that are placed where they fit best have absorbed of it.
    """
    left = left - left.mean()
    total = float(left @ left)
    if total <= 0:
        return 1.0
    r = float(left[1:] @ left[:-1]) / total * (1 + ABSORBED * segments / len(left))
    # no finer than it is known: else one more value would move the figures of every earlier step
    r = min(max(round(r / ROUNDED) * ROUNDED, 0.0), LARGEST_AUTOCORRELATION)
    return (1 + r) / (1 - r)


class Segments:
    """The centres of a series between steps, each computed once."""

    def __init__(self, values: NDArray[np.float64], scale: NDArray[np.float64]) -> None:
        self.values, self.scale = values, scale
        self._known: dict[tuple[int, int], float] = {}

    def centres(self, steps: Sequence[int]) -> NDArray[np.float64]:
        """The centre of each segment between the ``steps``."""
        import numpy as np

        from perfvcs.statistics.changepoints.steps import start

        for low, high in pairwise([0, *steps, len(self.values)]):
            if (low, high) not in self._known:
                self._known[low, high] = start(self.values[low:high])
        return np.array([self._known[part] for part in pairwise([0, *steps, len(self.values)])])

    def along(self, steps: Sequence[int]) -> NDArray[np.float64]:
        """The centre of its segment for each of the values."""
        import numpy as np

        return np.repeat(self.centres(steps), np.diff([0, *steps, len(self.values)]))


def scores(
    segments: Segments, steps: Sequence[int], inflation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """|t| and its degrees of freedom of each of the ascending ``steps``, between it and its
    neighbours; ``steps`` is not empty.

    By Student's t of the values clipped at one standard deviation outside both levels: an outlier
    counts as a value that lies there, and the values of a rarer component count as the same on both
    sides. The pooled variance is multiplied by ``inflation`` for dependence. If nothing varies, t
    is infinite, or 0 if the means are equal, too, or fewer than three values are left.
    """
    import numpy as np

    y, scale = segments.values, segments.scale
    bounds = np.array([0, *steps, len(y)])
    lengths = np.diff(bounds)
    centres = segments.centres(steps)
    least, most = np.minimum(centres[:-1], centres[1:]), np.maximum(centres[:-1], centres[1:])
    reach = CLIP * scale
    sides = []
    for low, high, counts in ((0, bounds[-2], lengths[:-1]), (bounds[1], len(y), lengths[1:])):
        middle = np.repeat((least + most) / 2, counts)  # about which sums lose nothing
        part = np.clip(
            y[low:high] - middle,
            np.repeat(least, counts) - middle - reach[low:high],
            np.repeat(most, counts) - middle + reach[low:high],
        )
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        total = np.add.reduceat(part, starts)
        sides.append(
            (total / counts, np.add.reduceat(part * part, starts) - total * total / counts)
        )
    (before, spread), (after, other) = sides
    df = (lengths[:-1] + lengths[1:] - 2).astype(np.float64)
    variance = (
        np.maximum(spread + other, 0.0)
        / np.maximum(df, 1)
        * (1 / lengths[:-1] + 1 / lengths[1:])
        * inflation
    )
    error, change = np.sqrt(variance), np.abs(after - before)
    flat = error <= 1e-9 * change
    t = np.where(flat, np.where(change > 0, np.inf, 0.0), change / np.where(flat, 1.0, error))
    return np.where(df > 0, t, 0.0), df


def dependent(segments: Segments, generous: Sequence[int]) -> float:
    """The ``dependence`` of values about the levels of their ``generous`` segmentation."""
    import numpy as np

    # Clipped about the centres, not the means: a value halfway between two levels would move a
    # mean, and all residuals would look alike.
    clipped = np.clip((segments.values - segments.along(generous)) / segments.scale, -3.0, 3.0)
    return dependence(residuals(clipped, generous), len(generous) + 1)


def confirm(
    segments: Segments, steps: Sequence[int], inflation: float = 1.0, settled: Collection[int] = ()
) -> list[int]:
    """The ``steps`` without the weak ones: p above .01 / n, smaller than half a percent, or the
    end of five values or fewer.

    They are taken away, those first that are weaker than both their neighbours, until none is weak;
    those at ``settled`` places stay. ``inflation`` stays what it is: it was estimated before.
    """
    import numpy as np

    left = list(steps)
    least = NormalDist().inv_cdf(level(len(segments.values)) / 2) ** 2
    while left:
        t, df = scores(segments, left, inflation)
        # Twice the logarithm of the likelihood ratio, whose chances hardly depend on df.
        strength = np.where(np.isinf(t), np.inf, df * np.log1p(t * t / np.maximum(df, 1)))
        centres = segments.centres(left)
        weak = (strength < least) | (np.abs(np.diff(centres)) < SMALLEST_STEP)
        for turn, (low, high) in enumerate(pairwise(left)):
            if high - low <= SPIKE:
                before, after = np.abs(np.diff(centres[turn : turn + 3])).tolist()
                # of equally certain ones, such as exact counts, the smaller
                is_second = (strength[turn + 1], after) < (strength[turn], before)
                weaker = int(low not in settled and high not in settled and is_second)
                weak[turn + (weaker or int(low in settled))] = True
        weak &= np.array([place not in settled for place in left])
        if not weak.any():
            break
        strength = np.where(weak, strength, np.inf)
        beside = np.concatenate([[np.inf], strength, [np.inf]])
        first = (strength <= beside[:-2]) & (strength < beside[2:]) & weak
        if not first.any():
            first = weak & (strength == strength[weak].min())
        left = [place for place, gone in zip(left, first.tolist(), strict=True) if not gone]
    return left


def level(n: int) -> float:
    """The largest p of a step among n values."""
    return FALSE_ALARM_RATE / n


def chances(t: NDArray[np.float64], df: NDArray[np.float64]) -> list[float]:
    """The two-sided p of each t, 1 without degrees of freedom."""
    from perfvcs.statistics.student import tail

    return [
        tail(value, degrees) if degrees > 0 else 1.0
        for value, degrees in zip(t.tolist(), df.tolist(), strict=True)
    ]
