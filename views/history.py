"""One series over its commits in the order of ancestry: a mean with its interval per commit,
levels, steps, drifts and accepted changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Point, Series, Subject
from perfvcs.pictures.canvas import (
    BLUE,
    HOVER,
    INK,
    MUTED,
    PURPLE,
    SEEN,
    SKY,
    AxisScale,
    MarkStyle,
    boxes,
    canvas,
    dots,
    hover,
    legend,
    segments,
    source,
    stack,
)
from perfvcs.pictures.chart import TOOLTIP, Chart, environments, grouped, places, texts
from perfvcs.pictures.frame import COMMITS_LABEL, TICKS
from perfvcs.pictures.levels import (
    MARKED_VERDICTS,
    brief,
    centred,
    sizes,
    step_row,
    style_of,
    timeline,
)
from perfvcs.pictures.sketch import breaks, named
from perfvcs.plugins import Count, Natural
from perfvcs.plugins.view import Unfit, View
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure


# of environments: none is a verdict's
ENVIRONMENTS = (BLUE, PURPLE, SKY, INK, MUTED)
UNMARKED = MarkStyle(BLUE, "circle", "●", filled=True)  # a point whose verdict has no mark
OVERVIEW = 60  # commits from which a second figure below shows all of them
ABOVE = 0.08  # of the axis, for the sizes of steps
MOST_LABELLED_STEPS = 12  # steps with their size beside them
_STEP = [
    ("", "@text"),
    ("commit", "@commit"),
    ("author", "@author"),
    ("date", "@when"),
    ("found by", "@by"),
]


@dataclass(frozen=True)
class History(View[list[list[Series]]]):
    """``points``: at most so many commits are drawn, the newest; ``both``: a logarithmic axis too,
    where values are far apart.

    ``charts``: so many are drawn in a terminal.
    """

    points: Count = 3000
    both: bool = True
    charts: Natural = 6

    def cut(self, subject: Subject) -> list[list[Series]]:
        """The series of each benchmark and metric that have a commit."""
        if not subject.history:
            raise Unfit("it draws a series over the commits")
        if not (groups := grouped(subject.history)):
            raise Unfit("no commit of the series has a value above 0")
        return groups

    def render(self, data: list[list[Series]]) -> UIElement:
        """One figure per benchmark and metric, one line per environment."""
        from perfvcs.pictures.course import tabbed

        plots: list[Any] = []
        for group in data:
            chart = Chart.of(group, self.points)
            drawn = _Drawing(chart)
            logarithms = self.both and chart.frame.values.wide
            kinds: list[AxisScale] = (
                ["log", "linear"] if chart.frame.values.decades else ["linear", "log"]
            )
            plots += [tabbed(kinds, drawn.figures)] if logarithms else drawn.figures("linear")
        return stack(plots)

    def text(self, data: list[list[Series]], width: int) -> str:
        """The same in characters, the steps in words; what is beyond ``charts`` is a line each."""
        charts = [Chart.of(group, self.points) for group in data]
        parts = ["\n".join(timeline(chart, width)) for chart in charts[: self.charts]]
        parts += ["\n".join(brief(chart, width) for chart in charts[self.charts :])]
        return "\n\n".join(filter(None, parts))


class _Drawing:
    """A figure of a chart, and below it the overview in which its part is chosen."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.names = environments(chart.group)
        self.colours = [ENVIRONMENTS[turn % len(ENVIRONMENTS)] for turn in range(len(chart.group))]

    def figures(self, axis: AxisScale) -> list[figure]:
        """On a linear or a logarithmic axis."""
        from bokeh.models import AdaptiveTicker, Range1d

        chart, frame = self.chart, self.chart.frame
        title = " · ".join([frame.extent, *frame.changes])
        label = frame.values.label
        plot = canvas(
            title,
            COMMITS_LABEL,
            label,
            caption=[*self._now(), *frame.caption],
            height=324,
            y_axis=axis,
        )
        chart.along(plot)
        low, high = chart.bounds(axis)
        named_above = any(series.steps for series in chart.group)
        if axis == "linear":
            plot.yaxis.ticker = AdaptiveTicker(
                mantissas=[1, 2, 5], desired_num_ticks=TICKS, num_minor_ticks=0
            )
        above = ABOVE * named_above
        end = high * (high / low) ** above if axis == "log" else high + above * (high - low)
        plot.y_range = Range1d(start=low, end=end)
        entries: list[tuple[str, list[Any]]] = []
        words: dict[str, list[Any]] = {}
        for series, colour, name in zip(chart.group, self.colours, self.names, strict=True):
            if points := chart.points(series):
                line = self._points(plot, series, points, colour, words)
                self._far(plot, points, colour, (low, high), words)
                entries.append((name if len(chart.group) > 1 else "centres", [line]))
        for series, colour in zip(chart.group, self.colours, strict=True):
            self._levels(plot, series, colour if len(chart.group) > 1 else INK, words)
        for series in chart.group:
            self._doubts(plot, series, (low, high), words)
            self._steps(plot, series, words)
        self._beginnings(plot, (low, high), words)
        legend(plot, entries + list(words.items()))
        return [plot, self._overview(plot, axis)] if len(chart.commits) >= OVERVIEW else [plot]

    def _now(self) -> list[str]:
        """What each environment is like now, called by its name where there are several."""
        lines = zip(self.names, self.chart.group, strict=True)
        drawn = [(name, series) for name, series in lines if self.chart.points(series)]
        return [
            f"{name}: {self.chart.now(series)}" if len(drawn) > 1 else self.chart.now(series)
            for name, series in drawn
        ]

    def _points(
        self,
        plot: figure,
        series: Series,
        points: Sequence[Point],
        colour: str,
        words: dict[str, list[Any]],
    ) -> Any:
        """The line, the whiskers, and a mark per verdict; all of one source."""
        from bokeh.models import CDSView, IndexFilter, Line, Scatter

        data = source(**places(self.chart, points), **texts(points, series.unit))
        joined = self._joined(points)
        line = plot.add_glyph(joined, Line(x="x", y="y", line_color=colour, line_alpha=0.45))
        bars = segments(plot, data, ("x", "low", "x", "high"), colour, 2, alpha=0.4)
        words.setdefault("99 % interval", []).append(bars)
        judged = []
        for word in dict.fromkeys(point.verdict for point in points):
            style = SEEN[word] if word in MARKED_VERDICTS else UNMARKED
            shade = style.colour if word in MARKED_VERDICTS else colour
            rows = [row for row, point in enumerate(points) if point.verdict == word]
            size = 6 if len(points) <= 150 else 4
            if word in MARKED_VERDICTS:
                size += 4
            mark = Scatter(
                x="x",
                y="y",
                marker=style.marker,
                size=size,
                line_color=shade,
                line_width=1.5,
                fill_color=shade if style.filled else "#ffffff",
            )
            marks = plot.add_glyph(data, mark, view=CDSView(filter=IndexFilter(indices=rows)))
            words.setdefault(word if word in MARKED_VERDICTS else "a commit", []).append(marks)
            judged.append(marks)
        hover(plot, judged, TOOLTIP)
        return line

    def _far(
        self,
        plot: figure,
        points: Sequence[Point],
        colour: str,
        ends: tuple[float, float],
        words: dict[str, list[Any]],
    ) -> None:
        """Arrows at the edge for what lies beyond the ``ends`` of the axis."""
        from bokeh.core.properties import value
        from bokeh.models import Text

        drawn, (low, high) = places(self.chart, points), ends
        for sign, edge, far in (("↓", low, drawn["y"] < low), ("↑", high, drawn["y"] > high)):
            if far.any():
                arrow = Text(x="x", y="y", text=value(sign), text_color=colour, text_align="center")
                arrow.text_baseline = "bottom" if sign == "↓" else "top"
                data = source(x=drawn["x"][far], y=[edge] * int(far.sum()))
                named = words.setdefault(f"{sign} beyond the axis", [])
                named.append(plot.add_glyph(data, arrow))

    def _joined(self, points: Sequence[Point]) -> ColumnDataSource:
        """The points that a line connects, none in gaps, without those of merged branches."""
        columns = places(self.chart, [point for point in points if not point.aside])
        gaps = breaks(columns["x"].astype(int).tolist())
        x, y = (np.insert(columns[name], gaps, np.nan) for name in ("x", "y"))
        return source(x=x, y=y)

    def _levels(
        self, plot: figure, series: Series, colour: str, words: dict[str, list[Any]]
    ) -> None:
        """Bold lines with the bands of their intervals."""

        levels = self.chart.outline(series).levels
        if not levels:
            return
        factor = self.chart.frame.values.factor
        lows = [level.level if level.low is None else level.low for level in levels]
        highs = [level.level if level.high is None else level.high for level in levels]
        data = source(
            left=[level.left for level in levels],
            right=[level.right for level in levels],
            y=[level.level * factor for level in levels],
            low=[low * factor for low in lows],
            high=[high * factor for high in highs],
            text=[centred(level, series.unit) for level in levels],
        )
        band = boxes(plot, data, colour, 0.16)
        line = segments(plot, data, ("left", "y", "right", "y"), colour, 2.5)
        hover(plot, [line], [("level", "@text")])
        words.setdefault("level, 99 % interval", []).extend([band, line])

    def _steps(self, plot: figure, series: Series, words: dict[str, list[Any]]) -> None:
        """Draws the lines between levels, a mark on the newer one, and sizes of few steps."""
        changes = self.chart.outline(series).rises
        steps = [step for step, _ in changes]
        rows = [step_row(self.chart, series, step, rise) for step, rise in changes]
        for word in dict.fromkeys(map(named, steps)):
            mine = [row for row, step in zip(rows, steps, strict=True) if named(step) == word]
            style = next(style_of(step) for step in steps if named(step) == word)
            data = source(**{name: [row[name] for row in mine] for name in mine[0]})
            edge, inside = ("#ffffff", "colour") if style.filled else ("colour", "#ffffff")
            drawn: list[Any] = [
                segments(plot, data, ("left", "before", "right", "after"), "colour", 3),
                dots(plot, data, edge, 15, marker=style.marker, inside=inside, width=1.5),
            ]
            if len(steps) <= MOST_LABELLED_STEPS:
                drawn.append(plot.add_glyph(data, sizes("x", -9)))
            hover(plot, drawn[1:2], _STEP)
            words.setdefault(word, []).extend(drawn)

    def _doubts(
        self, plot: figure, series: Series, ends: tuple[float, float], words: dict[str, list[Any]]
    ) -> None:
        """Shades the commits at which a step may be, where there are several."""
        steps = [rise for _, rise in self.chart.outline(series).rises if rise.last - rise.first > 1]
        if not steps:
            return
        data = source(
            left=[rise.first for rise in steps],
            right=[rise.last for rise in steps],
            low=[ends[0]] * len(steps),
            high=[ends[1]] * len(steps),
        )
        words.setdefault("may be here", []).append(boxes(plot, data, MUTED, 0.1))

    def _beginnings(
        self, plot: figure, ends: tuple[float, float], words: dict[str, list[Any]]
    ) -> None:
        """Dotted lines where another environment or job follows an older one."""

        beginnings = [
            (series, points[0])
            for series in self.chart.group
            if series.begins and (points := self.chart.points(series))
        ]
        if not beginnings:
            return
        x = [self.chart.place[point.commit] - 0.5 for _, point in beginnings]
        reasons = [shorten(series.begins, HOVER) for series, _ in beginnings]
        data = source(x=x, low=[ends[0]] * len(x), high=[ends[1]] * len(x), reason=reasons)
        line = segments(plot, data, ("x", "low", "x", "high"), MUTED, 2, dash="dotted")
        hover(plot, [line], [("begins anew", "@reason")])
        words.setdefault("begins anew", []).append(line)

    def _overview(self, plot: figure, axis: AxisScale) -> figure:
        """All commits, on which a handle chooses those that are drawn large."""
        from bokeh.models import Line, Range1d, RangeTool

        chart = self.chart
        below = canvas(
            "All commits: drag the edges to choose some", "", "", height=84, tools="", y_axis=axis
        )
        below.toolbar_location = None
        below.x_range = Range1d(start=chart.frame.start, end=chart.frame.end)
        below.axis.visible = below.grid.visible = False
        for series, colour in zip(chart.group, self.colours, strict=True):
            data = self._joined(chart.points(series))
            below.add_glyph(data, Line(x="x", y="y", line_color=colour))
        tool = RangeTool(x_range=plot.x_range)
        tool.overlay.update(
            fill_color=BLUE, fill_alpha=0.12, line_color=MUTED, line_dash="solid", use_handles=True
        )
        below.add_tools(tool)
        return below
