"""Shared by all figures: colours, empty figures, tooltips, legends, and a bound on the points."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from perfvcs.check import Change
from perfvcs.check.vocabulary import WORDS, Colour, VerdictWord, said
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.characters import fitted, shorten, wrapped

if TYPE_CHECKING:
    from bokeh.models import ColumnDataSource
    from bokeh.models.renderers import GlyphRenderer, Renderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

AxisScale = Literal["log", "linear"]

# Okabe and Ito's palette, told apart by every common kind of colour vision.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILLION = "#D55E00"
PURPLE = "#CC79A7"
SKY = "#56B4E9"
# The page swaps these, white and BLUE in a dark scheme.
INK, MUTED, GRID = "#1b1f24", "#5b6470", "#e4e7eb"
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
DASHES = ("solid", "dashed", "dotted", "dotdash", "dashdot")
FONT = "system-ui, sans-serif"
LINE = 44  # characters of a line of a title or a caption that a telephone has room for
TITLE_LINES = 3
LINE_HEIGHT = 14  # pixels
CAPTION = "caption"
ENTRY = 50  # characters of an entry of a legend: a fitted model in numbers, on a telephone
HOVER = 300  # characters of a name in a tooltip; the page's table has all of it


@dataclass(frozen=True)
class MarkStyle:
    """How a verdict is drawn: never by colour alone."""

    colour: str
    marker: str
    sign: str
    filled: bool = True


COLOURS: Mapping[Colour, str] = {
    "vermillion": VERMILLION,
    "green": GREEN,
    "orange": ORANGE,
    "purple": PURPLE,
    "muted": MUTED,
    "sky": SKY,
    "blue": BLUE,
}


def _style(word: VerdictWord) -> MarkStyle:
    return MarkStyle(COLOURS[word.colour], word.shape, word.sign, filled=not word.hollow)


SEEN: Mapping[str, MarkStyle] = {word: _style(row) for word, row in WORDS.items()}


def seen(change: Change) -> tuple[str, MarkStyle]:
    """The word and the mark of a change; accepted ones have their own."""
    word = said(change).word
    return word, SEEN[word]


def canvas(
    title: str,
    x_label: str,
    y_label: str,
    *,
    caption: Iterable[str] = (),
    height: int = 290,
    tools: str = "pan,box_zoom,xwheel_zoom,reset,save",
    x_axis: AxisScale = "linear",
    y_axis: AxisScale = "linear",
) -> figure:
    """An empty figure as wide as its place; names in labels come out of ``plain``, units as they
    are.

    ``title`` is what is drawn, cut to three lines of a telephone; ``caption`` are sentences on it,
    below the figure. The page breaks both to its width. ``height`` in pixels is with a title of one
    line and without a caption; more lines add to it. No tool is active at first, so that a page of
    figures can be scrolled with wheel and finger.
    """
    from bokeh.models.annotations import Title
    from bokeh.plotting import figure

    lines, notes = wrapped(title.split("\n"), LINE), " · ".join(caption)
    if len(lines) > TITLE_LINES:
        lines[TITLE_LINES - 1 :] = [fitted(" ".join(lines[TITLE_LINES - 1 :]), LINE)]
        title = "\n".join(lines)
    heading = Title(
        text=worded(title),
        text_font_size="12px",
        text_font=FONT,
        text_color=INK,
        text_font_style="normal",
    )
    height += LINE_HEIGHT * (len(lines) - 1 + len(wrapped([notes], LINE)))
    plot = figure(
        title=heading,
        x_axis_label=worded(x_label),
        y_axis_label=worded(y_label),
        height=height,
        sizing_mode="stretch_width",
        tools=tools,
        toolbar_location="right",
        active_drag=None,
        active_scroll=None,
        background_fill_color=None,
        border_fill_color=None,
        outline_line_color=None,
        min_border_right=8,
        x_axis_type=x_axis,
        y_axis_type=y_axis,
    )
    plot.toolbar.update(logo=None, stylesheets=["@media print { :host { display: none; } }"])
    for axis in plot.axis:
        axis.update(
            axis_line_color=MUTED,
            major_tick_line_color=MUTED,
            minor_tick_line_color=None,
            major_label_text_color=MUTED,
            axis_label_text_color=INK,
            axis_label_text_font_style="normal",
            axis_label_text_font_size="12px",
            axis_label_text_font=FONT,
            major_label_text_font=FONT,
        )
    for grid in plot.grid:
        grid.grid_line_color = GRID
    if notes:
        below = Title(
            name=CAPTION,
            text=worded(notes),
            text_font_size="12px",
            text_font=FONT,
            text_color=MUTED,
            text_font_style="normal",
        )
        plot.add_layout(below, "below")
    return plot


def plain(name: str, width: int = 48) -> str:
    """A name for a figure: short, on one line, and never taken for a formula."""
    return worded(shorten(name, width))


def worded(text: str) -> str:
    """A text that bokeh does not take for a formula, whatever unit or name stands in it."""
    return re.sub(r"\$(?=\$)|\\(?=[()\[\]])", lambda mark: f"{mark[0]}\u200b", text)


def source(**columns: Any) -> ColumnDataSource:
    """A data source; float columns travel in single precision, where that reaches."""
    from bokeh.models import ColumnDataSource

    def small(column: Any) -> Any:
        if not isinstance(column, np.ndarray) or column.dtype.kind not in "fiu":
            return column
        if column.dtype.kind == "f":
            within = (
                np.abs(column[np.isfinite(column)]).max(initial=0.0) <= np.finfo(np.float32).max
            )
            return column.astype(np.float32) if within else column
        return column.astype(
            np.int32 if np.abs(column).max(initial=0) <= np.iinfo(np.int32).max else np.float64
        )

    return ColumnDataSource({name: small(column) for name, column in columns.items()})


def stepped(shares: Floats, bits: int) -> Floats:
    """Shares of a whole in steps of ``2 ** -bits``: unseen digits double the size."""
    return np.ldexp(np.rint(np.ldexp(shares, bits)), -bits)


def hover(
    plot: figure, renderers: Sequence[GlyphRenderer[Any]], lines: Sequence[tuple[str, str]]
) -> None:
    """A tooltip; ``lines`` are our own words and ``@{column}``, whose text bokeh escapes."""
    from bokeh.models import HoverTool

    plot.add_tools(
        HoverTool(
            renderers=list(renderers),
            tooltips=list(lines),
            point_policy="follow_mouse",
            visible=False,
        )
    )


def dots(
    plot: figure,
    data: ColumnDataSource,
    colour: str,
    size: int,
    *,
    marker: str = "circle",
    alpha: float = 1.0,
    edge: float | None = None,
    inside: str | None = None,
    width: float = 1.0,
) -> GlyphRenderer[Any]:
    """A mark at each ``x`` and ``y``, ``inside`` of another colour; ``alpha``: how opaque it is,
    ``edge``: and its edge, of a ``width``.
    """
    from bokeh.models import Scatter

    mark = Scatter(x="x", y="y", marker=marker, size=size, line_color=colour, line_width=width)
    mark.update(fill_color=colour if inside is None else inside)
    mark.update(fill_alpha=alpha, line_alpha=alpha if edge is None else edge)
    return plot.add_glyph(data, mark)


def segments(
    plot: figure,
    data: ColumnDataSource,
    ends: tuple[str, str | float, str, str | float],
    colour: str,
    width: float,
    *,
    alpha: float = 1.0,
    dash: str = "solid",
    level: str = "glyph",
) -> GlyphRenderer[Any]:
    """A line for each row, from x and y to x and y, which ``ends`` name."""
    from bokeh.models import Segment

    x0, y0, x1, y1 = ends
    line = Segment(x0=x0, y0=y0, x1=x1, y1=y1, line_color=colour, line_width=width)
    line.update(line_alpha=alpha, line_dash=dash)
    return plot.add_glyph(data, line, level=level)


def band(plot: figure, data: ColumnDataSource, colour: str, alpha: float) -> GlyphRenderer[Any]:
    """The area between ``low`` and ``high`` along ``x``."""
    from bokeh.models import VArea

    area = VArea(x="x", y1="low", y2="high", fill_color=colour, fill_alpha=alpha)
    return plot.add_glyph(data, area)


def boxes(plot: figure, data: ColumnDataSource, colour: str, alpha: float) -> GlyphRenderer[Any]:
    """Areas from ``left`` to ``right`` and from ``low`` to ``high``."""
    from bokeh.models import Quad

    area = Quad(left="left", right="right", bottom="low", top="high")
    area.update(fill_color=colour, fill_alpha=alpha, line_color=None)
    return plot.add_glyph(data, area)


def legend(plot: figure, entries: Sequence[tuple[str, Sequence[GlyphRenderer[Any]]]]) -> None:
    """A legend below the figure whose entries hide and show what they name."""
    from bokeh.core.properties import value
    from bokeh.models.annotations import Legend, LegendItem

    texts = [plain(text, ENTRY) for text, _ in entries]
    longest = max(map(len, texts), default=0)
    columns = 2 if longest <= 21 else 1  # characters that have room in a column
    if longest <= 12:
        columns = 3
    plot.height = (plot.height or 0) + 20 * (-(-len(texts) // columns) - 1)
    items = [
        LegendItem(label=value(text), renderers=list(renderers))
        for text, (_, renderers) in zip(texts, entries, strict=True)
    ]
    listed = Legend(
        location="top_left",
        click_policy="hide",
        ncols=columns,
        orientation="horizontal",
        border_line_color=None,
        margin=0,
        spacing=8,
        label_text_font_size="11px",
        label_text_font=FONT,
        label_text_color=INK,
        background_fill_color=None,
        glyph_height=14,
        glyph_width=14,
        label_height=14,
        inactive_fill_color=GRID,
        inactive_fill_alpha=0.6,
    )
    listed.items = items
    add_below(plot, listed)


def add_below(plot: figure, part: Renderer) -> None:
    """Puts a legend or a bar of colours between the axis and the caption."""
    plot.add_layout(part, "below")
    plot.below = sorted(plot.below, key=lambda renderer: renderer.name == CAPTION)


def thin(values: Floats, points: int) -> Integers:
    """At most ``points`` row numbers, ascending: half evenly spaced, half the lowest and highest of
    each stretch.

    A plot of many points is read for its extremes, so none of them may be lost.
    """
    count = len(values)
    if count <= points:
        return np.arange(count)
    bounds = np.linspace(0, count, max(1, points // 4) + 1).astype(np.int64).tolist()
    extremes = [
        start + end(values[start:stop])
        for start, stop in pairwise(bounds)
        if start < stop
        for end in (np.argmin, np.argmax)
    ]
    even = np.linspace(0, count - 1, max(1, points // 2)).astype(np.int64)
    return np.unique(np.concatenate([even, np.array(extremes, dtype=np.int64)]))


def thinned(drawn: int, count: int, what: str = "rows") -> list[str]:
    """The note that goes with ``thin``; none when every row is drawn."""
    return (
        [] if drawn == count else [f"{drawn:,} of {count:,} {what} drawn, including the extremes"]
    )


class AxisReach(NamedTuple):
    """From where to where an axis goes, and how many values or intervals lie beyond."""

    low: float
    high: float
    beyond: int


def usual(values: Floats) -> tuple[float, float]:
    """The ends of an axis that may leave out the farthest percent on either side."""
    low, high = np.quantile(values, (0.01, 0.99)).tolist()
    return max(float(values.min()), 2 * low - high), min(float(values.max()), 2 * high - low)


def bound(
    plot: figure, x: float, ends: Sequence[float], renderers: Sequence[GlyphRenderer[Any]]
) -> None:
    """Fit the axis to these renderers and to the ``ends`` (at some ``x``), not to the rest."""
    from bokeh.models import DataRange1d, Scatter

    unseen = plot.add_glyph(
        source(x=[x] * len(ends), y=list(ends)), Scatter(x="x", y="y", line_alpha=0, fill_alpha=0)
    )
    plot.y_range = DataRange1d(renderers=[unseen, *renderers], only_visible=True)


def stack(plots: Sequence[figure]) -> UIElement:
    """Several figures below one another; a single one is returned as it is."""
    from bokeh.layouts import column

    return plots[0] if len(plots) == 1 else column(*plots, sizing_mode="stretch_width")
