"""The newest session of a unit against the level of its history: what one value alone can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from perfvcs.check.pastsessions import EarlierSessions
from perfvcs.statistics.changepoints.newest import SUPPORT, NewestValue
from perfvcs.system.numeric import np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfvcs.statistics.changepoints.judgement import Judgement
    from perfvcs.statistics.changepoints.steps import ChangePoint

EARLIER_SESSIONS = 10  # earlier sessions among which a usual value has some above and some below
SOME = 2  # of the sessions before, on either side of the newest value
# a step of the history at one of these is news, as an odd value is: small ones take as many to show
NEWEST_SESSIONS = 8


class NewestSession(Struct, frozen=True):
    """The newest session's mean against the level of those before, as logarithms: the difference
    with the range that chance leaves it. Where the history has a step among the newest eight
    sessions, it is that step with its interval: both say the same.

    ``word``: ``changed`` where the session before is as far away, or chance is below 1 in 10,000
    and at least ten sessions support the level; ``suspected`` where one session is far away alone
    and chance is not as small, or fewer support the level. ``support`` counts the sessions at the
    level, ``since`` is the commit from which on they are elsewhere, and ``preceding`` the measured
    one before that. ``earlier``: the baseline is elsewhere already, and was known to be, so that
    what lies between it and the target has changed nothing.
    """

    word: Literal["changed", "suspected"]
    expected: float
    difference: float
    low: float
    high: float
    chance: float
    support: int
    since: str
    preceding: str
    earlier: bool


class Compared(NamedTuple):
    """The ``past`` of a unit, and two commits of it."""

    past: EarlierSessions
    baseline: str
    target: str

    @property
    def is_known(self) -> bool:
        """Whether what the target shows was asked beforehand."""
        return self.baseline in self.past.newest

    @property
    def place(self) -> int:
        """The index of the baseline's last session."""
        return len(self.past.commits) - 1 - self.past.commits[::-1].index(self.baseline)

    @property
    def before(self) -> Compared:
        """The baseline, as it was compared when it was the newest commit."""
        end = self.place + 1
        past = EarlierSessions(self.past.means[:end], self.past.commits[:end])
        return Compared(past, past.preceding(end - 1), self.baseline)

    @property
    def is_judged(self) -> bool:
        """Whether the target is the newest commit, of one session, and its value may be unusual:
        one with some above and some below of the ten that end eight sessions before it is not.
        """
        commits = self.past.commits
        if (
            self.baseline == self.target
            or self.baseline not in commits
            or commits[-1] != self.target
            or commits.count(self.target) > 1
        ):
            return False
        *earlier, value = self.past.means
        near = earlier[-EARLIER_SESSIONS - NEWEST_SESSIONS : -NEWEST_SESSIONS]
        below = sum(earlier_value < value for earlier_value in near)
        above = sum(earlier_value > value for earlier_value in near)
        return len(near) < EARLIER_SESSIONS or min(below, above) < SOME


def newest_sessions(compared: Sequence[Compared]) -> list[NewestSession | None]:
    """The session of each target compared with the level of the history before it, those that are
    not known yet together.

    None where that is usual, where there is no such history, where the baseline is neither at its
    present level nor at the one before the newest step, and where the target is not its newest
    commit or has several sessions. What is certain by the target's value only is no earlier change:
    one check says it, with the commit since which it is so, and no later one.
    """
    new = iter(_certain([pair for pair in compared if not pair.is_known]))
    return [pair.past.newest[pair.baseline] if pair.is_known else next(new) for pair in compared]


def _certain(compared: Sequence[Compared]) -> list[NewestSession | None]:
    """The sessions of targets, of which those are ``earlier`` that were certain before them."""
    sessions = _sessions(compared)
    late = [
        index
        for index, session in enumerate(sessions)
        if session and session.earlier and session.word == "changed"
    ]
    before = [compared[index].before for index in late]
    for index, pair, known in zip(late, before, _sessions(before), strict=True):
        session = sessions[index]
        if session and pair.is_judged and not _is_known(session, known):
            sessions[index] = replace(session, earlier=False)
    return sessions


def _is_known(session: NewestSession, known: NewestSession | None) -> bool:
    """Whether a change was certain before the newest value, in the same direction."""
    if known is None or known.word != "changed":
        return False
    return (known.difference > 0) == (session.difference > 0)


def _sessions(compared: Sequence[Compared]) -> list[NewestSession | None]:
    """The sessions of targets, whether what they show was known before or not."""
    sessions: list[NewestSession | None] = [None] * len(compared)
    asked = [index for index, pair in enumerate(compared) if pair.is_judged]
    if asked:
        from perfvcs.statistics.changepoints.judgement import judge_all

        judgements = judge_all([compared[index].past.means for index in asked])
        for index, judgement in zip(asked, judgements, strict=True):
            sessions[index] = _newest_session(compared[index], judgement)
    return sessions


def _newest_session(compared: Compared, judgement: Judgement) -> NewestSession | None:
    past, newest = compared.past, judgement.newest
    starts = [0, *(step.place for step in judgement.steps)]
    before = None
    if judgement.steps and starts[-1] >= len(past.means) - NEWEST_SESSIONS:
        if compared.baseline not in past.commits[starts[-2] :]:
            return None
        before = _of_step(compared, judgement.steps[-1], starts[-2])
        if judgement.steps[-1].last > compared.place:
            return before
    if newest is None or not newest.reported or compared.baseline not in past.commits[starts[-1] :]:
        return before
    return _of_value(compared, newest)


def _of_value(compared: Compared, newest: NewestValue) -> NewestSession:
    """A newest value that is not at the present level."""
    past, place = compared.past, newest.since
    difference = newest.value - newest.expected
    return NewestSession(
        word=newest.word,
        expected=newest.expected,
        difference=difference,
        low=newest.value - newest.high,
        high=newest.value - newest.low,
        chance=newest.chance,
        support=newest.support,
        since=past.commits[place],
        preceding=past.preceding(place),
        earlier=place <= compared.place,
    )


def _of_step(compared: Compared, step: ChangePoint, begin: int) -> NewestSession | None:
    """A step of the history among the newest sessions, whose level before begins at ``begin``; None
    where the series was there before for as long.
    """
    from perfvcs.statistics.changepoints.newest import visited
    from perfvcs.statistics.changepoints.steps import scale

    past = compared.past
    values, levels = np.array(past.means), (step.before, step.after)
    sides = values[begin : step.place], values[step.place :]
    if visited(*sides, levels, float(scale(values)[-1])):
        return None
    low, high = step.interval()
    support = step.place - begin
    word: Literal["changed", "suspected"] = "changed" if support >= SUPPORT else "suspected"
    return NewestSession(
        word=word,
        expected=step.before,
        difference=step.effect,
        low=low,
        high=high,
        chance=step.p,
        support=support,
        since=past.commits[step.place],
        preceding=past.preceding(step.place),
        earlier=step.last <= compared.place,
    )
