"""The page of what `perf blame` found: the diff, the suspects, and both flame graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perfvcs.collectors._shared.frames import INLINED
from perfvcs.locate.blame.cause import Blame, Node
from perfvcs.locate.blame.kinds import OTHER
from perfvcs.locate.sources.outline import plain, unit
from perfvcs.reports.blame import lines
from perfvcs.text.characters import fitted
from perfvcs.text.quantity import micro_sign, percent, quantity

NARROWEST = 0.15  # percent of the width; what is narrower is left out
MOST_ROWS = 60  # of a flame graph: calls inside each other
FULL_COLOUR = 0.5  # the relative difference from which on a colour is at its strongest
GREY = (226, 229, 233)
EVEN = "#e2e5e9"  # of a call path that costs as much as before
ROW_HEIGHT = 16  # units of a flame graph's height


@dataclass(frozen=True)
class Rectangle:
    """One call path: ``left`` and ``width`` in percent, its ``row`` from the top, what it says, and
    its colour's share of red and blue.
    """

    left: float
    width: float
    row: int
    name: str
    title: str
    colour: str
    blamed: bool


def rectangles(tree: Sequence[Node], *, side: int, blamed: str) -> list[Rectangle]:
    """The rectangles of one side, 0 or 1, in the scale of the larger one; ``blamed`` is the
    function that is marked.
    """
    if not tree:
        return []
    values = [(node.a, node.b)[side] for node in tree]
    scale = 100 / (max(tree[0].a, tree[0].b) or 1.0)
    below: dict[int, list[int]] = {}
    for number, node in enumerate(tree):
        if number:
            below.setdefault(node.parent, []).append(number)
    boxes: list[Rectangle] = []
    waiting = [(0, 0.0, 0)]
    while waiting:
        number, left, row = waiting.pop()
        node, width = tree[number], values[number] * scale
        if width < NARROWEST or row > MOST_ROWS:
            continue
        name = node.name.rpartition(" (")[0] or node.name
        function = unit(node.name)[0]
        boxes.append(
            Rectangle(
                left=left,
                width=width,
                row=row,
                name=name,
                title=_title(node),
                colour=_colour(node),
                blamed=blamed in (function, plain(function)),
            )
        )
        for child in sorted(below.get(number, ()), key=lambda place: tree[place].name):
            waiting.append((child, left, row + 1))
            left += values[child] * scale
    return boxes


def _title(node: Node) -> str:
    change = percent(node.b / node.a - 1) if node.a else "new"
    often = (
        "" if INLINED in node.name else f", called {node.calls_a:,.0f} -> {node.calls_b:,.0f} times"
    )
    return f"{node.name}: {node.a:,.6g} -> {node.b:,.6g} ({change}){often}"


def _colour(node: Node) -> str:
    """Orange for what costs more, blue for what costs less, grey for the same."""
    larger = max(node.a, node.b) or 1.0
    strength = min(1.0, abs(node.b - node.a) / larger / FULL_COLOUR)
    base, full = GREY, (230, 159, 0) if node.b > node.a else (86, 180, 233)
    return "#" + "".join(
        f"{round(x + (y - x) * strength):02x}" for x, y in zip(base, full, strict=True)
    )


@dataclass(frozen=True)
class ProofBar:
    """A version and its level: ``width`` and its interval ``start`` to ``end`` (None: none known)
    in percent of the room.
    """

    name: str
    kind: str
    text: str
    width: float
    start: float
    end: float | None


def proof(blame: Blame) -> list[ProofBar]:
    """The levels of the old version, the new one, and the new one without the change that is
    proved; empty without a proof.
    """
    trial = blame.proved
    if trial is None or trial.level is None or min(blame.a, blame.b) <= 0:
        return []
    apart = blame.b - blame.a
    without = f"{blame.target[:10]} without the change of {trial.name}"
    if trial is blame.dependencies:
        without = f"{blame.baseline[:10]} with {trial.path}"
    removed = None
    if trial.low is not None and trial.high is not None:
        removed = blame.b - trial.low * apart, blame.b - trial.high * apart
    moved = blame.a * (1 + blame.low), blame.a * (1 + blame.high)
    levels = [
        (blame.baseline[:10], "", blame.a, None),
        (without, "", trial.level, _interval_ends(removed)),
        (blame.target[:10], "target", blame.b, _interval_ends(moved)),
    ]
    room = 1.02 * max(max((level, *(ends or ()))) for *_, level, ends in levels)
    return [
        ProofBar(
            name,
            kind,
            quantity(level, blame.scale).strip(),
            _percent(level, room),
            _percent(ends[0], room) if ends else 0.0,
            _percent(ends[1], room) if ends else None,
        )
        for name, kind, level, ends in levels
    ]


def _interval_ends(ends: tuple[float, float] | None) -> tuple[float, float] | None:
    """The ends in ascending order; None where they are unknown or there is no width."""
    if ends is None or not all(map(isfinite, ends)) or ends[0] == ends[1]:
        return None
    return min(ends), max(ends)


def _percent(level: float, room: float) -> float:
    return round(min(100.0, max(0.0, 100 * level / room)), 2)


@micro_sign()
def page(blame: Blame) -> str:
    """The page as one HTML document without scripts; nothing in it comes from another place."""
    from perfvcs.reports.export import render

    cause = blame.cause
    flames = []
    for side, name in enumerate((blame.baseline, blame.target)):
        boxes = rectangles(blame.tree, side=side, blamed=cause.name if cause else "")
        if boxes and any(box.colour != EVEN for box in boxes):
            flames.append((name[:10], ROW_HEIGHT * (max(box.row for box in boxes) + 1), boxes))
    return render(
        "blame.html",
        title=f"{blame.benchmark}: {blame.baseline[:10]} -> {blame.target[:10]}",
        said="\n".join(lines(blame)),
        cause=cause,
        suspects=blame.suspects,
        trials=blame.tried,
        proof=proof(blame),
        dependencies=blame.dependencies,
        flames=flames,
        measure=blame.measure,
        other=OTHER,
        cut=fitted,
        baseline=blame.baseline[:10],
        share=lambda value: percent(value) if value else "",
        level=lambda value: quantity(value, blame.scale).strip(),
    )
