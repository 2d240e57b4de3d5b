"""Cases: one unit and metric with all its sizes on two comparable sides; a pair is one of its
sizes.
"""

from __future__ import annotations

from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from perfvcs.check.change import Change
from perfvcs.check.pastsessions import EarlierSessions, Unit
from perfvcs.check.vocabulary import Word
from perfvcs.profile.summary import RECORDER, Header, Measured, Place, Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from perfvcs.check.rows import ProfileRows
    from perfvcs.profile import Metric

# per session one value per execution, in the metric's unit, all finite, none empty
Sessions = tuple[tuple[float, ...], ...]
BuildsOfSessions = tuple[tuple[int, ...], ...]  # of the same shape: the build of each execution
# per size the summaries by the place of their profile
Sizes = dict[float | None, dict[int, "Summary"]]
ONE_SIDE_HAS_SIZES = "only one side has many sizes, which only curves can compare"
OTHER_RULES = "the two sides have different sizes, which only curves can compare"
UNSIZED = "one side has no sizes"
NO_USABLE_VALUE = "no execution has a usable value on both sides"


class CaseExecution(msgspec.Struct, frozen=True, gc=False):
    """One execution of one side: the place of its profile, its build and number there, and its
    median.
    """

    profile: int
    place: Place
    value: float


ExecutionsOfSessions = tuple[tuple[CaseExecution, ...], ...]  # per session


class Chosen(msgspec.Struct, frozen=True):
    """The comparable profiles of one benchmark on both sides: when ``paired``, place by place of
    one session.

    ``same_machine``: somebody says that sessions which are apart differ by nothing else.
    """

    baseline: list[Measured]
    target: list[Measured]
    paired: bool
    same_machine: bool = False

    @property
    def sides(self) -> tuple[list[Measured], list[Measured]]:
        """Both sides."""
        return self.baseline, self.target


class Case(msgspec.Struct, frozen=True, dict=True):
    """One unit and metric of two comparable sides, with all its sizes; at least one size is on
    both.

    ``header`` is the newest one of the target, ``before`` and ``after`` hold the summaries of each
    size. Profiles of counters, several metrics of which none has a better direction, are one case
    without unit and metric, which only the rows tell about.
    """

    chosen: Chosen
    header: Header
    uid: str
    metric: str
    before: Sizes
    after: Sizes
    rows: ProfileRows
    history: Mapping[Unit, EarlierSessions]

    @cached_property
    def series(self) -> str:
        """The series key."""
        return self.header.job.key

    def earlier(self, unit: Unit) -> EarlierSessions:
        """What earlier sessions show of a unit."""
        if self.chosen.same_machine:
            return EarlierSessions(alike=True)
        return self.history.get(unit, EarlierSessions())

    @property
    def environment(self) -> str:
        """The environment's fingerprint."""
        return self.header.environment.fingerprint

    @cached_property
    def job(self) -> str:
        """The benchmark's name for people."""
        return self.header.job.label

    @property
    def about(self) -> Metric:
        """The metric's unit and direction."""
        return self.header.metrics[self.metric]

    @property
    def counters(self) -> bool:
        """Whether this is a profile of counters."""
        return not self.metric

    @property
    def calls(self) -> bool:
        """Whether its rows are recorded calls of a function: many, short, each at the size that it
        happened to have.
        """
        return self.header.job.collector == RECORDER

    @cached_property
    def sizes(self) -> int:
        """How many sizes there are, on the side that has fewer; above the limit of summaries some
        larger number.
        """
        return min(
            sum(size is not None for size in side)
            + max((summary.sizes for summary in side.get(None, {}).values()), default=0)
            for side in (self.before, self.after)
        )

    @property
    def unlike(self) -> str:
        """In words, why medians over all sizes cannot be compared; empty where they can, or each
        size has its own.
        """
        before, after = _size_sets(self.before), _size_sets(self.after)
        if bool(before) != bool(after):
            return ONE_SIDE_HAS_SIZES if self.sizes else UNSIZED
        return OTHER_RULES if before != after else ""

    def pairs(self) -> tuple[list[Pair], list[Change]]:
        """A pair per size, and the changes of sizes that only one side has or that have no usable
        value.
        """
        if reason := self.unlike:
            return [], [
                decided_change(self.header, self.uid, None, self.metric, "not comparable", reason)
            ]
        pairs: list[Pair] = []
        decided: list[Change] = []
        for size in {**self.before, **self.after}:
            if size not in self.before or size not in self.after:
                decided.append(
                    decided_change(
                        self.header,
                        self.uid,
                        size,
                        self.metric,
                        "new" if size in self.after else "missing",
                    )
                )
                continue
            sides = (_blocks if self.chosen.paired else _apart)(self.before[size], self.after[size])
            if sides[0] and sides[1]:
                unit = Unit(self.series, self.environment, self.uid, size, self.metric)
                pairs.append(Pair(self, size, *sides, self.earlier(unit)))
            else:
                decided.append(
                    decided_change(
                        self.header, self.uid, size, self.metric, "inconclusive", NO_USABLE_VALUE
                    )
                )
        return pairs, decided


class Pair(msgspec.Struct, frozen=True, dict=True):
    """One unit, size and metric of two comparable sides: a median per execution.

    When the case is ``paired``, both sides have the same sessions and, in each, executions which
    belong together block by block.
    """

    case: Case
    size: float | None
    before: ExecutionsOfSessions
    after: ExecutionsOfSessions
    past: EarlierSessions

    @property
    def about(self) -> Metric:
        """The metric's unit and direction."""
        return self.case.about

    @property
    def paired(self) -> bool:
        """Whether the sides were measured in turns."""
        return self.case.chosen.paired

    @cached_property
    def baseline(self) -> Sessions:
        """The baseline's medians."""
        return _values(self.before)

    @cached_property
    def target(self) -> Sessions:
        """The target's medians."""
        return _values(self.after)

    @cached_property
    def builds(self) -> tuple[BuildsOfSessions, BuildsOfSessions] | None:
        """The build of each execution; None where every session has one build a side."""
        sessions = (*self.before, *self.after)
        if not any(len({execution.place[0] for execution in session}) > 1 for session in sessions):
            return None
        return _builds(self.before), _builds(self.after)

    @property
    def executions(self) -> tuple[int, int]:
        """How many there are a side."""
        return sum(map(len, self.before)), sum(map(len, self.after))


def _values(side: ExecutionsOfSessions) -> Sessions:
    return tuple([tuple([execution.value for execution in session]) for session in side])


def _builds(side: ExecutionsOfSessions) -> BuildsOfSessions:
    return tuple([tuple([execution.place[0] for execution in session]) for session in side])


def _size_sets(sizes: Sizes) -> set[int]:
    """The numbers of the sets of sizes that medians over all sizes are of."""
    return {summary.sizes for summary in sizes.get(None, {}).values()} - {0}


def prepare(cases: Sequence[Case]) -> None:
    """Read the profiles of these cases in one go."""
    for rows in {id(case.rows): case.rows for case in cases}.values():
        sides = [side for case in cases if case.rows is rows for side in case.chosen.sides]
        rows.prepare([measured for side in sides for measured in side])


def decided_change(
    header: Header,
    uid: str,
    size: float | None,
    metric: str,
    word: Word,
    reason: str = "",
    series: str = "",
) -> Change:
    """A change that needed no judging."""
    meaning = header.metrics[metric]
    return Change(
        word=word,
        job=header.job.label,
        uid=uid,
        metric=metric,
        unit=meaning.unit,
        better=meaning.better,
        series=series or header.job.key,
        environment=header.environment.fingerprint,
        size=size,
        reason=reason,
        method="",
    )


def _blocks(
    before: Mapping[int, Summary], after: Mapping[int, Summary]
) -> tuple[ExecutionsOfSessions, ExecutionsOfSessions]:
    """The executions that both sides have, session by session; empty sessions are left out."""
    sides: tuple[list[tuple[CaseExecution, ...]], list[tuple[CaseExecution, ...]]] = [], []
    for profile, summary_before in before.items():
        if (summary_after := after.get(profile)) is not None:
            single = max(len(set(summary_before.binaries)), len(set(summary_after.binaries))) <= 1
            ours, theirs = (
                _numbered(profile, summary, single=single)
                for summary in (summary_before, summary_after)
            )
            both = [key for key in ours if key in theirs]
            if both:
                for side, by_key in zip(sides, (ours, theirs), strict=True):
                    side.append(tuple([by_key[key] for key in both]))
    return tuple(sides[0]), tuple(sides[1])


def _numbered(profile: int, summary: Summary, *, single: bool) -> dict[Place | int, CaseExecution]:
    """What is finite by build and execution; by execution alone where each side has a ``single``
    build, whatever its number.
    """
    keys: Sequence[Place | int] = summary.executions if single else summary.places
    rows = zip(keys, summary.places, summary.medians, strict=True)
    return {
        key: CaseExecution(profile, place, value) for key, place, value in rows if isfinite(value)
    }


def _apart(
    before: Mapping[int, Summary], after: Mapping[int, Summary]
) -> tuple[ExecutionsOfSessions, ExecutionsOfSessions]:
    first, second = (_finite(summaries) for summaries in (before, after))
    return first, second


def _finite(summaries: Mapping[int, Summary]) -> ExecutionsOfSessions:
    sessions: Sequence[tuple[CaseExecution, ...]] = [
        tuple(
            CaseExecution(profile, place, value)
            for place, value in zip(summary.places, summary.medians, strict=True)
            if isfinite(value)
        )
        for profile, summary in summaries.items()
    ]
    return tuple(session for session in sessions if session)
