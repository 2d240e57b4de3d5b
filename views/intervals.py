"""One series over its versions in detail: every mean with its interval, and bold lines where the
verdict between two versions is a change.

Source: Kalibera, Bulej, Tuma 2005, figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, log1p
from typing import TYPE_CHECKING, Any, ClassVar

from perfvcs.check.subject import Point, Series, Subject
from perfvcs.pictures.canvas import (
    CYCLE,
    SEEN,
    canvas,
    dots,
    hover,
    legend,
    segments,
    source,
    stack,
)
from perfvcs.pictures.chart import TOOLTIP, Chart, environments, folded, grouped, places, texts
from perfvcs.pictures.levels import MARKED_VERDICTS, UNJUDGED, heading, sizes
from perfvcs.plugins import Count, Natural
from perfvcs.plugins.view import Unfit, View
from perfvcs.system.numeric import np
from perfvcs.text.characters import columns, cut, fitted, padded
from perfvcs.text.quantity import change, percent, quantity
from perfvcs.text.words import counted, tallied

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

ENVIRONMENT_GAP = 0.24  # between environments, of the space of a version
COMMIT_COLUMNS = 8  # columns


@dataclass(frozen=True)
class Intervals(View[list[list[Series]]]):
    """``points``: at most so many versions are drawn, the newest; ``dots``: executions, where there
    are no more of them.
    """

    asked: ClassVar[bool] = True  # the history shows the same of more commits

    points: Count = 40
    dots: Natural = 1200

    def cut(self, subject: Subject) -> list[list[Series]]:
        """The series of each benchmark and metric that have a commit."""
        if not subject.history:
            raise Unfit("it draws a series over its versions")
        if not (groups := grouped(subject.history)):
            raise Unfit("no version of the series was measured")
        return groups

    def render(self, data: list[list[Series]]) -> UIElement:
        """One figure per benchmark and metric, its environments side by side."""
        return stack([self._draw(Chart.of(group, self.points)) for group in data])

    def _draw(self, chart: Chart) -> figure:
        from bokeh.models import Range1d

        low, high = chart.bounds()
        executions = [
            value
            for series in chart.group
            for point in chart.points(series)
            for value in point.medians
        ]
        dotted = 0 < len(executions) <= self.dots
        frame = chart.frame
        notes = list(frame.caption)
        if dotted:
            scaled = np.array(executions) * chart.frame.values.factor
            span = high - low
            low = min(low, max(scaled.min(), low - span))
            high = max(high, min(scaled.max(), high + span))
            beyond = int(((scaled < low) | (scaled > high)).sum())
            notes += [f"{counted(beyond, 'execution')} beyond the edge"] if beyond else []
        title = " · ".join([frame.extent, *_notes(chart)])
        plot = canvas(
            title, "version, oldest first", chart.frame.values.label, caption=notes, height=344
        )
        chart.along(plot)
        plot.y_range = Range1d(start=low, end=high + 0.08 * (high - low))
        entries: list[tuple[str, list[Any]]] = []
        words: dict[str, list[Any]] = {}
        names = environments(chart.group)
        for turn, (series, name) in enumerate(zip(chart.group, names, strict=True)):
            if chart.points(series):
                shift = (
                    ENVIRONMENT_GAP
                    * (turn - (len(chart.group) - 1) / 2)
                    / max(1, len(chart.group) - 1)
                )
                colour = CYCLE[turn % len(CYCLE)]
                if dotted:
                    words.setdefault("executions", []).append(
                        _executions(plot, chart, series, shift, colour)
                    )
                entries.append(
                    (
                        name if len(names) > 1 else "mean, 99 % interval",
                        _means(plot, chart, series, shift, colour),
                    )
                )
                _changes(plot, chart, series, shift, words)
        legend(plot, entries + list(words.items()))
        return plot

    def text(self, data: list[list[Series]], width: int) -> str:
        """The same in characters, one line per version."""
        charts = (Chart.of(group, self.points) for group in data)
        return "\n\n".join("\n".join(_lines(chart, width)) for chart in charts)


def _executions(plot: figure, chart: Chart, series: Series, shift: float, colour: str) -> Any:
    medians = [
        (chart.place[point.commit], turn, value)
        for point in chart.points(series)
        for turn, value in enumerate(point.medians)
    ]
    data = source(
        x=[place + shift + 0.08 * (2 * (turn * 0.618034 % 1) - 1) for place, turn, _ in medians],
        y=[value * chart.frame.values.factor for *_, value in medians],
    )
    return dots(plot, data, colour, 4, alpha=0.3, edge=0.0)


def _means(plot: figure, chart: Chart, series: Series, shift: float, colour: str) -> list[Any]:
    """Means with their intervals; an open circle has none."""
    points = chart.points(series)
    fill = ["#ffffff" if point.low is None else colour for point in points]
    data = source(**places(chart, points, shift), fill=fill, **texts(points, series.unit))
    bars = segments(plot, data, ("x", "low", "x", "high"), colour, 3, alpha=0.55)
    marks = dots(plot, data, colour, 7 if len(points) <= 150 else 4, inside="fill")
    hover(plot, [marks], TOOLTIP)
    return [bars, marks]


def _changes(
    plot: figure, chart: Chart, series: Series, shift: float, words: dict[str, list[Any]]
) -> None:
    """Bold lines from the version before to one that differs from it, with the size."""
    from bokeh.models import Scatter

    changes = [
        (before, point)
        for before, point in _neighbours(chart, series)
        if point.verdict in MARKED_VERDICTS and _joined(before, point)
    ]
    for word in dict.fromkeys(point.verdict for _, point in changes):
        style = SEEN[word]
        pairs = [(before, point) for before, point in changes if point.verdict == word]
        starts, ends = (places(chart, side, shift) for side in zip(*pairs, strict=True))
        data = source(
            x=starts["x"],
            y=starts["y"],
            right=ends["x"],
            after=ends["y"],
            top=np.maximum(starts["y"], ends["y"]),
            size=["" if point.effect is None else percent(point.effect) for _, point in pairs],
            align=[chart.aligned(place) for place in ends["x"]],
            **texts([point for _, point in pairs], series.unit),
        )
        line = segments(plot, data, ("x", "y", "right", "after"), style.colour, 4)
        edge, inside = ("#ffffff", style.colour) if style.filled else (style.colour, "#ffffff")
        mark = Scatter(
            x="right", y="after", marker=style.marker, size=13, line_color=edge, fill_color=inside
        )
        marks = plot.add_glyph(data, mark)
        hover(plot, [marks], TOOLTIP)
        text = plot.add_glyph(data, sizes("right", -10))
        words.setdefault(word, []).extend([line, marks, text])


def _neighbours(chart: Chart, series: Series) -> Iterator[tuple[Point, Point]]:
    """Each version that is drawn with the drawn one before it; what was merged has none."""
    before = None
    for point in chart.points(series):
        if not point.aside:
            if before is not None:
                yield before, point
            before = point


def _joined(before: Point, point: Point) -> bool:
    """Whether an effect is that of the two: one execution is compared with many commits."""
    if point.effect is None or min(1 + point.effect, point.centre, before.centre) <= 0:
        return True
    effect = log1p(point.effect)
    return abs(effect - log(point.centre / before.centre)) <= abs(effect) / 2


def _notes(chart: Chart) -> list[str]:
    """The number of changes between neighbours, in words."""
    verdicts = [point.verdict for series in chart.group for _, point in _neighbours(chart, series)]
    words = [(word, verdicts.count(word)) for word in MARKED_VERDICTS if word in verdicts]
    if not any(verdicts):
        return []
    return [tallied(words) if words else "no change between neighbours"]


def _lines(chart: Chart, width: int) -> Iterator[str]:
    """A heading, notes, and for each environment a row per version above an axis."""
    from perfvcs.pictures.terminal import Axis, foot, rail

    yield heading(chart, width)
    frame = chart.frame
    words = [frame.extent, *frame.caption, *_notes(chart)]
    yield from (cut(line, width) for line in folded(words, width))
    axis, factor = Axis(*chart.bounds(), frame.values.label), frame.values.factor
    for series, name in zip(chart.group, environments(chart.group), strict=True):
        points = chart.points(series)
        if not points:
            continue
        yield ""
        if len(chart.group) > 1:
            yield fitted(name, width)
        numbers = [_numbers(point, series.unit, width) for point in points]
        room = max(map(columns, numbers))
        inner = max(1, width - COMMIT_COLUMNS - room - 5)
        for point, number in zip(points, numbers, strict=True):
            sign = SEEN.get(point.verdict, UNJUDGED).sign
            at, low, high = (
                None if end is None else end * factor
                for end in (point.centre, point.low, point.high)
            )
            drawn = rail(axis, inner, at, low, high, "●")
            yield cut(
                f"{padded(point.commit[:COMMIT_COLUMNS], COMMIT_COLUMNS)} {sign} {drawn}  {number}",
                width,
            )
        for line in foot(axis, inner):
            yield f"{' ' * (COMMIT_COLUMNS + 3)}{line}"
        yield fitted(f"{' ' * (COMMIT_COLUMNS + 3)}{chart.frame.values.label}", width)


def _numbers(point: Point, unit: str, width: int) -> str:
    """The mean, and the change against the version before, with its interval if it fits."""
    if point.effect is None or point.verdict not in MARKED_VERDICTS:
        return quantity(point.centre, unit)
    if width >= 72:
        size = change(point.effect, point.effect_low, point.effect_high)
    else:
        size = percent(point.effect)
    return f"{quantity(point.centre, unit)}, {size}"
