"""Levels, steps and drifts of a series in words, and how they look."""

from __future__ import annotations

from perfvcs.drawing.canvas import BLUE, SEEN, MarkStyle
from perfvcs.drawing.commits.chart import Chart
from perfvcs.drawing.commits.outline import LevelLine, appearance
from perfvcs.subject import Series, Step
from perfvcs.text.quantity import quantity
from perfvcs.text.quantity import step as levels
from perfvcs.text.words import counted

# drawn large and in their own colour; the others in their environment's
MARKED_VERDICTS = ("degradation", "improvement", "suspected", "accepted")
UNJUDGED = MarkStyle(BLUE, "square", "□", filled=False)


def changes_in_words(chart: Chart) -> list[str]:
    """In words, how many lasting changes there are among the commits that are drawn; nothing if no series was looked at."""
    if not any(series.levels for series in chart.group):
        return []
    steps = [step for series in chart.group for step, _ in chart.outline(series).rises]
    words = [(word, sum(named(step) == word for step in steps)) for word in dict.fromkeys(map(named, steps))]
    return [counted(count, word) for word, count in words] or ["no lasting change"]


def named(step: Step) -> str:
    """``lasting degradation``, ``accepted degradation``, ``drift``."""
    kind = "drift" if step.word == "drift" else step.direction
    return f"accepted {kind}" if step.accepted is not None else "drift" if step.word == "drift" else f"lasting {kind}"


def style_of(step: Step) -> MarkStyle:
    """How a step is drawn: a drift as a diamond in the colour of its direction."""
    seen = appearance(step.direction, drift=step.word == "drift", accepted=step.accepted is not None)
    return MarkStyle(SEEN[step.direction].colour, "diamond", "◆") if seen == "drift" else SEEN[seen]


def moved(step: Step, unit: str) -> str:
    """The levels before and after."""
    return (step.levels or levels(step.before, step.after, unit)).replace("->", "→")


def where(step: Step) -> str:
    """Which commits it may be."""
    if step.commits == 1:
        return "exactly here"
    return f"{'over' if step.word == 'drift' else 'one of'} {step.commits:,} commits {step.first[:10]}..{step.last[:10]}"


def support(step: Step) -> str:
    """What it rests on: chance and detectors, and what speaks against it."""
    chance = "" if step.p is None else f"p = {step.p:.0e}"
    return "; ".join(filter(None, (", ".join(filter(None, (chance, *step.detectors))), step.contradiction)))


def centred(level: LevelLine, unit: str) -> str:
    """The centre of a level with its interval, where there is one."""
    if level.low is None or level.high is None:
        return quantity(level.level, unit)
    return f"{quantity(level.level, unit)} [{quantity(level.low, unit)}, {quantity(level.high, unit)}]"


def latest(series: Series) -> str:
    """``last degradation at 1f0e2a3b``, or a lasting one where its step is not older; that there was none."""
    places = {point.commit: place for place, point in enumerate(series.points)}
    found = [(places[step.commit], named(step), step.commit) for step in series.steps if step.commit in places]
    loud = [(place, point) for place, point in enumerate(series.points) if point.verdict in MARKED_VERDICTS]
    found += [(place, f"last {_change(point.verdict)}", point.commit) for place, point in loud]
    if not found:
        return f"no {'lasting ' if series.levels else ''}change in {len(series.points):,} commits"
    _, word, commit = max(found, key=lambda one: one[0])
    return f"{word} at {commit[:8]}"


def _change(verdict: str) -> str:
    return "accepted change" if verdict == "accepted" else verdict
