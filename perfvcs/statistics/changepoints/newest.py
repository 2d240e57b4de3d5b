"""The newest value of a series, judged by what one more value at the present level would be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHANCE = 1e-3  # of an alarm per commit and benchmark where nothing changed
SUPPORT = 10  # earlier values at the level from which an alarm is a change, and not only suspected
FEWEST = 3


@dataclass(frozen=True)
class Newest:
    """The newest value of a series against the level of the values before it. All are logarithms.

    ``place`` is its index, ``value`` what it is, ``expected`` the mean of the level and ``low``..``high`` where one more value at that
    level lies but for a chance of 1 in 1,000. ``chance`` is that of a value as far away (two-sided), and ``support`` how many earlier
    values the level rests on. ``word``: ``usual`` inside; outside ``changed``, or ``suspected`` where fewer than ten values support it.
    ``since`` is the index of the first of the newest values that all lie outside on the same side (``place`` where it is the only one; of
    several the later ones confirm the first), None where the newest is usual. ``withdrawn`` is the index of the value before, where that
    was outside and the newest one is not: the alarm was a false one.
    """

    place: int
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int
    word: Literal["usual", "suspected", "changed"]
    since: int | None
    withdrawn: int | None

    @property
    def effect(self) -> float:
        """How far the value is from the level, a difference of logarithms."""
        return self.value - self.expected


def newest(series: NDArray[np.float64], start: int) -> Newest | None:
    """The newest of the finite values (n,) against the level that began at index ``start``; None where fewer than three came before."""
    import numpy as np

    from perfvcs.statistics.changepoints.pelt import winsorise
    from perfvcs.statistics.student import quantile, two_sided

    past, value = series[start:-1], float(series[-1])
    if len(past) < FEWEST:
        return None
    clipped = winsorise(past)
    n, level = len(past), float(clipped.mean())
    spread = float(np.sqrt(((clipped - level) ** 2).sum() / (n - 1) * (1 + 1 / n)))
    df = min(n - 1, 4)
    chance = float(two_sided([abs(value - level) / spread], [df])[0]) if spread else float(value == level)
    half = float(quantile(1 - CHANCE / 2, [df])[0]) * spread
    word: Literal["usual", "suspected", "changed"] = "usual"
    if chance < CHANCE:
        word = "changed" if n >= SUPPORT else "suspected"
    place = len(series) - 1
    return Newest(place, value, level, level - half, level + half, chance, n, word, None if word == "usual" else place, None)
