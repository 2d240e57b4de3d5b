"""The newest value of a series, judged by what one more value at the present level would be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from msgspec import Struct

from perfvcs.statistics.changepoints.presentlevel import (
    FALSE_ALARM_RATE,
    Earlier,
    PresentLevel,
    ordinary,
    present_levels,
)
from perfvcs.system.numeric import Flags, Floats, np

SURE_ALONE = 1e-4  # chance below which a value needs no second one to be a change
SUPPORT = 10  # earlier values at the level from which an alarm is a change, and not only suspected
FEWEST_EARLIER = 3  # earlier values
RUN = 4  # newest values that may be outside together
SURE = 2.5  # standard deviations within which nothing is outside
FAR = 4.0  # standard deviations from which on values are elsewhere, and not only off
ASIDE = 3.0  # standard deviations within which values are at the level
LASTING = 5  # values in a row that are no visit

NewestWord = Literal["suspected", "changed"]


class NewestValue(Struct, frozen=True):
    """The unusual newest value of a series against the level of the values before it. All are
    logarithms.

    ``place`` is its index, ``value`` what it is, ``expected`` the level and ``low``..``high`` where
    one more value at that level lies but for a chance of 1 in 1,000. ``chance`` is that of a value
    as far away (two-sided), below 5 in 1,000, and ``support`` how many earlier values the level
    has. ``word``: ``suspected``; ``changed`` where a second value confirms it, or where its chance
    is below 1 in 10,000 and ten values or more support the level: those that are less rare are
    mostly outliers. ``since`` is the index of the first of the newest values that are all unusual
    on the same side (``place`` where it is the only one; of several the later ones confirm the
    first). ``visited``: so many values in a row were there before.
    """

    place: int
    value: float
    expected: float
    low: float
    high: float
    chance: float
    support: int
    word: NewestWord
    since: int
    visited: bool

    @property
    def effect(self) -> float:
        """How far the value is from the level, a difference of logarithms."""
        return self.value - self.expected

    @property
    def reported(self) -> bool:
        """Whether it is news: it has changed, or chance is below 1 in 1,000, and the series was not
        there before. What is less rare only counts where the next value confirms it.
        """
        rare = self.word == "suspected" and self.chance < FALSE_ALARM_RATE
        return (self.word == "changed" or rare) and not self.visited


class Levelled(NamedTuple):
    """Finite ``values`` (n,), the ``places`` where they changed for good, their spread ``scale``
    (n,), and their own ``variance`` (n,), NaN unknown.
    """

    values: Floats
    places: Sequence[int]
    scale: Floats
    variance: Floats | None = None

    def before(self, base: int, extra: float = 0.0) -> Earlier:
        """What comes before a place."""
        return Earlier(
            self.values[:base],
            [place for place in self.places if place < base],
            float(self.scale[-1]),
            max(-float(self.values.min()), float(self.values.max())),
            extra,
        )


def newest(series: Sequence[Levelled]) -> list[NewestValue | None]:
    """The newest value of each series against the level before it, where it is unusual.

    The expected value is the median of the last 25 values since the last change. The usual distance
    from it is learned from the last 256, each against the values before it: Student's t, on each
    side (where values on the other one count half), and no rarer than it has happened, but for one.
    A newest value that is less sure than others is allowed as much more. None where it is usual,
    and where fewer than three values came before.
    """
    judged: list[NewestValue | None] = [None] * len(series)
    bases = {
        index: len(each.values) - 1
        for index, each in enumerate(series)
        if len(each.values) > FEWEST_EARLIER
    }
    earlier = {
        index: series[index].before(base, _extra(series[index].variance))
        for index, base in bases.items()
    }
    values = [float(series[index].values[-1]) for index in earlier]
    for index, known in zip(earlier, ordinary(list(earlier.values()), values), strict=True):
        if known is not None and not _is_off(series[index], known, bases[index]):
            del bases[index]
    levels = present_levels([earlier[index] for index in bases])
    pasts = dict(zip(bases, levels, strict=True))
    asked = list(bases)
    while asked := [
        index for index in asked if _is_off(series[index], pasts[index].level, bases[index])
    ]:
        levels = present_levels([series[index].before(bases[index] - 1) for index in asked])
        outside = [
            (index, level)
            for index, level in zip(asked, levels, strict=True)
            if level.outside(float(series[index].values[bases[index] - 1]))
        ]
        asked = [index for index, _ in outside]
        pasts |= outside
        bases |= {index: bases[index] - 1 for index in asked}
    for index, base in bases.items():
        judged[index] = _newest(series[index], pasts[index], base)
    return judged


def _is_off(given: Levelled, level: float, base: int) -> bool:
    """Whether the value before ``base`` may be outside, too: such values right before the newest
    one are not what it is compared with.
    """
    if base <= FEWEST_EARLIER or len(given.values) - 1 - base >= RUN:
        return False
    return abs(float(given.values[base - 1]) - level) > SURE * float(given.scale[base - 1])


def _newest(given: Levelled, past: PresentLevel, base: int) -> NewestValue | None:
    """The newest value against the level ``past``; None where it is usual."""
    series, scale = given.values, given.scale
    place = len(series) - 1
    value = float(series[-1])
    side = past.outside(value)
    if not side:
        return None
    since = place
    while since > base and past.outside(float(series[since - 1])) == side:
        since -= 1
    chance = past.chance(value)
    sure = chance < SURE_ALONE and past.support >= SUPPORT
    word: NewestWord = "changed" if since < place or sure else "suspected"
    level, sd = series[base - past.support : since], float(scale[-1])
    return NewestValue(
        place=place,
        value=value,
        expected=past.level,
        low=past.level - past.tails[False].fence(past.widening),
        high=past.level + past.tails[True].fence(past.widening),
        chance=chance,
        support=past.support,
        word=word,
        since=since,
        visited=visited(level, series[since:], (past.level, value), sd),
    )


def visited(before: Floats, after: Floats, levels: tuple[float, float], sd: float) -> bool:
    """Whether the values ``after`` are where some of the level ``before`` were for as long: runs of
    up to four values beyond the middle of both ``levels``, and three standard deviations ``sd``
    from the old one, where these are four apart or more.

    On a machine of several processor models a series goes there and back.
    """
    old, new = levels
    if abs(new - old) < FAR * sd:
        return False
    sign, least = 1 if new > old else -1, max(abs(new - old) / 2, ASIDE * sd)
    runs = [_longest(sign * (part - old) > least) for part in (before, after)]
    return runs[1] <= min(runs[0], LASTING - 1)


def _longest(there: Flags) -> int:
    return max((len(list(run)) for value, run in groupby(there.tolist()) if value), default=0)


def _extra(variance: Floats | None) -> float:
    """By how much the newest value's own variance is above the usual one."""
    if variance is None or not np.isfinite(variance[-1]) or not np.isfinite(variance[:-1]).any():
        return 0.0
    return max(0.0, float(variance[-1] - np.nanmedian(variance[:-1])))
