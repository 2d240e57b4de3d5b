"""The default: the exact rule for deterministic metrics, log-medians for sampled ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.check.methods import Method, Pair
from perfvcs.check.methods.deterministic import Deterministic
from perfvcs.check.methods.log_median import LogMedian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.change import Change


@dataclass(frozen=True)
class Auto(Method):
    """Chooses per pair; the sampled ones are one family of comparisons."""

    def compare(self, pairs: Sequence[Pair]) -> list[Change]:
        """One change per pair, in their order."""
        exact = [place for place, pair in enumerate(pairs) if pair.about.kind == "deterministic"]
        sampled = [place for place, pair in enumerate(pairs) if pair.about.kind != "deterministic"]
        found: dict[int, Change] = {}
        for method, places in ((Deterministic, exact), (LogMedian, sampled)):
            rule: Method = method(self.delta, self.confidence, self.alpha)
            found |= zip(places, rule.compare([pairs[place] for place in places]), strict=True)
        return [found[place] for place in range(len(pairs))]
