"""The effect on a curve, in shares and in the metric's unit."""

from __future__ import annotations

from functools import cached_property
from math import expm1, inf, log1p
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from perfvcs.check.curves.confirmation import multiple
from perfvcs.check.samples.scale import CLOCK_STEPS, LARGEST_EXPONENT
from perfvcs.check.statement import UNKNOWN_EFFECT, EffectInterval, finite
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from perfvcs.check.curves.contrast import Contrast
    from perfvcs.check.curves.replication import ExecutionLines
    from perfvcs.check.curves.sides import Sides

NEGLIGIBLE_SHARE = 1e-9  # a share below is rounding


class CurveEffect(NamedTuple):
    """The baseline's and the target's centre, target/baseline - 1 with its interval, and target -
    baseline with its interval.
    """

    baseline: float | None
    target: float | None
    shares: EffectInterval
    shifts: EffectInterval


class EffectCase(Struct, frozen=True, dict=True):
    """A case with what is known of it, how small an effect counts, as a share, and the finest
    ``step`` of its values, in their unit.
    """

    sides: Sides
    lines: ExecutionLines
    contrast: Contrast
    place: int
    delta: float
    step: float = 0.0

    def relative(self, difference: float) -> float:
        """A difference of the lines as target/baseline - 1; not below -1 where a value below 0 is
        none, or an error of the clock.
        """
        if not self.lines.logarithmic:  # shares of the middle of both: 2 where the baseline is 0
            sides = self.sides
            above = (
                sides.case.calls
                or min(float(side.value.min()) for side in (sides.baseline, sides.target)) >= 0
            )
            if 2 - difference > NEGLIGIBLE_SHARE:
                least = -1.0 if above else -inf
                return max(least, difference / (1 - difference / 2))
            return inf
        return expm1(difference) if abs(difference) <= LARGEST_EXPONENT else inf

    @property
    def bar(self) -> float:
        """The smallest effect that counts, as a difference of the lines."""
        return self.bar_of(self.delta)

    def bar_of(self, share: float) -> float:
        """A share as a difference of the lines."""
        return log1p(share) if self.lines.logarithmic else share

    @cached_property
    def times(self) -> int:
        """Whether the target is many times the baseline, or a small part of it; see
        ``multiple``.
        """
        return multiple(self.lines)

    @cached_property
    def value(self) -> float:
        """What a step is a share of: the smaller of the levels at the smallest and at the largest
        sizes, on either side.
        """
        low, high = self.lines.ends
        levels = []
        for size, value, _, _, share in self.lines.rows:
            level = value if self.lines.logarithmic else share
            levels += [
                float(level[there].mean()) for there in (size <= low, size >= high) if there.any()
            ]
        return min(levels, default=0.0)

    @property
    def bound(self) -> float:
        """How large the effect is at most, at either end and over all, to either side, by the
        intervals and by what the clock can show.
        """
        low, high = min(self.contrast.low), max(*self.contrast.high, self.contrast.widest)
        reach = (
            max(-expm1(min(low, 0.0)), expm1(min(high, LARGEST_EXPONENT)))
            if self.lines.logarithmic
            else max(-low, high)
        )
        return max(reach, CLOCK_STEPS * self.step / self.value if self.value else inf)

    def range(self, part: int) -> tuple[float, float]:
        """The smallest and the largest size of a part, numbered as for ``effect``."""
        sides, ends = self.sides, self.lines.ends
        return ((sides.low, ends[0]), (ends[1], sides.high), (sides.low, sides.high))[part]

    def effect(self, part: int) -> CurveEffect:
        """The effect at the smallest (0), at the largest (1) or over all sizes (2), in the metric's
        unit.

        The baseline's centre is geometric if logarithms were compared. If the curve is at or below
        0, shares of it mean nothing.
        """
        rows = self.lines.rows[0]
        size, value, level, share = rows.size, rows.value, rows.level, rows.share
        low, high = self.lines.ends
        there = (size <= low, size >= high, size > -np.inf)[part]
        ends = self.contrast.theta[part], self.contrast.low[part], self.contrast.high[part]
        unit = self.sides.unit
        shares = EffectInterval(*(finite(self.relative(end)) for end in ends))
        if not there.any():
            return CurveEffect(None, None, shares, UNKNOWN_EFFECT)
        mean = value[there].mean()
        if self.lines.logarithmic:
            mean = np.exp(np.log(value[there]).mean())
        centre = finite(float(mean) * unit)
        if (level[there] >= share[there]).all():
            shifts = EffectInterval(*(_product(centre, part) for part in shares))
        else:
            scale = float(share[there].mean())
            shares = UNKNOWN_EFFECT
            shifts = EffectInterval(*(finite(end * scale * unit) for end in ends))
        target = None
        if centre is not None and shifts.effect is not None:
            target = finite(centre + shifts.effect)
        return CurveEffect(centre, target, shares, shifts)


def _product(centre: float | None, share: float | None) -> float | None:
    return None if centre is None or share is None else finite(centre * share)
