"""The fastest execution of each side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.check.method import PairMethod
from perfvcs.check.samples.scale import flatten
from perfvcs.check.statement import EffectInterval, PairNumbers, PairVerdict, state
from perfvcs.check.vocabulary import direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Pair
    from perfvcs.check.change import Change


@dataclass(frozen=True)
class Fastest(PairMethod):
    """Changed where the least values of both sides differ by more than ``delta``.

    Nothing is asked of noise.
    """

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        return [self._judged(pair) for pair in pairs]

    def _judged(self, pair: Pair) -> Change:
        before, after = (min(flatten(side)) for side in (pair.baseline, pair.target))
        effect = after / before - 1 if before else None
        if effect is None:
            verdict = PairVerdict("inconclusive", "fastest", reason="the least value is 0")
            return state(pair, verdict, PairNumbers((before, after)))
        word = "same" if abs(effect) <= self.delta else direction(pair.about, effect)
        verdict = PairVerdict(word, "fastest", delta=self.delta)
        return state(pair, verdict, PairNumbers((before, after), EffectInterval(effect)))
