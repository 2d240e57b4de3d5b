"""Samples whose measurements fall into clusters, and how these differ between both sides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import expm1, inf, nan
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.check.samples.sampled import ScaledSample, grouped_means
from perfvcs.check.samples.scale import LARGEST_EXPONENT
from perfvcs.check.statement import UNKNOWN_EFFECT, EffectInterval
from perfvcs.statistics.clusters import Matched
from perfvcs.system.numeric import Floats, Integers, np


class Gap(Struct, frozen=True):
    """One difference on the scale of a view, target minus baseline, with its interval and p;
    unknown as it starts.
    """

    theta: float = nan
    low: float = -inf
    high: float = inf
    p: float = nan


class ClusteredSample(Struct, frozen=True):
    """A sample's clusters: of logarithms, or where a value is 0 or below of shares of ``base``.

    That is the baseline's mean; where values are negative or it is 0, so that a ``ratio`` has no
    meaning, the larger of both sides'.

    ``gaps`` are the differences of the clusters, ``shares`` those of their shares (none for one
    cluster), ``total`` that of all values.
    """

    sample: ScaledSample
    matched: Matched
    logarithmic: bool
    base: float
    ratio: bool = True
    gaps: tuple[Gap, ...] = ()
    shares: tuple[Gap, ...] = ()
    total: Gap = Gap()

    @property
    def p(self) -> float:
        """The smallest p, times the number of tests."""
        chances = [gap.p for gap in (*self.gaps, *self.shares) if gap.p == gap.p]
        return min(1.0, min(chances) * self.tests) if chances else nan

    @property
    def tests(self) -> int:
        """How many differences are tested."""
        return len(self.gaps) + len(self.shares)

    def relative(self, difference: float) -> float | None:
        """A difference as target/baseline - 1; infinite where it is beyond a float, None where it
        has no meaning.
        """
        if not self.ratio:
            return None
        if not self.logarithmic or abs(difference) == inf:
            return difference
        return expm1(difference) if difference <= LARGEST_EXPONENT else inf

    def shifts(self, gap: Gap) -> EffectInterval:
        """A gap with its interval in the metric's unit, if that does not follow from its share."""
        if self.ratio:
            return UNKNOWN_EFFECT
        unit = self.base * self.sample.unit
        return EffectInterval(gap.theta * unit, gap.low * unit, gap.high * unit)

    def centres(self, number: int) -> tuple[float, float]:
        """A cluster's means on both sides, in the metric's unit."""
        means_of_cluster = [float(np.nanmean(means[number])) for means in self.matched.means]
        raw = [
            float(np.exp(mean)) if self.logarithmic else mean * self.base
            for mean in means_of_cluster
        ]
        return raw[0] * self.sample.unit, raw[1] * self.sample.unit


class _Replicates(NamedTuple):
    """The replicates of both sides that are compared with one another, and how sure the interval is
    to be.
    """

    baseline: Floats
    target: Floats
    confidence: float


def with_gaps(views: Sequence[ClusteredSample], confidence: float) -> list[ClusteredSample]:
    """The views with their differences."""
    gaps = iter(_gaps([row for view in views for row in _rows(view, confidence)]))
    complete = []
    for view in views:
        k = len(view.matched.means[0])
        means = tuple(next(gaps) for _ in range(k))
        shares = tuple(next(gaps) for _ in range(k)) if k > 1 else ()
        complete.append(replace(view, gaps=means, shares=shares, total=next(gaps)))
    return complete


def _rows(view: ClusteredSample, confidence: float) -> Iterable[_Replicates]:
    """The comparisons: the means in each cluster, the share of each, and all values."""
    matched, sides = view.matched, view.sample.sides
    builds = [
        side.build if view.sample.pair.builds else np.arange(len(side.build)) for side in sides
    ]

    def replicates(first: Floats, second: Floats) -> _Replicates:
        return _Replicates(_finite(first, builds[0]), _finite(second, builds[1]), confidence)

    columns = list(zip(*matched.means, strict=True))
    if len(columns) > 1:
        columns += zip(*matched.shares, strict=True)
    for column in columns:
        row = replicates(*column)
        yield row._replace(confidence=1 - (1 - confidence) / len(columns))
    if view.logarithmic:
        yield replicates(*(np.log(side.means()) for side in sides))
    else:
        yield replicates(*(side.means() / view.base for side in sides))


def _finite(row: Floats, builds: Integers) -> Floats:
    """The means of builds, of what is not NaN."""
    there = np.isfinite(row)
    return grouped_means(row[there], np.unique(builds[there], return_inverse=True)[1])


def _gaps(rows: Sequence[_Replicates]) -> list[Gap]:
    """Welch's difference of each row; those of equal counts at once.

    Fewer than two replicates on a side are unknown.
    """
    from perfvcs.statistics.difference import welch

    buckets: dict[tuple[int, int, float], list[int]] = defaultdict(list)
    for place, (first, second, confidence) in enumerate(rows):
        if min(len(first), len(second)) > 1:
            buckets[len(first), len(second), confidence].append(place)
    gaps = [Gap()] * len(rows)
    for (*_, confidence), places in buckets.items():
        first = np.stack([rows[place][0] for place in places])
        second = np.stack([rows[place][1] for place in places])
        tested = welch(first, second, confidence)
        for place, row in zip(places, tested.rows(), strict=True):
            gaps[place] = Gap(*row)
    return gaps
