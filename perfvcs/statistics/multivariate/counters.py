"""Two versions by many counters over time: counters in clusters, one model per cluster, and how
badly it predicts the new version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perfvcs.statistics.multivariate.prediction import (
    Per,
    cross_errors,
    matrix,
    prediction_error,
    target,
    thresholds,
)
from perfvcs.statistics.multivariate.redundancy import REDUNDANT_R2 as REDUNDANCY
from perfvcs.statistics.multivariate.redundancy import (
    ClusterTree,
    Distance,
    distances,
    redundant,
    tree,
    varying,
)
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

CounterChoice = Literal["learned", "shang2015"]

THRESHOLD = 0.3  # the paper's example, if there are no good runs to learn from
# times the error on the old version itself: a counter that no model fits is not called a regression
UNSTEADY = 2


@dataclass(frozen=True)
class CounterCluster:
    """Counters that move together, and the target that stands for them.

    ``statistic`` and ``p`` are Kolmogorov and Smirnov's for the target counter, ``before`` and
    ``after`` its means in the counter's unit. ``error`` is the relative prediction error (0.3 is 30
    %), ``fitted`` that on the old version itself, ``errors`` those of the good runs, each predicted
    by the others.
    """

    counters: tuple[str, ...]
    target: str
    statistic: float
    p: float
    before: float
    after: float
    fitted: float
    error: float
    threshold: float
    errors: tuple[float, ...]

    @property
    def regressed(self) -> bool:
        """Whether the error is above the threshold."""
        return self.error > self.threshold


@dataclass(frozen=True)
class Structure:
    """Which counters there are to look at, and how they belong together.

    ``counters`` are the leaves of the tree, ``places`` their columns. Left out: ``unknown`` ones,
    which half of the observations of a version do not have, ``constant`` and ``redundant`` ones.
    ``complete`` are the observations of each run that have all known counters.
    """

    counters: tuple[str, ...]
    places: Integers
    unknown: tuple[str, ...]
    constant: tuple[str, ...]
    redundant: tuple[str, ...]
    tree: ClusterTree
    complete: tuple[Floats, ...]


@dataclass(frozen=True)
class CounterComparison:
    """The clusters of two versions; all rests on the complete ``observations`` of each."""

    structure: Structure
    observations: tuple[int, int]
    clusters: tuple[CounterCluster, ...]


def structure(
    versions: Sequence[Sequence[ArrayLike]],
    names: Sequence[str],
    *,
    distance: Distance = "correlation",
    redundancy: float = REDUNDANCY,
) -> Structure:
    """The counters of one or more versions, each some runs of shape (times, counters), in clusters
    over the observations of all.

    Counters that are constant at one value are left out, then redundant ones; one that is constant
    in each version at another value stays, other than in the paper, because it changed. Rows in
    which a known counter is not finite are left out. ``ValueError`` for shapes that do not fit.
    Source: Shang et al. 2015, 4.1 and 4.2.
    """
    sides = [[matrix(run, len(names)) for run in version] for version in versions]
    measured = np.ones(len(names), dtype=bool)
    for side in sides:
        here = np.isfinite(np.concatenate([*side, np.empty((0, len(names)))]))
        measured &= (2 * here.sum(axis=0) > len(here)) | (len(here) == 0)
    complete = tuple(
        run[np.isfinite(run[:, measured]).all(axis=1)] for side in sides for run in side
    )
    pooled = np.concatenate([*complete, np.empty((0, len(names)))])
    changing = measured & varying(pooled)
    places = np.flatnonzero(changing)
    gone = places[redundant(pooled[:, places], redundancy)].tolist()
    places = np.array([place for place in places.tolist() if place not in gone], dtype=np.int64)

    def chosen(columns: Sequence[int]) -> tuple[str, ...]:
        return tuple(names[place] for place in columns)

    return Structure(
        counters=chosen(places.tolist()),
        places=places,
        unknown=chosen(np.flatnonzero(~measured).tolist()),
        constant=chosen(np.flatnonzero(measured & ~changing).tolist()),
        redundant=chosen(gone),
        tree=tree(distances(pooled[:, places], distance)),
        complete=complete,
    )


def compare(
    old: Sequence[ArrayLike],
    new: ArrayLike,
    names: Sequence[str],
    *,
    distance: Distance = "correlation",
    choice: CounterChoice = "learned",
    redundancy: float = REDUNDANCY,
    threshold: float = THRESHOLD,
) -> CounterComparison:
    """Compare the good runs of the old version, each of shape (times, counters), with the new
    version, of the same counters.

    In each cluster (see ``structure``) one counter is predicted by a linear model of the others
    from the old version; alone in its cluster, by its mean (the paper does not say). The cluster
    has regressed when the error is above the threshold: with two or more good runs a learned one
    (``prediction.thresholds``), otherwise ``threshold``, or twice the error on the old version
    itself where that is more. ``choice``: ``shang2015`` takes the counter that differs most
    (``prediction.target``), as published; ``learned`` the one whose error is highest in its learned
    threshold, because between runs some counters always differ, and errors are shares of a
    counter's total; with nothing to learn from it takes the same counter as ``shang2015``, which
    then has ``threshold`` whatever the old version looked like. ``ValueError`` for shapes that do
    not fit, and for a version without a complete observation. Source: Shang et al. 2015, section 4.
    """
    from perfvcs.statistics.ranks import kolmogorov_smirnov

    shared = structure([old, [new]], names, distance=distance, redundancy=redundancy)
    runs, after = [run for run in shared.complete[:-1] if len(run)], shared.complete[-1]
    if not runs or not len(after):
        raise ValueError("counters need complete observations of both versions")
    before = np.concatenate(runs)
    groups = [shared.places[members].tolist() for members in shared.tree.clusters]
    others = {
        place: [other for other in group if other != place] for group in groups for place in group
    }
    per: Per = "total" if choice == "learned" else "observation"
    errors = {place: cross_errors(runs, place, rest, per) for place, rest in others.items()}
    fitted = {
        place: prediction_error(before, before, place, rest, per) for place, rest in others.items()
    }
    limits = {
        place: max(threshold, UNSTEADY * fitted[place]) if choice == "learned" else threshold
        for place in others
    }
    if len(runs) > 1 and others:
        limits = dict(zip(others, thresholds(list(errors.values())).tolist(), strict=True))
    clusters = []
    for group in groups:
        off = {place: prediction_error(before, after, place, others[place], per) for place in group}
        chosen = group[target(before[:, group], after[:, group])]
        if choice == "learned" and len(runs) > 1:
            chosen = max(group, key=lambda place: (off[place] / limits[place], place == chosen))
        test = kolmogorov_smirnov(before[None, :, chosen], after[None, :, chosen])
        clusters.append(
            CounterCluster(
                counters=tuple(names[place] for place in group),
                target=names[chosen],
                statistic=float(test.statistic[0]),
                p=float(test.p[0]),
                before=_mean(before[:, chosen]),
                after=_mean(after[:, chosen]),
                fitted=fitted[chosen],
                error=off[chosen],
                threshold=limits[chosen],
                errors=tuple(errors[chosen]),
            )
        )
    return CounterComparison(shared, (len(before), len(after)), tuple(clusters))


def _mean(values: Floats) -> float:
    """The mean, also where the sum is beyond a float."""
    return float((values / len(values)).sum())
