"""The default: for each case the rule that fits what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from perfvcs.check.case import prepare
from perfvcs.check.methods import Method
from perfvcs.check.methods.deterministic import Deterministic
from perfvcs.check.methods.log_median import LogMedian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.case import Case
    from perfvcs.check.change import Change
    from perfvcs.check.curves.curve import Fitted

Chosen = TypeVar("Chosen", bound=Method)
FLAT = ("constant", "constant")
FEWEST = 5  # sizes from which values may be a curve


@dataclass(frozen=True)
class Auto(Method):
    """Counters for profiles of counters, the exact rule for deterministic metrics, curves where models describe them, else log-medians.

    A sampled case is a curve where it has at least five sizes on both sides and the best models have r2 >= .9 there; a constant is no
    curve, but one side may be flat. Those judged by log-medians are one family of comparisons, the curves another. Only profiles of
    counters and those with as many sizes are opened. Source for curves: Stupinsky 2018, 5.1.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """The changes of all cases."""
        counters = [case for case in cases if case.counters]
        exact = [case for case in cases if not case.counters and case.about.kind == "deterministic"]
        sampled = [case for case in cases if not case.counters and case.about.kind != "deterministic"]
        found: list[Change] = []
        prepare([*counters, *(case for case in sampled if case.sizes >= FEWEST)])
        if counters:
            from perfvcs.check.methods.counters import Counters

            found += self._with(Counters).compare(counters)
        if any(case.sizes >= FEWEST for case in sampled):
            changes, sampled = self._curves(sampled)
            found += changes
        if exact:
            found += self._with(Deterministic).compare(exact)
        if sampled:
            found += self._with(LogMedian).compare(sampled)
        return found

    def _curves(self, cases: list[Case]) -> tuple[list[Change], list[Case]]:
        """The changes of the cases that are curves, and the other cases in their order."""
        from perfvcs.check.curves.curve import fitted, share
        from perfvcs.check.methods.curves import Curves

        sides, _ = share([case for case in cases if case.sizes >= FEWEST])
        if not sides:
            return [], cases
        fits = fitted(sides)
        places = _which(fits)
        changes, left = self._with(Curves).judge(fits, places)
        judged = {id(fits.sides[place].case) for place in places} - {id(case) for case in left}
        return changes, [case for case in cases if id(case) not in judged]

    def _with(self, rule: type[Chosen]) -> Chosen:
        """A rule with the same parameters."""
        return rule(self.delta, self.confidence, self.alpha)


def _which(fits: Fitted) -> list[int]:
    """The places of the cases that are curves: models describe both sides well, where they are not flat, and one is not.

    Well as the best model is chosen, in proportion to the level, or else as published, on the values as they are: what grows like
    n + n^2 is neither where it is small, but it is a curve. With very many sizes on one side only there is no other way.
    """
    from perfvcs.check.curves.curve import GOOD, fitted

    every = range(len(fits.sides))
    models = [fits.models(place) for place in every]
    fine = [
        [model == "constant" or share >= GOOD for model, share in zip(models[place], fits.r2(place), strict=True)]
        for place in every
    ]
    unclear = [place for place in every if not all(fine[place]) and models[place] != FLAT]
    if unclear:
        published = fitted([fits.sides[place] for place in unclear], "r2")
        for number, place in enumerate(unclear):
            fine[place] = [one or share >= GOOD for one, share in zip(fine[place], published.r2(number), strict=True)]
    return [place for place in every if (all(fine[place]) and models[place] != FLAT) or fits.sides[place].case.unlike]
