"""Metrics that repeat exactly, or nearly: instructions, allocations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median, stdev

import msgspec

from perfvcs.check.case import Pair, prepare
from perfvcs.check.change import Change
from perfvcs.check.method import PairMethod
from perfvcs.check.samples.scale import flatten
from perfvcs.check.statement import EffectInterval, PairNumbers, PairVerdict, finite, state
from perfvcs.check.vocabulary import direction
from perfvcs.profile.summary import SIZES

SMALLEST_CHANGE = 0.001  # of the smaller side
REPEATABILITY = 5  # times the differences of one version: less is no change
LARGEST_REPEATABILITY = 1e9  # a better repeatability than this one does not count
# collectors whose exact metrics are those that programs report
REPORTING = ("time", "counters")
# the metric in which an execution that was repeated inside says how well, as a share
REPEATABILITY_METRIC = "repeatability"


@dataclass(frozen=True)
class Deterministic(PairMethod):
    """Changed where the medians differ by more than .1 % and five times the metric's own
    repeatability.

    The repeatability is the larger relative standard deviation of the two sides' executions. A
    single execution shows none, but may have measured it inside (the metric ``repeatability``); the
    largest of these counts then. Neither ``delta`` nor a p-value enters: such a metric has no
    noise, so the code path changed, or what the program counts itself.
    """

    def judge(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        single = [
            min(pair.executions) == 1 and REPEATABILITY_METRIC in pair.case.header.metrics
            for pair in pairs
        ]
        prepare([pair.case for pair, alone in zip(pairs, single, strict=True) if alone])
        return [
            _judge(pair, _within(pair) if alone else 0.0)
            for pair, alone in zip(pairs, single, strict=True)
        ]


def _judge(pair: Pair, within: float) -> Change:
    sides = [flatten(pair.baseline), flatten(pair.target)]
    # halves, since median adds two values
    old, new = (2 * median(value / 2 for value in side) for side in sides)
    bar = max(SMALLEST_CHANGE, REPEATABILITY * max(within, *map(_repeatability, sides)))
    effect = new / old - 1 if old > 0 else None
    # Relative to the smaller side, whatever its sign, so that a change and its way back have the
    # same size.
    moved = abs(new - old) > bar * min(abs(old), abs(new))
    word = direction(pair.about, new - old) if moved else "same"
    change = state(
        pair,
        PairVerdict(
            word,
            "deterministic",
            reason=_reason(pair) if moved else "",
            delta=bar,
            gate=word == "degradation",
        ),
        PairNumbers((old, new), EffectInterval(effect)),
    )
    # exact also where a share of the baseline has no meaning
    return msgspec.structs.replace(change, shift=finite(new - old))


def _reason(pair: Pair) -> str:
    """What it means that an exact metric changed: of what a program counts itself, only that; of
    files, nothing.
    """
    if pair.case.header.job.collector == SIZES:
        return ""
    own = pair.case.header.job.collector in REPORTING
    return "the program counts another amount" if own else "the code path changed"


def _within(pair: Pair) -> float:
    """The largest repeatability that executions of the job found inside themselves; 0 where none
    did.
    """
    job, rows = pair.case.header.job.name, pair.case.rows
    tables = [
        rows.table(profile, job).metrics for side in pair.case.chosen.sides for profile in side
    ]
    repeatabilities = [
        value
        for metrics in tables
        if REPEATABILITY_METRIC in metrics
        for value in metrics[REPEATABILITY_METRIC].tolist()
        if isfinite(value)
    ]
    return min(max(repeatabilities, default=0.0), LARGEST_REPEATABILITY)


def _repeatability(values: list[float]) -> float:
    """Relative standard deviation; 0 where it is unknown."""
    largest = max(map(abs, values))
    if len(values) < 2 or not largest:
        return 0.0
    scaled = [value / largest for value in values]
    centre = abs(median(scaled))
    return min(stdev(scaled) / centre, LARGEST_REPEATABILITY) if centre else 0.0
