"""The default: the exact rule for deterministic metrics, log-medians for sampled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.check.methods import Method
from perfvcs.check.methods.deterministic import Deterministic
from perfvcs.check.methods.log_median import LogMedian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Case
    from perfvcs.check.change import Change


@dataclass(frozen=True)
class Auto(Method):
    """Chooses per case; the sampled ones are one family of comparisons."""

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """The changes of all cases."""
        exact = [case for case in cases if not case.counters and case.about.kind == "deterministic"]
        sampled = [case for case in cases if not case.counters and case.about.kind != "deterministic"]
        rules: tuple[tuple[type[Method], list[Case]], ...] = ((Deterministic, exact), (LogMedian, sampled))
        found: list[Change] = []
        for rule, members in rules:
            if members:
                found += rule(self.delta, self.confidence, self.alpha).compare(members)
        return found
