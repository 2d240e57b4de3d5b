"""One panel of a heat map as a figure: its cells, the names of its rows, and the bar of its
colours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

from perfvcs.pictures.canvas import FONT, MUTED, add_below, canvas, hover, plain, source, stepped
from perfvcs.pictures.heat import Panel, Sheet, limits
from perfvcs.system.numeric import Flags, Floats, Integers, np
from perfvcs.text.quantity import numbers, percent, quantity, scale, span

if TYPE_CHECKING:
    from bokeh.models import ColorMapper
    from bokeh.plotting import figure

ROW_HEIGHT = 17  # pixels
SHADE_BITS = 9  # of a shade: colours come in 256 steps
NAME, RANGE = 22, 20  # characters of a row's name and of its range


@dataclass(frozen=True)
class Scheme:
    """The range of the colours: values (with ``log`` their logarithms) from ``low`` to ``high``,
    both of shape (rows, 1).
    """

    low: Floats
    high: Floats
    log: bool

    def shades(self, mean: Floats) -> Floats:
        """From 0 to 1, of shape (rows, columns); NaN if there is no value, or no logarithm."""
        values = _logarithms(mean) if self.log else mean
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        # the difference of numbers near the largest float is none
        largest = np.where(largest > 0, largest, 1.0)
        span = self.high / largest - self.low / largest
        return (values / largest - self.low / largest) / np.where(span > 0, span, 1.0)

    def value(self, shade: float) -> float:
        """The value of a shade in the first row."""
        low, high = float(self.low[0, 0]), float(self.high[0, 0])
        interpolated = low * (1 - shade) + high * shade
        return float(10**interpolated) if self.log else interpolated


def _logarithms(values: Floats) -> Floats:
    return np.log10(np.where(values > 0, values, np.nan))


def scheme(sheet: Sheet, *, log: bool) -> Scheme:
    """Each row by its own range, else all by one, from zero for what was recorded over time."""
    if log:
        panels = [
            panel._replace(cells=replace(panel.cells, mean=_logarithms(panel.cells.mean)))
            for panel in sheet.panels
        ]
        sheet = replace(sheet, panels=panels)
    low, high = limits(sheet)
    if not sheet.own:
        least, most = np.fmin.reduce(low), np.fmax.reduce(high)
        least = min(0.0, least) if not log and not sheet.y else least
        low, high = np.full(len(low), least), np.full(len(high), most)
    return Scheme(low[:, None], high[:, None], log)


def words(sheet: Sheet, scheme: Scheme) -> list[str]:
    """The range of the colours, in words."""
    if sheet.own:
        return ["colours: each row by its own range" + (", by logarithms" if scheme.log else "")]
    low, high = scheme.value(0), scheme.value(1)
    if not low < high:
        return ["all values are equal" if low == high else "no value has a logarithm"]
    if low <= 0:
        return []
    unit = sheet.units[0]
    return [f"colours from {span(low, high, unit)}, {percent(high / low - 1)}"]


def draw(sheet: Sheet, panel: Panel, colours: Scheme) -> figure:
    """The figure of one of the sheet's panels, as high as it has rows."""
    from bokeh.models import BasicTicker, BasicTickFormatter, FixedTicker, Range1d

    shades = stepped(colours.shades(panel.cells.mean), SHADE_BITS)
    row, column = np.nonzero(np.isfinite(shades))
    edges = panel.columns.edges
    beside = [other.columns.edges for other in (sheet.panels if sheet.linked else [panel])]
    start, end = min(columns[0] for columns in beside), max(columns[-1] for columns in beside)
    chosen = scale(float(max(-start, end)) if panel.columns.unit else 1.0, panel.columns.unit)
    height, row_height = len(sheet.names), ROW_HEIGHT * (2 if sheet.own else 1)
    gaps = any(not np.isfinite(colours.shades(other.cells.mean)).all() for other in sheet.panels)
    hatching = "hatched: no value, or none above zero" if colours.log else "hatched: no value"
    hatched = [hatching] if gaps else []
    plot = canvas(
        "\n".join(filter(None, [panel.name, sheet.title])),
        f"{sheet.x} ({chosen.unit})".replace(" ()", ""),
        sheet.y,
        caption=[*sheet.notes, *words(sheet, colours), *hatched],
        height=row_height * height + 100,
        tools="xpan,xbox_zoom,xwheel_zoom,reset,save",
    )
    plot.name = "heatmap"
    plot.x_range = Range1d(start=float(start * chosen.factor), end=float(end * chosen.factor))
    plot.y_range = Range1d(start=height, end=0)
    plot.grid.visible = False
    plot.xaxis.formatter = BasicTickFormatter(use_scientific=False)
    plot.xaxis.ticker = BasicTicker(desired_num_ticks=5)
    if sheet.ticks:
        plot.xaxis.ticker = FixedTicker(ticks=list(sheet.ticks))
        plot.xaxis.major_label_overrides = dict(sheet.ticks.items())
    _rows(plot, sheet)
    if hatched:
        _hatch(plot, ~np.isfinite(shades), edges * chosen.factor)
    gap = 0.04 if sheet.own else 0.0
    data = source(
        left=edges[column] * chosen.factor,
        right=edges[column + 1] * chosen.factor,
        top=row + gap,
        bottom=row + 1 - gap,
        shade=shades[row, column],
        name=[plain(sheet.names[number], 80) for number in row.tolist()],
        at=[panel.headings[number] for number in column.tolist()],
        text=_texts(sheet, panel, row, column),
    )
    mapper = _bar(plot, sheet, colours)
    colour: Any = {"field": "shade", "transform": mapper}
    boxes = plot.quad(
        "left",
        "right",
        "top",
        "bottom",
        source=data,
        fill_color=colour,
        line_color=colour,
        line_width=0.6,
        name="cells",
    )
    hover(plot, [boxes], [(sheet.y, f"{sheet.y} @name".strip()), ("", "@at"), ("", "@text")])
    return plot


def _hatch(plot: figure, empty: Flags, edges: Floats) -> None:
    """Mark the empty cells, those side by side as one box."""
    turns = np.diff(empty.astype(np.int64), axis=1, prepend=0, append=0)
    (row, start), (_, end) = np.nonzero(turns > 0), np.nonzero(turns < 0)
    plot.quad(
        edges[start],
        edges[end],
        row.astype(float),
        row + 1.0,
        fill_color=None,
        line_color=None,
        level="underlay",
        hatch_pattern="/",
        hatch_color=MUTED,
        hatch_alpha=0.5,
        hatch_weight=0.6,
        hatch_scale=9,
    )


def _rows(plot: figure, sheet: Sheet) -> None:
    """The names of the rows, and where they have ranges of their own these below the names."""
    from bokeh.models import FixedTicker

    step = -(-len(sheet.names) // 12) if sheet.y else 1  # not every number needs a label
    places = range(0, len(sheet.names), step)
    names = {place: plain(sheet.names[place], NAME) for place in places}
    if sheet.own:
        low, high = (end.tolist() for end in limits(sheet))
        names = {
            place: f"{name}\n{_range(low[place], high[place], sheet.units[place])}"
            for place, name in names.items()
        }
    plot.yaxis.ticker = FixedTicker(ticks=[place + 0.5 for place in places])
    plot.yaxis.major_label_overrides = {place + 0.5: name for place, name in names.items()}
    plot.yaxis.major_tick_line_color = None


def _range(low: float, high: float, unit: str) -> str:
    """``20.1 to 20.5 MB``."""
    chosen = scale(max(abs(low), abs(high)), unit)
    ends = " to ".join(numbers([low * chosen.factor, high * chosen.factor]))
    return plain(f"{ends} {chosen.unit}".strip(), RANGE)


def _bar(plot: figure, sheet: Sheet, colours: Scheme) -> ColorMapper:
    """The bar that says what colours stand for."""
    from bokeh.models import FixedTicker, LinearColorMapper
    from bokeh.models.annotations import ColorBar
    from bokeh.palettes import Cividis256

    mapper = LinearColorMapper(palette=list(Cividis256), low=0, high=1)
    unit = sheet.units[0]
    ticks = {0.0: "lowest of its row", 1.0: "highest"}
    if not sheet.own:
        ticks = {
            shade: quantity(colours.value(shade), unit)
            for shade in (0.0, 0.5, 1.0)
            if isfinite(colours.value(shade))
        }
    bar = ColorBar(
        color_mapper=mapper,
        ticker=FixedTicker(ticks=list(ticks)),
        major_label_overrides=dict(ticks.items()),
        height=8,
        padding=4,
        margin=0,
        background_fill_color=None,
        bar_line_color=None,
        major_tick_line_color=None,
        major_label_text_color=MUTED,
        major_label_text_font=FONT,
        label_standoff=4,
    )
    add_below(plot, bar)
    return mapper


def _texts(sheet: Sheet, panel: Panel, row: Integers, column: Integers) -> list[str]:
    """The tooltip of each cell: its mean and, if it has several values, their number and range."""
    cells = panel.cells
    texts = []
    for place, mean, low, high, count in zip(
        row.tolist(),
        *(
            array[row, column].tolist()
            for array in (cells.mean, cells.low, cells.high, cells.count)
        ),
        strict=True,
    ):
        unit = sheet.units[place]
        spread = f", {count:,} alike" if count > 1 else ""
        if low < high:
            spread = f", {span(low, high, unit)} in {count:,}"
        texts.append(quantity(mean, unit) + spread)
    return texts
