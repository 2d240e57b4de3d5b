"""Welch's t-test on the means of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.samples.sampled import Batch, RuleOutcome, SampledMethod


@dataclass(frozen=True)
class TTest(SampledMethod):
    """Changed where Welch's t on the means of the executions has p < .01; the interval is the
    test's own, at 99 %.

    Source: Reichelt, Kuehne 2018, section 3.3; Welch 1947.
    """

    name: ClassVar[str] = "t-test"
    level: ClassVar[float | None] = 0.01

    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One per sample."""
        from perfvcs.statistics.difference import welch

        return [
            RuleOutcome(shift, low, high, changed=p < 1 - self.stated, p=p)
            for shift, low, high, p in welch(batch.baseline, batch.target, self.stated).rows()
        ]
