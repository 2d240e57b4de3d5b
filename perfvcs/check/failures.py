"""Whether a job's executions failed more often on one side than on the other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfvcs.summary import Measured

WORTH = 2.0  # standard deviations from which more failures are worth a word


def unreliable(before: Iterable[Measured], after: Iterable[Measured]) -> list[str]:
    """A sentence for each job whose executions failed, and were repeated, more often on the target than on the baseline.

    By the test of two proportions; no verdict depends on it.
    """
    old, new = _counted(before), _counted(after)
    found = []
    for name, (failed, done) in new.items():
        earlier, well = old.get(name, (0, 0))
        if well and done and failed and _deviations(earlier, well, failed, done) >= WORTH:
            found.append(
                f"{name}: {failed} of {failed + done} executions failed on the target and were repeated, {earlier} of {earlier + well} on "
                "the baseline"
            )
    return found


def _counted(side: Iterable[Measured]) -> dict[str, tuple[int, int]]:
    """By job: executions that failed, and that did not."""
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for one in side:
        failed, done = found[one.header.job.label]
        found[one.header.job.label] = (failed + one.header.design.failed, done + one.header.design.executions)
    return found


def _deviations(failed_before: int, before: int, failed_after: int, after: int) -> float:
    """By how many standard deviations the share of failures is higher after than before, if both fail equally often."""
    tried = failed_before + before, failed_after + after
    share = (failed_before + failed_after) / sum(tried)
    spread = sqrt(share * (1 - share) * (1 / tried[0] + 1 / tried[1]))
    return (failed_after / tried[1] - failed_before / tried[0]) / spread
