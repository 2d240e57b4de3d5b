"""Rows of one revision by their sizes, with all models that were fitted to them, and what the best
one leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import stack
from perfvcs.pictures.cloud import Cloud, clouds
from perfvcs.pictures.course import axes, over, tabbed
from perfvcs.pictures.curvesides import pairs
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.system.numeric import np
from perfvcs.text.quantity import scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement

TEXTS = 8  # plots in a terminal


@dataclass(frozen=True)
class Scatter(View[list[Cloud]]):
    """``points``: at most so many rows are drawn; ``both``: on both kinds of axes, not just those
    that show more of them.
    """

    points: Count = 1500
    both: bool = True
    scope: ClassVar[Scope] = "sizes"

    def cut(self, subject: Subject) -> list[Cloud]:
        """The samples with five sizes that only one side has."""
        if drawable := clouds(subject):
            return drawable
        both = "it draws one revision, not two: `curves` draws both"
        raise Unfit(both if pairs(subject) else "it draws values against at least five sizes")

    def render(self, data: list[Cloud]) -> UIElement:
        """Per sample a tab with logarithmic axes and one with linear ones, residuals below."""
        return stack([self._draw(cloud) for cloud in data])

    def text(self, data: list[Cloud], width: int) -> str:
        """The means at each size and the best model, in characters."""
        left = [f"and {len(data) - TEXTS:,} more"] if len(data) > TEXTS else []
        return "\n\n".join([*(_text(cloud, width) for cloud in data[:TEXTS]), *left])

    def _draw(self, cloud: Cloud) -> Any:
        kinds = axes([cloud.side])[: None if self.both else 1]
        return tabbed(kinds, partial(cloud.draw, points=self.points))


def _text(cloud: Cloud, width: int) -> str:
    from perfvcs.pictures.terminal import Axis as Along
    from perfvcs.pictures.terminal import Plot
    from perfvcs.text.characters import wrapped

    course, kind = cloud.side.course, axes([cloud.side])[0]
    log = kind == "log"
    shown = ((course.size > 0) & (course.mean > 0)) | (not log)
    most = float(course.mean.max())
    chosen = scale(most / 3 or most, cloud.side.unit)
    x, y = course.size[shown], course.mean[shown] * chosen.factor
    curve = over(cloud.side, kind)
    fitted = course.choice.predict(curve) * chosen.factor
    label = f"{metric_name(cloud.sample.metric)} ({chosen.unit})".replace(" ()", "")
    across = Along.over(x, "size", log=log)
    plot = Plot(across, Along.over(np.concatenate([y, fitted]), label, log=log), width)
    plot.line(curve, fitted)
    _, apart = np.unique(np.round(across.shares(x) * plot.columns / 4), return_index=True)
    plot.points(x[apart], y[apart], "○")
    head = [cloud.sample.unit.title, *cloud.heading, *cloud.counted(len(cloud.order))]
    dots = "○ means at some sizes" if len(apart) < len(x) else "○ means at each size"
    return "\n".join(
        [*wrapped(head, width), *plot.lines(), *wrapped([f"{dots}   ⠤ best model"], width)]
    )
