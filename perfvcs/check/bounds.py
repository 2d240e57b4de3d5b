"""How far a comparison moved or may have moved, its bound in words, what that settles, and the
smallest effect that it would have found.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from math import expm1, log1p, sqrt
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from perfvcs.check.case import Case
    from perfvcs.check.change import Change, Overall
    from perfvcs.check.vocabulary import Word

ComparedKey = tuple[str, str, str, str]
NEW = 10.0  # effect of what has no ratio: it was nothing, or is a finding without a number
GONE = -1 + 1e-9  # effect of what is nothing now
FEWEST = 2  # executions, below which nothing is known of their scatter
COARSE = 0.1  # from this bound on whole percents are enough


class Undecided(Enum):
    """Why an interval decides nothing, as a text with a place for delta in percent."""

    WIDE = "the interval reaches beyond ±{:.3g} %"
    FAR = "some executions are far from the others: they may be part of a change"
    CHANCE = "so few pairs may agree by chance: more executions would settle it"


def explained(reason: str | Undecided, delta: float) -> str:
    """The reason as a text."""
    return reason.value.format(100 * delta) if isinstance(reason, Undecided) else reason


def is_wide(reason: str) -> bool:
    """Whether a reason says only that the interval is wide."""
    return reason.startswith(Undecided.WIDE.value.partition("{")[0])


def within(bound: float) -> str:
    """The bound in words, rounded up.

    >>> within(0.0226), within(0.1), within(0.306)
    ('within ±2.3 %', 'within ±10 %', 'within ±31 %')
    """
    from math import ceil

    digits = 1 if bound >= COARSE else 10
    return f"within ±{ceil(round(100 * digits * bound, 6)) / digits:,.10g} %"


def stated(word: Word, reason: str, bound: float | None) -> str:
    """The reason, with the bound if the comparison is open."""
    from math import isfinite

    if word != "inconclusive" or bound is None or not isfinite(bound):
        return reason
    return f"{reason}; {within(bound)}"


def key(compared: Case | Change) -> ComparedKey:
    """What the changes of a case have in common with it."""
    return compared.series, compared.environment, compared.uid, compared.metric


def settle(
    changes: Iterable[Change], asked: float | None, by_rule: Mapping[ComparedKey, float]
) -> list[Change]:
    """The changes; open ones within ``asked`` (a share) become the same, with the bound as the
    reason.

    ``by_rule`` has the shares of cases whose rule names one; ``asked`` overrides it.
    """
    if asked is None and not by_rule:
        return [*changes]
    return [
        _settled(change, by_rule.get(key(change)) if asked is None else asked) for change in changes
    ]


def _settled(change: Change, share: float | None) -> Change:
    if share is None or not change.method:
        return change
    if change.word != "inconclusive" or change.bound is None or change.bound > share:
        return msgspec.structs.replace(change, within=share)
    return msgspec.structs.replace(
        change, word="same", reason=within(change.bound), coarse=False, within=share
    )


def bounds(changes: Iterable[Change]) -> list[float]:
    """The largest effect that each change leaves possible, as a share, if known."""
    largest: list[float] = []
    for change in changes:
        ends = [abs(end) for end in (change.low, change.high) if end is not None]
        if change.bound is not None:
            largest.append(change.bound)
        elif change.word == "same":
            largest.append(max(ends) if len(ends) == 2 else abs(change.effect or 0.0))
    return largest


def percent_of(bound: float) -> str:
    """A bound in percent, rounded up.

    >>> percent_of(0.0226)
    '2.3 %'
    """
    return within(bound).removeprefix("within ±")


def distance(moved: Change | Overall) -> float:
    """How far it moved to either side: the logarithm of the ratio."""
    effect = NEW if moved.effect is None else moved.effect
    return abs(log1p(max(effect, GONE)))


def length(moved: Change | Overall) -> float:
    """The length of its interval, on the scale of ``distance``; 0 where it has none."""
    if moved.low is None or moved.high is None:
        return 0.0
    return log1p(max(moved.high, GONE)) - log1p(max(moved.low, GONE))


def smallest(change: Change) -> float | None:
    """The smallest effect that a comparison would have found with a chance of 80 %, as a share of
    the baseline; None where its interval does not say it.

    By the scatter for which the interval is as wide as it is: the effect has to stand out of it,
    and to be estimated as delta or more.
    """
    from perfvcs.statistics.power import detectable

    executions = min(change.builds or change.executions)
    if change.low is None or change.high is None or executions < FEWEST or change.low <= -1:
        return None
    half = (log1p(change.high) - log1p(change.low)) / 2
    degrees = executions - 1 if change.paired else 2 * (executions - 1)
    deviation = half * sqrt(executions) / _quantile(degrees, change.confidence)
    bar = log1p(change.delta or 0.0)
    return expm1(detectable(deviation, executions, 1 - change.confidence, bar) or 0.0)


@lru_cache
def _quantile(degrees: int, confidence: float) -> float:
    from perfvcs.statistics.student import quantile

    return float(quantile((1 + confidence) / 2, degrees))
