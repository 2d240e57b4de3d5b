"""Values against sizes of two revisions, and what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import SEEN, AxisScale, bound, canvas, legend, stack, usual
from perfvcs.pictures.course import (
    CourseDifference,
    axes,
    in_words,
    means,
    model_line,
    r_squared,
    tabbed,
)
from perfvcs.pictures.curvesides import CurveSide, equation, models, pairs, sides_of
from perfvcs.pictures.sample import DrawnSample
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.system.numeric import np
from perfvcs.text.quantity import change, scale
from perfvcs.text.words import metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

    from perfvcs.check import Change


class CurvePair(NamedTuple):
    """One unit's values over its sizes, of baseline and target, and the verdict on them."""

    first: DrawnSample
    second: DrawnSample
    verdict: Change | None


@dataclass(frozen=True)
class Curves(View[list[CurvePair]]):
    """``points``: at most so many sizes of a side are drawn; ``both``: on both kinds of axes, not
    just those that show more of them.
    """

    points: Count = 500
    both: bool = True
    scope: ClassVar[Scope] = "sizes"

    def cut(self, subject: Subject) -> list[CurvePair]:
        """Each unit and metric that has values at five sizes on both sides."""
        if not subject.baseline:
            raise Unfit("it draws two revisions")
        curve_pairs = [
            CurvePair(first, second, subject.verdict)
            for first, second in pairs(subject)
            if first and second
        ]
        if not curve_pairs:
            raise Unfit("it draws values against at least five sizes on both sides")
        return curve_pairs

    def render(self, data: list[CurvePair]) -> UIElement:
        """Per unit and metric a tab with logarithmic axes and one with linear ones."""
        return stack([self._draw(*pair) for pair in data])

    def _draw(self, first: DrawnSample, second: DrawnSample, verdict: Change | None) -> Any:
        sides, unit = sides_of(first, second), second.meaning.unit
        between = CourseDifference(sides, verdict, unit)

        def draw(axis: AxisScale) -> list[figure]:
            above = self._curves(sides, axis, unit, metric_name(second.metric), verdict)
            return [above, between.draw(above, axis, self.points)]

        return tabbed(axes(sides)[: None if self.both else 1], draw)

    def _curves(
        self,
        sides: Sequence[CurveSide],
        axis: AxisScale,
        unit: str,
        metric: str,
        verdict: Change | None,
    ) -> figure:
        most = max(float(side.course.mean.max()) for side in sides)
        chosen = scale(most / 3 or most, unit)
        ends = _reach(sides)
        lines = _heading(sides, verdict, unit)
        label = f"{metric} ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            "\n".join(lines), "size", label, height=300 + 14 * len(lines), x_axis=axis, y_axis=axis
        )
        entries: list[tuple[str, list[Any]]] = [
            (
                f"{side.name}: means, quartiles{_beyond(side, ends)}",
                means(plot, side, axis, chosen.factor, self.points),
            )
            for side in sides
        ]
        shown = [marks for _, (_, marks) in entries]
        for side in sides:
            for model in models(side.course)[:1]:
                line = model_line(plot, side, model, 0, axis, chosen.factor)
                entries.append(
                    (
                        f"{side.name} {equation(side.course, model, unit)}{r_squared(side.course)}",
                        [line],
                    )
                )
                shown.append(line)
        bound(plot, float(sides[0].course.size[-1]), [end * chosen.factor for end in ends], shown)
        legend(plot, entries)
        return plot


def _reach(sides: Sequence[CurveSide]) -> list[float]:
    """The ends of an axis that shows nearly all quartiles; one may be ten times the others."""
    quartiles = np.concatenate(
        [end[end > 0] for side in sides for end in (side.course.low, side.course.high)]
    )
    return [end for end in usual(quartiles) if end > 0] if len(quartiles) else []


def _beyond(side: CurveSide, ends: Sequence[float]) -> str:
    """The number of bars that the axis does not show in full."""
    out = int((side.course.high > ends[-1]).sum()) if ends else 0
    return f", {out:,} cut off" if out else ""


def _heading(sides: Sequence[CurveSide], verdict: Change | None, unit: str) -> list[str]:
    """The verdict and the orders of growth, in two lines; the page's table has the rest."""
    if verdict is None:
        return in_words(sides, unit)
    effect = (
        "" if verdict.effect is None else f" {change(verdict.effect, verdict.low, verdict.high)}"
    )
    return [f"{SEEN[verdict.word].sign} {verdict.word}{effect}", *in_words(sides, unit)]
