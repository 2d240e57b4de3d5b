"""Mann and Whitney's test of the medians of executions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.samples.ranked import RankedMethod

if TYPE_CHECKING:
    from perfvcs.check.samples.sampled import Batch
    from perfvcs.statistics.ranks import Tested


@dataclass(frozen=True)
class MannWhitney(RankedMethod):
    """Changed where Mann and Whitney's U (Wilcoxon's rank sum) of the medians of the executions has
    p < .05.

    Exact for at most 30 executions a side without ties. Sources: Kalibera 2006, ch. 3.3; Mann,
    Whitney 1947.
    """

    name: ClassVar[str] = "mann-whitney"

    def test(self, batch: Batch) -> Tested:
        """Statistic and p per sample."""
        from perfvcs.statistics.ranks import mann_whitney

        return mann_whitney(batch.baseline, batch.target)
