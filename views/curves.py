"""Values against sizes: of one revision with its models, of two with what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from perfvcs.quantity import Scale, change, metric_name, scale
from perfvcs.views import Subject
from perfvcs.views._canvas import CYCLE, DASHES, INK, LOOKS, Axis, canvas, hover, legend, source, stack, thin
from perfvcs.views._difference import Difference
from perfvcs.views._samples import Sample, Unit, samples
from perfvcs.views._sides import FEWEST, Side, equation, grid, models, sides_of, sized

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

    from perfvcs.check import Change

WIDE = 30.0  # ratio of the largest to the smallest size from which logarithmic axes come first
TITLE = 48  # characters of a line that a telephone has room for


@dataclass(frozen=True)
class Curves:
    """``points``: at most so many sizes of a side are drawn; ``both``: on both kinds of axes, not just those that show more of them."""

    points: int = 500
    both: bool = True
    whole: ClassVar[bool] = True

    def fits(self, subject: Subject) -> str | None:
        """Why not: it needs a benchmark with five sizes."""
        profiles = [*subject.target, *subject.baseline]
        if any(sized(sample) for sample in samples(profiles, whole=True)):
            return None
        return "it draws values against at least five sizes"

    def render(self, subject: Subject) -> UIElement:
        """Per unit and metric a tab with logarithmic axes and one with linear ones."""
        found: dict[tuple[Unit, str], list[Sample | None]] = {}
        for place, profiles in enumerate((subject.baseline, subject.target)):
            for sample in samples(profiles, whole=True):
                if sized(sample):
                    found.setdefault((sample.unit, sample.metric), [None, None])[place] = sample
        return stack([self._draw(first, second, subject.verdict) for first, second in found.values()])

    def _draw(self, first: Sample | None, second: Sample | None, verdict: Change | None) -> Any:
        from bokeh.models.layouts import TabPanel, Tabs

        some = second or first
        assert some is not None
        sides = sides_of(first, second)
        unit, most = some.meaning.unit, max(float(side.course.mean.max()) for side in sides)
        chosen = scale(most / 3 or most, unit)
        between = Difference(sides, verdict, unit) if len(sides) == 2 else None
        panels, height = [], 0
        for axis in _axes(sides)[: None if self.both else 1]:
            plots = [self._curves(sides, axis, chosen, unit, metric_name(some.metric), verdict)]
            if between is not None:
                plots.append(between.draw(plots[0], axis, self.points))
            panels.append(TabPanel(child=stack(plots), title="logarithmic axes" if axis == "log" else "linear axes"))
            height = max(height, sum(plot.height or 0 for plot in plots))
        return Tabs(tabs=panels, height=height + 36, sizing_mode="stretch_width", stylesheets=[STYLE])

    def _curves(self, sides: Sequence[Side], axis: Axis, chosen: Scale, unit: str, metric: str, verdict: Change | None) -> figure:
        from bokeh.models import DataRange1d

        lines = _heading(sides, verdict, unit)
        label = f"{metric} ({chosen.unit})".replace(" ()", "")
        plot = canvas("\n".join(lines), "size", label, height=300 + 14 * len(lines), x_axis=axis, y_axis=axis)
        if isinstance(plot.y_range, DataRange1d):
            plot.y_range.only_visible = True  # models that are not shown do not count
        entries: list[tuple[str, list[Any]]] = []
        for side in sides:
            name = f"{side.name}: means, quartiles" if len(sides) > 1 else "means, quartiles"
            entries.append((name, self._points(plot, side, axis, chosen.factor)))
        for side in sides:
            for place, model in enumerate(models(side.course)[: None if len(sides) == 1 else 1]):
                line = _model(plot, side, model, place, axis, chosen.factor)
                r2 = f"{float(side.course.choice.fits[model].r2[0]):.2f}".replace("0.", ".")
                told = f"{side.name} {equation(side.course, model, unit)}" if len(sides) > 1 else f"{model} (r² {r2})"
                entries.append((told, [line]))
        legend(plot, entries)
        return plot

    def _points(self, plot: figure, side: Side, axis: Axis, factor: float) -> list[GlyphRenderer[Any]]:
        import numpy as np
        from bokeh.models import Scatter, Segment

        course = side.course
        rows = np.flatnonzero((course.size > 0) & (course.mean > 0)) if axis == "log" else np.arange(len(course.size))
        rows = rows[thin(course.mean[rows], self.points)]
        low, mean, high = (column[rows] for column in (course.low, course.mean, course.high))
        floor = float(mean.min(initial=1.0)) / 10
        data = source(
            x=course.size[rows], y=mean * factor, low=(np.maximum(low, floor) if axis == "log" else low) * factor, high=high * factor,
            count=course.count[rows], **{name: [texts[row] for row in rows.tolist()] for name, texts in side.texts.items()},
        )  # fmt: skip
        line = Segment(x0="x", y0="low", x1="x", y1="high", line_color=side.colour, line_alpha=0.35 if len(rows) <= 60 else 0.2)
        mark = Scatter(
            x="x", y="y", marker=side.marker, size=7 if len(rows) <= 60 else 4, line_color=side.colour,
            fill_color="#ffffff" if side.marker == "square" else side.colour, fill_alpha=0.7, line_alpha=0.8,
        )  # fmt: skip
        bars, marks = plot.add_glyph(data, line), plot.add_glyph(data, mark)
        hover(
            plot,
            [marks],
            [
                (side.name, "@text"),
                ("size", "@size"),
                ("median", "@median"),
                ("quartiles", "@quartiles"),
                ("measurements", "@count"),
            ],
        )
        return [bars, marks]


STYLE = """
:host, .bk-tab, .bk-tab.bk-active { color: inherit; background: none; }
.bk-header, .bk-tab.bk-active { border-color: #5b6470; }
.bk-tab.bk-active { font-weight: 600; }
"""


def _axes(sides: Sequence[Side]) -> list[Axis]:
    """Both kinds of axes, the one that shows more of these sizes first; no logarithms where hardly anything is above 0."""
    import numpy as np

    positive = [side.course.size[(side.course.size > 0) & (side.course.mean > 0)] for side in sides]
    if min(map(len, positive)) < FEWEST:
        return ["linear"]
    every = np.concatenate(positive)
    return ["log", "linear"] if every.max() / every.min() >= WIDE else ["linear", "log"]


def _heading(sides: Sequence[Side], verdict: Change | None, unit: str) -> list[str]:
    """The verdict with what was found, and the order of growth of each side."""
    told = []
    for side in sides:
        best = side.course.choice
        model = best.model() or "constant"
        r2 = f", r² {float(best.r2[0]):.3f}" if model != "constant" else ""
        told.append(f"{side.name if len(sides) > 1 else equation(side.course, model, unit) + ','} {best.order(shape=True)}{r2}")
    lines = ["; ".join(told)] if len("; ".join(told)) <= TITLE else told
    if verdict is None:
        return lines
    effect = "" if verdict.effect is None else f" {change(verdict.effect, verdict.low, verdict.high)}"
    found = [line for part in (verdict.finding or verdict.reason).split("; ") for line in wrap(part, TITLE)]
    return [f"{LOOKS[verdict.word].sign} {verdict.word}{effect}", *found, *lines]


def _model(plot: figure, side: Side, model: str, place: int, axis: Axis, factor: float) -> Any:
    """A model's line. Those behind the best one are shown by a click on the legend."""
    import numpy as np
    from bokeh.models import Line

    sizes = side.course.size[(side.course.size > 0) | (axis == "linear")]
    x = grid(float(sizes[0]), float(sizes[-1]), axis)
    y = side.course.choice.fits[model].predict(x) * factor
    fine = np.isfinite(y) & ((y > 0) | (axis == "linear"))
    colour = side.colour if side.name != "measured" else INK if not place else CYCLE[place % len(CYCLE)]
    dash = side.dash if side.name != "measured" else DASHES[place % len(DASHES)]
    glyph = Line(x="x", y="y", line_color=colour, line_dash=dash, line_width=1.5 if place else 2.5)
    line = plot.add_glyph(source(x=x[fine], y=y[fine]), glyph)
    line.visible = not place
    return line
