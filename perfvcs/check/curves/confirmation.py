"""Whether the executions confirm an error that the means at all sizes show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.curves.replication import along, lines

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.curves.curve import Sides

    Floats = NDArray[np.float64]

FEWEST_CONFIRMING = 5  # pairs, below which they have fewer degrees of freedom than they save variance


def borne_out(sides: Sides, error: Callable[[Floats], Floats]) -> float:
    """The p of equal executions in the direction of an ``error``, a value at each size; 0 where there are no executions to ask.

    All values of an execution share its start, so values at many sizes do not distinguish a start from an error. For each execution, the
    multiple of the error by which it lies above the common curve is one number, and these are compared by Student in pairs, or by Welch.
    One execution a side cannot be asked, nor can executions that have fewer than three sizes each.
    """
    import numpy as np

    from perfvcs.statistics import difference

    found = lines(sides) if min(sides.executions) > 1 else None
    if found is None or min(found.counts) < 2:
        return 0.0
    first, second = along(found, error)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return 0.0
    paired = sides.case.chosen.paired and len(first) >= FEWEST_CONFIRMING
    p = float((difference.paired if paired else difference.welch)(first[None], second[None], None).p[0])
    return p if np.isfinite(p) else 0.0
