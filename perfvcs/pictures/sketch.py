"""What a history shows beside its values, for every renderer: the levels of a series and what leads
from one to the next, with its mark and its words.

Commits are 0, 1, ... along the axis; their edges are half a commit to the left and to the right.
Pages draw outlines with bokeh, terminals with characters, and the scripts of a site with SVG, out
of the JSON of the same structs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.check.vocabulary import WORDS
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change
from perfvcs.text.quantity import step as levels

if TYPE_CHECKING:
    from perfvcs.check.subject import Series, Step

REASON_CHARACTERS = 300


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
    ``name`` is what it is called, such as ``lasting degradation``; ``look`` chooses colour and
    sign: degradation, improvement, drift or accepted. The mark stands
    at the place ``x`` and the value ``y``, on the level after a step and in the middle of a drift,
    with the effect ``label`` beside it; ``text`` says the change in a sentence. It may as well be
    at any commit between the edges ``first`` and ``last``.
    """

    name: str
    look: str
    left: float
    right: float
    before: float
    after: float
    label: str
    text: str
    x: float
    y: float
    first: float
    last: float


@dataclass(frozen=True)
class Outline:
    """The levels of one series and its changes, each with what it says, as far as their commits are
    drawn; oldest first.
    """

    levels: list[LevelLine]
    rises: list[tuple[Step, Rise]]


def appearance(direction: str, *, drift: bool, accepted: bool) -> str:
    """How a change is drawn: an accepted one is no longer coloured by its direction."""
    if accepted:
        return "accepted"
    return "drift" if drift else direction


def edges(commit: int, since: float | None) -> dict[str, float]:
    """The edges of a change at a commit; the level before a drift ends ``since`` an earlier one."""
    right = commit - 0.5
    return {"left": right if since is None else min(since, right), "right": right}


def named(step: Step) -> str:
    """``lasting degradation``, ``accepted degradation``, ``drift``."""
    if step.accepted is not None:
        return f"accepted {'drift' if step.word == 'drift' else step.direction}"
    return "drift" if step.word == "drift" else f"lasting {step.direction}"


def moved(step: Step, unit: str) -> str:
    """The levels before and after."""
    return (step.levels or levels(step.before, step.after, unit)).replace("->", "→")


def where(step: Step) -> str:
    """Which commits it may be."""
    if step.commits == 1:
        return "exactly here"
    return (
        f"{'over' if step.word == 'drift' else 'one of'} {step.commits:,} commits"
        f" {step.first[:10]}..{step.last[:10]}"
    )


def sentence(step: Step, unit: str, status: str = "") -> str:
    """``lasting degradation +12 % [+11, +13]: 12.9 ms → 14.5 ms; one of 3 commits ab..cd``, what
    the project says of it (``accepted: why``), and what contradicts it.
    """
    status = status or (f"accepted: {step.accepted}" if step.accepted else "")
    parts = [
        f"{named(step)} {change(step.effect, step.low, step.high)}: {moved(step, unit)}",
        where(step) if step.commits > 1 else "",
        shorten(status, REASON_CHARACTERS),
        step.contradiction and f"contradicted: {step.contradiction}",
    ]
    return "; ".join(filter(None, parts))


def drawn(
    step: Step,
    unit: str,
    commit: int,
    *,
    since: float | None = None,
    among: tuple[float, float] | None = None,
    status: str = "",
) -> dict[str, Any]:
    """The fields of the ``Rise`` of a step, in ``unit``, on a commit's place.

    The level before a drift ends at the edge ``since``. ``among`` are the first and the last of the
    places where it may be, ``status`` as in ``sentence``.
    """
    drift = step.word == "drift"
    sides = edges(commit, since if drift else None)
    accepted = step.accepted is not None
    first, last = among or (commit, commit)
    sign = f"{WORDS['accepted'].sign} " if accepted else ""
    return {
        "name": named(step),
        "look": appearance(step.direction, drift=drift, accepted=accepted),
        **sides,
        "before": step.before,
        "after": step.after,
        "label": sign + change(step.effect, None, None),
        "text": sentence(step, unit, status),
        "x": (sides["left"] + sides["right"]) / 2,
        "y": (step.before + step.after) / 2 if drift else step.after,
        "first": first - 0.5,
        "last": last + 0.5,
    }


def between(rises: Iterable[Rise], first: int, last: int) -> list[LevelLine]:
    """The levels around changes (oldest first) of a series from its ``first`` commit to its
    ``last``; none without changes.
    """
    return [
        line for line in _between(list(rises), first - 0.5, last + 0.5) if line.left < line.right
    ]


def _between(rises: list[Rise], start: float, end: float) -> Iterator[LevelLine]:
    if not rises:
        return
    yield LevelLine(start, rises[0].left, rises[0].before)
    for earlier, rise in pairwise(rises):
        yield LevelLine(earlier.right, rise.left, earlier.after)
    yield LevelLine(rises[-1].right, end, rises[-1].after)


def outline(series: Series, place: Mapping[str, int]) -> Outline:
    """The outline of a series on the commits of ``place``; what lies in a drift has no level."""
    lines = [
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
        lines,
        [
            (step, _rise(step, series.unit, place, lines))
            for step in series.steps
            if step.commit in place
        ],
    )


def _rise(step: Step, unit: str, place: Mapping[str, int], lines: Iterable[LevelLine]) -> Rise:
    commit = place[step.commit]
    ends = [line.right for line in lines if line.right < commit]
    among = place.get(step.first, commit), place.get(step.last, commit)
    return Rise(**drawn(step, unit, commit, since=ends[-1] if ends else None, among=among))
