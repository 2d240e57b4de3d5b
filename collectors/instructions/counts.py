"""Instructions that a program executed: by function and along calls, as the engines count them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from perfvcs.system.numeric import Floats, Integers, np


class Context(NamedTuple):
    """A function as an engine identifies it: ``level`` is 1 for its outermost activations, 2 for
    those inside one of itself.

    ``within`` names the functions that the compiler put it into, outermost first.
    """

    name: str
    image: str
    level: int = 1
    within: tuple[str, ...] = ()


@dataclass(frozen=True)
class Counts:
    """What one execution gave.

    ``exclusive`` (contexts,): the instructions of each context itself. An edge is all calls of one
    context by another: ``caller``, ``callee``, how many ``calls``, and the instructions until they
    returned, ``inclusive``. Calls inside a call of the same edge count in it again, so that edges
    between contexts of level 2 are too large. ``engine`` names the tool, ``warnings`` are lines for
    the user.
    """

    contexts: list[Context]
    exclusive: Floats
    caller: Integers
    callee: Integers
    calls: Floats
    inclusive: Floats
    warnings: list[str] = field(default_factory=list)

    @property
    def total(self) -> float:
        """All instructions."""
        return float(self.exclusive.sum())

    def divided(self, runs: int) -> Counts:
        """The mean of so many runs, of which these are the sums."""
        if runs <= 1:
            return self
        columns = {name: getattr(self, name) / runs for name in ("exclusive", "calls", "inclusive")}
        return replace(self, **columns)


def combine(parts: Iterable[Counts]) -> Counts:
    """The counts of all processes as one: the same function of the same program is one context."""
    numbers: dict[Context, int] = {}
    exclusive, edges, warnings = [], [], []
    for part in parts:
        place = np.array(
            [numbers.setdefault(context, len(numbers)) for context in part.contexts], np.int64
        )
        exclusive.append((place, part.exclusive))
        edges.append((place[part.caller], place[part.callee], part.calls, part.inclusive))
        warnings += part.warnings
    places, values = (np.concatenate(column) for column in zip(*exclusive, strict=True))
    sums_of_contexts = sums(places, values, len(numbers))
    caller, callee, calls, inclusive = (
        np.concatenate(column) for column in zip(*edges, strict=True)
    )
    return Counts(
        list(numbers),
        sums_of_contexts,
        *joined(CallEdges(caller, callee, calls, inclusive), len(numbers)),
        warnings,
    )


class CallEdges(NamedTuple):
    """Calls between two contexts each, as columns of shape (edges,): who called whom, how often,
    and what that cost with all callees.
    """

    caller: Integers
    callee: Integers
    calls: Floats
    inclusive: Floats


def joined(edges: CallEdges, contexts: int) -> CallEdges:
    """One edge for all between the same two contexts."""
    pairs, which = np.unique(edges.caller * contexts + edges.callee, return_inverse=True)
    which, width = which.ravel(), max(1, contexts)
    calls, inclusive = (
        sums(which, column, len(pairs)) for column in (edges.calls, edges.inclusive)
    )
    return CallEdges(pairs // width, pairs % width, calls, inclusive)


def sums(index: Integers, values: Floats, places: int) -> Floats:
    """The sum of the values at each of so many places."""
    return np.bincount(index, values, places).astype(np.float64)
