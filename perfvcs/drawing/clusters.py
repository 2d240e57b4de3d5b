"""Clusters of a sample's values, such as cache hits and misses: where each is, and which values are in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.drawing.samples import DrawnSample
from perfvcs.profile import REPEATED
from perfvcs.text.quantity import percent, quantity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
VISITED = 0.5  # of the executions have values in every cluster; fewer make it a difference between executions
SMALLEST_DISTANCE = 0.01  # share of the lower centre that neighbours are apart at least: less is of no interest
VALLEY = 0.5  # of the lower peak beside it that the density between two peaks is at most, or they are one heap
PEAK_HEIGHT = 0.1  # of the highest peak that others have at least
# Ashman's D, in standard deviations between the centres of neighbours: with it a mixture of two has two peaks
ASHMAN_DISTANCE = 2.0
DENSITY_POINTS = 160  # points at which the density is asked for


@dataclass(frozen=True)
class ClusterCentres:
    """Centres in the metric's unit, ascending, with their shares of the values.

    ``labels`` is the cluster of each row of the sample, -1 for none; shape (rows,).
    """

    centres: NDArray[np.float64]
    shares: NDArray[np.float64]
    labels: NDArray[np.int64]

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

    As many peaks of the density as have a valley between them, and no more than the BIC of a mixture of normal distributions of the
    logarithms allows. Sources: `statistics.clusters`; Silverman 1986; Ashman, Bird, Zepf 1994.
    """
    import numpy as np

    from perfvcs.statistics.clusters import clusters as mixture

    kept = np.flatnonzero(sample.mark != REPEATED)
    values = sample.values[kept]
    if len(values) < FEWEST_VALUES or not (values > 0).all():
        return None
    logs = np.log(values)
    some = logs[np.linspace(0, len(logs) - 1, min(CLUSTERED_VALUES, len(logs))).astype(np.int64)]
    peaks = _peaks(some)
    if peaks < 2:
        return None
    found = mixture(some, min(peaks, len(CLUSTER_MARKERS)))
    gaps, squares = np.diff(found.centres), found.spreads**2
    if (
        not len(gaps)
        or (gaps < np.maximum(np.log1p(SMALLEST_DISTANCE), ASHMAN_DISTANCE * np.sqrt((squares[1:] + squares[:-1]) / 2))).any()
    ):
        return None
    density = np.log(found.shares / found.spreads) - ((logs[:, None] - found.centres) / found.spreads) ** 2 / 2
    own = density.argmax(axis=1)
    execution = np.unique(sample.execution[kept], return_inverse=True)[1]
    counts = np.zeros((int(execution.max()) + 1, len(found.centres)))
    np.add.at(counts, (execution, own), 1)
    shares = counts.sum(axis=0) / len(own)
    if ((counts / counts.sum(axis=1, keepdims=True)) >= shares / 4).mean(axis=0).min() < VISITED:
        return None
    labels = np.full(len(sample.values), -1)
    labels[kept] = own
    return ClusterCentres(np.exp(found.centres), shares, labels)


def _peaks(values: NDArray[np.float64]) -> int:
    """How many peaks the density of values has that are set apart by a valley.

    Of a Gaussian kernel whose bandwidth is half that of Silverman 1986, 3.31, which smooths two peaks into one.
    """
    import numpy as np

    low, quarter, three, high = np.quantile(values, (0.01, 0.25, 0.75, 0.99)).tolist()
    spread = min(float(values.std()), (three - quarter) / 1.34 or np.inf)
    if not high > low or not spread > 0:
        return 1
    width = 0.45 * spread * len(values) ** -0.2
    at = np.linspace(low - 2 * width, high + 2 * width, DENSITY_POINTS)
    density = np.exp(-(((at[:, None] - values) / width) ** 2) / 2).sum(axis=1)
    inner = density[1:-1]
    tops = 1 + np.flatnonzero((inner > density[:-2]) & (inner >= density[2:]))
    kept: list[int] = []
    for new in tops[density[tops] >= PEAK_HEIGHT * density.max()].tolist():
        top = new
        while kept and density[kept[-1] : new + 1].min() > VALLEY * min(density[kept[-1]], density[top]):
            last = kept.pop()
            top = last if density[last] >= density[top] else top
        kept.append(top)
    return len(kept)
