"""Kolmogorov and Smirnov's test of the medians of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.samples.ranked import RankedMethod

if TYPE_CHECKING:
    from perfvcs.check.samples.sampled import Batch
    from perfvcs.statistics.ranks import Tested


@dataclass(frozen=True)
class Ks(RankedMethod):
    """Changed where Kolmogorov and Smirnov's distance of the medians of the executions has p < .05.

    It sees every difference of the two distributions, of their spread too; where only that differs
    there is no direction and the word is ``inconclusive``. Sources: Kalibera 2006, ch. 3.3; Hodges
    1958.
    """

    name: ClassVar[str] = "ks"

    def test(self, batch: Batch) -> Tested:
        """Statistic and p per sample."""
        from perfvcs.statistics.ranks import kolmogorov_smirnov

        return kolmogorov_smirnov(batch.baseline, batch.target)
