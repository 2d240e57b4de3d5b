"""The finest step of the instrument that values were read from, as the values themselves show it."""

from __future__ import annotations

from math import inf, remainder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

FINEST = 1e-6  # share of the smallest value above 0: a finer step is none that matters
ROUNDING = 1e-7  # share of it that conversions between units may leave, or
EXACT_SHARE = 1e-12  # of the largest value


def step(values: Collection[float]) -> float:
    """The greatest step that all ``values`` are multiples of, in their unit: the tick of a clock, or the last digit that a tool prints.

    0 where no step is to be seen, as with a clock that is fine enough. Infinite where all are equal: then any step would do. Values are
    finite; their signs do not matter. By Euclid's algorithm, remainders of ``ROUNDING`` counting as none. A median of an even number of
    readings may lie half way between two steps, and halves what is found.
    """
    distinct = set(values)
    if len(distinct) < 2:
        return inf
    sizes = sorted(abs(value) for value in distinct if value)  # starting with the smallest, whose remainders are the most exact
    found = sizes[0]
    finest, nothing = FINEST * found, max(ROUNDING * found, EXACT_SHARE * sizes[-1])
    if nothing > finest:  # so far apart that a float does not hold the one to the step of the other
        return 0.0
    for size in sizes:
        rest = abs(remainder(size, found))
        while rest > nothing:
            if rest < finest:
                return 0.0
            found, rest = rest, abs(remainder(found, rest))
    return found
