"""Metrics that repeat exactly, or nearly: instructions, allocations."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from statistics import median, stdev
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, Word
from perfvcs.check.methods import Method, Pair
from perfvcs.check.scale import flatten

if TYPE_CHECKING:
    from collections.abc import Sequence

SMALLEST = 0.001
REPEATABILITY = 5
LARGEST = 1e9  # a repeatability beyond is no better than this one


@dataclass(frozen=True)
class Deterministic(Method):
    """Changed where the medians differ by more than .1 % and five times the metric's own repeatability.

    The repeatability is the larger relative standard deviation of the two sides' executions; a single execution shows none.
    Neither ``delta`` nor a p-value enters: such a metric has no noise to tell from, the code path changed.
    """

    def compare(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        return [_judge(pair) for pair in pairs]


def _judge(pair: Pair) -> Change:
    sides = [flatten(pair.baseline), flatten(pair.target)]
    old, new = (2 * median(value / 2 for value in side) for side in sides)  # halves, since median adds two values
    bar = max(SMALLEST, REPEATABILITY * max(map(_repeatability, sides)))
    shift = new - old if isfinite(new - old) else None
    effect = new / old - 1 if old > 0 else None
    if effect is not None and not isfinite(effect):
        effect = None
    word: Word = "same"
    # Relative to the smaller side, so that a change and its way back have the same size.
    moved = abs(new - old) > bar * min(old, new) if min(old, new) > 0 else new != old
    if moved:
        worse = (new < old) if pair.about.better == "higher" else (new > old)
        word = "degradation" if worse else "improvement"
    return Change(
        word=word, job=pair.job, uid=pair.uid, size=pair.size, metric=pair.metric, unit=pair.about.unit, better=pair.about.better,
        series=pair.series, effect=effect, shift=shift, baseline=old, target=new, delta=bar,
        executions=(len(sides[0]), len(sides[1])), paired=pair.paired, gate=word == "degradation",
        method="deterministic", reason="the code path changed" if moved else "",
    )  # fmt: skip


def _repeatability(values: list[float]) -> float:
    """Relative standard deviation; 0 where it is unknown."""
    largest = max(map(abs, values))
    if len(values) < 2 or not largest:
        return 0.0
    scaled = [value / largest for value in values]
    centre = abs(median(scaled))
    return min(stdev(scaled) / centre, LARGEST) if centre else 0.0
