"""What a method computed of a pair, stated as a change: every number finite, and the numbers of one
row in agreement.
"""

from __future__ import annotations

from math import isclose, isfinite, sqrt
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.change import Change, Curve

if TYPE_CHECKING:
    from perfvcs.check.case import Pair
    from perfvcs.check.curves.sides import Sides
    from perfvcs.check.vocabulary import Word

AGREED = 1e-9  # of a level: what differs by less is rounding


class EffectInterval(NamedTuple):
    """An effect with its interval; None for what is not known."""

    effect: float | None = None
    low: float | None = None
    high: float | None = None


class Chances(NamedTuple):
    """The p of a test, the q of it among all tests, and the p of a permutation test; None for what
    was not computed.
    """

    p: float | None = None
    q: float | None = None
    permutation_p: float | None = None


UNKNOWN_EFFECT = EffectInterval()
NO_CHANCES = Chances()


class PairNumbers(NamedTuple):
    """What a method computed of a pair.

    ``effects`` are shares of the baseline. ``shifts`` are the effects in the metric's unit; those
    that are not given follow from the ``effects`` and the baseline's level.
    """

    centres: tuple[float, float]
    effects: EffectInterval = UNKNOWN_EFFECT
    shifts: EffectInterval = UNKNOWN_EFFECT
    chances: Chances = NO_CHANCES
    bound: float | None = None


class PairVerdict(NamedTuple):
    """What a method makes of it; the fields are those of a ``Change``."""

    word: Word
    method: str
    reason: str = ""
    finding: str = ""
    delta: float | None = None
    confidence: float = 0.99
    gate: bool = False
    coarse: bool = False
    builds: tuple[int, int] | None = None
    curve: Curve | None = None
    since: str = ""
    preceding: str = ""


def state(pair: Pair | Sides, verdict: PairVerdict, numbers: PairNumbers) -> Change:
    """The change of a pair, or of a curve.

    1. A number that is not finite becomes None.
    2. The centres are displayed as ``levels``, which agree with the effect.
    """
    relative = EffectInterval(*map(finite, numbers.effects))
    baseline, target = levels(numbers.centres, relative.effect, numbers.shifts.effect)
    absolute = EffectInterval(
        *(
            _shift(shift, effect, baseline)
            for shift, effect in zip(numbers.shifts, relative, strict=True)
        )
    )
    case, chances = pair.case, numbers.chances
    return Change(
        word=verdict.word,
        job=case.job,
        uid=case.uid,
        size=pair.size,
        metric=case.metric,
        unit=pair.about.unit,
        better=pair.about.better,
        series=case.series,
        environment=case.environment,
        effect=relative.effect,
        low=relative.low,
        high=relative.high,
        shift=absolute.effect,
        shift_low=absolute.low,
        shift_high=absolute.high,
        baseline=finite(baseline),
        target=finite(target),
        p=finite(chances.p),
        q=finite(chances.q),
        permutation_p=finite(chances.permutation_p),
        delta=verdict.delta,
        bound=finite(numbers.bound),
        confidence=verdict.confidence,
        executions=pair.executions,
        paired=pair.paired,
        gate=verdict.gate,
        coarse=verdict.coarse,
        builds=verdict.builds,
        method=verdict.method,
        reason=verdict.reason,
        finding=verdict.finding,
        since=verdict.since,
        preceding=verdict.preceding,
        curve=verdict.curve,
    )


def _shift(shift: float | None, effect: float | None, baseline: float) -> float | None:
    """The effect in the metric's unit: as given, else what the relative effect amounts to."""
    if shift is not None:
        return finite(shift)
    return None if effect is None else finite(effect * baseline)


def levels(
    centres: tuple[float, float], effect: float | None, shift: float | None = None
) -> tuple[float, float]:
    """The levels of both sides to display beside an effect: a ratio, or with a ``shift`` that
    difference.

    If outliers were pulled in, or a rule treats each size separately, the effect is not that of the
    ``centres``. Then the levels are about their geometric middle, so that the numbers of one row
    agree; beside a shift the baseline's stays. Centres that agree, and such as have no ratio, are
    returned as they are.
    """
    before, after = centres
    if shift is not None:
        agreed = not isfinite(shift) or isclose(
            after - before, shift, abs_tol=AGREED * max(abs(before), abs(after))
        )
        return centres if agreed else (before, before + shift)
    if (
        effect is None
        or effect <= -1
        or min(centres) <= 0
        or isclose(after, before * (1 + effect), rel_tol=AGREED)
    ):
        return centres
    middle, half = sqrt(before) * sqrt(after), sqrt(1 + effect)
    return middle / half, middle * half


def finite(value: float | None) -> float | None:
    """The value, or None where it is not a finite number."""
    return value if value is not None and isfinite(value) else None
