"""A bound on the time of a session, how it is spent, and which series its cells continue."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from perfvcs.errors import UsageError
from perfvcs.measure.sites import Sites
from perfvcs.plan.expected import Estimate
from perfvcs.plan.needs import needs
from perfvcs.profile import Job
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
