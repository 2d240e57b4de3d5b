"""Confidence intervals of both means, under random effects, that do or do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.samples.sampled import Batch, RuleOutcome, SampledMethod, ScaledSample
from perfvcs.statistics.difference import Interval
from perfvcs.system.numeric import np


@dataclass(frozen=True)
class CiOverlap(SampledMethod):
    """Changed where the 99 % intervals of the two means do not overlap; the size is the distance of
    the centres.

    Three levels (measurements, executions, builds) where builds were repeated, else two. As
    published but for the quantile: Student's at the top level's degrees of freedom in place of the
    normal one, which is too narrow for fewer than thirty executions or builds. The interval
    reported reaches from the lower end of one to the upper end of the other: it excludes 0 exactly
    where the two do not overlap. Sources: Kalibera, Bulej, Tuma 2005, section 5; Kalibera 2006, ch.
    7, eq. 17.
    """

    name: ClassVar[str] = "ci-overlap"

    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One per sample."""
        old, new = intervals(batch.samples, self.stated)
        shift, low, high = new.centre - old.centre, new.low - old.high, new.high - old.low
        rows = zip(shift.tolist(), low.tolist(), high.tolist(), strict=True)
        return [RuleOutcome(*row, changed=row[1] > 0 or row[2] < 0) for row in rows]


def intervals(samples: Sequence[ScaledSample], confidence: float) -> tuple[Interval, Interval]:
    """The interval of the mean of each sample on both sides, in its unit."""
    from perfvcs.statistics.components import components

    by_side = []
    for number in (0, 1):
        sides = [sample.sides[number] for sample in samples]
        group = np.repeat(np.arange(len(sides)), [len(side.values) for side in sides])
        builds = [
            side.build[side.execution] if sample.pair.builds else np.zeros_like(side.execution)
            for sample, side in zip(samples, sides, strict=True)
        ]
        value = np.concatenate([side.values for side in sides])
        execution = np.concatenate([side.execution for side in sides])
        parts = components(value, execution, np.concatenate(builds), group)
        by_side.append(parts.interval(confidence))
    return by_side[0], by_side[1]
