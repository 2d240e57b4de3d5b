"""The rows of a curve as few values that noise does not rule: what models, kinds of error and executions are judged by."""

from __future__ import annotations

from dataclasses import replace

from perfvcs.check.curves.curve import Sides, within

FEWEST_POSITIVE = 5  # sizes above 0, without which size 0 counts


def condense(sides: Sides) -> Sides:
    """The sides with outliers pulled in, nearby sizes merged if there are many, and a value per execution and size.

    See ``statistics.regression.condensed``; what has no sizes stays as it is. Calls at size 0 are left out, where there are five sizes
    above: they seldom lie on the curve, and logarithms do not know them.
    """
    import numpy as np

    from perfvcs.statistics.regression.condensed import cells, drawn_in, ranges

    if not sides.sized:
        return sides
    both = sides.baseline, sides.target
    if sides.low == 0 < sides.high:
        positive = [side.size > 0 for side in both]
        distinct = [np.unique(side.size[kept]) for side, kept in zip(both, positive, strict=True)]
        if min(map(len, distinct)) >= FEWEST_POSITIVE:
            both = within(both[0], positive[0]), within(both[1], positive[1])
            sides = replace(sides, low=float(min(distinct[0][0], distinct[1][0])))
    near = ranges((both[0].size, both[1].size), max(side.executions for side in both))
    found = []
    for side in both:
        cell = cells(side.size, drawn_in(side.size, side.value), side.execution, near)
        found.append(replace(side, size=cell.size, value=cell.value, execution=cell.execution, weight=cell.count))
    return replace(sides, baseline=found[0], target=found[1])
