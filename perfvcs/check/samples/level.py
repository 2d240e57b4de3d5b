"""A single execution, judged against the level that the earlier sessions of its benchmark have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perfvcs.check.sessions import EarlierSessions

if TYPE_CHECKING:
    from perfvcs.statistics.changepoints.newest import NewestValue

EARLIER_SESSIONS = 10  # earlier sessions among which a usual value has some above and some below
SOME = 2


@dataclass(frozen=True)
class NewestSession:
    """The newest session's mean against the level of those before, as logarithms: the difference with the range that chance leaves it.

    ``word``: ``changed`` where chance is below 1 in 1,000 and at least ten sessions support the level, ``suspected`` where fewer do, or
    chance is below 5 in 1,000, and ``usual``. ``support`` counts them.
    """

    word: Literal["changed", "suspected", "usual"]
    expected: float
    difference: float
    low: float
    high: float
    chance: float
    support: int


def newest_session(past: EarlierSessions, baseline: str, target: str) -> NewestSession | None:
    """The session of the commit ``target`` compared with the level of the history before it.

    None where there is no such history, where the commit ``baseline`` is not at its present level, and where the target is not its newest
    commit or has several sessions. A value with some of the ten before it above and some below is usual in any series: nothing is computed.
    """
    if baseline == target or baseline not in past.commits or past.commits[-1] != target or past.commits.count(target) > 1:
        return None
    *earlier, value = past.means
    near = earlier[-EARLIER_SESSIONS:]
    if len(near) == EARLIER_SESSIONS and min(sum(one < value for one in near), sum(one > value for one in near)) >= SOME:
        return None
    found = _judged(past.means)
    if found is None:
        return None
    newest, begins = found
    if baseline not in past.commits[begins:]:
        return None
    difference = newest.value - newest.expected
    return NewestSession(
        newest.word, newest.expected, difference, newest.value - newest.high, newest.value - newest.low, newest.chance, newest.support
    )  # fmt: skip


def _judged(means: tuple[float, ...]) -> tuple[NewestValue, int] | None:
    """The newest value of a series, and where its level begins."""
    from perfvcs.statistics.changepoints.judgement import judge

    found = judge(means)
    if found.newest is None:
        return None
    starts = [step.last if step.word == "drift" else step.place for step in found.steps if step.place < len(means) - 1]
    return found.newest, max([0, *starts])
