"""Residuals of a model: the distances of the values from its curve over the sizes, and the share of those that are far."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfvcs.drawing.canvas import BLUE, INK, MUTED, VERMILLION, AxisScale, canvas, hover, legend, source
from perfvcs.statistics.deviation import NORMAL
from perfvcs.text.quantity import Scale, number, percent, quantity, scale
from perfvcs.text.words import counted

if TYPE_CHECKING:
    import numpy as np
    from bokeh.plotting import figure
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FAR_DEVIATIONS = 3.0  # robust standard deviations; a normal distribution has 0.3 % beyond
REACH = 3.0  # how many times further than these the axis shows
STRETCHES = 24  # of sizes, each with a median


@dataclass(frozen=True)
class Residuals:
    """Values less a curve at their sizes, columns of the shape (rows,): in shares of the curve where that is above 0 (``relative``)."""

    size: Floats
    values: Floats
    predicted: Floats
    unit: str

    @cached_property
    def relative(self) -> bool:
        """Whether the curve is above 0 at every size."""
        return bool((self.predicted > 0).all())

    @cached_property
    def rest(self) -> Floats:
        """The distances, as shares or in the metric's unit."""
        rest = self.values - self.predicted
        return rest / self.predicted if self.relative else rest

    @cached_property
    def limit(self) -> float:
        """The distance that counts as far: ``FAR_DEVIATIONS`` robust standard deviations of the distances about the curve."""
        import numpy as np

        return FAR_DEVIATIONS * NORMAL * float(np.median(np.abs(self.rest)))

    @property
    def outside(self) -> float:
        """The share of the rows that are far."""
        import numpy as np

        return float(np.mean(np.abs(self.rest) > self.limit))

    def text(self, value: float) -> str:
        """A distance in percent, or with its unit."""
        return percent(value) if self.relative else quantity(value, self.unit)

    def summary(self) -> str:
        """``1.2 % of 4,000 rows are beyond ±6.2 %``, and what that is."""
        rows, share = counted(len(self.rest), "row"), percent(self.outside).lstrip("+")
        return f"{share} of {rows} beyond ±{self.text(self.limit).lstrip('+')}"

    def draw(self, above: figure, axis: AxisScale, drawn: NDArray[np.int64]) -> figure:
        """Below ``above``, with which it shares the sizes; ``drawn`` are the numbers of the rows that are drawn."""
        import numpy as np
        from bokeh.models import Line, Range1d, Scatter, VArea
        from bokeh.models.annotations.geometry import Span

        edge = REACH * self.limit or float(np.abs(self.rest).max(initial=0.0)) or 1.0
        chosen = Scale(100.0, "%") if self.relative else scale(edge / REACH, self.unit)
        beyond = int((np.abs(self.rest) > edge).sum())
        notes = [f"{beyond:,} further than this axis reaches"] if beyond else []
        label = f"value minus model ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            "residuals of the best model", "size", label, height=230, x_axis=axis,
            caption=[f"{self.summary()}, three robust standard deviations", *notes],
        )  # fmt: skip
        plot.x_range, plot.y_range = above.x_range, Range1d(start=-1.05 * edge * chosen.factor, end=1.05 * edge * chosen.factor)
        ends = [float(self.size[self.size > 0].min() if axis == "log" else self.size.min()), float(self.size.max())]
        half = self.limit * chosen.factor
        area = VArea(x="x", y1="low", y2="high", fill_color=MUTED, fill_alpha=0.15)
        band = plot.add_glyph(source(x=ends, low=[-half] * 2, high=[half] * 2), area, level="underlay")
        plot.add_layout(Span(location=0, dimension="width", line_color=INK, line_width=1))
        rows = drawn[(self.size[drawn] > 0) | (axis == "linear")]
        data = source(
            x=self.size[rows], y=self.rest[rows] * chosen.factor, size=[number(value) for value in self.size[rows].tolist()],
            text=[self.text(value) for value in self.rest[rows].tolist()],
            value=[quantity(value, self.unit) for value in self.values[rows].tolist()],
        )  # fmt: skip
        dots = plot.add_glyph(
            data, Scatter(x="x", y="y", size=4, line_color=BLUE, fill_color=BLUE, line_alpha=0.35, fill_alpha=0.35)
        )
        hover(plot, [dots], [("residual", "@text"), ("value", "@value"), ("size", "@size")])
        at, middle = self.medians
        kept = (at > 0) | (axis == "linear")
        medians = source(x=at[kept], y=middle[kept] * chosen.factor)
        line = plot.add_glyph(medians, Line(x="x", y="y", line_color=VERMILLION, line_width=2))
        square = Scatter(x="x", y="y", marker="square", size=6, line_color=VERMILLION, fill_color=VERMILLION)
        marks = plot.add_glyph(medians, square)
        entries: list[tuple[str, list[Any]]] = [("rows", [dots]), ("medians", [line, marks]), ("±3 robust s. d.", [band])]
        legend(plot, entries)
        return plot

    @cached_property
    def medians(self) -> tuple[Floats, Floats]:
        """Median size and residual of up to so many stretches of sizes with equally many rows; rows of one size stay together."""
        import numpy as np

        order = np.argsort(self.size, kind="stable")
        size, rest = self.size[order], self.rest[order]
        ends = np.linspace(0, len(size), STRETCHES + 1)[1:-1].astype(np.int64)
        ends = np.unique(np.searchsorted(size, size[ends], side="left"))
        parts = [(at, mine) for at, mine in zip(np.split(size, ends), np.split(rest, ends), strict=True) if len(at)]
        return np.array([np.median(at) for at, _ in parts]), np.array([np.median(mine) for _, mine in parts])
