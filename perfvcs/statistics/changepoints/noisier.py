"""Where the spread of a series changed for good, whatever its level did."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from perfvcs.statistics.deviation import NORMAL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FALSE_ALARM_RATE = 0.01  # of a false change per series
RATIO = 1.5  # of the spreads
FEWEST_VALUES = 20  # values on both sides
LEAST_DEVIATION = 0.2  # of the spread: smaller deviations are equally small


@dataclass(frozen=True)
class SpreadChange:
    """A lasting change of the spread of a series of logarithms; it may have become calmer, too.

    ``place`` is the likeliest index of the first value with the new spread. ``before`` and ``after`` are the standard deviations about the
    levels (logarithms: .02 is about 2 %), ``p`` the chance of such a change anywhere where there is none.
    """

    place: int
    before: float
    after: float
    p: float


def noisier(left: NDArray[np.float64]) -> list[SpreadChange]:
    """The changes of the spread of the deviations ``left`` (n,) of values from their levels, ascending.

    The place at which the logarithms of the absolute deviations differ most, by Student's t with their own first-order dependence and n
    places to choose from; the parts before and after are searched again. Changes by less than half and of fewer than twenty values on a
    side are left out.
    """
    import numpy as np

    size = np.abs(left)
    usual = float(np.median(size)) if len(size) else 0.0
    if not usual:
        return []
    logs = np.log(np.maximum(size, LEAST_DEVIATION * usual))
    places: list[int] = []
    chances: dict[int, float] = {}
    parts = [(0, len(left))]
    while parts:
        low, high = parts.pop()
        place, p = _split(logs[low:high], len(left))
        if p < FALSE_ALARM_RATE:
            places.append(low + place)
            chances[low + place] = p
            parts += [(low, low + place), (low + place, high)]
    places.sort()
    spreads = [NORMAL * float(np.median(np.abs(part))) for part in np.split(left, places)]
    return [
        SpreadChange(place, before, after, chances[place])
        for place, before, after in zip(places, spreads, spreads[1:], strict=False)
        if max(before, after) >= RATIO * min(before, after)
    ]


def _split(logs: NDArray[np.float64], total: int) -> tuple[int, float]:
    """The best place to divide some values, and its p among so many places."""
    import numpy as np

    from perfvcs.statistics.changepoints.longrun import dependence
    from perfvcs.statistics.student import tail

    n = len(logs)
    if n < 2 * FEWEST_VALUES:
        return 0, 1.0
    rest = logs - logs.mean()
    before = np.arange(FEWEST_VALUES, n - FEWEST_VALUES + 1)
    gain = np.cumsum(rest)[FEWEST_VALUES - 1 : n - FEWEST_VALUES] ** 2 * n / (before * (n - before))
    best = int(gain.argmax())
    place = int(before[best])
    within = np.concatenate([logs[:place] - logs[:place].mean(), logs[place:] - logs[place:].mean()])
    squares = float(within @ within)
    if squares <= 0:
        return 0, 1.0
    t = sqrt(float(gain[best]) / squares * (n - 2) / dependence(within, 2))
    return place, min(1.0, total * tail(t, n - 2))
