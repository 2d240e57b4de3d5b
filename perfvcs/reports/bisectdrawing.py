"""The figure of a bisection: the measured level of each commit and, below it, the probability that
it made the change, on one axis of commits that are named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from perfvcs.text.quantity import quantity

if TYPE_CHECKING:
    from perfvcs.locate.bisect.bisection import Bisection

FEWEST = 6  # commits: of fewer the table says all
MOST_BARS = 1000  # that can be told apart
LEFT, RIGHT = 150.0, 990.0  # of the drawing, in its own units
LEVELS = 24.0, 190.0  # from top to bottom
BELIEF = 222.0, 300.0
LOWEST, HIGHEST = -0.25, 1.25  # levels that are drawn
NAMED = 26  # commits whose names have room below the axis


class Bar(NamedTuple):
    """The probability of a commit."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    title: str


class CommitLevel(NamedTuple):
    """The measured level of a commit with its interval."""

    x: float
    y: float
    low: float
    high: float
    kind: str
    title: str


class Tick(NamedTuple):
    """A name on an axis: ``at`` is along it, ``kind`` is that of a bar, or empty."""

    at: float
    name: str
    kind: str = ""


class BisectionChart(NamedTuple):
    """All of the figure; the two value axes have ``levels`` and ``chances``, the axis of commits
    ``commits``.
    """

    bars: list[Bar]
    points: list[CommitLevel]
    levels: list[Tick]
    chances: list[Tick]
    commits: list[Tick]
    left: float = LEFT
    right: float = RIGHT
    bottom: float = BELIEF[1]


def drawn(bisection: Bisection) -> BisectionChart | None:
    """The figure of a bisection that measured; None of so few commits that the table says all."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    if belief is None or bisection.span.last < FEWEST:
        return None
    return BisectionChart(
        _bars(bisection),
        _points(bisection),
        [Tick(_height(share), _value(bisection, share)) for share in (0.0, 1.0)],
        [Tick(_chance(share), f"{100 * share:.0f} %") for share in (0.0, 1.0)],
        _commits(bisection),
    )


def _place(bisection: Bisection, number: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * (number + 0.5) / (bisection.span.last + 1), 2)


def _height(level: float) -> float:
    top, bottom = LEVELS
    share = (min(max(level, LOWEST), HIGHEST) - LOWEST) / (HIGHEST - LOWEST)
    return round(bottom - (bottom - top) * share, 2)


def _chance(probability: float) -> float:
    top, bottom = BELIEF
    return round(bottom - (bottom - top) * probability, 2)


def _value(bisection: Bisection, share: float) -> str:
    """The level of an end, in the metric's unit where it was measured."""
    name, place = ("bad", bisection.span.last) if share else ("good", 0)
    value = bisection.outcome.values.get(place) if bisection.outcome else None
    if value is None or bisection.target is None:
        return name
    return f"{name}, {quantity(value, bisection.target.unit)}"


def _kind(bisection: Bisection, place: int) -> str:
    named = bisection.outcome is not None and place in bisection.outcome.decision.named
    return "certain" if named else "likely"


def _bars(bisection: Bisection) -> list[Bar]:
    """A bar for each commit, of many those that have any height."""
    assert bisection.outcome is not None
    belief = bisection.outcome.decision.belief
    assert belief is not None
    width = round(max(1.0, 0.8 * (RIGHT - LEFT) / (bisection.span.last + 1)), 2)
    ranked = sorted(range(1, bisection.span.last + 1), key=lambda place: -belief.jump[place - 1])
    bars = []
    for place in sorted(ranked[:MOST_BARS]):
        chance = float(belief.jump[place - 1])
        title = f"{bisection.span.commits[place][:10]}: {100 * chance:.1f} %"
        x, top = _place(bisection, place) - width / 2, _chance(chance)
        height = round(BELIEF[1] - top, 2)
        bars.append(Bar(round(x, 2), top, width, height, _kind(bisection, place), title))
    return bars


def _points(bisection: Bisection) -> list[CommitLevel]:
    """A point for each end and each commit that was measured."""
    return [
        CommitLevel(
            _place(bisection, place),
            _height(level),
            _height(level - 2 * error),
            _height(level + 2 * error),
            "good" if level < 0.5 else "bad",
            f"{bisection.span.commits[place][:10]}: {100 * level:.0f} % of the difference",
        )
        for place, (level, error) in sorted(measured(bisection).items())
    ]


def measured(bisection: Bisection) -> dict[int, tuple[float, float]]:
    """The share of the difference that each end and each measured commit has, with its error."""
    belief = bisection.outcome.decision.belief if bisection.outcome else None
    if belief is None:
        return {}
    return _means(bisection) | {0: (0.0, 0.0), **belief.levels, bisection.span.last: (1.0, 0.0)}


def _means(bisection: Bisection) -> dict[int, tuple[float, float]]:
    """The shares of commits that were only measured beside a neighbour: of their means, so that
    their errors are unknown.
    """
    values = bisection.outcome.values if bisection.outcome else {}
    good, bad = values.get(0), values.get(bisection.span.last)
    if good is None or bad is None or good == bad:
        return {}
    return {
        place: ((value - good) / (bad - good), 0.0)
        for place, value in values.items()
        if value is not None
    }


def _commits(bisection: Bisection) -> list[Tick]:
    """The names of commits: of all if they have room, else of the ends and of those that are
    named, and of others between.
    """
    last = bisection.span.last
    every = max(1, -(-(last + 1) // NAMED))
    places = {0, last, *(bisection.outcome.decision.named if bisection.outcome else ())}
    for place in range(0, last + 1, every):
        if all(abs(place - other) >= every for other in places):
            places.add(place)
    kinds = {place: _kind(bisection, place) for place in places}
    return [
        Tick(_place(bisection, place), bisection.span.commits[place][:10], kinds[place])
        for place in sorted(places)
    ]
