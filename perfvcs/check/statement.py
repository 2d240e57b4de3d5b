"""A method's result on a pair as a change: the same words and shape, whatever the method."""

from __future__ import annotations

from math import isclose, isfinite, sqrt
from typing import TYPE_CHECKING

from perfvcs.check.change import Change, Word

if TYPE_CHECKING:
    from perfvcs.check.case import Pair
    from perfvcs.profile import Metric

Three = tuple[float | None, float | None, float | None]
UNKNOWN_EFFECT: Three = (None, None, None)
AGREED = 1e-9  # of a level: what differs by less is rounding


def direction(about: Metric, effect: float) -> Word:
    """``degradation`` or ``improvement``: what a change of that sign is for the metric."""
    worse = effect < 0 if about.better == "higher" else effect > 0
    return "degradation" if worse else "improvement"


def state(
    pair: Pair,
    *,
    word: Word,
    method: str,
    centres: tuple[float, float],
    effects: Three = UNKNOWN_EFFECT,
    shifts: Three = UNKNOWN_EFFECT,
    chances: Three = UNKNOWN_EFFECT,
    delta: float | None = None,
    confidence: float = 0.99,
    gate: bool = False,
    bound: float | None = None,
    coarse: bool = False,
    builds: tuple[int, int] | None = None,
    reason: str = "",
    finding: str = "",
) -> Change:
    """The change of a pair; ``effects`` are relative with their interval, ``chances`` p, q and the permutation p.

    ``centres`` are displayed as ``levels``. ``shifts`` are the effects in the metric's unit, where they do not follow from those.
    Numbers that are not finite become None.
    """
    effect, low, high = map(finite, effects)
    centres = levels(centres, effect, shifts[0])
    shift, shift_low, shift_high = (
        finite(own) if own is not None else None if each is None else finite(each * centres[0])
        for own, each in zip(shifts, (effect, low, high), strict=True)
    )
    p, q, permutation_p = map(finite, chances)
    case = pair.case
    return Change(
        word=word, job=case.job, uid=case.uid, size=pair.size, metric=case.metric, unit=pair.about.unit, better=pair.about.better,
        series=case.series, environment=case.environment, effect=effect, low=low, high=high,
            shift=shift, shift_low=shift_low, shift_high=shift_high,
        baseline=finite(centres[0]), target=finite(centres[1]), p=p, q=q, permutation_p=permutation_p, delta=delta,
        bound=finite(bound),
        confidence=confidence, executions=pair.executions, paired=pair.paired, gate=gate, coarse=coarse, builds=builds, method=method,
        reason=reason, finding=finding,
    )  # fmt: skip


def levels(centres: tuple[float, float], effect: float | None, shift: float | None = None) -> tuple[float, float]:
    """The levels of both sides to display beside an effect: a ratio, or with a ``shift`` that difference.

    If outliers were pulled in, or a rule treats each size separately, the effect is not that of the ``centres``. Then the levels are
    about their geometric middle, so that the numbers of one row agree; beside a shift the baseline's stays. Centres that agree, and
    such as have no ratio, are returned as they are.
    """
    before, after = centres
    if shift is not None:
        agreed = not isfinite(shift) or isclose(after - before, shift, abs_tol=AGREED * max(abs(before), abs(after)))
        return centres if agreed else (before, before + shift)
    if effect is None or effect <= -1 or min(centres) <= 0 or isclose(after, before * (1 + effect), rel_tol=AGREED):
        return centres
    middle, half = sqrt(before) * sqrt(after), sqrt(1 + effect)
    return middle / half, middle * half


def finite(value: float | None) -> float | None:
    """The value, or None where it is not a finite number."""
    return value if value is not None and isfinite(value) else None
