"""Every execution of one revision as its own strip of points, with the centre of all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    BLUE,
    GREEN,
    MUTED,
    ORANGE,
    canvas,
    dots,
    hover,
    legend,
    segments,
    source,
    stack,
    thin,
    thinned,
)
from perfvcs.pictures.sample import TAKEN, DrawnSample, no_interval, of_one_revision, samples
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import DELAYED, FINE, REPEATED
from perfvcs.system.numeric import Floats, np
from perfvcs.text.quantity import percent, quantity, scale
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

EXECUTION_MARKS = {
    FINE: ("measurements", "circle", BLUE),
    DELAYED: ("waited for processor", "triangle", ORANGE),
    REPEATED: ("repeated, left out", "x", MUTED),
}


@dataclass(frozen=True)
class Executions(View[list[DrawnSample]]):
    """``points``: at most so many rows of a sample are drawn."""

    points: Count = 3000

    def cut(self, subject: Subject) -> list[DrawnSample]:
        """The samples of one revision."""
        if not (drawn := samples(of_one_revision(subject))):
            raise Unfit("no row has a value")
        return drawn

    def telling(self, data: list[DrawnSample]) -> str | None:
        """Nothing, where there is but one value: the table has it."""
        return None if any(len(sample.values) > 1 for sample in data) else ""

    def render(self, data: list[DrawnSample]) -> UIElement:
        """One figure per sample."""
        return stack([self._draw(sample) for sample in data])

    def _draw(self, sample: DrawnSample) -> figure:
        from bokeh.models import AdaptiveTicker

        executions, medians = sample.medians
        drawn = thin(sample.values, self.points)
        execution, values, mark = sample.execution[drawn], sample.values[drawn], sample.mark[drawn]
        chosen = scale(float(np.median(np.abs(sample.values))), sample.meaning.unit)
        label = f"{metric_name(sample.metric)} ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            summary(sample),
            "execution",
            label,
            caption=[*_spread(sample), *thinned(len(drawn), len(sample.values))],
        )
        plot.xaxis.ticker = AdaptiveTicker(min_interval=1, num_minor_ticks=0)
        plot.xgrid.visible = False
        entries: list[tuple[str, list[Any]]] = []
        x = execution + self._offsets(sample)[drawn] + 1.0
        strips = len(sample.values) > len(sample.paired)
        for code, (text, marker, colour) in EXECUTION_MARKS.items():
            chosen_rows = (
                mark == code if code in (DELAYED, REPEATED) else ~np.isin(mark, (DELAYED, REPEATED))
            )
            if not chosen_rows.any():
                continue
            data = source(
                x=x[chosen_rows],
                y=values[chosen_rows] * chosen.factor,
                execution=execution[chosen_rows] + 1,
                iteration=sample.iteration[drawn][chosen_rows] + 1,
                text=[
                    quantity(value, sample.meaning.unit) for value in values[chosen_rows].tolist()
                ],
            )
            size, opacity = (4, 0.45) if strips and code == FINE else (8, 0.8)
            width = 2 if marker == "x" else 1
            points = dots(
                plot, data, colour, size, marker=marker, alpha=opacity, edge=0.8, width=width
            )
            entries.append((text, [points]))
            hover(plot, [points], [*TAKEN, ("value", "@text"), ("", text)])
        if strips and len(executions) <= self.points:
            ticks = source(x0=executions + 0.6, x1=executions + 1.4, y=medians * chosen.factor)
            lines = segments(plot, ticks, ("x0", "y", "x1", "y"), BLUE, 2)
            entries.append(("median of each", [lines]))
        entries += self._centre(plot, sample, chosen.factor)
        legend(plot, entries)
        return plot

    def _offsets(self, sample: DrawnSample) -> Floats:
        """The position (rows,) of each row in its strip, -0.35 to 0.35, by its order inside."""
        order = np.argsort(sample.execution, kind="stable")
        _, start, count = np.unique(sample.execution[order], return_index=True, return_counts=True)
        inside = np.arange(len(order)) - np.repeat(start, count)
        spread = np.empty(len(order))
        spread[order] = np.where(
            np.repeat(count, count) == 1,
            0.0,
            inside / np.maximum(np.repeat(count, count) - 1, 1) * 0.7 - 0.35,
        )
        return spread

    def _centre(
        self, plot: figure, sample: DrawnSample, factor: float
    ) -> list[tuple[str, list[Any]]]:
        """The centre as a line over all strips, its interval as a band."""
        from bokeh.models import Quad

        centre = sample.centre
        if centre is None or centre.low is None or centre.high is None:
            return []
        data = source(
            left=[0.5],
            right=[len(sample.paired) + 0.5],
            low=[centre.low * factor],
            high=[centre.high * factor],
            centre=[centre.value * factor],
        )
        area = Quad(
            left="left",
            right="right",
            bottom="low",
            top="high",
            line_color=GREEN,
            fill_color=GREEN,
            line_alpha=0.18,
            fill_alpha=0.18,
        )
        band = plot.add_glyph(data, area, level="underlay")
        line = segments(
            plot, data, ("left", "centre", "right", "centre"), GREEN, 2, level="underlay"
        )
        return [("mean, 99 % interval", [line, band])]


def summary(sample: DrawnSample) -> str:
    """Two lines that say what is drawn, in words: how often measured, and the centre."""
    executions, rows = len(sample.medians[0]), len(sample.values)
    centre = sample.centre
    count = counted(executions, "execution") + (
        f", {rows:,} measurements" if rows != executions else ""
    )
    if centre is None:
        return f"{count}: all were repeated and left out"
    if executions == 1:
        return f"{count}: {quantity(centre.value, sample.meaning.unit)}\n{no_interval(executions)}"
    few = ", no interval" if no_interval(executions) else ""
    return f"{count}\nmean {centre.text(sample.meaning.unit)}{few}"


def _spread(sample: DrawnSample) -> list[str]:
    """How far the values of several executions spread, as a part of their centre."""
    centre = sample.centre
    if centre is None or not centre.value or len(sample.medians[0]) == 1:
        return []
    spread = float(sample.values.max() - sample.values.min()) / abs(centre.value)
    return [f"range {percent(spread).lstrip('+')}"]
