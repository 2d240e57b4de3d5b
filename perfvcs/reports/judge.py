"""What `perf judge` prints: a sentence, what it rests on, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.check.vocabulary import WORDS
from perfvcs.judge.guardcheck import said_by
from perfvcs.text.characters import shorten
from perfvcs.text.document import json_text
from perfvcs.text.quantity import change as effect_text
from perfvcs.text.quantity import duration, share
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from perfvcs.judge.ruling import Compared, Ruling
    from perfvcs.judge.tournament import Standings

LONGEST_LINE = 400  # characters
MOST_OTHERS = 2  # comparisons that are named beside the one that decides


def lines(ruling: Ruling) -> list[str]:
    """The ruling in at most twelve lines."""
    return [shorten(line, LONGEST_LINE) for line in _lines(ruling)]


def json(ruling: Ruling | Standings) -> str:
    """The ruling, or the standings of a tournament, as JSON, see docs/judge.md."""
    return json_text(ruling)


def standing_lines(standings: Standings) -> list[str]:
    """The standings of a tournament, a line for each candidate."""
    seats = [place.place for place in standings.places]
    found = [f"{len(seats)} candidates against {standings.base}, expected {standings.expectation}"]
    for place in standings.places:
        ruling, seat = place.ruling, "-" if place.place is None else f"{place.place}."
        tie = ", a tie" if place.place is not None and seats.count(place.place) > 1 else ""
        found.append(f"{seat:>3} {ruling.target}{tie}: {ruling.verdict}: {_reason(ruling)}")
    cost = standings.cost
    blocks = f", {counted(cost.pairs, 'block')}" if cost.pairs else ""
    found.append(f"  cost: {duration(cost.seconds)} of {duration(cost.budget)}{blocks}")
    return [shorten(line, LONGEST_LINE) for line in found]


def _lines(ruling: Ruling) -> Iterator[str]:
    yield f"{ruling.verdict}: {_sentence(ruling)}"
    if others := _others(ruling):
        yield f"  also: {others}"
    for warning in said_by(ruling.guard, "warning"):
        yield f"  warning: {warning}"
    if ruling.trust is not None:
        yield f"  trust: {_trust(ruling)}"
    yield f"  cost: {_cost(ruling)}"
    for command in ruling.next[:1]:
        yield f"Next: {command}"


def _sentence(ruling: Ruling) -> str:
    about = f"{ruling.target} against {ruling.base}, expected {ruling.expectation}"
    return f"{about}: {_reason(ruling)}"


def _reason(ruling: Ruling) -> str:
    """Why, with the comparison that decides, unless the guard does."""
    deciding = ruling.decided_by
    is_guards = ruling.why == "; ".join(said_by(ruling.guard, "doubted"))
    if is_guards or ruling.verdict in ("rejected", "failed") or deciding is None:
        return ruling.why
    return f"{deciding.benchmark} {ruling.why}: {_numbers(deciding)}"


def _numbers(compared: Compared) -> str:
    effect = (
        "" if compared.effect is None else effect_text(compared.effect, compared.low, compared.high)
    )
    return f"{metric_name(compared.metric)} {effect}".rstrip()


def _others(ruling: Ruling) -> str:
    """What else moved, or why a rejected gain was no gain."""
    deciding = ruling.decided_by
    shown = [] if ruling.verdict != "rejected" or deciding is None else [deciding]
    shown += [
        compared
        for compared in ruling.comparisons
        if compared != deciding and WORDS[compared.word].moved
    ]
    named = [f"{compared.benchmark} {_numbers(compared)}" for compared in shown[:MOST_OTHERS]]
    more = len(shown) - len(named)
    return "; ".join(named) + (f"; {more:,} more" if more > 0 else "")


def _trust(ruling: Ruling) -> str:
    trusted = ruling.trust
    assert trusted is not None
    parts = []
    if trusted.effect is not None:
        parts.append(
            f"the base against itself {effect_text(trusted.effect, trusted.low, trusted.high)}"
        )
    if trusted.smallest is not None:
        parts.append(f"a change of {share(trusted.smallest)} would have been found")
    if trusted.load is not None:
        parts.append(f"load {trusted.load:.1f}")
    return ", ".join(parts) or "too few executions to say"


def _cost(ruling: Ruling) -> str:
    cost = ruling.cost
    pairs = f", {counted(cost.pairs, 'pair')}" if cost.pairs else ""
    return f"{duration(cost.seconds)} of {duration(cost.budget)}{pairs}"
