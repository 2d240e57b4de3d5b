"""Comparison cluster by cluster, for operations that take one of several times, such as cache hits
and misses.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from math import expm1, inf, log1p, nan
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.answer import Undecided, explained, stated
from perfvcs.check.change import UNKNOWN_EFFECT, Change, Three, Word, direction, state
from perfvcs.check.method import FEWEST_EXECUTIONS, SINGLE_EXECUTION, TOO_FEW_EXECUTIONS, PairMethod
from perfvcs.check.methods.log_median import FALSE_DISCOVERIES
from perfvcs.check.samples.sampled import ScaledSample, grouped_means, samples
from perfvcs.check.samples.scale import (
    ALL_EQUAL,
    CLOCK_STEPS,
    LARGEST_EXPONENT,
    SQUARABLE,
    finest_step,
    is_coarse,
    too_coarse,
)
from perfvcs.statistics.clusters import MOST_CLUSTERS, Matched, match
from perfvcs.statistics.multiplicity import q_values
from perfvcs.text.quantity import number, percent, scale
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.case import Pair

VALUES = 10  # measurements a side for each cluster that is looked for
# share of the executions that a cluster has values from; fewer make it a difference between
# executions
VISITED = 0.5
CURVE = "a unit of many sizes: its clusters would be the sizes"
MEASURED_APART = "measured apart, and this rule does not know how much sessions differ"
CENTRED = "the mean of both sides is 0: compare the values by student"
UNALIKE = "not the same number of clusters on both sides"


@dataclass(frozen=True)
class Gap:
    """One difference on the scale of a view, target minus baseline, with its interval and p;
    unknown as it starts.
    """

    theta: float = nan
    low: float = -inf
    high: float = inf
    p: float = nan


@dataclass(frozen=True)
class ClusteredSample:
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
        known = [gap.p for gap in (*self.gaps, *self.shares) if gap.p == gap.p]
        return min(1.0, min(known) * self.tests) if known else nan

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

    def shifts(self, gap: Gap) -> Three:
        """A gap with its interval in the metric's unit, if that does not follow from its share."""
        if self.ratio:
            return UNKNOWN_EFFECT
        unit = self.base * self.sample.unit
        return gap.theta * unit, gap.low * unit, gap.high * unit

    def centres(self, number: int) -> tuple[float, float]:
        """A cluster's means on both sides, in the metric's unit."""
        import numpy as np

        found = [float(np.nanmean(means[number])) for means in self.matched.means]
        raw = [float(np.exp(each)) if self.logarithmic else each * self.base for each in found]
        return raw[0] * self.sample.unit, raw[1] * self.sample.unit


class _Replicates(NamedTuple):
    """The replicates of both sides that are compared with one another, and how sure the interval is
    to be.
    """

    baseline: NDArray[np.float64]
    target: NDArray[np.float64]
    confidence: float


@dataclass(frozen=True)
class Clusters(PairMethod):
    """Changed where a cluster of measurements moved by at least ``delta``, or where the clusters'
    shares moved by as many points.

    Each side's measurements are a mixture of normal distributions of their logarithms, as many as
    BIC likes best, or one where a cluster has values from less than half of the executions.
    Clusters are matched in ascending order, and each compared by Welch's t on the executions' means
    in it (builds' means, where builds were repeated): p <= ``alpha`` after Bonferroni for the
    clusters, and Benjamini and Hochberg at 5 % for the pairs. The effect is that of the cluster
    that moved most, the worse ones first; of moved shares that of the mean. With fewer than five
    executions, other numbers of clusters on the two sides, or sides measured apart a change is only
    ``suspected``. Sources: Kalibera 2006, ch. 3.4 (which left the number of clusters to the
    reader); Fraley, Raftery 2002.
    """

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        import numpy as np

        views = self._views(samples(pairs))
        q = q_values(
            np.array([nan if isinstance(view, Change) else view.p for view in views])
        ).tolist()
        return [
            view if isinstance(view, Change) else self._judge(view, each)
            for view, each in zip(views, q, strict=True)
        ]

    def _views(self, samples: Sequence[ScaledSample]) -> list[ClusteredSample | Change]:
        """Each sample's view with its differences, or its change where there is nothing to
        cluster.
        """
        views = [self._view(sample) for sample in samples]
        rows: list[_Replicates] = []
        for view in views:
            if isinstance(view, ClusteredSample):
                rows += _rows(view, self.confidence)
        gaps = iter(_gaps(rows))
        complete: list[ClusteredSample | Change] = []
        for view in views:
            if isinstance(view, Change):
                complete.append(view)
                continue
            k = len(view.matched.means[0])
            means = tuple(next(gaps) for _ in range(k))
            shares = tuple(next(gaps) for _ in range(k)) if k > 1 else ()
            complete.append(replace(view, gaps=means, shares=shares, total=next(gaps)))
        return complete

    def _view(self, sample: ScaledSample) -> ClusteredSample | Change:
        first, second = sample.sides
        base, other = (float(side.means().mean()) for side in sample.sides)
        if min(sample.counts) < 2:
            return self._plain(sample, "inconclusive", SINGLE_EXECUTION.format(sample.kind))
        if min(first.values.min(), second.values.min()) == max(
            first.values.max(), second.values.max()
        ):
            coarse = finest_step(sample.pair) > 0
            return self._plain(
                sample, "inconclusive" if coarse else "same", ALL_EQUAL if coarse else ""
            )
        if sample.pair.size is None and sample.pair.case.sizes:
            return self._plain(sample, "inconclusive", CURVE)
        logarithmic = min(first.values.min(), second.values.min()) > 0
        ratio = logarithmic or (
            min(first.values.min(), second.values.min()) >= 0 and base > other / SQUARABLE
        )
        base = base if ratio else max(abs(base), abs(other))
        if not base:
            return self._plain(sample, "inconclusive", CENTRED)
        runs = [
            [run if logarithmic else run / base for run in side.runs(logarithms=logarithmic)]
            for side in sample.sides
        ]
        most = max(1, min(MOST_CLUSTERS, min(len(first.values), len(second.values)) // VALUES))
        return ClusteredSample(
            sample, match(runs[0], runs[1], most, VISITED), logarithmic, base, ratio
        )

    def _judge(self, view: ClusteredSample, q: float) -> Change:
        delta = self.least(view.sample.pair.case, view.base * view.sample.unit)
        bar = log1p(delta) if view.logarithmic else delta
        sure = q <= FALSE_DISCOVERIES
        moved = [
            place
            for place, gap in enumerate(view.gaps)
            if sure and self._differs(view, gap) and abs(gap.theta) >= bar
        ]
        differing = [gap for gap in view.shares if sure and self._differs(view, gap)]
        shifted = [gap for gap in differing if abs(gap.theta) >= delta]
        about = view.sample.pair.about
        candidates = [(view.gaps[place], view.centres(place)) for place in moved]
        if shifted and view.total.theta:
            candidates.append((view.total, self._means(view.sample)))
        word: Word = "same"
        reason, bound = "", None
        if candidates:
            worse = [
                each for each in candidates if direction(about, each[0].theta) == "degradation"
            ]
            gap, centres = max(worse or candidates, key=lambda each: abs(each[0].theta))
            word, reason = self._sure(view, direction(about, gap.theta))
        else:
            place = max(
                range(len(view.gaps)),
                key=lambda each: max(view.gaps[each].high, -view.gaps[each].low),
            )
            gap, centres = view.gaps[place], view.centres(place)
            if not view.sample.pair.paired:
                word, reason = "inconclusive", MEASURED_APART
            elif not view.matched.alike:
                word, reason = "inconclusive", UNALIKE
            elif min(view.sample.counts) < FEWEST_EXECUTIONS:
                word, reason = (
                    "inconclusive",
                    TOO_FEW_EXECUTIONS.format(min(view.sample.counts), view.sample.kind),
                )
            elif shifted or not -bar <= gap.low <= gap.high <= bar:
                word, reason = "inconclusive", explained(Undecided.WIDE, delta)
            finest, value = finest_step(view.sample.pair), min(map(abs, centres))
            if (
                view.sample.pair.paired
                and view.matched.alike
                and min(view.sample.counts) >= FEWEST_EXECUTIONS
                and value
            ):
                low, high = (
                    view.relative(end) or 0.0 if view.ratio else end for end in (gap.low, gap.high)
                )
                bound = max(
                    [
                        -low,
                        high,
                        CLOCK_STEPS * finest / value,
                        *(abs(each.theta) for each in differing),
                    ]
                )
            if word == "same" and is_coarse(finest, value, delta):
                word, reason = "inconclusive", too_coarse(about, finest, delta)
            reason = stated(word, reason, bound)
        return state(
            view.sample.pair,
            word=word,
            method="clusters",
            centres=centres,
            delta=delta,
            bound=bound,
            confidence=self.confidence,
            effects=(view.relative(gap.theta), view.relative(gap.low), view.relative(gap.high)),
            shifts=view.shifts(gap),
            chances=(view.p, q, None),
            gate=word == "degradation" and (gap.low > bar or gap.high < -bar),
            reason=reason,
            builds=view.sample.counts if view.sample.pair.builds else None,
            finding=_finding(view, moved, shifted=bool(shifted), bar=bar),
        )

    def _differs(self, view: ClusteredSample, gap: Gap) -> bool:
        return gap.p * view.tests <= self.alpha

    def _sure(self, view: ClusteredSample, word: Word) -> tuple[Word, str]:
        """The word of a change, as far as the design carries it."""
        fewest = min(view.sample.counts)
        if fewest < FEWEST_EXECUTIONS:
            return "suspected", TOO_FEW_EXECUTIONS.format(fewest, view.sample.kind)
        if not view.sample.pair.paired:
            return "suspected", MEASURED_APART
        return (word, "") if view.matched.alike else ("suspected", UNALIKE)

    def _means(self, sample: ScaledSample) -> tuple[float, float]:
        first, second = (float(side.mean()) * sample.unit for side in sample.replicates)
        return first, second

    def _plain(self, sample: ScaledSample, word: Word, reason: str) -> Change:
        base, target = self._means(sample)
        effects = (
            (0.0, 0.0, 0.0)
            if word == "same"
            else (target / base - 1 if base > 0 else None, None, None)
        )
        return state(
            sample.pair,
            word=word,
            method="clusters",
            centres=(base, target),
            effects=effects,
            delta=self.least(sample.pair.case, base),
            confidence=self.confidence,
            builds=sample.counts if sample.pair.builds else None,
            reason=reason,
        )


def _rows(view: ClusteredSample, confidence: float) -> Iterable[_Replicates]:
    """The comparisons: the means in each cluster, the share of each, and all values."""
    import numpy as np

    matched, sides = view.matched, view.sample.sides
    several = len(matched.means[0]) > 1
    builds = [
        side.build if view.sample.pair.builds else np.arange(len(side.build)) for side in sides
    ]
    tests = 2 * len(matched.means[0]) if several else 1
    for columns in (matched.means, matched.shares) if several else (matched.means,):
        for first, second in zip(*columns, strict=True):
            yield _Replicates(
                _known(first, builds[0]), _known(second, builds[1]), 1 - (1 - confidence) / tests
            )
    scale_ = 1.0 if view.logarithmic else view.base
    means = [np.log(side.means()) if view.logarithmic else side.means() / scale_ for side in sides]
    yield _Replicates(_known(means[0], builds[0]), _known(means[1], builds[1]), confidence)


def _known(row: NDArray[np.float64], builds: NDArray[np.int64]) -> NDArray[np.float64]:
    """The replicates of what is not NaN."""
    import numpy as np

    there = np.isfinite(row)
    return grouped_means(row[there], np.unique(builds[there], return_inverse=True)[1])


def _gaps(rows: Sequence[_Replicates]) -> list[Gap]:
    """Welch's difference of each row; those of equal counts at once.

    Fewer than two replicates on a side are unknown.
    """
    import numpy as np

    from perfvcs.statistics.difference import welch

    buckets: dict[tuple[int, int, float], list[int]] = defaultdict(list)
    for place, (first, second, confidence) in enumerate(rows):
        if min(len(first), len(second)) > 1:
            buckets[len(first), len(second), confidence].append(place)
    found = [Gap()] * len(rows)
    for (*_, confidence), places in buckets.items():
        first, second = (np.stack([rows[place][number] for place in places]) for number in (0, 1))
        tested = welch(first, second, confidence)
        columns = zip(
            *(column.tolist() for column in (tested.estimate, tested.low, tested.high, tested.p)),
            strict=True,
        )
        for place, column in zip(places, columns, strict=True):
            found[place] = Gap(*column)
    return found


def _finding(view: ClusteredSample, moved: Sequence[int], *, shifted: bool, bar: float) -> str:
    """The clusters in words: ``2 clusters: 10.1 ms same, 14.9 -> 17 ms +14.1 %; shares 80, 20 ->
    65, 35 %``.
    """
    k = len(view.gaps)
    if k == 1 and view.matched.alike:
        return ""
    parts = []
    for place, gap in enumerate(view.gaps):
        old, new = view.centres(place)
        chosen = scale(max(abs(old), abs(new)), view.sample.pair.about.unit)
        if place in moved:
            before, after = number(old * chosen.factor), number(new * chosen.factor)
            step = f"{before} -> {after} {chosen.unit}".rstrip()
            effect = view.relative(gap.theta)
            parts.append(step if effect is None else f"{step} {percent(effect)}")
        else:
            settled = -bar <= gap.low and gap.high <= bar
            parts.append(
                f"{number(old * chosen.factor)} {chosen.unit}".rstrip()
                + (" same" if settled else " open")
            )
    text = (
        f"{counted(k, 'cluster')}{'' if view.matched.alike else ' on one side, more on the other'}:"
        f" {', '.join(parts)}"
    )
    if shifted:
        before, after = (
            ", ".join(number(round(100 * share, 1)) for share in side.mean(axis=1).tolist())
            for side in view.matched.shares
        )
        text += f"; shares {before} -> {after} %"
    return text
