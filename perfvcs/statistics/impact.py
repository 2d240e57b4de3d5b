"""The impact of what is random at the start of an execution (or of a build) on what it measures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.statistics.runs import Runs, stack

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

ITERATIONS = 10_000
SAMPLE_SHARE = 0.75
CHUNK_NUMBERS = 2_000_000  # random numbers held at once


@dataclass(frozen=True)
class Impact:
    """``factor``: how many times more measurements of different executions differ than those of one; 1 means no impact.

    ``control`` is the same after the mean of each execution was taken away: it tends to 1 where the start shifts all measurements of an
    execution alike, and stays away from 1 where it changes their spread, too. ``samples`` is c, how many were compared at a time.
    """

    factor: float
    control: float
    samples: int


def impact(runs: Sequence[ArrayLike], iterations: int = ITERATIONS, share: float = SAMPLE_SHARE, seed: int = 0) -> Impact:
    """The impact factor of m executions with their measurements, by bootstrap.

    The median over ``iterations`` of SD(one measurement of each of c executions) / SD(c measurements of one execution), all drawn
    without replacement, c = ``share`` m but at most the fewest measurements of an execution. For the impact of builds give the
    execution means of each binary. With c < 2 both are NaN; 0 / 0 counts as 1. ``ValueError`` as ``runs.stack``.
    Source: Kalibera 2006, ch. 4, fig. 2 and section 5.2.
    """
    import numpy as np

    given = stack(runs)
    samples = min(int(share * len(given.counts)), *given.counts.tolist())
    if samples < 2:
        return Impact(np.nan, np.nan, samples)
    return Impact(_factor(given, samples, iterations, seed), _factor(given.centred(), samples, iterations, seed), samples)


def _factor(runs: Runs, samples: int, iterations: int, seed: int) -> float:
    import numpy as np

    rng = np.random.default_rng(seed)
    executions, width = runs.values.shape
    step = max(1, CHUNK_NUMBERS // max(executions, samples))
    ratios = []
    for start in range(0, iterations, step):
        count = min(step, iterations - start)
        chosen = _distinct(rng, np.full(count, executions), samples)
        place = (rng.random(chosen.shape) * runs.counts[chosen]).astype(np.intp)
        across = runs.values[chosen, place].std(axis=1, ddof=1)
        one = rng.integers(executions, size=count)
        inside = runs.values[one[:, None], _distinct(rng, runs.counts[one], samples)].std(axis=1, ddof=1)
        rounding = np.abs(runs.values).max() * width * np.finfo(np.float64).eps
        across, inside = (np.where(spread <= rounding, 0.0, spread) for spread in (across, inside))
        ratios.append(np.where(inside > 0, across / np.where(inside > 0, inside, 1.0), np.where(across > 0, np.inf, 1.0)))
    return float(np.median(np.concatenate(ratios)))


def _distinct(rng: np.random.Generator, limits: NDArray[np.int64], samples: int) -> NDArray[np.intp]:
    """Rows of ``samples`` different random numbers below each of the ``limits``, by Floyd's algorithm over all rows at once."""
    import numpy as np

    found = np.empty((len(limits), samples), dtype=np.intp)
    for place in range(samples):
        last = limits - samples + place
        drawn = (rng.random(len(limits)) * (last + 1)).astype(np.intp)
        taken = (found[:, :place] == drawn[:, None]).any(axis=1)
        found[:, place] = np.where(taken, last, drawn)
    return found
