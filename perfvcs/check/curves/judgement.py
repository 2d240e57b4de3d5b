"""What the published methods on curves share: one judgement a case, by thresholds, with the mean relative difference as its effect."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, Curve, Word
from perfvcs.check.curves.curve import FittedCurves, Sides, fitted, share
from perfvcs.check.method import Method
from perfvcs.check.statement import direction, finite, levels

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.case import Case

# the relative difference up to which a published rule's "no change" is believed: that of ``relative-error``
BELIEVED_DIFFERENCE = 0.05
NO_BOUND = "no bound, since this rule has no interval"
NO_RATIO = "no relative change: the baseline's mean is not above 0"


@dataclass(frozen=True)
class CurveMethod(Method):
    """A method that looks at both sides' values over all their sizes, one change a case; the best models are those of the highest r2.

    A unit without sizes is a curve of one size. It has nothing to say of profiles of counters.
    """

    def compare(self, cases: Sequence[Case]) -> list[Change]:
        """One change per case."""
        sides, decided = share(cases)
        if not sides:
            return decided
        fits = fitted(sides, "r2")
        return [*(self.judge(fits, place) for place in range(len(sides))), *decided]

    @abstractmethod
    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""


def effect(baseline: NDArray[np.float64], target: NDArray[np.float64]) -> float | None:
    """The mean relative difference of two curves' values at the same sizes.

    Where the baseline is not above 0 throughout, the difference of the means relative to the baseline's; None where that is not above 0.
    """
    import numpy as np

    both = np.isfinite(baseline) & np.isfinite(target)
    before, after = baseline[both], target[both]
    if not len(before):
        return None
    with np.errstate(over="ignore"):
        if (before > 0).all():
            return finite(float((after / before).mean() - 1))
        mean = float(before.mean())
        return finite(float(after.mean() / mean - 1)) if mean > 0 else None


def unknown(sides: Sides, reason: str) -> tuple[Word, str]:
    """The word where a rule has no answer: the same if all values are, else open for that reason."""
    return ("same", "") if sides.equal else ("inconclusive", reason)


def undirected(effect: float | None, delta: float, reason: str) -> tuple[Word, str]:
    """The word if a rule finds no change of its kinds: not the same if the values have moved nevertheless."""
    return ("inconclusive", reason) if effect is not None and abs(effect) > max(delta, BELIEVED_DIFFERENCE) else ("same", "")


def graded(sides: Sides, effect: float | None, same: float, changed: float) -> tuple[Word, str]:
    """The word of a relative difference by a published rule's two thresholds: up to ``same``, above ``changed``, or suspected between."""
    if effect is None:
        return unknown(sides, NO_RATIO)
    if abs(effect) <= same:
        return "same", ""
    if abs(effect) <= changed:
        return "suspected", f"between {100 * same:g} and {100 * changed:g} %"
    return direction(sides.case.about, effect), ""


def judged(
    sides: Sides,
    method: str,
    word: Word,
    reason: str = "",
    *,
    effect: float | None = None,
    delta: float = 0.0,
    centres: tuple[float, float] | None = None,
    finding: str = "",
    curve: Curve | None = None,
    p: float | None = None,
) -> Change:
    """The change of a case as a whole by a rule that has no interval; ``centres`` are in the values' own unit (default: their means).

    The gate stops a degradation whose effect is at least ``delta``, or has none. An open comparison has no bound, and says so.
    """
    case, found = sides.case, effect if effect is None else finite(effect)
    centres = levels(centres or (sides.means[0] * sides.unit, sides.means[1] * sides.unit), found)
    return Change(
        word=word, job=case.job, uid=case.uid, metric=case.metric, unit=case.about.unit, better=case.about.better,
        series=case.series, environment=case.environment, effect=found, shift=None if found is None else finite(found * centres[0]),
        baseline=finite(centres[0]), target=finite(centres[1]), p=None if p is None else finite(p), delta=delta or None,
        executions=sides.executions, paired=case.chosen.paired, method=method, finding=finding, curve=curve,
        reason=f"{reason}; {NO_BOUND}" if word == "inconclusive" else reason,
        gate=word == "degradation" and (found is None or abs(found) >= delta),
    )  # fmt: skip
