"""All measurements of one revision in the order in which they were taken: drift, warm-up and jumps
show here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.pictures import patterns
from perfvcs.pictures.canvas import (
    CYCLE,
    GREEN,
    MUTED,
    ORANGE,
    VERMILLION,
    canvas,
    hover,
    legend,
    source,
    stack,
    thin,
    thinned,
)
from perfvcs.pictures.patterns import CLUSTER_MARKERS, clusters
from perfvcs.pictures.sample import DrawnSample, samples
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.text.quantity import quantity, scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure


@dataclass(frozen=True)
class Runsequence(View[list[DrawnSample]]):
    """``points``: at most so many rows of a sample are drawn; ``window``: measurements under the
    running median.
    """

    points: Count = 2500
    window: Count = 9

    def cut(self, subject: Subject) -> list[DrawnSample]:
        """The samples of one revision whose executions measured more than once."""
        if subject.baseline:
            raise Unfit("it draws one revision, not two")
        if not any(len(profile.resources) for profile in subject.target):
            raise Unfit("there are no measurements")
        if not any(any(profile.resources.integers("iteration")) for profile in subject.target):
            raise Unfit(
                "every execution has one measurement, and `executions` shows these in order"
            )
        if not (found := samples(subject.target)):
            raise Unfit("no row has a value")
        return found

    def telling(self, data: list[DrawnSample]) -> str:
        """The pattern in the order of the values, in words."""
        return "; ".join(
            said for sample in data for said in patterns.remarks(sample, clusters(sample))
        )

    def render(self, data: list[DrawnSample]) -> UIElement:
        """One figure per sample."""
        return stack([self._draw(sample) for sample in data])

    def _draw(self, sample: DrawnSample) -> figure:
        import numpy as np
        from bokeh.models import BasicTickFormatter

        rows_in_order = np.lexsort((sample.iteration, sample.execution))
        execution, iteration = sample.execution[rows_in_order], sample.iteration[rows_in_order]
        values = sample.values[rows_in_order]
        drawn = thin(values, self.points)
        chosen = scale(float(np.median(np.abs(values))), sample.meaning.unit)
        groups = clusters(sample)
        note = [groups.text(sample.meaning.unit)] if groups else []
        label = f"{metric_name(sample.metric)} ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            "in the order measured; shades: executions",
            "measurement",
            label,
            height=290,
            caption=[*note, *thinned(len(drawn), len(values))],
        )
        plot.xaxis.formatter = BasicTickFormatter(use_scientific=False)
        starts = np.flatnonzero(np.diff(execution, prepend=-1))
        ends = np.append(starts[1:], len(values))
        if len(starts) <= self.points // 4:
            every_other = slice(1, None, 2)
            low, high = float(values.min()) * chosen.factor, float(values.max()) * chosen.factor
            shades = source(left=starts[every_other] + 0.5, right=ends[every_other] + 0.5)
            plot.quad(
                left="left",
                right="right",
                bottom=low,
                top=high,
                source=shades,
                color=MUTED,
                alpha=0.12,
                line_color=None,
                level="underlay",
            )
        repeated = (sample.mark[rows_in_order] == REPEATED)[drawn]
        entries: list[tuple[str, list[Any]]] = []
        kinds = [(~repeated, "measurements", CLUSTER_MARKERS[0], CYCLE[0])]
        if groups:
            labels = groups.labels[rows_in_order][drawn]
            kinds = [
                (labels == label, f"in cluster {label + 1}", CLUSTER_MARKERS[label], CYCLE[label])
                for label in range(len(groups.centres))
            ]
        for chosen_rows, text, marker, colour in [*kinds, (repeated, "left out", "x", ORANGE)]:
            if not chosen_rows.any():
                continue
            rows = drawn[chosen_rows]
            data = source(
                x=rows + 1,
                y=values[rows] * chosen.factor,
                execution=execution[rows] + 1,
                iteration=iteration[rows] + 1,
                text=[quantity(value, sample.meaning.unit) for value in values[rows].tolist()],
            )
            points = plot.scatter(
                "x", "y", source=data, marker=marker, size=4, color=colour, alpha=0.6
            )
            hover(
                plot,
                [points],
                [("execution", "@execution"), ("measurement", "@iteration"), ("value", "@text")],
            )
            entries.append((text, [points]))
        if len(values) >= 2 * self.window:
            from scipy.ndimage import median_filter

            running = median_filter(values, size=self.window, mode="nearest")[drawn]
            line = plot.line(drawn + 1.0, running * chosen.factor, color=VERMILLION, line_width=1.5)
            # between clusters it jumps all the time; a click on the legend shows it
            line.visible = groups is None
            entries.append((f"running median of {self.window}", [line]))
        if len(starts) <= self.points // 4:
            by_execution = [
                float(np.median(values[start:end])) * chosen.factor
                for start, end in zip(starts, ends, strict=True)
            ]
            steps = plot.segment(
                starts + 0.5, by_execution, ends + 0.5, by_execution, color=GREEN, line_width=2
            )
            entries.append(("execution medians", [steps]))
        legend(plot, entries)
        return plot
