"""Wilcoxon's signed ranks of the ratios of pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, isnan, nan
from typing import ClassVar

from perfvcs.check.bounds import Undecided
from perfvcs.check.methods.log_median import LogMedian
from perfvcs.check.samples.estimate import Estimate
from perfvcs.check.samples.scale import Scaled, flatten, mean
from perfvcs.check.vocabulary import Word
from perfvcs.statistics.permutation import MOST_RANKED_PAIRS, depth, signed_rank
from perfvcs.system.numeric import np

TOO_MANY_PAIRS = f"more than {MOST_RANKED_PAIRS} pairs: use log-median"


@dataclass(frozen=True)
class SignedRank(LogMedian):
    """The exact signed-rank test of the paired differences of log-medians, with Hodges and
    Lehmann's estimate and its interval.

    Changed, same and open as ``log-median`` says, without its permutation test; it asks of the
    differences to be symmetric, not to be normal, so that outliers do not blind it. Where builds
    were repeated they are the pairs. With fewer than eight pairs the 99 % interval is infinite and
    nothing is settled. Source: this project; Wilcoxon 1945; Hodges, Lehmann 1963.
    """

    name: ClassVar[str] = "signed-rank"

    def _estimates(self, scaled: Sequence[Scaled]) -> list[Estimate]:
        """Of those with pairs enough, all of the same number at once; the others have a shift and
        no p.
        """
        buckets: dict[int, list[int]] = defaultdict(list)
        for place, sample in enumerate(scaled):
            if sample.pair.paired and 2 <= sample.counts[0] <= MOST_RANKED_PAIRS:
                buckets[sample.counts[0]].append(place)
        results = [
            _estimate(mean(flatten(sample.target)) - mean(flatten(sample.baseline)), -inf, inf, nan)
            for sample in scaled
        ]
        for places in buckets.values():
            first = np.array([flatten(scaled[place].baseline) for place in places])
            second = np.array([flatten(scaled[place].target) for place in places])
            difference = signed_rank(first, second, self.confidence)
            for place, row in zip(places, difference.rows(), strict=True):
                results[place] = _estimate(*row)
        return results

    def _word(
        self, scaled: Scaled, result: Estimate, q: float, bar: float
    ) -> tuple[Word, str | Undecided]:
        word, reason = super()._word(scaled, result, q, bar)
        fewest = min(scaled.counts)
        if word == "same" or fewest < 2:
            return word, reason
        if isnan(result.p):
            reason = "not measured in turns, so there are no pairs to rank: use log-median"
            return "inconclusive", TOO_MANY_PAIRS if scaled.pair.paired else reason
        if reason is Undecided.WIDE and isinf(result.low):
            least = next(
                (n for n in range(fewest, MOST_RANKED_PAIRS) if depth(n, self.confidence)),
                MOST_RANKED_PAIRS,
            )
            return (
                "inconclusive",
                f"only {fewest} pairs: an interval of {100 * self.confidence:g} % needs {least}",
            )
        return word, reason


def _estimate(theta: float, low: float, high: float, p: float) -> Estimate:
    """An exact test needs no other one to confirm it."""
    return Estimate(theta, low, high, p, permutation_p=nan, veto=nan)
