"""Comparison cluster by cluster, for operations that take one of several times, such as cache hits
and misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log1p, nan
from typing import TYPE_CHECKING

from perfvcs.check.bounds import Undecided, explained, stated
from perfvcs.check.change import Change
from perfvcs.check.method import FEWEST_EXECUTIONS, SINGLE_EXECUTION, TOO_FEW_EXECUTIONS, PairMethod
from perfvcs.check.methods.log_median import FALSE_DISCOVERIES
from perfvcs.check.samples.clustered import ClusteredSample, Gap, with_gaps
from perfvcs.check.samples.sampled import ScaledSample, samples
from perfvcs.check.samples.scale import (
    ALL_EQUAL,
    CLOCK_STEPS,
    SQUARABLE,
    finest_step,
    is_coarse,
    too_coarse,
)
from perfvcs.check.statement import Chances, EffectInterval, PairNumbers, PairVerdict, state
from perfvcs.check.vocabulary import Word, direction
from perfvcs.statistics.clusters import MOST_CLUSTERS, match
from perfvcs.statistics.multiplicity import q_values
from perfvcs.system.numeric import np
from perfvcs.text.quantity import number, percent, scale
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Pair

VALUES = 10  # measurements a side for each cluster that is looked for
# share of the executions that a cluster has values from; fewer make it a difference between
# executions
VISITED = 0.5
MEASURED_APART = "measured apart, and this rule does not know how much sessions differ"
UNALIKE = "not the same number of clusters on both sides"


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
        views = self._views(samples(pairs))
        q = q_values(
            np.array([nan if isinstance(view, Change) else view.p for view in views])
        ).tolist()
        return [
            view if isinstance(view, Change) else self._judge(view, chance)
            for view, chance in zip(views, q, strict=True)
        ]

    def _views(self, samples: Sequence[ScaledSample]) -> list[ClusteredSample | Change]:
        """Each sample's view with its differences, or its change where there is nothing to
        cluster.
        """
        views = [self._view(sample) for sample in samples]
        clustered = [view for view in views if isinstance(view, ClusteredSample)]
        compared = iter(with_gaps(clustered, self.confidence))
        return [view if isinstance(view, Change) else next(compared) for view in views]

    def _view(self, sample: ScaledSample) -> ClusteredSample | Change:
        first, second = sample.sides
        base, other = (float(side.means().mean()) for side in sample.sides)
        if min(sample.counts) < 2:
            return self._plain(sample, "inconclusive", SINGLE_EXECUTION.format(sample.kind))
        least = min(first.values.min(), second.values.min())
        if least == max(first.values.max(), second.values.max()):
            if finest_step(sample.pair) > 0:
                return self._plain(sample, "inconclusive", ALL_EQUAL)
            return self._plain(sample, "same", "")
        if sample.pair.size is None and sample.pair.case.sizes:
            return self._plain(
                sample, "inconclusive", "a unit of many sizes: its clusters would be the sizes"
            )
        logarithmic = bool(least > 0)
        ratio = logarithmic or bool(least >= 0 and base > other / SQUARABLE)
        if not ratio:
            base = max(abs(base), abs(other))
        if not base:
            return self._plain(
                sample, "inconclusive", "the mean of both sides is 0: compare the values by student"
            )
        divisor = 1.0 if logarithmic else base
        before, after = (
            [run / divisor for run in side.runs(logarithms=logarithmic)] for side in sample.sides
        )
        most = max(1, min(MOST_CLUSTERS, min(len(first.values), len(second.values)) // VALUES))
        matched = match(before, after, most, VISITED)
        return ClusteredSample(sample, matched, logarithmic, base, ratio)

    def _judge(self, view: ClusteredSample, q: float) -> Change:
        """The verdict on a pair.

        1. A cluster moved where its test is significant among all tests and its means differ by
           delta; a share shifted likewise.
        2. If any did: the direction of the largest move, of a degradation if there is one. Shifted
           shares count as the move of all values.
        3. Else the cluster that may have moved the most decides whether the sides are the same
           (``_unmoved``), and bounds the change (``_bound``).
        """
        delta = self.least(view.sample.pair.case, view.base * view.sample.unit)
        bar = log1p(delta) if view.logarithmic else delta
        significant = q <= FALSE_DISCOVERIES
        moved = [
            place
            for place, gap in enumerate(view.gaps)
            if significant and self._differs(view, gap) and abs(gap.theta) >= bar
        ]
        differing = [gap for gap in view.shares if significant and self._differs(view, gap)]
        shifted = any(abs(gap.theta) >= delta for gap in differing)
        definition = view.sample.pair.about
        candidates = [(view.gaps[place], view.centres(place)) for place in moved]
        if shifted and view.total.theta:
            candidates.append((view.total, self._means(view.sample)))
        bound = None
        if candidates:
            worse = [
                pair for pair in candidates if direction(definition, pair[0].theta) == "degradation"
            ]
            gap, centres = max(worse or candidates, key=lambda pair: abs(pair[0].theta))
            word, reason = self._sure(view, direction(definition, gap.theta))
        else:
            reaches = [max(gap.high, -gap.low) for gap in view.gaps]
            place = max(range(len(view.gaps)), key=reaches.__getitem__)
            gap, centres = view.gaps[place], view.centres(place)
            value = min(map(abs, centres))
            same = not shifted and -bar <= gap.low <= gap.high <= bar
            word, reason = self._unmoved(view, value, delta, same=same)
            bound = self._bound(view, gap, value, differing)
            reason = stated(word, reason, bound)
        return state(
            view.sample.pair,
            PairVerdict(
                word,
                "clusters",
                reason=reason,
                finding=_finding(view, moved, shifted=shifted, bar=bar),
                delta=delta,
                confidence=self.confidence,
                gate=word == "degradation" and (gap.low > bar or gap.high < -bar),
                builds=view.sample.counts if view.sample.pair.builds else None,
            ),
            PairNumbers(
                centres,
                EffectInterval(
                    view.relative(gap.theta), view.relative(gap.low), view.relative(gap.high)
                ),
                shifts=view.shifts(gap),
                chances=Chances(view.p, q),
                bound=bound,
            ),
        )

    def _unmoved(
        self, view: ClusteredSample, value: float, delta: float, *, same: bool
    ) -> tuple[Word, str]:
        """The word where nothing moved for sure; ``same``: nothing can have moved by delta."""
        if not view.sample.pair.paired:
            return "inconclusive", MEASURED_APART
        if not view.matched.alike:
            return "inconclusive", UNALIKE
        fewest = min(view.sample.counts)
        if fewest < FEWEST_EXECUTIONS:
            return "inconclusive", TOO_FEW_EXECUTIONS.format(fewest, view.sample.kind)
        if not same:
            return "inconclusive", explained(Undecided.WIDE, delta)
        finest = finest_step(view.sample.pair)
        if is_coarse(finest, value, delta):
            return "inconclusive", too_coarse(view.sample.pair.about, finest, delta)
        return "same", ""

    def _bound(
        self, view: ClusteredSample, gap: Gap, value: float, differing: Sequence[Gap]
    ) -> float | None:
        """How large the change is at most; None where the intervals are known to be too narrow, or
        it has no meaning.
        """
        apart = not view.sample.pair.paired or not view.matched.alike
        if apart or min(view.sample.counts) < FEWEST_EXECUTIONS or not value:
            return None
        ends = (gap.low, gap.high)
        if view.ratio:
            ends = (view.relative(gap.low) or 0.0, view.relative(gap.high) or 0.0)
        step = CLOCK_STEPS * finest_step(view.sample.pair) / value
        return max([-ends[0], ends[1], step, *(abs(share.theta) for share in differing)])

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
        effects = EffectInterval(target / base - 1 if base > 0 else None)
        if word == "same":
            effects = EffectInterval(0.0, 0.0, 0.0)
        return state(
            sample.pair,
            PairVerdict(
                word,
                "clusters",
                reason=reason,
                delta=self.least(sample.pair.case, base),
                confidence=self.confidence,
                builds=sample.counts if sample.pair.builds else None,
            ),
            PairNumbers((base, target), effects),
        )


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
                + (" same" if settled else " undecided")
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
