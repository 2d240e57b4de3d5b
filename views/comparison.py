"""Two revisions side by side: the executions of each, and their centres with intervals, on one
axis.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.check import Change
from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    BLUE,
    INK,
    MUTED,
    VERMILLION,
    canvas,
    dots,
    hover,
    legend,
    seen,
    segments,
    source,
    stack,
    stepped,
    thin,
)
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import FEWEST_FOR_INTERVAL, Centre, DrawnSample, samples, stated
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.system.numeric import Floats, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import change as change_text
from perfvcs.text.quantity import quantity, scale
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

COMMIT_ID = re.compile(r"[0-9a-f]{40}")
PRODUCT = 16  # characters of a product's name
MOST_LINES = 60  # more pairs than that are a grey wall


class SamplePair(NamedTuple):
    """The samples of baseline and target, and the verdict on them where they are cut out for it."""

    before: DrawnSample | None
    after: DrawnSample | None
    verdict: Change | None = None

    def centre(self, *, newer: bool) -> Centre | None:
        """The centre of a side, at the level that the verdict states."""
        side = self.after if newer else self.before
        if side is None or side.centre is None:
            return None
        return side.centre.at(stated(self.verdict, newer=newer))


@dataclass(frozen=True)
class Comparison(View[list[SamplePair]]):
    """``points``: at most so many measurements of a side are drawn."""

    points: Count = 1500

    def cut(self, subject: Subject) -> list[SamplePair]:
        """Each unit and metric that either side has; samples of one environment stand together
        where there are several.
        """
        if not any(len(profile.resources) for profile in subject.baseline):
            raise Unfit(
                "the baseline has no measurements" if subject.baseline else "it draws two revisions"
            )
        if not any(len(profile.resources) for profile in subject.target):
            raise Unfit("the target has no measurements")
        sides: dict[tuple[DrawnUnit, str], tuple[list[DrawnSample], list[DrawnSample]]] = {}
        for side, profiles in enumerate((subject.baseline, subject.target)):
            for sample in samples(profiles):
                sides.setdefault((sample.unit, sample.metric), ([], []))[side].append(sample)
        if not sides:
            raise Unfit("no row has a value")
        verdict = subject.verdict if len(sides) == 1 else None
        return [_matching(before, after, verdict) for before, after in sides.values()]

    def render(self, data: list[SamplePair]) -> UIElement:
        """One figure per unit and metric."""
        return stack([self._draw(pair) for pair in data])

    def _draw(self, pair: SamplePair) -> figure:
        before, after, verdict = pair

        some = before or after
        assert some is not None
        magnitude = float(
            np.median(np.abs(np.concatenate([side.values for side in (before, after) if side])))
        )
        chosen = scale(magnitude, some.meaning.unit)
        title, caption = _titled(before, after, verdict)
        label = f"{metric_name(some.metric)} ({chosen.unit})".replace(" ()", "")
        plot = canvas(title, label, "", caption=caption, height=256)
        from bokeh.models import FixedTicker, Range1d

        plot.y_range = Range1d(start=-0.55, end=1.55)
        plot.yaxis.ticker = FixedTicker(ticks=[0, 1])
        plot.ygrid.visible = False
        labels = [
            f"{name}\n{_called(side.commit) if side else 'not measured'}"
            for name, side in (("target", after), ("baseline", before))
        ]
        plot.yaxis.major_label_overrides = dict(enumerate(labels))
        entries: list[tuple[str, list[Any]]] = []
        centres: list[Any] = []
        for y, side, text, marker, colour in (
            (1, before, "baseline", "circle", BLUE),
            (0, after, "target", "square", VERMILLION),
        ):
            if side is not None:
                drawn, mean = self._side(
                    plot, side, pair.centre(newer=side is after), y, chosen.factor, marker, colour
                )
                entries.append((f"{text} executions", drawn))
                centres += mean
        entries.append(("mean, 99 % interval", centres))
        if (
            before is not None
            and after is not None
            and (lines := self._pairs(plot, before, after, chosen.factor))
        ):
            entries.append(("same block", lines))
        legend(plot, entries)
        return plot

    def _side(
        self,
        plot: figure,
        sample: DrawnSample,
        mean: Centre | None,
        y: int,
        factor: float,
        marker: str,
        colour: str,
    ) -> tuple[list[Any], list[Any]]:
        """Measurements faint, the executions' medians on top, the centre below them."""
        drawn: list[Any] = []
        unit = sample.meaning.unit
        executions, medians = sample.medians
        if len(sample.values) > len(executions):
            counting = np.flatnonzero(sample.mark != REPEATED)
            rows = counting[thin(sample.values[counting], self.points)]
            cloud = source(x=sample.values[rows] * factor, y=y + 0.22 + 0.2 * _jitter(len(rows)))
            drawn.append(dots(plot, cloud, colour, 3, alpha=0.25))
        shown = thin(medians, self.points)
        names = [
            f"{sample.paired[execution][1]} of {sample.paired[execution][0]}"
            for execution in executions[shown].tolist()
        ]
        text = [quantity(value, unit) for value in medians[shown].tolist()]
        data = source(
            x=medians[shown] * factor, y=y + 0.12 * _jitter(len(shown)), name=names, text=text
        )
        points = dots(plot, data, colour, 8, marker=marker, alpha=0.6, edge=1.0)
        hover(plot, [points], [("execution", "@name"), ("median" if drawn else "value", "@text")])
        if mean is None:
            return [*drawn, points], []
        below = y - 0.33
        low, high = mean.value, mean.value
        if mean.low is not None and mean.high is not None:
            low, high = mean.low, mean.high
        centre = source(
            x=[mean.value * factor],
            y=[below],
            text=[mean.text(unit)],
            count=[mean.executions],
            low=[low * factor],
            high=[high * factor],
        )
        line = segments(plot, centre, ("low", "y", "high", "y"), INK, 3)
        diamond = dots(plot, centre, INK, 13, marker="diamond")
        hover(plot, [diamond, line], [("mean", "@text"), ("executions", "@count")])
        return [*drawn, points], [line, diamond]

    def _pairs(
        self, plot: figure, before: DrawnSample, after: DrawnSample, factor: float
    ) -> list[Any]:
        """Thin lines between executions of one block, where both were measured interleaved."""
        sides = []
        for sample in (before, after):
            executions, medians = sample.medians
            sides.append(
                {
                    sample.paired[number]: value
                    for number, value in zip(executions.tolist(), medians.tolist(), strict=True)
                }
            )
        common = [name for name in sides[0] if name in sides[1]]
        if not 0 < len(common) <= MOST_LINES:
            return []
        data = source(
            x0=np.array([sides[0][name] * factor for name in common]),
            x1=np.array([sides[1][name] * factor for name in common]),
        )
        ends = ("x0", 0.98, "x1", 0.02)
        return [segments(plot, data, ends, MUTED, 1, alpha=0.35, level="underlay")]


def _matching(
    before: list[DrawnSample], after: list[DrawnSample], verdict: Change | None
) -> SamplePair:
    """The first pair of samples from the same environment; without one, the newest of each side."""
    for sample in after:
        for other in before:
            if sample.environment == other.environment:
                return SamplePair(other, sample, verdict)
    old = before[-1] if before else None
    new = after[-1] if after else None
    return SamplePair(old, new, verdict)


def _jitter(count: int) -> Floats:
    """Offsets in -1..1 that look scattered and are the same in every page (the golden ratio's
    fractional parts, in steps of a third of a pixel); shape (count,).
    """
    if count < 2:
        return np.zeros(count)
    scattered: Floats = np.arange(count, dtype=float) * 0.6180339887498949 % 1
    return stepped(2 * scattered - 1, 6)


def _called(measured: str) -> str:
    """A commit by its first digits, a product by its name."""
    return measured[:8] if COMMIT_ID.match(measured) else shorten(measured, PRODUCT)


def _titled(
    before: DrawnSample | None, after: DrawnSample | None, verdict: Change | None
) -> tuple[str, list[str]]:
    """The title with the verdict's effect, and the sentences of the caption."""
    if before is None or after is None:
        return (
            "only the target was measured" if before is None else "only the baseline was measured",
            [],
        )
    counts = [len(side.medians[0]) for side in (before, after)]
    caption = (
        ["measured in different environments"] if before.environment != after.environment else []
    )
    few = min(counts)
    if few < FEWEST_FOR_INTERVAL:
        verb = "has" if few == 1 else "have"
        caption.append(f"{counted(few, 'execution')} {verb} no interval")
    effect = ""
    if verdict and verdict.effect is not None:
        effect = f"\n{seen(verdict)[0]} {change_text(verdict.effect, verdict.low, verdict.high)}"
    return f"{counts[0]} and {counts[1]} executions{effect}", caption
