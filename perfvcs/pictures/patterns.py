"""Patterns of a sample: clusters of its values, and their order."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, sqrt
from typing import TYPE_CHECKING

from perfvcs.pictures.sample import DrawnSample
from perfvcs.profile import REPEATED
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import percent, quantity

if TYPE_CHECKING:
    RunsInOrder = list[Floats]


CLUSTER_MARKERS = (
    "circle",
    "square",
    "triangle",
    "diamond",
    "inverted_triangle",
    "hex",
)  # of clusters, each with a colour of its own
FEWEST_VALUES = 50  # values, below which two clusters are easily chance
CLUSTERED_VALUES = 500  # values are enough to find clusters, evenly chosen among more
# of the executions have values in every cluster; fewer make it a difference between executions
VISITED = 0.5
# share of the lower centre that neighbours are apart at least: less is of no interest
SMALLEST_DISTANCE = 0.01
# of the lower peak beside it that the density between two peaks is at most, or they are one heap
VALLEY = 0.5
PEAK_HEIGHT = 0.1  # of the highest peak that others have at least
# Ashman's D, in standard deviations between the centres of neighbours: with it a mixture of two has
# two peaks
ASHMAN_DISTANCE = 2.0
DENSITY_POINTS = 160  # points at which the density is asked for
SAMPLED_EXECUTIONS = 200  # executions of a sample, evenly chosen
FEWEST = 3  # measurements of an execution, below which they have no order
FEWEST_ORDERED = 10  # below which executions have none
SMALLEST_EFFECT = 0.01  # of the median: less is of no interest
# of the range of the others, by which a first measurement is beyond them: the first of a slope is
# not
FIRST_VALUE_GAP = 0.25
# that the first measurements of some executions are extreme so often by chance
FALSE_ALARM_RATE = 1e-4
SURE = 4.0  # standard errors by which ranks follow the order
MOST_FIRST = 0.9  # of a cluster's values, and of the executions, that are first measurements


@dataclass(frozen=True)
class ClusterCentres:
    """Centres in the metric's unit, ascending, with their shares of the values.

    ``labels`` is the cluster of each row of the sample, -1 for none; shape (rows,).
    """

    centres: Floats
    shares: Floats
    labels: Integers

    def each(self, unit: str) -> list[str]:
        """``62.0 % about 1.02 ms`` of every cluster."""
        pairs = zip(self.centres.tolist(), self.shares.tolist(), strict=True)
        return [f"{percent(share)[1:]} about {quantity(centre, unit)}" for centre, share in pairs]

    def text(self, unit: str) -> str:
        """``2 clusters: 62.0 % about 1.02 ms, 38.0 % about 1.31 ms``."""
        listed = self.each(unit)
        return f"{len(listed)} clusters: {', '.join(listed)}"


def clusters(sample: DrawnSample) -> ClusterCentres | None:
    """The clusters of a sample, None if its values form one cluster, or if whole executions differ.

    As many peaks of the density as have a valley between them, and no more than the BIC of a
    mixture of normal distributions of the logarithms allows. Sources: `statistics.clusters`;
    Silverman 1986; Ashman, Bird, Zepf 1994.
    """
    from perfvcs.statistics.clusters import clusters as mixture

    counting = np.flatnonzero(sample.mark != REPEATED)
    values = sample.values[counting]
    if len(values) < FEWEST_VALUES or not (values > 0).all():
        return None
    logs = np.log(values)
    some = logs[np.linspace(0, len(logs) - 1, min(CLUSTERED_VALUES, len(logs))).astype(np.int64)]
    peaks = _peaks(some)
    if peaks < 2:
        return None
    mixed = mixture(some, min(peaks, len(CLUSTER_MARKERS)))
    gaps, squares = np.diff(mixed.centres), mixed.spreads**2
    if (
        not len(gaps)
        or (
            gaps
            < np.maximum(
                np.log1p(SMALLEST_DISTANCE),
                ASHMAN_DISTANCE * np.sqrt((squares[1:] + squares[:-1]) / 2),
            )
        ).any()
    ):
        return None
    density = (
        np.log(mixed.shares / mixed.spreads)
        - ((logs[:, None] - mixed.centres) / mixed.spreads) ** 2 / 2
    )
    nearest = density.argmax(axis=1)
    execution = np.unique(sample.execution[counting], return_inverse=True)[1]
    counts = np.zeros((int(execution.max()) + 1, len(mixed.centres)))
    np.add.at(counts, (execution, nearest), 1)
    shares = counts.sum(axis=0) / len(nearest)
    if ((counts / counts.sum(axis=1, keepdims=True)) >= shares / 4).mean(axis=0).min() < VISITED:
        return None
    labels = np.full(len(sample.values), -1)
    labels[counting] = nearest
    return ClusterCentres(np.exp(mixed.centres), shares, labels)


def _peaks(values: Floats) -> int:
    """How many peaks the density of values has that are set apart by a valley.

    Of a Gaussian kernel whose bandwidth is half that of Silverman 1986, 3.31, which smooths two
    peaks into one.
    """
    low, quarter, three, high = np.quantile(values, (0.01, 0.25, 0.75, 0.99)).tolist()
    spread = min(float(values.std()), (three - quarter) / 1.34 or np.inf)
    if not high > low or not spread > 0:
        return 1
    width = 0.45 * spread * len(values) ** -0.2
    at = np.linspace(low - 2 * width, high + 2 * width, DENSITY_POINTS)
    density = np.exp(-(((at[:, None] - values) / width) ** 2) / 2).sum(axis=1)
    inner = density[1:-1]
    tops = 1 + np.flatnonzero((inner > density[:-2]) & (inner >= density[2:]))
    peaks: list[int] = []
    for new in tops[density[tops] >= PEAK_HEIGHT * density.max()].tolist():
        top = new
        while peaks and density[peaks[-1] : new + 1].min() > VALLEY * min(
            density[peaks[-1]], density[top]
        ):
            last = peaks.pop()
            top = last if density[last] >= density[top] else top
        peaks.append(top)
    return len(peaks)


def remarks(sample: DrawnSample, groups: ClusterCentres | None = None) -> list[str]:
    """The patterns, the most important first; empty if the order could be chance."""
    counting = sample.mark != REPEATED
    order = np.lexsort((sample.iteration[counting], sample.execution[counting]))
    execution, values = sample.execution[counting][order], sample.values[counting][order]
    if not len(values) or not np.median(np.abs(values)):
        return []
    starts = np.flatnonzero(np.diff(execution, prepend=-1))
    labels = None if groups is None else groups.labels[counting][order]
    if labels is not None and (first := _first_cluster(labels, starts)) is not None:
        return [f"cluster {first + 1} is the first measurement of each execution"]
    chosen = np.unique(
        np.linspace(0, len(starts) - 1, min(SAMPLED_EXECUTIONS, len(starts))).astype(np.int64)
    )
    every = np.split(values, starts[1:])
    runs = [run for run in (every[place] for place in chosen.tolist()) if len(run) >= FEWEST]
    medians = np.array([float(np.median(run)) for run in every])
    return [remark for remark in (_first(runs), _inside(runs), _over(medians)) if remark]


def _first_cluster(labels: Integers, starts: Integers) -> int | None:
    """The cluster whose values are the first ones of the executions, None if there is none."""
    first = np.zeros(len(labels), dtype=bool)
    first[starts] = True
    for label in np.unique(labels[starts]).tolist():
        mine = labels == label
        if (
            first[mine].mean() >= MOST_FIRST
            and mine[starts].mean() >= MOST_FIRST
            and not first.all()
        ):
            return int(label)
    return None


def _first(runs: RunsInOrder) -> str:
    """Whether the first measurements are extreme more often than by chance, and how much."""
    if not runs:
        return ""
    apart = np.array([run[0] - np.median(run[1:]) for run in runs])
    rises = np.median(apart) > 0
    gaps = (
        (run[0] - run[1:].max() if rises else run[1:].min() - run[0], np.ptp(run[1:]))
        for run in runs
    )
    extreme = sum(bool(gap > 0 and gap >= FIRST_VALUE_GAP * wide) for gap, wide in gaps)
    chance = max(1 / len(run) for run in runs)
    tail = sum(
        comb(len(runs), hits) * chance**hits * (1 - chance) ** (len(runs) - hits)
        for hits in range(extreme, len(runs) + 1)
    )
    size = float(np.median(apart)) / float(
        np.median(np.abs(np.concatenate([run[1:] for run in runs]))) or 1.0
    )
    if tail > FALSE_ALARM_RATE or abs(size) < SMALLEST_EFFECT:
        return ""
    return (
        f"the first measurement of an execution is {percent(abs(size))[1:]}"
        f" {'above' if rises else 'below'} the others"
    )


def _inside(runs: RunsInOrder) -> str:
    """Whether values rise or fall inside the executions, the first measurement of each apart."""
    long = [run[1:] for run in runs if len(run) > FEWEST]
    if not long:
        return ""
    follow = sum(_rank_correlation(run) * sqrt(len(run) - 1) for run in long) / sqrt(len(long))
    thirds = [
        (np.median(run[: -(-len(run) // 3)]), np.median(run[-(-(2 * len(run)) // 3) :]))
        for run in long
    ]
    return _trend("inside an execution", follow, np.array(thirds))


def _over(medians: Floats) -> str:
    count = len(medians)
    if count < FEWEST_ORDERED:
        return ""
    ends = np.array([[np.median(medians[: count // 3]), np.median(medians[-(count // 3) :])]])
    return _trend("over the executions", _rank_correlation(medians) * sqrt(count - 1), ends)


def _trend(where: str, follow: float, ends: Floats) -> str:
    """A sentence where values follow the order beyond chance and by enough; ``ends`` are early and
    late ones, shape (runs, 2).
    """
    size = float(np.median(ends[:, 1] - ends[:, 0])) / (float(np.median(np.abs(ends[:, 0]))) or 1.0)
    if abs(follow) < SURE or abs(size) < SMALLEST_EFFECT or (size > 0) != (follow > 0):
        return ""
    return f"values {'rise' if size > 0 else 'fall'} by {percent(abs(size))[1:]} {where}"


def _rank_correlation(values: Floats) -> float:
    """Spearman's coefficient of values and their places; 0 where all are equal.

    Ties have the mean of their ranks.
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    ranks, places = ranks - ranks.mean(), np.arange(len(values)) - (len(values) - 1) / 2
    scale = float(np.sqrt((ranks**2).sum() * (places**2).sum()))
    return float((ranks * places).sum()) / scale if scale else 0.0
