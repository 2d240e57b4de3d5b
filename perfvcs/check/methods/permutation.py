"""The permutation test of the difference of the means of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from perfvcs.check.samples.sampled import Batch, RuleOutcome, SampledMethod

# replicates that are looked through for the fewest that can reach a level
MOST_SPLIT_REPLICATES = 30


@dataclass(frozen=True)
class Permutation(SampledMethod):
    """Changed where the permutation p of the difference of the means of the executions is at most
    ``alpha`` (1 %).

    Executions change sides, and where the sides were measured in turns the signs of the pairs'
    differences flip. All arrangements are gone through where there are at most 20,000, else 10,000
    random ones (always the same). The test gives no interval; the one shown is that of Student's t
    on the same numbers. Sources: Fisher 1935; Pitman 1937.
    """

    name: ClassVar[str] = "permutation"

    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One per sample."""
        from perfvcs.statistics.difference import paired, welch
        from perfvcs.statistics.permutation import sign_flips, smallest, two_sample

        old, new = batch.baseline, batch.target
        difference = (paired if batch.paired else welch)(old, new, self.stated)
        p = sign_flips(new - old) if batch.paired else two_sample(old, new)
        reason = ""
        if smallest(old.shape[1], None if batch.paired else new.shape[1]) > self.alpha:
            fewest = next(
                (
                    m
                    for m in range(2, MOST_SPLIT_REPLICATES)
                    if smallest(m, None if batch.paired else m) <= self.alpha
                ),
                MOST_SPLIT_REPLICATES,
            )
            reason = (
                f"so few {batch.samples[0].kind}s cannot reach p = {self.alpha:.3g}: at least"
                f" {fewest}"
            )
        return [
            RuleOutcome(
                shift,
                low,
                high,
                changed=chance <= self.alpha,
                permutation_p=chance,
                p=chance,
                reason=reason,
            )
            for (shift, low, high, _), chance in zip(difference.rows(), p.tolist(), strict=True)
        ]
