"""The difference between the two sides of a curve, with the kind of error that the verdict names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from perfvcs.check.curves.finding import sentence
from perfvcs.drawing.canvas import GREEN, INK, MUTED, AxisScale, canvas, hover, legend, source, thin
from perfvcs.drawing.curves.sides import CurveSide, grid
from perfvcs.text.quantity import at_sizes, number, quantity, scale

if TYPE_CHECKING:
    from bokeh.plotting import figure

    from perfvcs.check import Change
    from perfvcs.check.change import Curve
    from perfvcs.statistics.regression.kind import ErrorKind


class CourseDifference:
    """The difference of two courses at their common sizes, and the kind of error in the verdict."""

    def __init__(self, sides: Sequence[CurveSide], verdict: Change | None, unit: str) -> None:
        import numpy as np

        from perfvcs.check.curves.curve import CURVE_KINDS, DOUBTED
        from perfvcs.statistics.regression.kind import kind

        old, new = (side.course for side in sides)
        self.size, before, after = np.intersect1d(old.size, new.size, return_indices=True)
        self.difference = new.mean[after] - old.mean[before]
        self.unit = unit
        with np.errstate(all="ignore"):
            self.kind: ErrorKind = kind(old.size, old.mean, new.size, new.mean, family=CURVE_KINDS, doubted=DOUBTED)
        self.curve: Curve | None = verdict.curve if verdict is not None else None
        self.heading = _heading(self.curve, verdict.finding if verdict is not None else "", unit)
        self.range = max(old.size[0], new.size[0]), min(old.size[-1], new.size[-1])

    def draw(self, above: figure, axis: AxisScale, points: int) -> figure:
        """Below ``above``, with which it shares the sizes."""
        import numpy as np
        from bokeh.models import Scatter
        from bokeh.models.annotations.geometry import Span

        rows = np.flatnonzero(self.size > 0) if axis == "log" else np.arange(len(self.size))
        rows = rows[thin(self.difference[rows], points)]
        largest = float(np.quantile(np.abs(self.difference), 0.9)) if len(self.difference) else 0.0
        chosen = scale(largest, self.unit)
        label = f"target - baseline ({chosen.unit})".replace(" ()", "")
        title = self.heading if len(rows) else "the two sides have no size in common"
        sizes = f"size; effect {at_sizes(self.curve.at)}" if self.curve is not None and self.curve.at else "size"
        plot = canvas(title, sizes, label, height=220, x_axis=axis)
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

    def _kind(self, plot: figure, axis: AxisScale, factor: float) -> list[tuple[str, list[Any]]]:
        """The error's curve with its interval, if the verdict names one."""
        import numpy as np
        from bokeh.models import Line, VArea

        from perfvcs.statistics.regression.models import transform

        curve = self.curve
        if curve is None or curve.coefficient is None or curve.kind in ("none", "power", "exponential"):
            return []
        x = grid(*self.range, axis)
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


def _heading(curve: Curve | None, finding: str, unit: str) -> str:
    """The kind of error, if the verdict's finding names it."""
    kind = sentence(curve.kind, curve.coefficient, unit) if curve is not None and curve.coefficient is not None else ""
    return kind if kind and kind in finding else "difference of the means"
