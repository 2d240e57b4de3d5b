"""What a history shows beside its values, for every renderer: the levels of a series and what leads
from one to the next, with its mark and its words.

Commits are 0, 1, ... along the axis; their edges are half a commit to the left and to the right.
Pages draw outlines with bokeh, terminals with characters, and the scripts of a site with SVG, out
of the JSON of the same structs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from perfvcs.check.vocabulary import WORDS
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change
from perfvcs.text.quantity import step as levels

if TYPE_CHECKING:
    from perfvcs.check.subject import Level, Series, Step

REASON_CHARACTERS = 300
GAP = 10  # usual distances between two values, above which there is a gap between them
LEAST_GAP = 20  # commits, which are no gap
FEWEST_OF_BAND = 3  # commits of a level: the interval of fewer says little and fills the figure


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
    ``after``, which begins there, at ``right``.

    ``name`` is what it is called, such as ``lasting degradation``; ``look`` chooses colour and
    sign: degradation, improvement or accepted. The mark stands
    at the place ``x`` and the value ``y``, on the level after it,
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
    """The levels of one series and its changes with what they say, as drawn; oldest first."""

    levels: list[LevelLine]
    rises: list[tuple[Step, Rise]]


def appearance(direction: str, *, accepted: bool) -> str:
    """How a change is drawn: an accepted one is no longer coloured by its direction."""
    return "accepted" if accepted else direction


def named(step: Step) -> str:
    """``lasting degradation``, ``accepted degradation``."""
    return f"{'lasting' if step.accepted is None else 'accepted'} {step.direction}"


def moved(step: Step, unit: str) -> str:
    """The levels before and after."""
    return (step.levels or levels(step.before, step.after, unit)).replace("->", "→")


def where(step: Step) -> str:
    """Which commits it may be."""
    if step.commits == 1:
        return "exactly here"
    return f"one of {step.commits:,} commits {step.first[:10]}..{step.last[:10]}"


def sentence(step: Step, unit: str, status: str = "") -> str:
    """``lasting degradation +12 % [+11, +13]: 12.9 ms → 14.5 ms; one of 3 commits ab..cd``, what
    the project says of it (``accepted: why``), and what contradicts it.
    """
    status = status or (f"accepted: {step.accepted}" if step.accepted else step.standing)
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
    among: tuple[float, float] | None = None,
    status: str = "",
) -> dict[str, Any]:
    """The fields of the ``Rise`` of a step, in ``unit``, on a commit's place.

    ``among`` are the first and the last of the
    places where it may be, ``status`` as in ``sentence``.
    """
    edge = commit - 0.5
    accepted = step.accepted is not None
    first, last = among or (commit, commit)
    sign = f"{WORDS['accepted'].sign} " if accepted else ""
    return {
        "name": named(step),
        "look": appearance(step.direction, accepted=accepted),
        "left": edge,
        "right": edge,
        "before": step.before,
        "after": step.after,
        "label": sign + change(step.effect, None, None),
        "text": sentence(step, unit, status),
        "x": edge,
        "y": step.after,
        "first": first - 0.5,
        "last": last + 0.5,
    }


def between(rises: Iterable[Rise], first: int, last: int) -> list[LevelLine]:
    """The levels around changes (oldest first) from the ``first`` to the ``last`` commit."""
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


def breaks(places: Sequence[int]) -> list[int]:
    """The turns of those values, on ascending places, that follow a gap: no line leads to them.

    >>> breaks([0, 1, 2, 3, 40, 41])
    [4]
    """
    return _breaks(tuple(places))


@lru_cache(maxsize=64)  # the series of an environment have the same commits
def _breaks(places: tuple[int, ...]) -> list[int]:
    steps = [after - before for before, after in pairwise(places)]
    if not steps:
        return []
    least = max(LEAST_GAP, GAP * sorted(steps)[len(steps) // 2])
    return [turn for turn, step in enumerate(steps, start=1) if step > least]


def parted(lines: Iterable[LevelLine], places: Sequence[int]) -> list[LevelLine]:
    """Levels without what lies in the gaps between values on ascending ``places``."""
    gaps = [(places[turn - 1] + 0.5, places[turn] - 0.5) for turn in breaks(places)]
    return [part for line in lines for part in _parted(line, gaps)]


def _parted(line: LevelLine, gaps: Iterable[tuple[float, float]]) -> Iterator[LevelLine]:
    left = line.left
    for start, end in gaps:
        if left < start < line.right:
            yield msgspec.structs.replace(line, left=left, right=start)
        if line.left < end and start < line.right:
            left = max(left, end)
    if left < line.right:
        yield msgspec.structs.replace(line, left=left)


def outline(series: Series, place: Mapping[str, int]) -> Outline:
    """The outline of a series on the commits of ``place``."""
    places = [place[point.commit] for point in series.points if point.commit in place]
    lines = [
        _level(level, place.get(level.first, 0), place[level.last], places)
        for level in series.levels
        if level.last in place
    ]
    return Outline(
        parted(lines, places),
        [(step, _rise(step, series.unit, place)) for step in series.steps if step.commit in place],
    )


def _level(level: Level, first: int, last: int, places: Sequence[int]) -> LevelLine:
    """The line of a level, with its interval where enough commits have it."""
    count = bisect_right(places, last) - bisect_left(places, first)
    low, high = (level.low, level.high) if count >= FEWEST_OF_BAND else (None, None)
    return LevelLine(first - 0.5, last + 0.5, level.centre, low, high)


def _rise(step: Step, unit: str, place: Mapping[str, int]) -> Rise:
    commit = place[step.commit]
    among = place.get(step.first, commit), place.get(step.last, commit)
    return Rise(**drawn(step, unit, commit, among=among))
