"""A bound on the time of a session, how it is spent until every job is decided, and which series
its cells continue.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil, inf
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from perfvcs.errors import UsageError
from perfvcs.measure.sites import Sites
from perfvcs.plan.expected import Estimate
from perfvcs.plan.needs import needs
from perfvcs.profile import Job
from perfvcs.statistics.multiplicity import USUAL_PAIRS
from perfvcs.text.quantity import duration

if TYPE_CHECKING:
    from perfvcs.jobs.cell import Cell
    from perfvcs.measure.session import Session


FEWEST = 5  # executions that a verdict needs
SHORTEST_TURN = 1e-3  # seconds of a turn
WORTH_SAYING = 20.0  # seconds
RECENT = 0.5  # weight of the newest turn in what the next one is expected to take


class Changed(UsageError):
    """An interrupted session would go on to measure something else than it has measured."""


class CellSeries:
    """The series of cells on versions, by their numbers: the key of the job and the fingerprint of
    the environment.

    ``before`` has those of the blocks from before the session was continued.
    """

    def __init__(self, sites: Sites, names: Sequence[str], session: str) -> None:
        self.sites, self.names, self.session = sites, names, session
        self.before: Mapping[tuple[int, int], tuple[str, str]] = {}
        self._known: dict[tuple[int, int, str], tuple[str, str]] = {}

    def job(self, number: int, position: int, engine: str) -> Job:
        """What identifies the series; ``engine``: the one used, if known only afterwards."""
        job = self.sites.job(number, position)
        return structs.replace(job, engine=engine or job.engine)

    def of(self, number: int, position: int, engine: str) -> tuple[str, str]:
        """The series now; raises Changed where it was another one before."""
        place = number, position, engine
        if place not in self._known:
            series = (
                self.job(number, position, engine).key,
                self.sites.environment(number, position).fingerprint,
            )
            before = self.before.get((number, position), series)
            if before != series:
                is_job = before[0] != series[0]
                what = "its files, options or engine" if is_job else "the machine or its software"
                raise Changed(
                    f"{self.names[number]} on {self.sites.versions[position].name}: {what} changed"
                    " since the session was interrupted: undo that, or give it up with `perf rm"
                    f" {self.session}` (its profiles stay) and measure anew"
                )
            self._known[place] = series
        return self._known[place]


class TurnTimes(msgspec.Struct):
    """The seconds that a turn of each job takes, by number: first ``expected``, then measured."""

    expected: Mapping[int, float | None]
    seen: dict[int, float] = msgspec.field(default_factory=dict)

    def note(self, number: int, seconds: float) -> None:
        """Notes how long a turn of a job took."""
        before = self.seen.get(number, seconds)
        self.seen[number] = before + RECENT * (seconds - before)

    def of(self, number: int) -> float | None:
        """What the next turn of a job will take; None where that is not known."""
        return self.seen.get(number, self.expected.get(number))

    def total(self, turns: Mapping[int, int]) -> float | None:
        """The time for so many turns of each job; None if that is not known for one of them."""
        total = 0.0
        for number, count in turns.items():
            seconds = self.of(number)
            if count and seconds is None:
                return None
            total += (seconds or 0.0) * count
        return total


class Budget(msgspec.Struct, frozen=True):
    """A deadline: ``seconds`` after ``began``, on the monotonic clock."""

    seconds: float
    began: float = msgspec.field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """The seconds that are left; never below 0."""
        return max(0.0, self.began + self.seconds - time.monotonic())

    def allows(self, seconds: float | None) -> bool:
        """Whether something that takes so long fits; what is not known may always begin."""
        return self.left > (seconds or 0.0)


def run(session: Session, most: Mapping[int, int]) -> None:
    """Run at most so many blocks of each job; says how long that takes, as soon as it is known."""
    session.begin(most)
    is_said = _say(session, session.turns_ahead(most), "by what is stored")
    session.warm_up(most)
    if session.executor.width > 1:
        session.run(most)
        return
    session.run(dict.fromkeys(most, 1))
    rest = {number: count - 1 for number, count in most.items()}
    if not is_said:
        _say(
            session,
            {number: count for number, count in rest.items() if session.count(number)},
            "by the first block",
        )
    if session.budget is None:
        session.run(rest)
    else:
        spend(session, most)


def _say(session: Session, turns: Mapping[int, int], source: str) -> bool:
    """Say how long so many turns take, if known; returns whether it was."""
    seconds = session.pace.total(turns)
    if seconds is None:
        return False
    budget = f"; the budget has {duration(session.budget.left)}" if session.budget else ""
    short = session.budget is not None and not session.budget.allows(seconds)
    if seconds >= (1 if short else WORTH_SAYING):
        session.progress.say(f"this takes {Estimate(seconds, seconds)} ({source}){budget}")
    return True


def _never(number: int) -> bool:  # noqa: ARG001
    return False


def spend(
    session: Session, most: Mapping[int, int], is_decided: Callable[[int], bool] = _never
) -> None:
    """Run at most so many blocks of each job, as far as the session's budget allows; each has had
    one, which shows what it costs.

    A job that ``is_decided`` after the blocks that a verdict needs gets no more.

    The jobs with the most units for their time get the blocks that a verdict needs, as many of them
    as fit; the rest goes, block by block, to the job whose next units are settled in the least
    time, in the end to those with the fewest.
    """
    for number in _by_units(session, most):
        fewest = min(_fewest(session.cells[number]), most[number])
        for _ in range(fewest - session.count(number)):
            if not _whole(session, number, fewest) or not session.more(number):
                break
    open_for: dict[int, list[int]] = {}
    while (chosen := _best(session, most, open_for)) is not None:
        if is_decided(chosen) or not session.more(chosen):
            most = {other: count for other, count in most.items() if other != chosen}
        open_for.pop(chosen, None)


def _fewest(cell: Cell) -> int:
    """The executions that a verdict needs: of what repeats exactly, those that were asked for."""
    return min(cell.executions, FEWEST) if cell.exact else FEWEST


def _by_units(session: Session, most: Mapping[int, int]) -> list[int]:
    """The jobs that gave something, those with the most units per second first."""

    def units_per_second(number: int) -> float:
        return session.units(number) / max(session.pace.of(number) or 0.0, SHORTEST_TURN)

    measured = [number for number in most if session.count(number)]
    return sorted(measured, key=units_per_second, reverse=True)


def _whole(session: Session, number: int, count: int) -> bool:
    """Whether all blocks up to ``count`` fit: some of them settle nothing."""
    seconds = session.pace.of(number) or 0.0
    return session.budget is None or session.budget.allows(
        seconds * (count - session.count(number))
    )


def _best(session: Session, most: Mapping[int, int], open_for: dict[int, list[int]]) -> int | None:
    """The job to go on with; None where no block of any fits."""
    best: int | None = None
    rank = (-inf, -inf)
    for number, count in most.items():
        done, seconds = session.count(number), session.pace.of(number) or 0.0
        if not 0 < done < count or (
            session.budget is not None and not session.budget.allows(seconds)
        ):
            continue
        if number not in open_for:
            open_for[number] = sorted(needs(session.measured(number)))
        within = [wanted for wanted in open_for[number] if wanted <= count - done]
        rates = (
            (place + 1) / (max(1, wanted) * max(seconds, SHORTEST_TURN))
            for place, wanted in enumerate(within)
        )
        now = (max(rates, default=0.0), -done)
        if now > rank:
            best, rank = number, now
    return best


SOON = 45.0  # seconds that jobs which are looked at together take until their first look

Decision = Callable[[int], str | None]  # of a job by its number: its verdict, None while it is open


def settle_jobs(session: Session, looks: Sequence[int], decide: Decision) -> None:
    """Run as many blocks of each job as it takes until it is decided at one of the looks, and say
    what is decided while others are open.

    Each job has its first look before any has its second: those that repeat exactly come first,
    then those that take least time, in groups that take turns. Where several blocks run at a time,
    there is a look after as many. What repeats exactly has its first look after the executions that
    perf.toml asks for.
    """
    width = session.executor.width
    looks = [pairs for pairs in looks if pairs % width == 0 or pairs == looks[-1]]
    first = {
        number: min(looks[0], width * ceil(cell.executions / width)) if cell.exact else looks[0]
        for number, cell in enumerate(session.cells)
    }
    usual = {
        number: first[number] if cell.exact else max(first[number], min(USUAL_PAIRS, looks[-1]))
        for number, cell in enumerate(session.cells)
    }
    session.begin(usual)
    is_said = _say_range(session, usual, looks[-1], "by what is stored")
    done, pending = Counter[int](), set(first)

    def look(chosen: Sequence[int]) -> None:
        for number in chosen:
            if (verdict := decide(number)) is None:
                continue
            pending.discard(number)
            session.tally.decided(number)
            if pending and verdict:
                session.progress.say(f"decided: {verdict}")

    for group in _groups(session, first):
        session.warm_up(dict.fromkeys(group, 1))
        session.run({number: first[number] for number in group})
        done.update({number: first[number] for number in group})
        if not is_said:
            is_said = _say_range(session, usual, looks[-1], "by the first pairs")
        look(group)
        if session.tally.is_over():
            return
    for pairs in looks:
        more = {number: pairs - done[number] for number in pending if pairs > done[number]}
        if not more:
            continue
        # beyond what is usual, all pairs may be needed
        ends = {number: usual[number] if pairs <= usual[number] else looks[-1] for number in more}
        session.expect({number: end - done[number] for number, end in ends.items()})
        session.run(more)
        done.update(more)
        if pairs < looks[-1]:
            look(sorted(more))
        if not pending or session.tally.is_over():
            return


def _groups(session: Session, first: dict[int, int]) -> Iterator[list[int]]:
    """The jobs in groups with one time of the first look; new ones take what others took."""
    if session.executor.width > 1:
        yield list(first)
        return
    known = [seconds for number in first if (seconds := session.pace.of(number)) is not None]
    ahead = sorted(
        first, key=lambda number: (not session.cells[number].exact, session.pace.of(number) or 0.0)
    )
    while ahead:
        typical = sum(known) / len(known) if known else SOON
        group: list[int] = []
        spent = 0.0
        while ahead:
            seconds = session.pace.of(ahead[0])
            spent += (typical if seconds is None else seconds) * (first[ahead[0]] + 1)
            if group and spent > SOON:
                break
            group.append(ahead.pop(0))
        yield group
        known += [seconds for number in group if (seconds := session.pace.of(number)) is not None]


def _say_range(session: Session, usual: dict[int, int], most: int, source: str) -> bool:
    """Say how long this is expected to take, and at most, if known; returns whether it was."""
    expected = session.pace.total(session.turns_ahead(usual))
    longest = session.pace.total(session.turns_ahead(dict.fromkeys(usual, most)))
    if expected is None or longest is None:
        return False
    if longest >= WORTH_SAYING:
        session.progress.say(f"this takes {Estimate(expected, longest)} ({source})")
    return True
