"""How much pairs differ once outliers are pulled in, as a check of eight pairs and more does it."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import fmean
from typing import TYPE_CHECKING

from perfvcs.statistics.huber import BEND, FEWEST_PAIRS, NORMAL_IN_DISTANCES, draw_in

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWN = 4000  # values of a session that are drawn for pretended pairs; twice as many change the result by about 1 %
FOUR = 4  # values that make two pairs
ROUNDING = 1e-12  # a relative deviation below is only rounding


def in_turns(differences: Sequence[Sequence[float]]) -> float | None:
    """The variance of a pair's difference from those of pairs that were measured in turns, one sequence per session, outliers pulled in.

    With one session it is n times the squared error of ``perfvcs.statistics.huber.paired``; several share the bound, and each keeps its
    own centre. None for fewer than ``FEWEST_PAIRS`` pairs, and where most are equal. Source: Huber 1981, sections 6.4-6.5.
    """
    import numpy as np

    samples = [np.array(sample) for sample in differences if len(sample) > 1]
    count = sum(sample.size for sample in samples)
    if count < FEWEST_PAIRS:
        return None
    scale = float(np.median(np.concatenate([_distances(sample) for sample in samples]))) * NORMAL_IN_DISTANCES
    if scale <= ROUNDING:
        return None
    drawn = [draw_in(sample[None, :], np.array([[BEND * scale]]))[0] for sample in samples]
    alone = max(float((np.concatenate(drawn) == np.concatenate(samples)).mean()), 1 / count)
    squares = sum(float(((sample - sample.mean()) ** 2).sum()) for sample in drawn)
    return squares / (count - len(drawn)) * ((1 + (1 - alone) / (alone * count)) / alone) ** 2


def apart(values: Sequence[Sequence[float]]) -> float | None:
    """The same from executions that were not measured in turns, one sequence per session: of pairs of any two of a session.

    Without outliers it is twice the variance of the values, pooled over the sessions. None for fewer than ``FEWEST_PAIRS`` values, and
    where most pairs are equal.
    """
    import numpy as np

    samples = [np.array(sample) for sample in values if len(sample) >= FOUR]
    if sum(sample.size for sample in samples) < FEWEST_PAIRS:
        return None
    pairs = [_pairs(sample) for sample in samples]
    scale = float(np.median(np.concatenate([np.abs(found[0] - found[1]) for found in pairs]))) * NORMAL_IN_DISTANCES
    if scale <= ROUNDING:
        return None
    bound, weights = BEND * scale, [sample.size - 1 for sample in samples]
    alone = fmean([float((np.abs(found) <= bound).mean()) for found in pairs], weights)
    left = fmean([float((np.minimum(np.abs(found), bound) ** 2).mean()) for found in pairs], weights)
    squares = fmean([float((found**2).mean()) for found in pairs], weights)
    variance = fmean([float(sample.var(ddof=1)) for sample in samples], weights)
    return 2 * variance * left / squares / max(alone, 1 / DRAWN) ** 2


def _pairs(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences of two values each, shape (2, many): those in a column share no value. The same for the same sample."""
    import numpy as np

    size = sample.size
    shuffled = np.random.default_rng(0).permuted(np.tile(sample, (-(-DRAWN // size), 1)), axis=1)
    fours = shuffled[:, : size // FOUR * FOUR].reshape(-1, FOUR)
    return np.array([fours[:, 0] - fours[:, 1], fours[:, 2] - fours[:, 3]])


def _distances(sample: NDArray[np.float64]) -> NDArray[np.float64]:
    """Distances between two values: of all of them, or of many that were drawn."""
    import numpy as np

    if sample.size <= sqrt(2 * DRAWN):
        rows, columns = np.triu_indices(sample.size, 1)
        return np.abs(sample[rows] - sample[columns])
    return np.abs(_pairs(sample)).ravel()
