"""Counters without information of their own: those that never change, and those that the others
predict.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perfvcs.system.numeric import Flags, Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


# r2 above which a counter is redundant; the paper names none, this is that of the analysis that it
# cites
REDUNDANT_R2 = 0.9
EQUAL_SHARES = 1e-8  # shares of unexplained variance that differ by less are equal
# largest variance inflation from which the inverse is brought forward instead of computed again
SOUND = 1e4
Distance = Literal["correlation", "shang2015"]


def varying(values: ArrayLike) -> Flags:
    """Which counters (times, counters) change beyond rounding; False where one is not finite."""
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return np.zeros(x.shape[1], dtype=bool)
    finite = np.isfinite(x).all(axis=0)
    scaled = _scaled(np.where(finite, x, 0.0))
    changing: Flags = finite & (
        scaled.max(axis=0) - scaled.min(axis=0) > 8 * np.finfo(np.float64).eps
    )
    return changing


def standardised(values: ArrayLike) -> Floats:
    """Values (times, counters), all finite, with mean 0 and unit length per counter, so that
    products are correlations; constants are 0.
    """
    x = np.asarray(values, dtype=np.float64)
    if not len(x):
        return x
    scaled = _scaled(x)
    centred = scaled - scaled.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=0))
    unit: Floats = np.where(varying(x), centred / np.where(length > 0, length, 1.0), 0.0)
    return unit


def redundant(values: ArrayLike, threshold: float = REDUNDANT_R2) -> list[int]:
    """Columns of values (times, counters) that the others predict with an r2 above the threshold,
    in the order in which they go.

    Each counter is regressed on all others; the one with the highest r2 goes first, and so on until
    none is above the threshold. Of equals the last goes. With more counters than observations all
    are predicted perfectly: the last ones go until the rest is independent. Constants are the
    caller's to leave out: they are never redundant. ``ValueError`` for a value that is not finite.
    Sources: Shang et al. 2015, 4.1; Harrell 2001 (redun).
    """
    x = np.asarray(values, dtype=np.float64)
    if not np.isfinite(x).all():
        raise ValueError("redundancy needs finite values")
    unit = standardised(x)
    places = np.flatnonzero(varying(x))
    if threshold >= 1 - EQUAL_SHARES:
        return []
    independent = _independent(unit[:, places])
    gone: list[int] = places[~independent][::-1].tolist()
    places = places[independent]
    correlation = unit.T @ unit
    inverse = np.linalg.inv(correlation[np.ix_(places, places)])
    while len(places) > 1:
        inflation = np.diag(inverse)
        unexplained = 1 / np.maximum(inflation, 1.0)
        worst = int(np.flatnonzero(unexplained <= unexplained.min() + EQUAL_SHARES)[-1])
        if 1 - unexplained[worst] <= threshold:
            break
        gone.append(int(places[worst]))
        rest = np.arange(len(places)) != worst
        places = places[rest]
        if inflation.max() > SOUND:
            inverse = np.linalg.inv(correlation[np.ix_(places, places)])
        else:
            inverse = (
                inverse[np.ix_(rest, rest)]
                - np.outer(inverse[rest, worst], inverse[worst, rest]) / inflation[worst]
            )
    return gone


def _independent(unit: Floats) -> Flags:
    """Which columns the ones before them do not predict perfectly."""
    basis = np.empty((len(unit), 0))
    independent = np.zeros(unit.shape[1], dtype=bool)
    for place in range(unit.shape[1]):
        if basis.shape[1] >= len(unit) - 1:
            break
        rest = unit[:, place] - basis @ (basis.T @ unit[:, place])
        rest -= basis @ (basis.T @ rest)  # once more: the first pass leaves rounding
        if rest @ rest > EQUAL_SHARES:
            independent[place] = True
            basis = np.column_stack([basis, rest / np.sqrt(rest @ rest)])
    return independent


def _scaled(values: Floats) -> Floats:
    """Each column divided by its largest magnitude, so that squares neither overflow nor vanish."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    scaled: Floats = values / np.where(largest > 0, largest, 1.0)
    return scaled


@dataclass(frozen=True)
class ClusterTree:
    """A dendrogram of n leaves: ``merges`` (n - 1, 2) are the two nodes that each step joins,
    ``heights`` (n - 1,) their distance.

    Nodes below n are leaves, node n + i is what step i made. ``labels`` (n,) numbers each leaf's
    cluster from 0 in the order of first leaves, ``score`` (n + 1,) is Calinski and Harabasz' index
    of each number of clusters (NaN where it is not defined).
    """

    merges: Integers
    heights: Floats
    labels: Integers
    score: Floats

    @property
    def clusters(self) -> list[list[int]]:
        """The leaves of each cluster."""
        return [
            [leaf for leaf, label in enumerate(self.labels) if label == number]
            for number in range(max(self.labels, default=-1) + 1)
        ]

    @property
    def order(self) -> list[int]:
        """The leaves as a drawing needs them, so that no two branches cross."""
        if not len(self.labels):
            return []
        leaves, todo = [], [2 * len(self.labels) - 2]
        while todo:
            node = todo.pop()
            if node < len(self.labels):
                leaves.append(node)
            else:
                todo += self.merges[node - len(self.labels)].tolist()[::-1]
        return leaves

    @property
    def height(self) -> float:
        """Where the tree is cut: halfway between the last merge inside a cluster and the next."""
        inside = len(self.labels) - len(self.clusters)
        below = float(self.heights[inside - 1]) if inside else 0.0
        if inside >= len(self.heights):
            return min(1.0, 1.1 * below) if below else 0.5
        return (below + float(self.heights[inside])) / 2


def distances(values: ArrayLike, distance: Distance = "correlation") -> Floats:
    """Distances (counters, counters) between the columns of finite values (times, counters), from 0
    (together) to 1 (unrelated).

    ``correlation`` is 1 - |rho| with Pearson's rho. ``shang2015`` is as published 1 - rho for rho
    >= 0, and |rho| below, so that counters with a rho of -0.01 are at 0.01 and those with -1 at 1.
    A constant is unrelated to everything. Source: Shang et al. 2015, eq. 1.
    """
    unit = standardised(values)
    rho = np.clip(unit.T @ unit, -1, 1)
    apart: Floats = (
        1 - np.abs(rho) if distance == "correlation" else np.where(rho >= 0, 1 - rho, -rho)
    )
    np.fill_diagonal(apart, 0.0)
    return (apart + apart.T) / 2


def tree(distance: ArrayLike) -> ClusterTree:
    """The dendrogram of a symmetric matrix of distances (n, n), average linkage, cut where Calinski
    and Harabasz' index is highest.

    At least two clusters, which the index needs, and at most n/2: near n it rises again by chance,
    and a counter alone has no others that could predict it. n of 0 or 1 is that many clusters, n of
    2 is one. Among equal scores the fewest clusters win. Sources: Sokal, Michener 1958
    (scipy.cluster.hierarchy); Calinski, Harabasz 1974.
    """
    matrix = np.asarray(distance, dtype=np.float64)
    n = len(matrix)
    if n < 2:
        return ClusterTree(
            np.empty((0, 2), dtype=np.int64),
            np.empty(0),
            np.zeros(n, dtype=np.int64),
            np.full(n + 1, np.nan),
        )
    from scipy.cluster.hierarchy import linkage

    steps = linkage(matrix[np.triu_indices(n, 1)], method="average")
    merges, heights = steps[:, :2].astype(np.int64), steps[:, 2]
    score = _scores(matrix, merges)
    count = 2 + int(np.argmax(score[2 : max(n // 2, 2) + 1])) if n > 2 else 1
    return ClusterTree(merges, heights, _labels(merges, n, count), score)


def _scores(matrix: Floats, merges: Integers) -> Floats:
    """Calinski and Harabasz' index for 2 to n - 1 clusters, shape (n + 1,).

    Distances stand for squared Euclidean ones, which 1 - rho is half of between standardised
    counters: the sum of squares of a cluster of m is the sum over its pairs, divided by m.
    """
    n = len(matrix)
    score = np.full(n + 1, np.nan)
    total = matrix.sum() / 2 / n
    members: dict[int, Integers] = {leaf: np.array([leaf]) for leaf in range(n)}
    pairs = dict.fromkeys(range(n), 0.0)  # sum of distances inside each node
    within = 0.0
    for step, (left, right) in enumerate(merges.tolist()):
        first, second = members.pop(left), members.pop(right)
        members[n + step] = np.concatenate([first, second])
        pairs[n + step] = pairs[left] + pairs[right] + float(matrix[np.ix_(first, second)].sum())
        within += (
            pairs[n + step] / len(members[n + step])
            - pairs[left] / len(first)
            - pairs[right] / len(second)
        )
        k = n - 1 - step
        if k >= 2:
            spread = max(within, 0.0) / (n - k)
            between = max(total - within, 0.0) / (k - 1)
            if spread > 1e-12:
                score[k] = between / spread
            else:
                score[k] = np.inf if between else 0.0
    return score


def _labels(merges: Integers, n: int, count: int) -> Integers:
    """Each leaf's cluster when the last ``count - 1`` merges are undone."""
    nodes = list(range(n))
    for step, (left, right) in enumerate(merges[: n - count].tolist()):
        nodes = [n + step if node in (left, right) else node for node in nodes]
    numbers: dict[int, int] = {}
    return np.array([numbers.setdefault(node, len(numbers)) for node in nodes], dtype=np.int64)
