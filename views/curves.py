"""Values against sizes: of one revision with its models, of two with what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

from perfvcs.profile import REPEATED
from perfvcs.quantity import Scale, change, metric_name, number, quantity, scale
from perfvcs.summary import RECORDER
from perfvcs.views import Subject
from perfvcs.views._canvas import (
    BLUE,
    CYCLE,
    DASHES,
    GREEN,
    INK,
    LOOKS,
    MUTED,
    VERMILLION,
    Axis,
    canvas,
    hover,
    legend,
    source,
    stack,
    thin,
)  # fmt: skip
from perfvcs.views._samples import Sample, Unit, samples

if TYPE_CHECKING:
    import numpy as np
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure
    from numpy.typing import NDArray

    from perfvcs.check import Change
    from perfvcs.check.change import Curve
    from perfvcs.statistics.regression.course import Course
    from perfvcs.statistics.regression.kind import Kind

    Floats = NDArray[np.float64]

FEWEST = 5  # sizes that make a curve
GRID = 160  # points of a drawn curve
WIDE = 30.0  # ratio of the largest to the smallest size from which logarithmic axes come first
TITLE = 48  # characters of a line that a telephone has room for
NAMES = {
    "constant": "", "logarithmic": "ln n", "linear": "n", "linearithmic": "n ln n", "quadratic": "n²", "cubic": "n³",
}  # fmt: skip


@dataclass(frozen=True)
class Side:
    """One revision of a curve, and how it is drawn."""

    name: str
    course: Course
    colour: str
    marker: str
    dash: str
    unit: str

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """What is told of each size on hovering, whatever the axes."""
        low, middle, high, mean, size = (
            column.tolist() for column in (getattr(self.course, name) for name in ("low", "middle", "high", "mean", "size"))
        )
        return {
            "text": [quantity(value, self.unit) for value in mean], "median": [quantity(value, self.unit) for value in middle],
            "quartiles": [f"{quantity(a, self.unit)} to {quantity(b, self.unit)}" for a, b in zip(low, high, strict=True)],
            "size": [number(value) for value in size],
        }  # fmt: skip


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
        sides = _sides(first, second)
        unit, most = some.meaning.unit, max(float(side.course.mean.max()) for side in sides)
        chosen = scale(most / 3 or most, unit)
        between = _Between(sides, verdict, unit) if len(sides) == 2 else None
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
            for place, model in enumerate(_models(side.course)[: None if len(sides) == 1 else 1]):
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


class _Between:
    """The difference of two courses at the sizes that both have, and the kind of error that was told."""

    def __init__(self, sides: Sequence[Side], verdict: Change | None, unit: str) -> None:
        import numpy as np

        from perfvcs.check.curves.curve import DOUBTED, KINDS
        from perfvcs.statistics.regression.kind import kind

        old, new = (side.course for side in sides)
        self.size, before, after = np.intersect1d(old.size, new.size, return_indices=True)
        self.difference = new.mean[after] - old.mean[before]
        self.unit = unit
        with np.errstate(all="ignore"):
            self.kind: Kind = kind(old.size, old.mean, new.size, new.mean, family=KINDS, doubted=DOUBTED)
        self.curve: Curve | None = verdict.curve if verdict is not None else None
        self.range = max(old.size[0], new.size[0]), min(old.size[-1], new.size[-1])

    def draw(self, above: figure, axis: Axis, points: int) -> figure:
        """Below ``above``, with which it shares the sizes."""
        import numpy as np
        from bokeh.models import Scatter
        from bokeh.models.annotations.geometry import Span

        rows = np.flatnonzero(self.size > 0) if axis == "log" else np.arange(len(self.size))
        rows = rows[thin(self.difference[rows], points)]
        largest = float(np.quantile(np.abs(self.difference), 0.9)) if len(self.difference) else 0.0
        chosen = scale(largest, self.unit)
        label = f"difference ({chosen.unit})".replace(" ()", "")
        title = "target less baseline" if len(rows) else "target less baseline: no size is on both sides"
        plot = canvas(title, "size", label, height=220, x_axis=axis)
        plot.x_range = above.x_range
        plot.add_layout(Span(location=0, dimension="width", line_color=MUTED, line_dash="dotted"))
        entries: list[tuple[str, list[Any]]] = []
        if len(rows):
            data = source(
                x=self.size[rows], y=self.difference[rows] * chosen.factor, size=[number(value) for value in self.size[rows].tolist()],
                text=[quantity(value, self.unit) for value in self.difference[rows].tolist()],
            )  # fmt: skip
            mark = Scatter(x="x", y="y", marker="diamond", size=7, line_color=GREEN, fill_color=GREEN, fill_alpha=0.4)
            marks = plot.add_glyph(data, mark)
            hover(plot, [marks], [("difference of the means", "@text"), ("size", "@size")])
            entries.append(("difference of the means", [marks]))
        entries += self._kind(plot, axis, chosen.factor)
        legend(plot, entries)
        return plot

    def _kind(self, plot: figure, axis: Axis, factor: float) -> list[tuple[str, list[Any]]]:
        """The error's curve with its interval, where one was told."""
        import numpy as np
        from bokeh.models import Line, VArea

        from perfvcs.statistics.regression.models import transform

        curve = self.curve
        if curve is None or curve.coefficient is None or curve.kind in ("none", "power", "exponential"):
            return []
        x = _grid(*self.range, axis)
        x = x[np.isfinite(transform(curve.kind, x))]
        f = np.ones(len(x)) if curve.kind == "constant" else transform(curve.kind, x)
        offset = float(self.kind.offset[0]) if self.kind.name() == curve.kind else 0.0
        offset = offset if np.isfinite(offset) and curve.kind != "constant" else 0.0
        low, high = (curve.coefficient if end is None else end for end in (curve.low, curve.high))
        data = source(
            x=x, y=(offset + curve.coefficient * f) * factor, low=(offset + low * f) * factor, high=(offset + high * f) * factor
        )
        band = plot.add_glyph(data, VArea(x="x", y1="low", y2="high", fill_color=MUTED, fill_alpha=0.25))
        line = plot.add_glyph(data, Line(x="x", y="y", line_color=INK, line_width=2))
        return [(f"{curve.kind}, 99 % interval", [line, band])]


STYLE = """
:host, .bk-tab, .bk-tab.bk-active { color: inherit; background: none; }
.bk-header, .bk-tab.bk-active { border-color: #5b6470; }
.bk-tab.bk-active { font-weight: 600; }
"""


def growth(sample: Sample) -> str:
    """``O(log n), sizes 10 to 5,000``."""
    (side,) = _sides(None, sample)
    size = side.course.size
    return f"{side.course.choice.order(shape=True)}, sizes {number(float(size[0]))} to {number(float(size[-1]))}"


def sized(sample: Sample) -> bool:
    """Whether a sample is a curve: values at five sizes or more, of a metric that is judged."""
    import numpy as np

    return sample.meaning.better != "none" and len(np.unique(sample.size[np.isfinite(sample.size)])) >= FEWEST


def equation(course: Course, model: str, unit: str) -> str:
    """``62.1 ns + 24.9 ns ln n``: a fitted model in numbers."""
    first, second = course.choice.fits[model].coefficients[0].tolist()
    if model == "power":
        return f"{quantity(first, unit)} n^{number(second)}"
    if model == "exponential":
        return f"{quantity(first, unit)} {second:.6g}^n"
    sign = "-" if second < 0 else "+"
    return quantity(first, unit) + (f" {sign} {quantity(abs(second), unit)} {NAMES[model]}" if NAMES[model] else "")


def _sides(first: Sample | None, second: Sample | None) -> list[Side]:
    """What is there of baseline and target; near sizes are put together in the same way on both."""
    from perfvcs.statistics.regression.condensed import ranges
    from perfvcs.statistics.regression.course import course

    looks = {"baseline": (BLUE, "circle", "solid"), "target": (VERMILLION, "square", "dashed")}
    there = [(name, _columns(sample)) for name, sample in zip(looks, (first, second), strict=True) if sample is not None]
    if len(there) == 1:
        there, looks = [("measured", there[0][1])], {"measured": (BLUE, "circle", "solid")}
    most = max(len(set(columns[2].tolist())) for _, columns in there)
    within = ranges(tuple(columns[0] for _, columns in there), most)
    unit = next(sample for sample in (first, second) if sample is not None).meaning.unit
    return [Side(name, course(*columns, within), *looks[name], unit) for name, columns in there]


def _columns(sample: Sample) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Size, value and execution of the rows that are judged."""
    import numpy as np

    from perfvcs.statistics.regression.condensed import warm

    kept = np.isfinite(sample.size) & (sample.mark != REPEATED)
    if sample.unit.collector == RECORDER:
        kept &= warm(sample.iteration, sample.execution)
    kept = kept if kept.any() else np.isfinite(sample.size)
    return sample.size[kept], sample.values[kept], sample.execution[kept]


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


def _models(course: Course) -> list[str]:
    """The models that could be fitted, the best one first."""
    best = course.choice.model() or "constant"
    return [best, *(name for name, fit in course.choice.fits.items() if name != best and bool(fit.known[0]))]


def _model(plot: figure, side: Side, model: str, place: int, axis: Axis, factor: float) -> Any:
    """A model's line. Those behind the best one are shown by a click on the legend."""
    import numpy as np
    from bokeh.models import Line

    sizes = side.course.size[(side.course.size > 0) | (axis == "linear")]
    x = _grid(float(sizes[0]), float(sizes[-1]), axis)
    y = side.course.choice.fits[model].predict(x) * factor
    fine = np.isfinite(y) & ((y > 0) | (axis == "linear"))
    colour = side.colour if side.name != "measured" else INK if not place else CYCLE[place % len(CYCLE)]
    dash = side.dash if side.name != "measured" else DASHES[place % len(DASHES)]
    glyph = Line(x="x", y="y", line_color=colour, line_dash=dash, line_width=1.5 if place else 2.5)
    line = plot.add_glyph(source(x=x[fine], y=y[fine]), glyph)
    line.visible = not place
    return line


def _grid(low: float, high: float, axis: Axis) -> Floats:
    """Sizes all over the range, evenly by their logarithms where the axis is."""
    import numpy as np

    found = np.geomspace(low if low > 0 else min(1.0, high), high, GRID) if axis == "log" else np.linspace(low, high, GRID)
    return np.asarray(found, dtype=np.float64)
