"""The smallest change that counts where nobody asked for another one: one table, by what is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from perfvcs.check.case import Case

MEMORY = 1e6  # B: by how much the memory of an interpreter or allocator varies anyway
MEMORY_PAGE = 4096


class Delta(NamedTuple):
    """A share of the baseline, or an ``amount`` in the metric's unit, whichever is more."""

    share: float
    amount: float = 0.0

    def of(self, level: float) -> float:
        """The share that counts at a level of the baseline."""
        return max(self.share, self.amount / abs(level)) if level else self.share


USUAL_DELTA = Delta(0.01)
CALLS_DELTA = Delta(0.05)  # recorded calls: functions take some percent more or less when the code around them moves
RESIDENT = Delta(0.02, MEMORY)
FAULTS = Delta(0.02, MEMORY / MEMORY_PAGE)
BY_METRIC = {
    "maxrss": RESIDENT, "peak_rss": RESIDENT, "rss": RESIDENT, "pss": RESIDENT, "minor_faults": FAULTS, "major_faults": FAULTS,
    "page_faults": FAULTS, "faults": FAULTS, "voluntary_switches": Delta(0.1, 10), "involuntary_switches": Delta(0.1, 10),
}  # fmt: skip


def usual(case: Case) -> Delta:
    """What counts of a sampled metric."""
    return of_metric(case.metric, calls=case.calls)


def of_metric(metric: str, *, calls: bool = False) -> Delta:
    """The same by its name; ``calls``: of recorded calls."""
    return CALLS_DELTA if calls else BY_METRIC.get(metric, USUAL_DELTA)
