"""The default verdict on curves: the executions' offsets and slopes against the common curve, and
what kind of error it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import expm1, nan

import msgspec

from perfvcs.check.bounds import Undecided, explained, stated
from perfvcs.check.case import Case
from perfvcs.check.change import Change, Curve
from perfvcs.check.curves.confirmation import replaced
from perfvcs.check.curves.contrast import contrasts
from perfvcs.check.curves.curveeffect import EffectCase
from perfvcs.check.curves.replication import ExecutionLines, coefficients, lines
from perfvcs.check.curves.sides import FittedCurves, Sides, condense, fitted, share
from perfvcs.check.curves.thresholds import orders, outgrows, sentence
from perfvcs.check.method import (
    FEWEST_EXECUTIONS,
    FROM_DIFFERENT_SESSIONS,
    NO_ORDER,
    ONE_ORDER,
    SINGLE_EXECUTION,
    TOO_FEW_EXECUTIONS,
    Method,
)
from perfvcs.check.methods.log_median import FALSE_DISCOVERIES, PERIOD, LogMedian
from perfvcs.check.pastsessions import EarlierSessions, Unit
from perfvcs.check.samples.estimate import VETO
from perfvcs.check.samples.scale import finest, is_coarse, too_coarse
from perfvcs.check.statement import Chances, PairNumbers, PairVerdict, finite, state
from perfvcs.check.vocabulary import WORDS, Word, direction
from perfvcs.statistics.multiplicity import q_values
from perfvcs.statistics.regression.models import ORDERS
from perfvcs.statistics.sessions import aa_floor
from perfvcs.system.numeric import np
from perfvcs.text.quantity import at_sizes, percent

LARGEST_SIZES = 1  # part of a contrast: the largest sizes
# an error that changes by a smaller share of itself over its sizes is a constant
CONSTANT_ERROR_SHARE = 1 / 3


@dataclass(frozen=True)
class Curves(Method):
    """Whether the whole curve shifted, with executions as replicates; one change a case.

    For each execution, the logarithms of the values minus those of the common curve are a straight
    line over the logarithm of the size: an offset and a slope. Both together are compared by
    Hotelling's T^2, in pairs where the sides were measured in turns. A change needs all of:
    Benjamini and Hochberg at 5 % over all cases keep it; p <= ``alpha``; the permutation p (in
    pairs of the largest |t|, else of T^2) is at most 1 %, or the smallest that so few executions
    reach; over the largest tenth of the common sizes, or the smallest, or all, the effect is at
    least ``delta``, which is never below the A/A floor, and its interval on one side of 0. It is
    ``same`` where the intervals of all three lie within ``delta``, unless the step of what is
    compared is more than a quarter of it. Below five executions a side, where all is well but those
    intervals, and where the sides were measured apart without a history, a change is only
    ``suspected``; with a history, the variance between sessions is added, and an effect of three
    standard errors that is not a change, since so few of these are known, is ``suspected``. Then,
    and below five executions, the three are tested one by one at a third of the level each. A
    single execution a side is suspected if ``statistics.regression.kind`` finds a difference. Ten
    times as much, or a tenth, at the largest sizes, the smallest or all is a change however few
    executions there are (``check.curves.multiple``). The effect is that at the largest sizes, if
    the curve changed there, else at the smallest, else over all. The kind of error comes from the
    means at each size, its coefficient and interval from the executions. Where a value is 0 or
    below, shares of the common curve's distance from 0 take the place of logarithms, and there is
    no relative effect where it is not above 0; cases of fewer than three common sizes are judged by
    ``log-median``. From eight pairs on, executions far from the others are pulled in as by
    ``log-median``, and ``same`` needs Student's intervals (90 %) within ``delta`` as well. The
    order in the pairs counts as there. Outliers among calls are pulled in and nearby sizes merged
    before (``statistics.regression.condensed``). If builds were repeated, they replace executions.
    Sources: Hotelling 1931; Stupinsky 2018, 5.1; Kalibera, Jones 2013.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per case; several where it is judged size by size."""
        sides, decided = share(cases)
        if not sides:
            return decided
        changes, rest = self.judge(fitted([condense(side) for side in sides]), range(len(sides)))
        if rest:
            changes += LogMedian(self.delta, self.confidence, self.alpha, self.asked).compare(rest)
        return [*changes, *decided]

    def judge(self, fits: FittedCurves, places: Iterable[int]) -> tuple[list[Change], list[Case]]:
        """One change per case at these places, and the cases that cannot be judged as a curve."""
        rest: list[Case] = []
        curves: list[tuple[int, Sides, ExecutionLines]] = []
        for place in places:
            sides = fits.sides[place]
            curve = lines(sides)
            if curve is None:
                rest.append(sides.case)
            else:
                curves.append((place, sides, curve))
        pasts = [_earlier(sides.case) for _, sides, _ in curves]
        differences = contrasts(
            [
                (curve, sides.case.chosen.paired, past)
                for (_, sides, curve), past in zip(curves, pasts, strict=True)
            ],
            self.confidence,
            self.alpha,
        )
        q = q_values(np.array([contrast.p for contrast in differences])).tolist()
        changes = []
        for (place, sides, curve), past, contrast, chance in zip(
            curves, pasts, differences, q, strict=True
        ):
            least = self.least(sides.case, sides.means[0] * sides.unit)
            delta = max([least, *(expm1(aa_floor(part.audits)) for part in past)])
            judged = EffectCase(sides, curve, contrast, place, delta, _step(sides))
            changes.append(self._change(fits, judged, chance))
        return changes, rest

    def _change(self, fits: FittedCurves, judged: EffectCase, q: float) -> Change:
        word, reason = self._word(judged, q, fits)
        bound = self._bound(judged)
        if (word == "same" or reason is Undecided.WIDE) and is_coarse(
            judged.step, judged.value, judged.delta
        ):
            word, reason = (
                "inconclusive",
                too_coarse(judged.sides.case.about, judged.step * judged.sides.unit, judged.delta),
            )
        reason = stated(word, explained(reason, judged.delta), bound)
        sides, contrast = judged.sides, judged.contrast
        part = LARGEST_SIZES if word == "same" else contrast.part(judged.bar)
        moved = WORDS[word].moved
        curve = self._curve(fits, judged) if moved else fits.models_of(judged.place)
        curve = msgspec.structs.replace(curve, at=judged.range(part)) if sides.sized else curve
        effect = judged.effect(part)
        beyond = (
            contrast.low[part] > judged.bar
            or contrast.high[part] < -judged.bar
            or judged.times != 0
        )
        return state(
            sides,
            PairVerdict(
                word,
                "curves",
                reason,
                _finding(fits, judged, curve, part) if moved else "",
                judged.delta,
                self.confidence,
                gate=word == "degradation" and beyond,
                builds=judged.lines.counts if judged.lines.builds else None,
                curve=curve,
            ),
            PairNumbers(
                (
                    nan if effect.baseline is None else effect.baseline,
                    nan if effect.target is None else effect.target,
                ),
                effect.shares,
                effect.shifts,
                Chances(contrast.p, q, contrast.permutation_p),
                bound,
            ),
        )

    def _word(
        self, judged: EffectCase, q: float, fits: FittedCurves
    ) -> tuple[Word, str | Undecided]:
        """The verdict on a curve, by the first of these that holds:

        1. equal values are the same, and a curve that is many times the other one differs;
        2. a single execution shows nothing for sure, nor do few;
        3. a change counts if all three tests agree and it is delta or more; it is suspected where
           sessions, the order of the executions or the place along the sizes leave a doubt;
        4. the same is what stays within delta at both ends and over all sizes, also at its widest;
        5. everything else is open.
        """
        contrast, bar = judged.contrast, judged.bar
        fewest, unit = min(judged.lines.counts), "build" if judged.lines.builds else "execution"
        largest = max(map(abs, contrast.theta))
        apart = not judged.sides.case.chosen.paired and contrast.between is None
        if judged.sides.equal and fewest > 1:
            return "same", ""
        if judged.times:
            return direction(judged.sides.case.about, judged.times), ""
        if fewest < 2:
            if largest < bar or fits.kinds.name(judged.place) in (None, "none"):
                return "inconclusive", SINGLE_EXECUTION.format(unit)
            doubt = f"the start of a single {unit} may have shifted the whole curve"
            return "suspected", f"{doubt}: at least 5, better 10"
        changed = (
            q <= FALSE_DISCOVERIES
            and contrast.p <= self.alpha
            and contrast.permutation_p <= contrast.veto
            and largest >= bar
        )
        if fewest < FEWEST_EXECUTIONS:
            return ("suspected" if changed else "inconclusive"), TOO_FEW_EXECUTIONS.format(
                fewest, unit
            )
        if changed and apart:
            return "suspected", FROM_DIFFERENT_SESSIONS
        if contrast.order == "one":
            return ("suspected" if changed else "inconclusive"), ONE_ORDER
        unknown = contrast.order == "unknown" and contrast.veto > VETO
        if changed and unknown and not contrast.beyond(judged.bar_of(PERIOD), contrast.part(bar)):
            return "suspected", NO_ORDER
        if changed and not contrast.tells(bar, contrast.part(bar)):
            return "suspected", "the curve moved, but neither its ends nor its middle for sure"
        if changed:
            return direction(judged.sides.case.about, contrast.theta[contrast.part(bar)]), ""
        if -bar <= min(contrast.low) and max(contrast.high) <= bar:
            if contrast.widest > bar:
                return "inconclusive", Undecided.FAR
            return ("inconclusive", FROM_DIFFERENT_SESSIONS) if apart else ("same", "")
        if contrast.stands_out(bar):
            doubt = "measured apart, and not enough is known of how much sessions differ"
            return "suspected", doubt
        return "inconclusive", FROM_DIFFERENT_SESSIONS if apart else Undecided.WIDE

    def _bound(self, judged: EffectCase) -> float | None:
        """How large the effect is at most; None where the intervals are known to be too narrow."""
        apart = not judged.sides.case.chosen.paired and judged.contrast.between is None
        narrow = (
            min(judged.lines.counts) < FEWEST_EXECUTIONS or apart or judged.contrast.order == "one"
        )
        return None if narrow or judged.times else judged.bound

    def _curve(self, fits: FittedCurves, judged: EffectCase) -> Curve:
        """The curve with the kind's coefficient as estimated across executions, if there are
        several.

        A slope on top of an offset whose interval holds 0 is not repeated by them: what is left is
        a constant. The starts of executions move whole curves up and down, so that the difference
        of the means holds some of the curve itself. It is called a constant too where the slope
        moves it by less than a third, or goes against the effect.
        """
        curve = fits.curve(judged.place)
        if curve.kind == "none" or min(judged.lines.counts) < 2:
            return curve
        through = curve.kind == "constant" or float(fits.kinds.offset[judged.place]) == 0
        repeated = self._repeated(judged, curve, through=through)
        if through:
            return repeated
        open_ = repeated.low is None or repeated.high is None or repeated.low <= 0 <= repeated.high
        against = (repeated.coefficient or 0.0) * judged.contrast.theta[
            judged.contrast.part(judged.bar)
        ] < 0
        if open_ or against or _level(fits, judged):
            return self._repeated(
                judged, msgspec.structs.replace(curve, kind="constant"), through=True
            )
        return repeated

    def _repeated(self, judged: EffectCase, curve: Curve, *, through: bool) -> Curve:
        """The curve with its kind's coefficient and interval from the executions, where they have
        it.
        """
        from perfvcs.statistics import difference

        first, second = coefficients(judged.lines, curve.kind, through=through)
        if not (np.isfinite(first).all() and np.isfinite(second).all()):
            return curve
        compared = difference.paired if judged.sides.case.chosen.paired else difference.welch
        compared_coefficients = compared(first[None], second[None], self.confidence)
        unit = judged.sides.unit
        values = [
            finite(float(part[0]) * unit)
            for part in (
                compared_coefficients.estimate,
                compared_coefficients.low,
                compared_coefficients.high,
            )
        ]
        return msgspec.structs.replace(curve, coefficient=values[0], low=values[1], high=values[2])


def _step(sides: Sides) -> float:
    """The finest step of what is compared, in its unit: that of the mean of many readings is finer
    than the clock's.
    """
    both = sides.baseline.value, sides.target.value
    return finest(sides.case.about, lambda: (both[0].tolist(), both[1].tolist()))


def _level(fits: FittedCurves, judged: EffectCase) -> bool:
    """Whether the error is of one sign and of nearly one size from the smallest to the largest
    sizes.
    """
    first, last = fits.kinds.predict([judged.sides.low, judged.sides.high], judged.place).tolist()
    return bool(
        first * last > 0 and abs(last - first) < CONSTANT_ERROR_SHARE * max(abs(first), abs(last))
    )


def _earlier(case: Case) -> list[EarlierSessions]:
    """What the history says of the case: as a whole, or of each of its sizes."""
    environment = case.header.environment.fingerprint
    units = [Unit(case.series, environment, case.uid, size, case.metric) for size in case.after]
    return [*map(case.earlier, units)]


def _finding(fits: FittedCurves, judged: EffectCase, curve: Curve, part: int) -> str:
    """The kind of error, the orders of growth where they changed, and at which sizes the effect
    is.
    """
    new = replaced(fits, judged.place, curve)
    steps = orders(curve, replaced=new)
    kind = ""
    if curve.coefficient is not None:
        kind = sentence(curve.kind, curve.coefficient, judged.sides.case.about.unit)
    if new and ORDERS.get(curve.kind) != curve.orders[0 if outgrows(curve, 0) else 1]:
        kind = ""  # the difference of two orders of growth is of no kind
    where = f"effect {at_sizes(judged.range(part))}"
    if part < 2:
        contrast, away = judged.contrast, 1 - part
        other = contrast.theta[away]
        sure = max(abs(other) - (contrast.high[away] - contrast.low[away]) / 2, 0.0) > 0
        if sure and abs(other) >= judged.bar and (other > 0) != (contrast.theta[part] > 0):
            where += f", {at_sizes(judged.range(1 - part))} {percent(judged.relative(other))}"
    growth = ", ".join(filter(None, (kind, steps)))
    return "; ".join(filter(None, (growth, where)))
