"""Shared by the rank tests: the medians of executions, the size of a shift, and the remark where
values look normal.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.samples.sampled import Batch, RuleOutcome, SampledMethod
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from perfvcs.statistics.ranks import Tested


SIGNIFICANCE = 0.05


LOOKS_NORMAL = {
    "none": "the values look normal",
    "log": "the values look normal after log(x)",
    "1/x": "the values look normal after 1/x",
    "1/sqrt x": "the values look normal after 1/sqrt(x)",
    None: "the values look normal neither as they are nor transformed",
}


@dataclass(frozen=True)
class RankedMethod(SampledMethod):
    """A test of the medians of executions at 5 %; the size is Hodges and Lehmann's shift with its
    exact 95 % interval.

    What is found beside it is whether Shapiro and Wilk's test takes both sides for normal, as they
    are or after log, 1/x or 1/sqrt(x): then Student's t is to be trusted, too. Source: Kalibera
    2006, ch. 3.3.
    """

    level: ClassVar[float | None] = SIGNIFICANCE
    medians: ClassVar[bool] = True

    def outcomes(self, batch: Batch) -> list[RuleOutcome]:
        """One per sample."""
        from perfvcs.statistics.ranks import shift

        shifts = shift(batch.baseline, batch.target, self.stated)
        p = self.test(batch).p.tolist()
        rows = zip(
            shifts.centre.tolist(),
            shifts.low.tolist(),
            shifts.high.tolist(),
            p,
            _normal(batch),
            strict=True,
        )
        return [
            RuleOutcome(gap, low, high, changed=chance < SIGNIFICANCE, p=chance, finding=finding)
            for gap, low, high, chance, finding in rows
        ]

    @abstractmethod
    def test(self, batch: Batch) -> Tested:
        """Statistic and p per sample."""


def _normal(batch: Batch) -> list[str]:
    """The shape of both sides in words; empty if there are too few values."""
    from perfvcs.statistics.ranks import TRANSFORMS, normality

    sides = normality(batch.baseline), normality(batch.target)
    p = np.array([[side.p[name] for name in TRANSFORMS] for side in sides]).min(axis=0)
    tested = np.isfinite(p[0])
    accepted = [
        next(
            (name for name, chance in zip(TRANSFORMS, row, strict=True) if chance >= SIGNIFICANCE),
            None,
        )
        for row in p.T.tolist()
    ]
    return [
        LOOKS_NORMAL[name] if is_tested else ""
        for name, is_tested in zip(accepted, tested.tolist(), strict=True)
    ]
