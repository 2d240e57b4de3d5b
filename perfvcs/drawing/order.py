"""Patterns in the order of a sample's values, in words: first measurements that differ, and values that rise or fall."""

from __future__ import annotations

from math import comb, sqrt
from typing import TYPE_CHECKING

from perfvcs.drawing.clusters import ClusterCentres
from perfvcs.drawing.samples import DrawnSample
from perfvcs.profile import REPEATED
from perfvcs.text.quantity import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    RunsInOrder = list[NDArray[np.float64]]

SAMPLED_EXECUTIONS = 200  # executions of a sample, evenly chosen
FEWEST = 3  # measurements of an execution, below which they have no order
FEWEST_ORDERED = 10  # below which executions have none
SMALLEST_EFFECT = 0.01  # of the median: less is of no interest
FIRST_VALUE_GAP = 0.25  # of the range of the others, by which a first measurement is beyond them: the first of a slope is not
FALSE_ALARM_RATE = 1e-4  # that the first measurements of some executions are extreme so often by chance
SURE = 4.0  # standard errors by which ranks follow the order
MOST_FIRST = 0.9  # of a cluster's values, and of the executions, that are first measurements


def remarks(sample: DrawnSample, groups: ClusterCentres | None = None) -> list[str]:
    """The patterns, the most important first; empty if the order could be chance."""
    import numpy as np

    kept = sample.mark != REPEATED
    order = np.lexsort((sample.iteration[kept], sample.execution[kept]))
    execution, values = sample.execution[kept][order], sample.values[kept][order]
    if not len(values) or not np.median(np.abs(values)):
        return []
    starts = np.flatnonzero(np.diff(execution, prepend=-1))
    labels = None if groups is None else groups.labels[kept][order]
    if labels is not None and (first := _first_cluster(labels, starts)) is not None:
        return [f"cluster {first + 1} is the first measurement of each execution"]
    chosen = np.unique(np.linspace(0, len(starts) - 1, min(SAMPLED_EXECUTIONS, len(starts))).astype(np.int64))
    every = np.split(values, starts[1:])
    runs = [run for run in (every[place] for place in chosen.tolist()) if len(run) >= FEWEST]
    medians = np.array([float(np.median(run)) for run in every])
    return [said for said in (_first(runs), _inside(runs), _over(medians)) if said]


def _first_cluster(labels: NDArray[np.int64], starts: NDArray[np.int64]) -> int | None:
    """The cluster whose values are the first ones of the executions, None if there is none."""
    import numpy as np

    first = np.zeros(len(labels), dtype=bool)
    first[starts] = True
    for label in np.unique(labels[starts]).tolist():
        mine = labels == label
        if first[mine].mean() >= MOST_FIRST and mine[starts].mean() >= MOST_FIRST and not first.all():
            return int(label)
    return None


def _first(runs: RunsInOrder) -> str:
    """Whether the first measurements are the extreme ones more often than chance makes them, and by how much."""
    import numpy as np

    if not runs:
        return ""
    apart = np.array([run[0] - np.median(run[1:]) for run in runs])
    rises = np.median(apart) > 0
    gaps = ((run[0] - run[1:].max() if rises else run[1:].min() - run[0], np.ptp(run[1:])) for run in runs)
    extreme = sum(bool(gap > 0 and gap >= FIRST_VALUE_GAP * wide) for gap, wide in gaps)
    chance = max(1 / len(run) for run in runs)
    tail = sum(
        comb(len(runs), hits) * chance**hits * (1 - chance) ** (len(runs) - hits) for hits in range(extreme, len(runs) + 1)
    )
    size = float(np.median(apart)) / float(np.median(np.abs(np.concatenate([run[1:] for run in runs]))) or 1.0)
    if tail > FALSE_ALARM_RATE or abs(size) < SMALLEST_EFFECT:
        return ""
    return f"the first measurement of an execution is {percent(abs(size))[1:]} {'above' if rises else 'below'} the others"


def _inside(runs: RunsInOrder) -> str:
    """Whether values rise or fall inside the executions, the first measurement of each apart."""
    import numpy as np

    long = [run[1:] for run in runs if len(run) > FEWEST]
    if not long:
        return ""
    follow = sum(_rank_correlation(run) * sqrt(len(run) - 1) for run in long) / sqrt(len(long))
    thirds = [(np.median(run[: -(-len(run) // 3)]), np.median(run[-(-(2 * len(run)) // 3) :])) for run in long]
    return _trend("inside an execution", follow, np.array(thirds))


def _over(medians: NDArray[np.float64]) -> str:
    """Whether the executions rise or fall."""
    import numpy as np

    count = len(medians)
    if count < FEWEST_ORDERED:
        return ""
    ends = np.array([[np.median(medians[: count // 3]), np.median(medians[-(count // 3) :])]])
    return _trend("over the executions", _rank_correlation(medians) * sqrt(count - 1), ends)


def _trend(where: str, follow: float, ends: NDArray[np.float64]) -> str:
    """A sentence where values follow the order beyond chance and by enough; ``ends`` are early and late ones, shape (runs, 2)."""
    import numpy as np

    size = float(np.median(ends[:, 1] - ends[:, 0])) / (float(np.median(np.abs(ends[:, 0]))) or 1.0)
    if abs(follow) < SURE or abs(size) < SMALLEST_EFFECT or (size > 0) != (follow > 0):
        return ""
    return f"values {'rise' if size > 0 else 'fall'} by {percent(abs(size))[1:]} {where}"


def _rank_correlation(values: NDArray[np.float64]) -> float:
    """Spearman's coefficient of values and their places; 0 where all are equal. Ties have the mean of their ranks."""
    import numpy as np

    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ranks, places = ranks - ranks.mean(), np.arange(len(values)) - (len(values) - 1) / 2
    scale = float(np.sqrt((ranks**2).sum() * (places**2).sum()))
    return float((ranks * places).sum()) / scale if scale else 0.0
