"""What confirms or explains a difference of curves: executions, a multiple, another function."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from perfvcs.check.change import Curve
from perfvcs.check.curves.replication import ExecutionLines, along, lines
from perfvcs.check.curves.sides import FittedCurves, Sides
from perfvcs.check.curves.thresholds import outgrows
from perfvcs.system.numeric import Floats, np

# pairs, below which they have fewer degrees of freedom than they save variance
FEWEST_CONFIRMING = 5
SMALLEST_MULTIPLE = 10.0  # times the values of the other side
FEWEST_IN_A_ROW = 3  # sizes in a row: a pause of the machine hits one
SHARE_OF_SIZES = 0.75  # of the sizes there must show it
ORDER_R2 = 0.98  # r2 from which the order of a model is named
# times as far from the values as its own model must be what an added error explains: that has more
# coefficients,
FARTHER = 1.25
SMALLEST_SHARE = 0.001  # and by this share of the values, or it is rounding


def borne_out(sides: Sides, error: Callable[[Floats], Floats]) -> float:
    """The p of equal executions in the direction of an ``error``, a value at each size; 0 where
    there are no executions to ask.

    All values of an execution share its start, so values at many sizes do not distinguish a start
    from an error. For each execution, the multiple of the error by which it lies above the common
    curve is one number, and these are compared by Student in pairs, or by Welch. One execution a
    side cannot be asked, nor can executions that have fewer than three sizes each.
    """
    from perfvcs.statistics import difference

    both_lines = lines(sides) if min(sides.executions) > 1 else None
    if both_lines is None or min(both_lines.counts) < 2:
        return 0.0
    first, second = along(both_lines, error)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return 0.0
    paired = sides.case.chosen.paired and len(first) >= FEWEST_CONFIRMING
    p = float(
        (difference.paired if paired else difference.welch)(first[None], second[None], None).p[0]
    )
    return p if np.isfinite(p) else 0.0


class _Range(NamedTuple):
    """The smallest and the largest value at each size."""

    low: Floats
    high: Floats


class _Ranges(NamedTuple):
    """The sizes that both sides have in rising order, and the values of either side at these."""

    sizes: Floats
    baseline: _Range
    target: _Range


def multiple(lines: ExecutionLines) -> int:
    """1 where the target's values are at least ten times the baseline's, -1 where a tenth of them
    at most, else 0.

    That must hold of every value of both sides, at three quarters of the largest tenth of the
    sizes, or of the smallest, or of all (at least three sizes). A baseline of 0 counts as its
    smallest value that is not; where it has none, nothing is known of what is small.
    """
    sizes, baseline, target = _ranges(lines)
    if len(sizes) < FEWEST_IN_A_ROW:
        return 0
    end = max(FEWEST_IN_A_ROW, len(sizes) // 10)
    for sign, (below, above) in ((1, (baseline, target)), (-1, (target, baseline))):
        values = np.abs(lines.rows[0 if sign > 0 else 1].value)
        least = values[values > 0].min(initial=np.inf)
        magnitude = np.maximum(np.maximum(np.abs(below.low), np.abs(below.high)), least)
        away = (above.low - below.high >= (SMALLEST_MULTIPLE - 1) * magnitude) & np.isfinite(
            magnitude
        )
        if any(part.mean() >= SHARE_OF_SIZES for part in (away[-end:], away[:end], away)):
            return sign
    return 0


def _ranges(lines: ExecutionLines) -> _Ranges:
    both = np.intersect1d(lines.rows[0].size, lines.rows[1].size)
    sides = []
    for rows in lines.rows:
        shared = np.isin(rows.size, both)
        value, place = rows.value[shared], np.searchsorted(both, rows.size[shared])
        low, high = np.full(len(both), np.inf), np.full(len(both), -np.inf)
        np.minimum.at(low, place, value)
        np.maximum.at(high, place, value)
        sides.append(_Range(low, high))
    return _Ranges(both, *sides)


def replaced(fits: FittedCurves, number: int, curve: Curve) -> bool:
    """Whether the side that is above by the error outgrows the other by its own model, which
    explains it better than that error does.

    Compared are the mean distances from its means at all sizes, in shares of these: of its own
    model, and of the other side's with the error added, be it that one's model or, which may not
    fit, its means. log n and a little of n looks like a power, but log n with a linear error
    explains it better.
    """
    if (
        curve.coefficient is None
        or not outgrows(curve, side := int(curve.coefficient > 0))
        or curve.r2[side] < ORDER_R2
    ):
        return False
    sizes = fits.sizes(number)
    models, measured = fits.predicted(number, sizes), fits.measured(number)
    error = fits.kinds.predict(sizes, number) * (1 if side else -1)
    with np.errstate(all="ignore"):
        curves = np.stack([models[side], models[1 - side] + error, measured[1 - side] + error])
        away = np.abs(curves / measured[side] - 1)
    finite_sizes = np.isfinite(away).all(axis=0)
    if not finite_sizes.any():
        return False
    own_distance, *added = away[:, finite_sizes].mean(axis=1).tolist()
    return bool(min(added) >= max(SMALLEST_SHARE, FARTHER * own_distance))
