"""Every measurement as a dot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.plugins import Count

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

    from perfvcs.subject import Subject


@dataclass(frozen=True)
class Dots:
    """The rows of the target in the order in which they were measured; ``points``: at most so many."""

    points: Count = 1000

    def fits(self, subject: Subject) -> str | None:
        """Why it cannot draw this subject; None when it can."""
        return None if any(len(profile.resources) for profile in subject.target) else "the target has no measurements"

    def render(self, subject: Subject) -> UIElement:
        """One figure per profile and metric."""
        from bokeh.layouts import column
        from bokeh.plotting import figure

        plots = []
        for profile in subject.target:
            for name, values in profile.resources.metrics.items():
                shown = [(place, value) for place, value in enumerate(values) if value is not None][: self.points]
                plot = figure(title=f"{profile.job.name}: {name}", height=250, width=600)
                plot.scatter([place for place, _ in shown], [value for _, value in shown])
                plots.append(plot)
        return column(*plots)
