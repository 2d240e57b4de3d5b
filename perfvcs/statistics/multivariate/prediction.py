"""The counter that differs most between two versions, how well the others predict it, and what
error is normal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from perfvcs.statistics.multivariate.redundancy import varying
from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

Per = Literal["observation", "total"]

FALSE_ALARM_RATE = 0.01  # of a good run above a threshold that was learned
# smallest threshold that is learned: good runs of real systems are off by as much
LEAST_THRESHOLD = 0.05
FINEST = 0.01  # errors below are equal
WEIGHT = 4  # runs
STEADIEST = 0.05  # smallest spread of the errors of good runs, as a share
ZERO_SHARE = 1e-9  # share of a counter's largest magnitude that counts as 0


def target(old: ArrayLike, new: ArrayLike) -> int:
    """The counter that differs most between versions of shapes (m, counters) and (k, counters), all
    finite.

    The one with the smallest p of Kolmogorov and Smirnov's test; of equals that with the largest
    statistic, then with the largest standardised mean shift, then the first.

    With the same m and k for all counters the largest statistic has the smallest p, also where all
    p are too small for a float.
    """
    a, b = _scaled(matrix(old), matrix(new))
    statistics = [_steps(*pair) for pair in zip(a.T, b.T, strict=True)]
    shift = np.abs(a.mean(axis=0) - b.mean(axis=0))
    spread = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 2)
    steady = spread <= ZERO_SHARE
    shift = np.where(
        steady, np.where(shift > ZERO_SHARE, np.inf, 0.0), shift / np.where(steady, 1.0, spread)
    )
    return max(range(len(statistics)), key=lambda place: (statistics[place], shift[place], -place))


def prediction_error(
    old: ArrayLike, new: ArrayLike, target: int, others: Sequence[int], per: Per = "observation"
) -> float:
    """The relative error with which a linear model of counter ``target`` on the ``others`` predicts
    the new version.

    The model is fitted to the old version by least squares. ``per`` "observation", as published:
    the error is the mean of |predicted - actual| / |actual|. "total": the sum of
    |predicted - actual| over that of |actual|, since a moment in which a counter of bursts has
    almost nothing would outweigh all others. Shapes (m, counters) and (k, counters), all finite.

    An actual 0, or a total of 0, is met or missed: the error is 0 where 0 is predicted, otherwise
    1. Counters that are constant in the old version predict nothing. With more counters than
    observations, of all models that fit perfectly the one with the smallest coefficients is taken
    (of standardised counters). Source: Shang et al. 2015, 4.3.2 and 4.4.
    """
    columns = [target, *others]
    a, b = _scaled(matrix(old)[:, columns], matrix(new)[:, columns])
    learned, actual, useful = a[:, 0], b[:, 0], varying(a)
    useful[0] = False
    centre, spread = a[:, useful].mean(axis=0), a[:, useful].std(axis=0)
    coefficients = np.linalg.lstsq(
        (a[:, useful] - centre) / spread, learned - learned.mean(), rcond=1e-9
    )[0]
    off = np.abs(learned.mean() + ((b[:, useful] - centre) / spread) @ coefficients - actual)
    size = np.abs(actual)
    if per == "total":
        off, size = off.mean(keepdims=True), size.mean(keepdims=True)
    zero = size <= ZERO_SHARE
    relative = np.where(zero, off > ZERO_SHARE, off / np.where(zero, 1.0, size))
    return float(relative.mean())


def cross_errors(
    runs: Sequence[ArrayLike], target: int, others: Sequence[int], per: Per = "observation"
) -> list[float]:
    """The prediction error of each good run, shape (times, counters), by a model of all other ones;
    none with fewer than two runs.
    """
    matrices = [matrix(run) for run in runs]
    if len(matrices) < 2:
        return []
    return [
        prediction_error(
            np.concatenate(matrices[:place] + matrices[place + 1 :]), run, target, others, per
        )
        for place, run in enumerate(matrices)
    ]


def thresholds(errors: ArrayLike) -> Floats:
    """What error is more than chance, given those of good runs: shape (counters, runs), at least
    two runs; the result has (counters,).

    Student's prediction bound for one more run on the logarithms of the errors, exp(mean + t sqrt(1
    + 1/n) s), which a good run exceeds with a chance of 1 % over all counters. So few runs know the
    spread s of one counter badly: its variance is moderated by the median of all counters'
    variances, which counts like ``WEIGHT`` more runs and adds as many degrees of freedom to n - 1.
    That median is at least that of a spread of 5 %, a threshold at least 5 %. ``ValueError`` for
    fewer than two runs. Source of moderation: Smyth 2004.
    """
    from perfvcs.statistics.student import quantile

    table = matrix(errors)
    counters, runs = table.shape
    if runs < 2:
        raise ValueError("a threshold is learned from at least two good runs")
    if not counters:
        return np.empty(0)
    logs, free = np.log(np.maximum(table, FINEST)), runs - 1
    variance = logs.var(axis=1, ddof=1)
    typical = max(float(np.median(variance)), STEADIEST**2)
    moderated = np.sqrt((free * variance + WEIGHT * typical) / (free + WEIGHT))
    t = float(quantile(1 - FALSE_ALARM_RATE / counters, [free + WEIGHT])[0])
    half = t * np.sqrt(1 + 1 / runs) * moderated
    bound: Floats = np.maximum(np.exp(np.minimum(logs.mean(axis=1) + half, 700.0)), LEAST_THRESHOLD)
    return bound


def matrix(values: ArrayLike, counters: int | None = None) -> Floats:
    """Values as a matrix (times, counters); ``ValueError`` for another shape."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or counters not in (None, table.shape[1]):
        raise ValueError("each run needs the shape (times, counters), with the same counters")
    return table


def _scaled(*sides: Floats) -> list[Floats]:
    """The sides with each counter divided by its largest magnitude, so nothing overflows."""
    largest = np.abs(np.concatenate(sides)).max(axis=0, initial=0.0)
    return [side / np.where(largest > 0, largest, 1.0) for side in sides]


def _steps(old: Floats, new: Floats) -> int:
    """Kolmogorov and Smirnov's statistic times both numbers of observations: an integer."""
    both = np.concatenate([old, new])
    below = [np.searchsorted(np.sort(side), both, side="right") for side in (old, new)]
    return int(np.abs(below[0] * len(new) - below[1] * len(old)).max())
