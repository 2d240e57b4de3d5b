"""The default: for each case the rule that fits what was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from perfvcs.check.case import Case, prepare
from perfvcs.check.method import CALLS_DELTA, Method
from perfvcs.check.methods.deterministic import Deterministic
from perfvcs.check.methods.log_median import LogMedian

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.check.change import Change
    from perfvcs.check.curves.sides import FittedCurves

Chosen = TypeVar("Chosen", bound=Method)
FLAT_MODELS = ("constant", "constant")
FEWEST_CURVE_SIZES = 5  # sizes from which values may be a curve


@dataclass(frozen=True)
class Auto(Method):
    """Counters for profiles of counters, the exact rule for deterministic metrics, curves where
    models describe them, else log-medians.

    A sampled case is a curve where it has at least five sizes on both sides and the best models
    have r2 >= .9 there; a constant is not a curve, but one side may be flat. Calls of a function
    that were recorded are a curve from five sizes on, and an effect on them counts from 5 % where
    no delta was asked for: functions take some percent more or less when the code around them
    moves. Those judged by log-medians are one family of comparisons, the curves another, each of
    them once more for recorded calls. Only profiles of counters and those with as many sizes are
    opened. Source for curves: Stupinsky 2018, 5.1.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """The changes of all cases."""
        counters = [case for case in cases if case.counters]
        exact = [case for case in cases if not case.counters and case.about.kind == "deterministic"]
        sampled = [
            case for case in cases if not case.counters and case.about.kind != "deterministic"
        ]
        changes: list[Change] = []
        prepare([*counters, *(case for case in sampled if case.sizes >= FEWEST_CURVE_SIZES)])
        if counters:
            from perfvcs.check.methods.counters import Counters

            changes += self._with(Counters).compare(counters)
        calls = [case for case in sampled if case.calls]
        if calls and not self.asked:
            changes += replace(self, delta=CALLS_DELTA.share)._sampled(calls)
            sampled = [case for case in sampled if not case.calls]
        changes += self._sampled(sampled)
        if exact:
            changes += self._with(Deterministic).compare(exact)
        return changes

    def _sampled(self, cases: list[Case]) -> list[Change]:
        changes: list[Change] = []
        if any(case.sizes >= FEWEST_CURVE_SIZES for case in cases):
            changes, cases = self._curves(cases)
        return [*changes, *self._with(LogMedian).compare(cases)] if cases else changes

    def _curves(self, cases: list[Case]) -> tuple[list[Change], list[Case]]:
        """The changes of the cases that are curves, and the other cases in their order."""
        from perfvcs.check.curves.sides import condense, fitted, share
        from perfvcs.check.methods.curves import Curves

        wanted = [case for case in cases if case.sizes >= FEWEST_CURVE_SIZES]
        sides, decided = share(wanted)
        shared = {id(side.case) for side in sides}
        without = [case for case in wanted if id(case) not in shared]
        changes = [change for case, change in zip(without, decided, strict=True) if _always(case)]
        judged = {id(case) for case in without if _always(case)}
        if sides:
            fits = fitted([condense(side) for side in sides])
            places = _which(fits)
            of_curves, left = self._with(Curves).judge(fits, places)
            changes += of_curves
            judged |= {id(fits.sides[place].case) for place in places} - {id(case) for case in left}
        return changes, [case for case in cases if id(case) not in judged]

    def _with(self, rule: type[Chosen]) -> Chosen:
        """A rule with the same parameters."""
        return rule(self.delta, self.confidence, self.alpha, self.asked)


def _which(fits: FittedCurves) -> list[int]:
    """The positions of the cases that are curves: models describe both sides well or they are flat,
    and one side is not flat.

    Well as the best model is chosen, in proportion to the level, or else as published, on the
    values as they are: what grows like n + n^2 is neither where it is small, but it is a curve.
    With very many sizes on one side only there is no other way. Recorded calls are always compared
    along their sizes.
    """
    from perfvcs.check.curves.sides import GOOD_R2, fitted

    every = range(len(fits.sides))
    models = [fits.models(place) for place in every]
    fine: list[list[bool]] = []
    for place in every:
        sides = zip(models[place], fits.r2(place), strict=True)
        fine.append([model == "constant" or share >= GOOD_R2 for model, share in sides])
    unclear = [place for place in every if not all(fine[place]) and models[place] != FLAT_MODELS]
    if unclear:
        published = fitted([fits.sides[place] for place in unclear], "r2")
        for number, place in enumerate(unclear):
            fine[place] = [
                good or share >= GOOD_R2
                for good, share in zip(fine[place], published.r2(number), strict=True)
            ]
    return [
        place
        for place in every
        if (all(fine[place]) and models[place] != FLAT_MODELS) or _always(fits.sides[place].case)
    ]


def _always(case: Case) -> bool:
    return case.calls or bool(case.unlike)
