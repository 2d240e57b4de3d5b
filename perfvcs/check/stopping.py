"""Measuring only as long as a verdict needs: interim analyses after every pair from the fifth
on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from msgspec import Struct

from perfvcs.check import Change, EarlierSessions, Report, Unit, compare
from perfvcs.check.method import FEWEST_EXECUTIONS
from perfvcs.profile import Profile
from perfvcs.profile.rules import Rules
from perfvcs.profile.summary import Measured
from perfvcs.statistics.multiplicity import PAIRS, USUAL_PAIRS, level, schedule

LAST = 0.01  # the level of a report of all that was measured
# open comparisons of which so small a share is no reason to measure all of them any longer
MANY_OPEN, FEW_SETTLED = 20, 0.1


class Interim(Struct, frozen=True):
    """What a look shows: the report at this look's level, the comparisons that more pairs may
    decide, and when to look again.

    ``pairs`` is the number of pairs to have at the next look; None when measuring can stop, because
    nothing is open or the last look was taken.
    """

    report: Report
    open: list[Change]
    pairs: int | None


def interim(
    baseline: Sequence[Measured | Profile],
    target: Sequence[Measured | Profile],
    *,
    pairs: int,
    most: int = PAIRS,
    delta: float | None = None,
    within: float | None = None,
    rules: Rules | None = None,
    history: Mapping[Unit, EarlierSessions] | None = None,
) -> Interim:
    """Compare what was measured in turns up to now, ``pairs`` pairs of at most ``most``.

    A change needs p <= .001 before the last look and p <= .0095 at it (Haybittle, Peto): at most
    1.7 % of false alarms. The effect of one that stopped early is somewhat too large on average
    (+5.2 % where it is +5 %). A comparison is open while it is neither changed nor ``same``; one
    that more pairs cannot decide (a coarse clock, no usable value, too few builds, which take turns
    from the first pair on) is not. ``rules`` say how small an effect counts, and what settles it;
    the method here is always ``auto``. Measuring a job can stop as soon as none of its comparisons
    is open. What only ``within`` settles stays open while the last report, which asks for less
    evidence than an early look, would call it a change: otherwise stopping there would raise false
    alarms.
    """
    report = compare(
        baseline,
        target,
        rules=rules and rules.by_default(),
        delta=delta,
        within=within,
        history=history,
        alpha=level(pairs, most),
    )
    undecided = [
        change for change in report.compared if not change.settled and _open(change, pairs)
    ]
    undecided += [
        change for change in report.having("same") if pairs < most and _would_change(change)
    ]
    later = [count for count in schedule(most) if count > pairs]
    return Interim(report, undecided, later[0] if undecided and later else None)


def few_settled(undecided: Sequence[Change], pairs: int, most: int) -> str:
    """Why a job that was measured in so many ``pairs`` is not worth measuring in ``most``: of many
    open comparisons, the others are expected to settle few. Empty where it is.
    """
    if pairs < USUAL_PAIRS or len(undecided) < MANY_OPEN:
        return ""
    settled = sum(pairs * _growth(change) <= most for change in undecided)
    if settled > FEW_SETTLED * len(undecided):
        return ""
    return f"{most - pairs} more would settle {settled} of {len(undecided):,} open comparisons"


def _growth(change: Change) -> float:
    """How many times as many pairs an open comparison is expected to want: until its interval lies
    within what counts, or leaves out zero.
    """
    if change.effect is None or change.low is None or change.high is None:
        return inf
    effect, delta = abs(change.effect), change.delta or 0.0
    room = effect if effect > delta else (change.within or delta) - effect
    return ((change.high - change.low) / (2 * room)) ** 2 if room > 0 else inf


def _would_change(change: Change) -> bool:
    """Whether what lies within the bound that was asked for would be a change at the last look's
    level.
    """
    if change.within is None or change.p is None or change.p > LAST:
        return False
    return change.effect is None or abs(change.effect) >= (change.delta or 0.0)


def _open(change: Change, pairs: int) -> bool:
    if change.coarse:
        return False
    if change.builds and min(change.builds) < min(FEWEST_EXECUTIONS, pairs):
        return False
    return change.p is not None or min(change.executions) == 1
