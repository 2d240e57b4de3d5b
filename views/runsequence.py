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
from perfvcs.pictures.patterns import CLUSTER_MARKERS, ClusterCentres, clusters
from perfvcs.pictures.sample import TAKEN, DrawnSample, of_one_revision, samples
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.system.numeric import Floats, Indices, np
from perfvcs.text.quantity import quantity, scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        profiles = of_one_revision(subject)
        if not any(any(profile.resources.integers("iteration")) for profile in profiles):
            raise Unfit(
                "every execution has one measurement, and `executions` shows these in order"
            )
        drawn = samples(profiles)
        if not drawn:
            raise Unfit("no row has a value")
        return drawn

    def telling(self, data: list[DrawnSample]) -> str:
        """The pattern in the order of the values, in words."""
        return "; ".join(
            remark for sample in data for remark in patterns.remarks(sample, clusters(sample))
        )

    def render(self, data: list[DrawnSample]) -> UIElement:
        """One figure per sample."""
        return stack([self._draw(sample) for sample in data])

    def _draw(self, sample: DrawnSample) -> figure:
        """From the bottom up: shades of executions, points, running median, executions' medians."""
        from bokeh.models import BasicTickFormatter

        sequence = _Sequence.of(sample, self.points)
        groups = clusters(sample)
        note = [groups.text(sample.meaning.unit)] if groups else []
        plot = canvas(
            "in the order measured; shades: executions",
            "measurement",
            f"{metric_name(sample.metric)} ({sequence.unit})".replace(" ()", ""),
            height=290,
            caption=[*note, *thinned(len(sequence.drawn), len(sequence.values))],
        )
        plot.xaxis.formatter = BasicTickFormatter(use_scientific=False)
        few_executions = len(sequence.starts) <= self.points // 4
        if few_executions:
            sequence.draw_shades(plot)
        entries = list(sequence.draw_points(plot, sample, groups))
        if len(sequence.values) >= 2 * self.window:
            line = sequence.draw_running_median(plot, self.window)
            # between clusters it jumps all the time; a click on the legend shows it
            line.visible = groups is None
            entries.append((f"running median of {self.window}", [line]))
        if few_executions:
            entries.append(("execution medians", [sequence.draw_medians(plot)]))
        legend(plot, entries)
        return plot


@dataclass(frozen=True)
class _Sequence:
    """The rows of a sample in the order of execution and iteration: ``values`` (n,) in their
    ``unit`` times ``factor``, those that are ``drawn``, and where each execution starts and ends.
    """

    order: Indices
    values: Floats
    drawn: Indices
    starts: Indices
    ends: Indices
    factor: float
    unit: str

    @classmethod
    def of(cls, sample: DrawnSample, points: int) -> _Sequence:
        """At most so many ``points`` are drawn."""
        order = np.lexsort((sample.iteration, sample.execution))
        values = sample.values[order]
        starts = np.flatnonzero(np.diff(sample.execution[order], prepend=-1))
        ends = np.append(starts[1:], len(values))
        chosen = scale(float(np.median(np.abs(values))), sample.meaning.unit)
        drawn = thin(values, points)
        return cls(order, values, drawn, starts, ends, chosen.factor, chosen.unit)

    def draw_shades(self, plot: figure) -> None:
        """A shade under every other execution."""
        every_other = slice(1, None, 2)
        plot.quad(
            left="left",
            right="right",
            bottom=float(self.values.min()) * self.factor,
            top=float(self.values.max()) * self.factor,
            source=source(left=self.starts[every_other] + 0.5, right=self.ends[every_other] + 0.5),
            color=MUTED,
            alpha=0.12,
            line_color=None,
            level="underlay",
        )

    def draw_points(
        self, plot: figure, sample: DrawnSample, groups: ClusterCentres | None
    ) -> Iterator[tuple[str, list[Any]]]:
        """The points, those of each cluster with a marker and an entry of the legend of their own;
        so are repeated executions, which do not count.
        """
        repeated = (sample.mark[self.order] == REPEATED)[self.drawn]
        kinds = [(~repeated, "measurements", CLUSTER_MARKERS[0], CYCLE[0])]
        if groups:
            labels = groups.labels[self.order][self.drawn]
            kinds = [
                (labels == label, f"in cluster {label + 1}", CLUSTER_MARKERS[label], CYCLE[label])
                for label in range(len(groups.centres))
            ]
        for chosen, text, marker, colour in [*kinds, (repeated, "left out", "x", ORANGE)]:
            if not chosen.any():
                continue
            rows = self.drawn[chosen]
            values = self.values[rows]
            data = source(
                x=rows + 1,
                y=values * self.factor,
                execution=sample.execution[self.order][rows] + 1,
                iteration=sample.iteration[self.order][rows] + 1,
                text=[quantity(value, sample.meaning.unit) for value in values.tolist()],
            )
            points = plot.scatter(
                "x", "y", source=data, marker=marker, size=4, color=colour, alpha=0.6
            )
            hover(plot, [points], [*TAKEN, ("value", "@text")])
            yield text, [points]

    def draw_running_median(self, plot: figure, window: int) -> Any:
        """The line through the medians of so many neighbours."""
        from scipy.ndimage import median_filter

        running = median_filter(self.values, size=window, mode="nearest")[self.drawn]
        return plot.line(self.drawn + 1.0, running * self.factor, color=VERMILLION, line_width=1.5)

    def draw_medians(self, plot: figure) -> Any:
        """A bar along each execution at its median."""
        medians = [
            float(np.median(self.values[start:end])) * self.factor
            for start, end in zip(self.starts, self.ends, strict=True)
        ]
        return plot.segment(
            self.starts + 0.5, medians, self.ends + 0.5, medians, color=GREEN, line_width=2
        )
