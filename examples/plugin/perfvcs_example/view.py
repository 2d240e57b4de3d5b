"""Every measurement as a dot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import Profile

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

    from perfvcs.check.subject import Subject


@dataclass(frozen=True)
class Dots(View[list[Profile]]):
    """The rows of the target in the order in which they were measured; ``points``: at most so
    many.
    """

    points: Count = 1000

    def cut(self, subject: Subject) -> list[Profile]:
        """What there is to draw; a reason where there is nothing."""
        found = [profile for profile in subject.target if len(profile.resources)]
        if not found:
            raise Unfit("the target has no measurements")
        return found

    def render(self, data: list[Profile]) -> UIElement:
        """One figure per profile and metric."""
        from bokeh.layouts import column
        from bokeh.plotting import figure

        plots = []
        for profile in data:
            for name, values in profile.resources.metrics.items():
                shown = [(place, value) for place, value in enumerate(values) if value is not None][
                    : self.points
                ]
                plot = figure(title=f"{profile.job.name}: {name}", height=250, width=600)
                plot.scatter([place for place, _ in shown], [value for _, value in shown])
                plots.append(plot)
        return column(*plots)
