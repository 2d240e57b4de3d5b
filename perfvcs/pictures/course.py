"""Values over sizes on a figure: means with quartiles, the lines of models, and both kinds of axes
in tabs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from perfvcs.pictures.canvas import (
    CYCLE,
    DASHES,
    GREEN,
    INK,
    MUTED,
    AxisScale,
    band,
    canvas,
    dots,
    hover,
    legend,
    source,
    stack,
    thin,
)
from perfvcs.pictures.curvesides import FEWEST_OF_CURVE, CurveSide, equation, grid
from perfvcs.system.numeric import np
from perfvcs.text.quantity import at_sizes, number, quantity, scale

if TYPE_CHECKING:
    from bokeh.models.layouts import Tabs
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.plotting import figure

    from perfvcs.check import Change
    from perfvcs.check.change import Curve
    from perfvcs.statistics.regression.callcurves import SizeCourse
    from perfvcs.statistics.regression.kind import ErrorKind


# ratio of the largest to the smallest size from which logarithmic axes come first
LOGARITHMIC_RATIO = 30.0
STYLE = """
:host, .bk-tab, .bk-tab.bk-active { color: inherit; background: none; }
.bk-header, .bk-tab.bk-active { border-color: #5b6470; }
.bk-tab.bk-active { font-weight: 600; }
"""


def axes(sides: Sequence[CurveSide]) -> list[AxisScale]:
    """Both kinds of axes, the more telling one first; no logarithms if hardly any is above 0."""
    positive = [side.course.size[(side.course.size > 0) & (side.course.mean > 0)] for side in sides]
    if min(map(len, positive)) < FEWEST_OF_CURVE:
        return ["linear"]
    every = np.concatenate(positive)
    return (
        ["log", "linear"] if every.max() / every.min() >= LOGARITHMIC_RATIO else ["linear", "log"]
    )


def tabbed(kinds: Sequence[AxisScale], draw: Callable[[AxisScale], list[figure]]) -> Tabs:
    """Figures below one another, once for each kind of axes."""
    from bokeh.models.layouts import TabPanel, Tabs

    panels, height = [], 0
    for axis in kinds:
        plots = draw(axis)
        panels.append(
            TabPanel(
                child=stack(plots), title="logarithmic axes" if axis == "log" else "linear axes"
            )
        )
        height = max(height, sum(plot.height or 0 for plot in plots))
    return Tabs(tabs=panels, height=height + 36, sizing_mode="stretch_width", stylesheets=[STYLE])


def means(
    plot: figure, side: CurveSide, axis: AxisScale, factor: float, points: int
) -> list[GlyphRenderer[Any]]:
    """The mean of the values at each size, bars for quartiles; at most ``points`` sizes."""
    from bokeh.models import Scatter, Segment

    course = side.course
    if axis == "log":
        rows = np.flatnonzero((course.size > 0) & (course.mean > 0))
    else:
        rows = np.arange(len(course.size))
    rows = rows[thin(course.mean[rows], points)]
    low, mean, high = (column[rows] for column in (course.low, course.mean, course.high))
    floor = float(mean.min(initial=1.0)) / 10
    data = source(
        x=course.size[rows],
        y=mean * factor,
        low=(np.maximum(low, floor) if axis == "log" else low) * factor,
        high=high * factor,
        count=course.count[rows],
        **{name: [texts[row] for row in rows.tolist()] for name, texts in side.texts.items()},
    )
    few = len(rows) <= 60
    line = Segment(
        x0="x", y0="low", x1="x", y1="high", line_color=side.colour, line_alpha=0.35 if few else 0.2
    )
    size = 7 if few else 4
    fill = "#ffffff" if side.marker == "square" else side.colour
    mark = Scatter(
        x="x",
        y="y",
        marker=side.marker,
        size=size,
        line_color=side.colour,
        fill_color=fill,
        fill_alpha=0.7,
        line_alpha=0.8,
    )
    bars, marks = plot.add_glyph(data, line), plot.add_glyph(data, mark)
    tooltip = [("median", "@median"), ("quartiles", "@quartiles"), ("measurements", "@count")]
    hover(plot, [marks], [(side.name, "@text"), ("size", "@size"), *tooltip])
    return [bars, marks]


def model_line(
    plot: figure, side: CurveSide, model: str, number: int, axis: AxisScale, factor: float
) -> GlyphRenderer[Any]:
    """A model's line.

    Those behind the best one, which has ``number`` 0, are shown by a click on the legend.
    """
    from bokeh.models import Line

    x = over(side, axis)
    y = side.course.choice.fits[model].predict(x) * factor
    fine = np.isfinite(y) & ((y > 0) | (axis == "linear"))
    colour, dash = side.colour, side.dash
    if side.alone:
        colour = CYCLE[number % len(CYCLE)] if number else INK
        dash = DASHES[number % len(DASHES)]
    glyph = Line(x="x", y="y", line_color=colour, line_dash=dash, line_width=1.5 if number else 2.5)
    line = plot.add_glyph(source(x=x[fine], y=y[fine]), glyph)
    line.visible = not number
    return line


def over(side: CurveSide, axis: AxisScale) -> Any:
    """Sizes all over the range of a side, of shape (points,)."""
    sizes = side.course.size[(side.course.size > 0) | (axis == "linear")]
    return grid(float(sizes[0]), float(sizes[-1]), axis)


def in_words(sides: Sequence[CurveSide], unit: str) -> list[str]:
    """The order of growth of both sides, or one's equation, short enough for a telephone."""
    if not sides[0].alone:
        return [
            ", ".join(
                f"{side.name} {side.course.choice.order(shape=True) or 'without a model'}"
                for side in sides
            )
        ]
    course = sides[0].course
    model = course.choice.model()
    if model is None:
        return ["no model fits"]
    return [
        f"{equation(course, model, unit)}, {course.choice.order(shape=True)}{r_squared(course)}"
    ]


def r_squared(course: SizeCourse) -> str:
    """``, r² 0.998``: the share of variance explained; empty where a constant is the best."""
    best = course.choice
    return f", r² {float(best.r2[0]):.3f}" if best.model() not in (None, "constant") else ""


class CourseDifference:
    """The difference of two courses at their common sizes, and the kind of error in the verdict."""

    def __init__(self, sides: Sequence[CurveSide], verdict: Change | None, unit: str) -> None:
        from perfvcs.check.curves.sides import CURVE_KINDS, DOUBTED
        from perfvcs.statistics.regression.kind import kind

        old, new = (side.course for side in sides)
        self.size, before, after = np.intersect1d(old.size, new.size, return_indices=True)
        self.difference = new.mean[after] - old.mean[before]
        self.unit = unit
        with np.errstate(all="ignore"):
            self.kind: ErrorKind = kind(
                old.size, old.mean, new.size, new.mean, family=CURVE_KINDS, doubted=DOUBTED
            )
        self.curve: Curve | None = verdict.curve if verdict is not None else None
        self.heading = _heading(self.curve, verdict.finding if verdict is not None else "", unit)
        self.range = max(old.size[0], new.size[0]), min(old.size[-1], new.size[-1])

    def draw(self, above: figure, axis: AxisScale, points: int) -> figure:
        """Below ``above``, with which it shares the sizes."""
        from bokeh.models.annotations.geometry import Span

        rows = np.flatnonzero(self.size > 0) if axis == "log" else np.arange(len(self.size))
        rows = rows[thin(self.difference[rows], points)]
        largest = float(np.quantile(np.abs(self.difference), 0.9)) if len(self.difference) else 0.0
        chosen = scale(largest, self.unit)
        label = f"target - baseline ({chosen.unit})".replace(" ()", "")
        title = self.heading if len(rows) else "the two sides have no size in common"
        sizes = "size"
        if self.curve is not None and self.curve.at:
            sizes = f"size; effect {at_sizes(self.curve.at)}"
        plot = canvas(title, sizes, label, height=220, x_axis=axis)
        plot.x_range = above.x_range
        plot.add_layout(Span(location=0, dimension="width", line_color=MUTED, line_dash="dotted"))
        entries: list[tuple[str, list[Any]]] = []
        if len(rows):
            data = source(
                x=self.size[rows],
                y=self.difference[rows] * chosen.factor,
                size=[number(value) for value in self.size[rows].tolist()],
                text=[quantity(value, self.unit) for value in self.difference[rows].tolist()],
            )
            marks = dots(plot, data, GREEN, 7, marker="diamond", alpha=0.4, edge=1.0)
            hover(plot, [marks], [("difference of the means", "@text"), ("size", "@size")])
            entries.append(("difference of the means", [marks]))
        entries += self._kind(plot, axis, chosen.factor)
        legend(plot, entries)
        return plot

    def _kind(self, plot: figure, axis: AxisScale, factor: float) -> list[tuple[str, list[Any]]]:
        """The error's curve with its interval, if the verdict names one."""
        from bokeh.models import Line

        from perfvcs.statistics.regression.models import transform

        curve = self.curve
        if (
            curve is None
            or curve.coefficient is None
            or curve.kind in ("none", "power", "exponential")
        ):
            return []
        x = grid(*self.range, axis)
        x = x[np.isfinite(transform(curve.kind, x))]
        f = np.ones(len(x)) if curve.kind == "constant" else transform(curve.kind, x)
        offset = float(self.kind.offset[0]) if self.kind.name() == curve.kind else 0.0
        offset = offset if np.isfinite(offset) and curve.kind != "constant" else 0.0
        low, high = (curve.coefficient if end is None else end for end in (curve.low, curve.high))
        data = source(
            x=x,
            y=(offset + curve.coefficient * f) * factor,
            low=(offset + low * f) * factor,
            high=(offset + high * f) * factor,
        )
        area = band(plot, data, MUTED, 0.25)
        line = plot.add_glyph(data, Line(x="x", y="y", line_color=INK, line_width=2))
        return [(f"{curve.kind}, 99 % interval", [line, area])]


def _heading(curve: Curve | None, finding: str, unit: str) -> str:
    """The kind of error, if the verdict's finding names it."""
    from perfvcs.check.curves.thresholds import sentence

    kind = ""
    if curve is not None and curve.coefficient is not None:
        kind = sentence(curve.kind, curve.coefficient, unit)
    return kind if kind and kind in finding else "difference of the means"
