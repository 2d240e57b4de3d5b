"""Measuring two versions until every job is decided: a first look at each as soon as possible, then
as many pairs as the open ones need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from math import ceil
from typing import TYPE_CHECKING

from perfvcs.plan.expected import USUAL_PAIRS, Estimate

if TYPE_CHECKING:
    from perfvcs.measure.session import Session

SOON = 45.0  # seconds that jobs which are looked at together take until their first look
WORTH_SAYING = 20.0  # seconds

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
    is_said = _say(session, usual, looks[-1], "by what is stored")
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
            is_said = _say(session, usual, looks[-1], "by the first pairs")
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


def _say(session: Session, usual: dict[int, int], most: int, source: str) -> bool:
    """Say how long this is expected to take, and at most, if known; returns whether it was."""
    expected = session.pace.total(session.turns_ahead(usual))
    longest = session.pace.total(session.turns_ahead(dict.fromkeys(usual, most)))
    if expected is None or longest is None:
        return False
    if longest >= WORTH_SAYING:
        session.progress.say(f"this takes {Estimate(expected, longest)} ({source})")
    return True
