"""What a history shows beside its values, for every renderer: the levels of a series and what leads
from one to the next.

Commits are 0, 1, ... along the axis; their edges are half a commit to the left and to the right.
Pages draw outlines with bokeh, terminals with characters, and the scripts of a site with SVG, out
of the JSON of the same structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from perfvcs.check.subject import Series, Step


class LevelLine(msgspec.Struct, frozen=True):
    """A level between the edges ``left`` and ``right``, in the metric's unit; ``low``..``high`` is
    its 99 % interval, None if unknown.
    """

    left: float
    right: float
    level: float
    low: float | None = None
    high: float | None = None


class Rise(msgspec.Struct, frozen=True, kw_only=True):
    """What leads from the level ``before``, which ends at the edge ``left``, to the level
    ``after``, which begins at the edge ``right``.

    The edges of a step are one, at the left of its commit; a drift goes over several commits.
    ``look`` chooses colour and sign: degradation, improvement, drift or accepted.
    """

    look: str
    left: float
    right: float
    before: float
    after: float


@dataclass(frozen=True)
class Outline:
    """The levels of one series and its changes, each with what it says, as far as their commits are
    drawn; oldest first.
    """

    levels: list[LevelLine]
    rises: list[tuple[Step, Rise]]


def appearance(direction: str, *, drift: bool, accepted: bool) -> str:
    """How a change is drawn: an accepted one is no longer coloured by its direction."""
    return "accepted" if accepted else "drift" if drift else direction


def edges(commit: int, since: float | None) -> dict[str, float]:
    """The edges of a change at a commit; the level before a drift ends ``since`` an earlier one."""
    right = commit - 0.5
    return {"left": right if since is None else min(since, right), "right": right}


def between(rises: Iterable[Rise], first: int, last: int) -> list[LevelLine]:
    """The levels around changes (oldest first) of a series from its ``first`` commit to its
    ``last``; none without changes.
    """
    return [
        line for line in _between(list(rises), first - 0.5, last + 0.5) if line.left < line.right
    ]


def _between(rises: list[Rise], start: float, end: float) -> Iterator[LevelLine]:
    for turn, rise in enumerate(rises):
        yield LevelLine(
            rises[turn - 1].right if turn else start,
            rise.left,
            rise.before if not turn else rises[turn - 1].after,
        )
    if rises:
        yield LevelLine(rises[-1].right, end, rises[-1].after)


def outline(series: Series, place: Mapping[str, int]) -> Outline:
    """The outline of a series on the commits of ``place``; what lies in a drift has no level."""
    levels = [
        LevelLine(
            place.get(level.first, 0) - 0.5,
            place[level.last] + 0.5,
            level.centre,
            level.low,
            level.high,
        )
        for level in series.levels
        if level.last in place
    ]
    return Outline(
        levels,
        [
            (step, _rise(step, place[step.commit], levels))
            for step in series.steps
            if step.commit in place
        ],
    )


def _rise(step: Step, commit: int, levels: Iterable[LevelLine]) -> Rise:
    ends = [line.right for line in levels if line.right < commit] if step.word == "drift" else []
    seen = appearance(
        step.direction, drift=step.word == "drift", accepted=step.accepted is not None
    )
    return Rise(
        look=seen, before=step.before, after=step.after, **edges(commit, ends[-1] if ends else None)
    )
