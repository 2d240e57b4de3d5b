"""How the values of one revision are distributed: a histogram when there are many, the cumulative
shares when there are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.pictures.bundle import NOTHING_USABLE
from perfvcs.pictures.canvas import (
    BLUE,
    INK,
    VERMILLION,
    canvas,
    hover,
    legend,
    source,
    stack,
    thin,
)
from perfvcs.pictures.patterns import ClusterCentres, clusters
from perfvcs.pictures.sample import DrawnSample, of_one_revision, samples
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.system.numeric import Floats, np
from perfvcs.text.quantity import number, numbers, quantity, scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

ENOUGH_VALUES = 50  # below, the bins of a histogram show chance rather than shape
BINS = 80


@dataclass(frozen=True)
class Distribution(View[list[DrawnSample]]):
    """``points``: at most so many values are drawn one by one."""

    points: Count = 500

    def cut(self, subject: Subject) -> list[DrawnSample]:
        """The samples of one revision that have values of executions that were not repeated."""
        profiles = of_one_revision(subject, ": `comparison` draws both")
        if not any(len(profile.resources) > len(profile.resources.names) for profile in profiles):
            raise Unfit("a single value has no distribution")
        drawable = [sample for sample in samples(profiles) if (sample.mark != REPEATED).any()]
        if not drawable:
            raise Unfit(NOTHING_USABLE)
        return drawable

    def telling(self, data: list[DrawnSample]) -> str:
        """The clusters of many values, in a sentence; empty where there is one, of which the
        interval says as much.
        """
        clustered = (
            (sample, clusters(sample))
            for sample in data
            if (sample.mark != REPEATED).sum() >= ENOUGH_VALUES
        )
        return "; ".join(groups.text(sample.meaning.unit) for sample, groups in clustered if groups)

    def render(self, data: list[DrawnSample]) -> UIElement:
        """One figure per sample."""
        return stack([self._draw(sample) for sample in data])

    def _draw(self, sample: DrawnSample) -> figure:
        from bokeh.models import Range1d

        values = np.sort(sample.values[sample.mark != REPEATED])
        chosen = scale(float(np.median(np.abs(values))), sample.meaning.unit)
        many = len(values) >= ENOUGH_VALUES and values[0] < values[-1]
        what = "measurements" if sample.iteration.any() else "executions"
        title = "a single value has no distribution"
        if len(values) > 1:
            title = f"distribution of {len(values):,} {what}"
        groups = clusters(sample) if many else None
        notes = [groups.text(sample.meaning.unit)] if groups else []
        if not many and len(values) > 1:
            steps = values[0] < values[-1]
            notes = [
                "each step is one value: too few for a histogram"
                if steps
                else f"all equal: {number(values[0])}"
            ]
        x_label = f"{metric_name(sample.metric)} ({chosen.unit})".replace(" ()", "")
        below = what if many else "share at or below (%)"
        plot = canvas(title, x_label, below, caption=notes)
        scaled = values * chosen.factor
        if values[0] == values[-1]:  # bokeh's own range about one number is as narrow as rounding
            around = 0.05 * abs(float(scaled[0])) or 1.0
            plot.x_range = Range1d(start=float(scaled[0]) - around, end=float(scaled[0]) + around)
        if groups is None:
            heap = scaled
        else:
            heap = np.sort(sample.values[groups.labels == groups.shares.argmax()]) * chosen.factor
        # one step for equal values, however many
        steps = scaled[-1:] if values[0] == values[-1] else scaled
        entries = [
            self._histogram(plot, scaled, heap, chosen.unit)
            if many
            else self._shares(plot, steps, chosen.unit)
        ]
        if groups:
            entries += [self._clusters(plot, groups, chosen.factor, sample.meaning.unit)]
        rug = thin(values, self.points)
        ticks = plot.scatter(
            source=source(x=scaled[rug], y=np.zeros(len(rug))),
            x="x",
            y="y",
            marker="dash",
            angle=np.pi / 2,
            size=10,
            line_color=BLUE,
            line_alpha=0.5,
        )
        entries.append(
            ("single values" + (f" ({len(rug):,})" if len(rug) < len(values) else ""), ticks)
        )
        executions, medians = sample.medians
        if len(executions) < len(values):
            shown = thin(medians, self.points)
            text = [quantity(value, sample.meaning.unit) for value in medians[shown].tolist()]
            data = source(
                x=medians[shown] * chosen.factor,
                y=np.zeros(len(shown)),
                execution=executions[shown] + 1,
                text=text,
            )
            diamonds = plot.scatter(
                "x", "y", source=data, marker="diamond", size=10, color=VERMILLION, alpha=0.8
            )
            hover(plot, [diamonds], [("execution", "@execution"), ("median", "@text")])
            entries.append(("execution medians", diamonds))
        legend(plot, [(text, [renderer]) for text, renderer in entries])
        return plot

    def _clusters(
        self, plot: figure, clusters: ClusterCentres, factor: float, unit: str
    ) -> tuple[str, GlyphRenderer[Any]]:
        """Draws the centres of the clusters; returns the entry of the legend."""
        from bokeh.models import ColumnDataSource

        x = (clusters.centres * factor).tolist()
        sources = [
            model
            for model in plot.select({"type": ColumnDataSource})
            if isinstance(model, ColumnDataSource)
        ]
        tops = [float(max(model.data["top"])) for model in sources if "top" in model.data]
        data = source(x=x, bottom=[0.0] * len(x), top=tops * len(x), text=clusters.each(unit))
        lines = plot.segment(
            "x",
            "bottom",
            "x",
            "top",
            source=data,
            line_color=INK,
            line_width=1.5,
            line_dash="dashed",
        )
        hover(plot, [lines], [("cluster", "@text")])
        return ("centres of clusters", lines)

    def _histogram(
        self, plot: figure, values: Floats, heap: Floats, unit: str
    ) -> tuple[str, GlyphRenderer[Any]]:
        """Bins by Freedman and Diaconis over the middle 99 %, the first and the last bin open-ended
        towards the extremes.

        ``heap``: the values whose spread decides how wide the bins are, the largest cluster or all.
        """
        low, high = np.quantile(values, (0.005, 0.995)).tolist()
        quarter, three = np.quantile(heap, (0.25, 0.75)).tolist()
        width = 2 * (three - quarter) / len(heap) ** (1 / 3)
        span = high - low or values[-1] - values[0]
        start = low if high > low else float(values[0])
        bins = min(BINS, max(5, int(np.ceil(span / width)))) if width > 0 else 20
        edges = np.linspace(start, start + span, bins + 1)
        counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), edges)
        outside = int((values < edges[0]).sum() + (values > edges[-1]).sum())
        ends = [f"{' to '.join(numbers(both))} {unit}" for both in pairwise(edges.tolist())]
        data = source(
            left=edges[:-1],
            right=edges[1:],
            top=counts,
            bottom=np.zeros(bins),
            text=ends,
            count=counts,
        )
        bars = plot.quad(
            "left",
            "right",
            "top",
            "bottom",
            source=data,
            fill_color=BLUE,
            fill_alpha=0.35,
            line_color=BLUE,
            line_alpha=0.6,
        )
        hover(plot, [bars], [("from", "@text"), ("values", "@count")])
        return ("values" + (f", {outside:,} beyond" if outside else ""), bars)

    def _shares(self, plot: figure, values: Floats, unit: str) -> tuple[str, GlyphRenderer[Any]]:
        """The empirical cumulative distribution as steps, one per value."""
        share = 100 * np.arange(1, len(values) + 1) / len(values)
        line = plot.step(
            np.repeat(values[:1], 1).tolist() + values.tolist(),
            [0.0, *share.tolist()],
            mode="after",
            color=BLUE,
            line_width=2,
        )
        text = [f"{number(value)} {unit}" for value in values.tolist()]
        dots = plot.scatter(
            "x", "y", source=source(x=values, y=share, text=text), size=6, color=BLUE
        )
        hover(plot, [dots], [("value", "@text"), ("share at or below", "@y{0} %")])
        return ("share at or below", line)
