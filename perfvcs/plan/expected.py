"""What measuring is expected to take, and at most: `perf init`, `perf collect`, `perf check
--measure` and progress say the same.
"""

from __future__ import annotations

from typing import NamedTuple

from perfvcs.statistics.multiplicity import PAIRS, USUAL_PAIRS
from perfvcs.text.quantity import duration

# Seconds of a command beside executions and preparation: with starting and storing 1 and, for the
# analyses of some units, 4 (docs/evaluation/everyday.md).
COLLECTING, CHECKING = 1.0, 4.0
SHARE = 0.2  # of a session that counting its work may take
VERDICT = 120.0  # seconds in which a verdict on what `perf init` proposes is expected
LEAST_MEASURED = 0.5  # of these that are for executions, however long it takes to prepare them
SAME = 1.25  # times the expected time up to which the worst case is not worth saying


class Estimate(NamedTuple):
    """Seconds that are ``expected``, and at ``most``."""

    expected: float
    most: float

    @classmethod
    def of_collect(
        cls, preparation: float, execution: float, executions: int, warmup: int = 1
    ) -> Estimate:
        """The estimate for one revision, by the seconds of its preparation and of an execution."""
        seconds = COLLECTING + preparation + execution * (executions + warmup)
        return cls(seconds, seconds)

    @classmethod
    def of_check(
        cls, preparation: float, execution: float, warmup: int = 1, counting: float = 0.0
    ) -> Estimate:
        """The estimate for two revisions that are measured in turns until all is decided, and whose
        work is then counted in so many seconds.
        """
        expected, most = (
            CHECKING + 2 * (preparation + execution * (pairs + warmup)) + counting
            for pairs in (USUAL_PAIRS, PAIRS)
        )
        return cls(expected, most)

    def __str__(self) -> str:
        """``about 4 min, at most 20 min``."""
        return f"{about(self.expected)}{self.bound}"

    @property
    def bound(self) -> str:
        """``, at most 20 min``; empty where that is hardly more than expected."""
        is_same = self.most <= SAME * max(1.0, self.expected)
        return "" if is_same else f", at most {duration(self.most)}"


def longest_execution(preparation: float) -> float:
    """The seconds that an execution may take for a verdict to be expected in time, with so many of
    ``preparation`` for each side, and with the counting of its work.
    """
    left = max(VERDICT - CHECKING - 2 * preparation, LEAST_MEASURED * VERDICT)
    return left / (2 * (USUAL_PAIRS + 1 + PAIRS * SHARE / (1 - SHARE)))


def about(seconds: float) -> str:
    """``about 4 min``; ``under 1 s``."""
    text = duration(seconds)
    return text if text.startswith("under") else f"about {text}"
