"""Kruskal and Wallis' test of the medians of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.samples.ranked import RankedMethod

if TYPE_CHECKING:
    from perfvcs.check.samples.sampled import Batch
    from perfvcs.statistics.ranks import Tested


@dataclass(frozen=True)
class Kruskal(RankedMethod):
    """Changed where Kruskal and Wallis' H of the medians of the executions has p < .05.

    Of two samples it is Mann and Whitney's test without exact tables and correction for continuity,
    a little more often significant. Sources: Kalibera 2006, ch. 3.3; Kruskal, Wallis 1952.
    """

    name: ClassVar[str] = "kruskal"

    def test(self, batch: Batch) -> Tested:
        """Statistic and p per sample."""
        from perfvcs.statistics.ranks import kruskal_wallis

        return kruskal_wallis(batch.baseline, batch.target)
