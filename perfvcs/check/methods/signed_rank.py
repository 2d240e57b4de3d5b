"""Wilcoxon's signed ranks of the ratios of pairs."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import expm1, inf, isinf, nan
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, Word
from perfvcs.check.methods import PairMethod
from perfvcs.check.methods.log_median import ALONE, DISCOVERIES, FEW, FEWEST, NO_RATIO, WIDE
from perfvcs.check.samples.scale import Scaled, flatten, mean, scale
from perfvcs.check.statement import UNKNOWN, direction, state
from perfvcs.statistics.multiplicity import q_values
from perfvcs.statistics.sessions import aa_floor
from perfvcs.statistics.signedrank import MOST, depth, signed_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Pair, Sessions

UNPAIRED = "not measured in turns, so there are no pairs to rank: use log-median"
MANY = f"more than {MOST} pairs: use log-median"
UNREACHABLE = "only {} pairs: an interval of {:g} % needs {}"

Result = tuple[float, float, float, float]  # shift, low, high, p


@dataclass(frozen=True)
class SignedRank(PairMethod):
    """The exact signed-rank test of the paired differences of log-medians, with Hodges and Lehmann's estimate and its interval.

    Changed, same and open as ``log-median`` says, without its permutation test; it asks of the differences to be symmetric, not to be
    normal, so that outliers do not blind it. Where builds were repeated they are the pairs. With fewer than eight pairs the 99 %
    interval is infinite and nothing is settled. Source: this project; Wilcoxon 1945; Hodges, Lehmann 1963.
    """

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        import numpy as np

        scaled = [scale(pair) for pair in pairs]
        results = self._results([one for one in scaled if one is not None])
        found = [results.get(id(one)) for one in scaled]
        q = q_values(np.array([nan if result is None else result[3] for result in found])).tolist()
        return [
            self._without_ratio(pair) if one is None else self._judge(one, result, each)
            for pair, one, result, each in zip(pairs, scaled, found, q, strict=True)
        ]

    def _results(self, scaled: Sequence[Scaled]) -> dict[int, Result]:
        """Of those with pairs enough, all of the same number at once."""
        import numpy as np

        buckets: dict[int, list[Scaled]] = defaultdict(list)
        for one in scaled:
            if one.pair.paired and 2 <= one.counts[0] <= MOST:
                buckets[one.counts[0]].append(one)
        results: dict[int, Result] = {}
        for members in buckets.values():
            first, second = (np.array([flatten(side) for side in column]) for column in zip(*map(_sides, members), strict=True))
            found = signed_rank(first, second, self.confidence)
            rows = zip(*(column.tolist() for column in (found.estimate, found.low, found.high, found.p)), strict=True)
            results |= zip(map(id, members), rows, strict=True)
        return results

    def _judge(self, one: Scaled, result: Result | None, q: float) -> Change:
        delta = max(self.delta, expm1(aa_floor(one.pair.past.audits)))
        bar = one.bar(delta)
        old, new = (mean(flatten(side)) for side in (one.baseline, one.target))
        theta, low, high, p = result or (new - old, -inf, inf, nan)
        word, reason = self._word(one, result, q, bar)
        return state(
            one.pair, word=word, reason=reason.format(100 * delta) if reason is WIDE else reason, method="signed-rank",
            centres=one.centres, effects=(one.relative(theta), _bound(one, low), _bound(one, high)), chances=(p, q, None), delta=delta,
            confidence=self.confidence, gate=word == "degradation" and (low > bar or high < -bar),
            builds=one.counts if one.pair.builds else None,
        )  # fmt: skip

    def _word(self, one: Scaled, result: Result | None, q: float, bar: float) -> tuple[Word, str]:
        fewest, kind = min(one.counts), "build" if one.pair.builds else "execution"
        if fewest > 1 and len({*flatten(one.baseline), *flatten(one.target)}) == 1:
            return "same", ""
        if fewest < 2:
            return "inconclusive", ALONE.format(kind)
        if result is None:
            return "inconclusive", MANY if one.pair.paired else UNPAIRED
        theta, low, high, p = result
        changed = q <= DISCOVERIES and p <= self.alpha and abs(theta) >= bar
        if fewest < FEWEST:
            return ("suspected" if changed else "inconclusive"), FEW.format(fewest, kind)
        if changed:
            return direction(one.pair.about, theta), ""
        if -bar <= low and high <= bar:
            return "same", ""
        if isinf(low):
            least = next((n for n in range(fewest, MOST) if depth(n, self.confidence)), MOST)
            return "inconclusive", UNREACHABLE.format(fewest, 100 * self.confidence, least)
        return "inconclusive", WIDE

    def _without_ratio(self, pair: Pair) -> Change:
        sides = flatten(pair.baseline), flatten(pair.target)
        equal = len({*sides[0], *sides[1]}) == 1 and min(map(len, sides)) > 1
        return state(
            pair, word="same" if equal else "inconclusive", reason="" if equal else NO_RATIO, method="signed-rank",
            centres=(mean(sides[0]), mean(sides[1])), delta=self.delta, confidence=self.confidence,
            effects=(0.0, 0.0, 0.0) if equal else UNKNOWN,
        )  # fmt: skip


def _sides(one: Scaled) -> tuple[Sessions, Sessions]:
    return one.baseline, one.target


def _bound(one: Scaled, value: float) -> float | None:
    """An end of the interval as a relative effect; None where there is no such end."""
    return None if isinf(value) else one.relative(value)
