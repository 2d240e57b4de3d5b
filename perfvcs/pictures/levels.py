"""Levels and steps of a history in words, how they look, and in characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Series, Step
from perfvcs.check.vocabulary import WORDS
from perfvcs.pictures.canvas import BLUE, FONT, HOVER, INK, SEEN, AxisScale, MarkStyle
from perfvcs.pictures.chart import Chart, environments, folded
from perfvcs.pictures.frame import COMMITS_LABEL
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sketch import LevelLine, Rise, appearance, moved, named, where
from perfvcs.text.characters import columns, cut, fitted, padded, shorten, sparkline, wrapped
from perfvcs.text.quantity import bounded, change, quantity
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models import Text

    from perfvcs.pictures.terminal import Axis, Plot

# drawn large and in their own colour; the others in their environment's
MARKED_VERDICTS = tuple(word for word, row in WORDS.items() if row.moved or word == "accepted")
UNJUDGED = MarkStyle(BLUE, "square", "□", filled=False)
TITLE = 60
NAME, SPARK = 30, 20  # columns of a line that stands for a chart


def style_of(step: Step) -> MarkStyle:
    """How a step is drawn."""
    return SEEN[appearance(step.direction, accepted=step.accepted is not None)]


def support(step: Step) -> str:
    """What it rests on: chance and detectors, and what speaks against it."""
    chance = "" if step.p is None else f"p = {step.p:.0e}"
    return "; ".join(
        filter(None, (", ".join(filter(None, (chance, *step.detectors))), step.contradiction))
    )


def step_row(chart: Chart, series: Series, step: Step, rise: Rise) -> dict[str, Any]:
    """A step where it is drawn, and what it says."""
    factor = chart.frame.values.factor
    changed = next(point for point in series.points if point.commit == step.commit)
    return {
        "left": rise.left,
        "right": rise.right,
        "before": rise.before * factor,
        "after": rise.after * factor,
        "x": rise.x,
        "y": rise.y * factor,
        "top": max(rise.before, rise.after) * factor,
        "colour": style_of(step).colour,
        "size": rise.label,
        "align": chart.aligned(rise.x),
        "text": shorten(rise.text, HOVER),
        "commit": f"{step.commit[:10]} {shorten(changed.title, HOVER // 3)}",
        "author": shorten(changed.author, HOVER // 3),
        "when": shorten(changed.when, 40),
        "by": support(step),
    }


def sizes(x: str, offset: int) -> Text:
    """The sizes of steps above the marks of ``step_row``."""
    from bokeh.models import Text

    return Text(
        x=x,
        y="top",
        text="size",
        text_align="align",
        y_offset=offset,
        text_color=INK,
        text_font_size="12px",
        text_font={"value": FONT},
        text_font_style="bold",
        background_fill_color="#ffffff",
        background_fill_alpha=0.6,
    )


def centred(level: LevelLine, unit: str) -> str:
    """The centre of a level with its interval, where there is one."""
    if level.low is None or level.high is None:
        return quantity(level.level, unit)
    return bounded(level.level, level.low, level.high, unit)


def latest(series: Series) -> str:
    """``last degradation at 1f0e2a3b``, or a lasting one if not older; that there was none."""
    places = {point.commit: place for place, point in enumerate(series.points)}
    changes = [
        (places[step.commit], named(step), step.commit)
        for step in series.steps
        if step.commit in places
    ]
    loud = [
        (place, point)
        for place, point in enumerate(series.points)
        if point.verdict in MARKED_VERDICTS
    ]
    changes += [(place, f"last {_change(point.verdict)}", point.commit) for place, point in loud]
    if not changes:
        return f"no {'lasting ' if series.levels else ''}change in {len(series.points):,} commits"
    _, word, commit = max(changes, key=lambda change: change[0])
    return f"{word} at {commit[:8]}"


def _change(verdict: str) -> str:
    return "accepted change" if verdict == "accepted" else verdict


def timeline(chart: Chart, width: int) -> Iterator[str]:
    """A heading, notes, a plot per environment on one scale, and a line or more per step."""
    from perfvcs.pictures.terminal import Axis

    yield heading(chart, width)
    frame = chart.frame
    words = [frame.extent, *frame.caption, *frame.changes]
    yield from (cut(line, width) for line in folded(words, width))
    kind: AxisScale = "log" if frame.values.decades else "linear"
    axis = Axis(*chart.bounds(kind), frame.values.label, log=kind == "log")
    for series, name in zip(chart.group, environments(chart.group), strict=True):
        if chart.points(series):
            yield ""
            if len(chart.group) > 1:
                yield fitted(name, width)
            yield from wrapped([chart.now(series)], width)
            yield from _plot(chart, series, axis, width).lines()
            for step in series.steps:
                yield from _step(series, step, width)


def heading(chart: Chart, width: int) -> str:
    """The benchmark and its metric."""
    some = chart.group[0]
    return fitted(
        f"{DrawnUnit(some.label, '', some.uid, some.size).title}: {metric_name(some.metric)}", width
    )


def brief(chart: Chart, width: int) -> str:
    """One line: benchmark, metric, its newest values as blocks, the last one as a number."""
    newest = max(
        (series for series in chart.group if chart.points(series)),
        key=lambda candidate: chart.place[candidate.points[-1].commit],
    )
    line = sparkline([point.centre for point in newest.points], width=SPARK)
    value = quantity(newest.points[-1].centre, newest.unit)
    room = width - columns(line) - columns(value) - 4
    if room >= len("name"):
        return f"{padded(heading(chart, NAME), room)}  {line}  {value}"
    return fitted(value, width)


def _plot(chart: Chart, series: Series, axis: Axis, width: int) -> Plot:
    """Dots, whiskers where there is room for them, level lines, and signs for steps."""
    from perfvcs.pictures.terminal import Axis, Plot

    points, factor = chart.points(series), chart.frame.values.factor
    outline = chart.outline(series)
    named_places = {0: chart.commits[0], len(chart.commits) - 1: chart.commits[-1]}
    named_places |= {chart.place[step.commit]: step.commit for step, _ in outline.rises}
    names = {float(place): commit[:8] for place, commit in named_places.items()}
    plot = Plot(Axis(-0.5, len(chart.commits) - 0.5, COMMITS_LABEL, names=names), axis, width, 12)
    places = [chart.place[point.commit] for point in points]
    centres = [point.centre * factor for point in points]
    few = 2 * len(chart.commits) <= plot.columns
    if few:
        bounded = [
            (place, point)
            for place, point in zip(places, points, strict=True)
            if point.low is not None
        ]
        plot.whiskers(
            [float(place) for place, _ in bounded],
            [(point.low or 0.0) * factor for _, point in bounded],
            [(point.high or 0.0) * factor for _, point in bounded],
        )
    low, high = axis.low, axis.high
    centres = [min(max(centre, low), high) for centre in centres]  # what is far stands at the edge
    plot.points(places, centres)
    for line in outline.levels:
        plot.level(line.left + 0.5, line.right - 0.5, line.level * factor)
    if few:
        for place, centre, point in zip(places, centres, points, strict=True):
            plot.points([place], [centre], SEEN.get(point.verdict, UNJUDGED).sign)
    for step, rise in outline.rises:
        commit = chart.place[step.commit]
        plot.points([commit], [rise.after * factor], style_of(step).sign)
    return plot


def _step(series: Series, step: Step, width: int) -> list[str]:
    """``▲ lasting degradation +12 % [+11, +13]: 12.9 ms → 14.5 ms at 0000001e, 2026-03-12, Ada:
    Tidy up``, and why it is accepted.
    """
    changed = next((point for point in series.points if point.commit == step.commit), None)
    effect = change(step.effect, step.low, step.high)
    text = (
        f"{style_of(step).sign} {named(step)} {effect}: {moved(step, series.unit)}, at"
        f" {step.commit[:10]}"
    )
    text += f", {where(step)}" if step.commits > 1 else ""
    if changed is not None:
        text += (
            f"; {shorten(changed.when[:10], 10)} {shorten(changed.author, 24)}:"
            f" {shorten(changed.title, TITLE)}"
        )
    became = f"accepted: {shorten(step.accepted, 2 * TITLE)}" if step.accepted else step.standing
    text += f"; {became}" if became else ""
    text += f"; contradicted: {step.contradiction}" if step.contradiction else ""
    return [
        line if turn == 0 else f"  {line}" for turn, line in enumerate(wrapped([text], width - 2))
    ]
