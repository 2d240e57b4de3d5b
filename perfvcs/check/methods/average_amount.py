"""Whether the average doubled or halved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perfvcs.check.case import Case
from perfvcs.check.change import Change
from perfvcs.check.curves.sides import Sides, share
from perfvcs.check.curves.thresholds import NO_RATIO, judged, unknown
from perfvcs.check.method import Method
from perfvcs.check.vocabulary import direction


@dataclass(frozen=True)
class AverageAmount(Method):
    """Changed where the average of all values is at least twice, or at most half, the baseline's;
    else the same.

    The effect is the ratio of the averages less 1. Nothing is asked of noise: it is blind below 100
    %. Source: Perun, average amount threshold.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per case."""
        sides, decided = share(cases)
        return [*map(self._judge, sides), *decided]

    def _judge(self, sides: Sides) -> Change:
        old, new = sides.means
        if old <= 0:
            return judged(
                sides,
                "average-amount",
                *unknown(sides, NO_RATIO),
                effect=0.0 if sides.equal else None,
            )
        ratio = new / old
        if 0.5 < ratio < 2.0:
            return judged(
                sides,
                "average-amount",
                "same",
                "" if ratio == 1 else "the averages are neither twice nor half as large",
                effect=ratio - 1,
            )
        return judged(
            sides,
            "average-amount",
            direction(sides.case.about, ratio - 1),
            effect=ratio - 1,
            delta=self.delta,
        )
