"""Jain's approximate visual test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.methods.ci_overlap import intervals
from perfvcs.check.samples.sampled import Batch, RuleOutcome, SampledMethod
from perfvcs.system.numeric import np


@dataclass(frozen=True)
class Visual(SampledMethod):
    """Changed where the intervals of the two means are apart; the same where a mean lies inside the
    other's interval; else by t-test.

    The intervals are those of ``ci-overlap``, the t-test is Welch's on the means of the executions
    at the same level (99 % and 1 %), and the interval reported is the t-test's. Sources: Jain 1991,
    section 13.4; Kalibera 2006, ch. 5.2.
    """

    name: ClassVar[str] = "visual"

    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One per sample."""
        from perfvcs.statistics.difference import welch

        old, new = intervals(batch.samples, self.stated)
        apart = (new.low > old.high) | (new.high < old.low)
        inside = ~apart & (
            ((old.low <= new.centre) & (new.centre <= old.high))
            | ((new.low <= old.centre) & (old.centre <= new.high))
        )
        test = welch(batch.baseline, batch.target, self.stated)
        changed = apart | (~inside & (test.p < 1 - self.stated))
        columns = (test.estimate, test.low, test.high, changed, inside, test.p)
        rows = zip(*(np.asarray(column).tolist() for column in columns), strict=True)
        return [
            RuleOutcome(
                shift,
                low,
                high,
                changed=different,
                same=within,
                p=p,
                reason="a mean lies inside the other's interval" if within else "",
            )
            for shift, low, high, different, within, p in rows
        ]
