"""Mean and precision of a benchmark in the presence of outliers and of measurements that depend on
each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

from perfvcs.statistics.components import Components
from perfvcs.statistics.runs import Runs, stack
from perfvcs.system.numeric import Floats, Indices, Integers, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray


LARGEST_CHUNK = 2_000_000  # measurements held at once
LARGEST_VALUE = 1e300
CHUNK_MEASUREMENTS = 500_000  # measurements held at once


@dataclass(frozen=True)
class MeanRatio:
    """Mean of the second version over that of the first, with its interval ``low``..``high``; 1 is
    no change.

    With a single execution on a side the interval is infinite. All NaN where a mean is not
    positive.
    """

    ratio: float
    low: float
    high: float


def ratio(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    confidence: float = 0.99,
    draws: int = 10_000,
    seed: int = 0,
) -> MeanRatio:
    """Percentile interval of the ratio of the mean execution means, by a bootstrap at two levels.

    Each draw takes, with replacement, as many executions as there are, and of each as many
    measurements as it has. Either side is a sequence of executions, each with its measurements;
    ``ValueError`` as ``runs.stack``. With few executions it is too narrow: at five a side 3.4 %
    false alarms at nominal 1 %. Source: Kalibera, Jones 2013.
    """
    old, new = stack(first), stack(second)
    means = [float(side.means().mean()) for side in (old, new)]
    if min(means) <= 0:
        return MeanRatio(np.nan, np.nan, np.nan)
    if min(len(side.counts) for side in (old, new)) < 2:
        return MeanRatio(means[1] / means[0], -np.inf, np.inf)
    rng = np.random.default_rng(seed)
    under, over = _means(rng, old, draws), _means(rng, new, draws)
    positive = under > 0
    # a mean next to 0 makes a ratio beyond a float, which as an infinity has no quantile
    with np.errstate(over="ignore"):
        ratios = np.clip(over[positive] / under[positive], -LARGEST_VALUE, LARGEST_VALUE)
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return MeanRatio(means[1] / means[0], float(low), float(high))


def _means(rng: np.random.Generator, runs: Runs, draws: int) -> Floats:
    """Resampled means, shape (draws,)."""
    executions, width = runs.values.shape
    step = max(1, LARGEST_CHUNK // (executions * width))
    means = []
    for start in range(0, draws, step):
        chosen = rng.integers(executions, size=(min(step, draws - start), executions))
        part = rng.random((*chosen.shape, width))
        if width == 1:  # whatever part of a single measurement is drawn
            means.append(runs.values[:, 0][chosen].mean(axis=1))
            continue
        counts = runs.counts[chosen][:, :, None]
        places = (part * counts).astype(np.intp)
        drawn = runs.values[chosen[:, :, None], places]
        inside = np.arange(width) < counts
        means.append((np.where(inside, drawn, 0.0).sum(axis=2) / counts[:, :, 0]).mean(axis=1))
    return np.concatenate(means)


@dataclass(frozen=True)
class Robust:
    """Per execution the median of the resampled means (M_j) and of the resampled variances
    (S_sigma_j^2), shape (executions,).

    ``sizes`` is n, how many were drawn of each execution, ``group`` the number of its benchmark.
    The variances are in the squared unit of the values; those of an execution with fewer than two
    draws are NaN.
    """

    means: Floats
    variances: Floats
    sizes: Integers
    group: Indices

    def components(self) -> Components:
        """Mean and variances of each benchmark as random effects at two levels: S_rho^2 of the
        means, S_sigma^2 their mean variance.

        Its ``interval(quantile="normal")`` is the published one. Shape (groups,).
        """
        groups = int(self.group.max()) + 1

        def total(values: NDArray[np.floating[Any]]) -> Floats:
            return np.bincount(self.group, values, groups).astype(np.float64)

        m = total(np.ones(len(self.group)))
        mean = total(self.means) / m
        inside = np.isfinite(self.variances)
        counted = total(inside.astype(np.float64))
        squares = total((self.means - mean[self.group]) ** 2)
        within = total(np.where(inside, self.variances, 0.0)) / np.maximum(counted, 1)
        return Components(
            mean=mean,
            within=np.where(counted > 0, within, np.nan),
            executions=np.where(m > 1, squares / np.maximum(m - 1, 1), np.nan),
            binaries=np.full(groups, np.nan),
            values_count=m**2 / total(1 / self.sizes),
            executions_count=m,
            binaries_count=np.ones(groups),
            within_df=total(self.sizes - 1.0),
            executions_df=m - 1,
            binaries_df=np.zeros(groups),
        )


def resample(
    values: ArrayLike,
    counts: ArrayLike,
    group: ArrayLike | None = None,
    draws: int = 100,
    share: float = 0.75,
    seed: int = 0,
) -> Robust:
    """Robust means and variances of each execution's measurements, warm-up already taken away.

    ``values`` are the measurements of one execution after the other, ``counts`` (executions,) how
    many each has, ``group`` (executions,) the benchmarks that they belong to, numbered from 0 (all
    one without it). The median of the means of ``draws`` resamples with replacement, each of
    ``share`` of an execution's measurements, and the median of the variances of as many others. A
    single far value is in the median resample as often as not at a share of ln 2 = .69, more often
    than not at the published .75, hardly ever at .5.

    What is drawn depends on the ``seed``, the number of measurements and the place among the
    group's executions of that many: so a benchmark's result does not depend on the others, with
    which it is computed together. ``ValueError`` for an execution without measurements, one that is
    not finite, or columns that do not fit. Source: Kalibera, Bulej, Tuma 2005, section 4.2.
    """
    y, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.int64)
    owner = np.zeros(n.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    if not n.size or n.min() < 1:
        raise ValueError("every execution needs a measurement")
    if owner.shape != n.shape or y.shape != (n.sum(),):
        raise ValueError(
            "there must be as many values as the counts say, and a group for each execution"
        )
    if not np.isfinite(y).all():
        raise ValueError("measurements must be finite")
    starts = np.cumsum(n) - n
    sizes = np.maximum(1, (share * n).astype(np.int64))
    # a single measurement is its own resample
    means, variances = y[starts], np.full(len(n), np.nan)
    for place, alike in _alike(n, owner):
        count, size = int(n[alike[0]]), int(sizes[alike[0]])
        for chosen in np.array_split(alike, min(len(alike), _chunks(len(alike) * size * draws))):
            rows = y[starts[chosen][:, None] + np.arange(count)]
            means[chosen] = _median(
                rows, "mean", draws, size, np.random.default_rng((seed, count, place, 0))
            )
            if size > 1:
                variances[chosen] = _median(
                    rows, "variance", draws, size, np.random.default_rng((seed, count, place, 1))
                )
    return Robust(means, variances, sizes, owner)


def _alike(counts: Integers, group: Indices) -> Iterator[tuple[int, Indices]]:
    """The executions of several measurements that are of equal count and at equal places among
    those of their group: place, numbers.
    """
    several = np.flatnonzero(counts > 1)
    order = several[np.lexsort((group[several], counts[several]))]
    same = (np.diff(counts[order]) == 0) & (np.diff(group[order]) == 0)
    first = np.flatnonzero(np.append(True, ~same)[: len(order)])
    place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    again = np.lexsort((place, counts[order]))
    order, place = order[again], place[again]
    ends = np.flatnonzero((np.diff(counts[order]) != 0) | (np.diff(place) != 0)) + 1
    for start, end in pairwise([0, *ends.tolist(), len(order)]):
        if start < end:
            yield int(place[start]), order[start:end]


def _median(
    rows: Floats,
    statistic: Literal["mean", "variance"],
    draws: int,
    size: int,
    rng: np.random.Generator,
) -> Floats:
    """The median over the draws, the same places of all rows being drawn; shape (rows,)."""
    centres = []
    for part in np.array_split(np.arange(draws), min(draws, _chunks(size * draws))):
        drawn = rows[:, rng.integers(rows.shape[1], size=(size, len(part)))]
        centres.append(drawn.mean(axis=1) if statistic == "mean" else drawn.var(axis=1, ddof=1))
    return np.asarray(np.median(np.concatenate(centres, axis=1), axis=1))


def _chunks(measurements: int) -> int:
    """The number of parts that so many are divided into."""
    return max(1, -(-measurements // CHUNK_MEASUREMENTS))
