"""A metric over time: the parts of a job piled up, and what all have together with its interval
over the executions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.pictures.amounts import text as name_of
from perfvcs.pictures.bundle import (
    AGAIN,
    MOMENT,
    NOTHING_USABLE,
    BothSides,
    alike,
    jobs,
    over_time,
    rows_of,
    unit_metrics,
    valued,
    without_whole,
)
from perfvcs.pictures.canvas import (
    BLUE,
    CYCLE,
    HOVER,
    INK,
    VERMILLION,
    band,
    canvas,
    dots,
    hover,
    legend,
    plain,
    source,
    stack,
)
from perfvcs.pictures.sample import no_interval, numbered, seconds
from perfvcs.pictures.streams import Stream, stream
from perfvcs.plugins import Count
from perfvcs.plugins.view import Scope, Unfit, View
from perfvcs.profile import Profile
from perfvcs.system.numeric import np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import Scale, number, percent, quantity, scale, span
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

PATTERNS = (
    "blank",
    "right_diagonal_line",
    "dot",
    "horizontal_line",
    "diagonal_cross",
    "vertical_line",
)
SIDE_STYLES = (("baseline", BLUE, "solid"), ("target", VERMILLION, "dashed"))


class OverTime(NamedTuple):
    """Profiles that can be compared and have a metric over time, and the job's name of several."""

    profiles: BothSides
    metric: str
    heading: str


@dataclass(frozen=True)
class Flow(View[list[OverTime]]):
    """``points``: at most so many moments are drawn, of more each is the mean of several; ``top``:
    at most so many parts of a pile.

    ``metrics``: names with commas between, which are drawn; without any all.
    """

    points: Count = 400
    top: Count = 8
    metrics: str = ""
    scope: ClassVar[Scope] = "units"

    def cut(self, subject: Subject) -> list[OverTime]:
        """Each job's metrics with rows over time, by environment."""
        by_job = jobs(subject)
        if not any(len(profile.resources) for profile in (*subject.target, *subject.baseline)):
            raise Unfit("there are no measurements")
        courses = []
        for job, mine in by_job.items():
            heading = plain(job.label) if len(by_job) > 1 else ""
            for metric in self._metrics([*mine.target, *mine.baseline]):
                for pair in alike(mine, metric):
                    before, after = (_flowing(side, metric) for side in pair)
                    if before or after:
                        courses.append(OverTime((before, after), metric, heading))
        if not courses:
            raise Unfit(
                "it draws samples over time, or many measurements of one unit in each execution"
            )
        if not (
            drawable := [course for course in courses if valued(course.profiles, [course.metric])]
        ):
            raise Unfit(NOTHING_USABLE)
        return drawable

    def render(self, data: list[OverTime]) -> UIElement:
        """Per metric and environment a figure, another for several units of two revisions."""
        return stack([plot for course in data for plot in self._draw(*course)])

    def _metrics(self, profiles: Sequence[Profile]) -> list[str]:
        available = dict.fromkeys(
            metric for profile in profiles for metric in unit_metrics(profile)
        )
        named = self.metrics.split(",") if self.metrics else None
        return [
            metric
            for metric in available
            if (metric not in AGAIN if named is None else metric in named)
        ]

    def _draw(
        self, profiles: Sequence[Sequence[Profile]], metric: str, heading: str
    ) -> list[figure]:
        styled = [
            (style, rows)
            for style, side in zip(SIDE_STYLES, profiles, strict=True)
            if side and (rows := rows_of(side, metric))
        ]
        sides, without = without_whole([[rows] for _, rows in styled])
        pairs = [
            (style, rows)
            for (style, _), (rows,) in zip(styled, sides, strict=True)
            if len(rows.values)
        ]
        styles, drawn = [style for style, _ in pairs], [rows for _, rows in pairs]
        columns = numbered([rows.iteration for rows in drawn], self.points)
        timed = [seconds(bins, rows) for bins, rows in zip(columns, drawn, strict=True)]
        columns = timed if all(bins.unit for bins in timed) else columns
        streams = [stream(rows, bins, self.top) for rows, bins in zip(drawn, columns, strict=True)]
        styles = styles if len(styles) > 1 else [("mean", BLUE, "solid")]
        notes = [without] if without else []
        picture = _Picture(
            streams, styles, metric, drawn[0].units[0].job, drawn[0].meaning.unit, heading, notes
        )
        piled = [
            place
            for place, course in enumerate(streams)
            if len(course.parts) > 1 and not (course.parts < 0).any()
        ]
        if piled and len(streams) == 1:
            return [picture.pile(0)]
        plots = [picture.lines()]
        for place in piled:
            plots.append(picture.pile(place, plots[0], plots[1] if len(plots) > 1 else None))
        return plots


@dataclass(frozen=True)
class _Picture:
    """The courses of one metric, their styles, the job's label, the unit, a heading where jobs are
    several, and further notes.
    """

    streams: Sequence[Stream]
    styles: Sequence[tuple[str, str, str]]
    metric: str
    job: str
    unit: str
    heading: str
    notes: Sequence[str]

    @cached_property
    def scales(self) -> tuple[Scale, Scale]:
        """Those of time and value."""
        across = max(float(course.x.max()) for course in self.streams)
        most = max(float(abs(course.mean).max()) for course in self.streams)
        return (
            scale(across, "s") if self.streams[0].unit else Scale(1.0, ""),
            scale(most / 2, self.unit),
        )

    def lines(self) -> figure:
        """The means of all parts together, with bands, of one side or two."""
        from bokeh.models import DataRange1d

        low = min(float(course.mean.min()) for course in self.streams)
        high = max(float(course.mean.max()) for course in self.streams)
        far = low > high / 2 or low < 0
        wide = f", {percent(high / low - 1)}; not from zero" if low > 0 else ""
        notes = [f"from {span(low, high, self.unit)}{wide}"]
        counted = [self._counted(course) for course in self.streams]
        if len(set(counted)) > 1:
            counted = [
                f"{name}: {text}" for (name, *_), text in zip(self.styles, counted, strict=True)
            ]
        merged = dict.fromkeys(note for course in self.streams for note in _merged(course))
        plot = self._canvas(
            [*dict.fromkeys(counted), *merged, *self.notes, *(notes if far else [])], 314
        )
        if not far:
            plot.y_range = DataRange1d(start=0)
        entries: list[tuple[str, list[Any]]] = []
        for course, (name, colour, dash) in zip(self.streams, self.styles, strict=True):
            entries += self._line(plot, course, name, colour, dash)
        legend(plot, entries)
        return plot

    def pile(self, number: int, above: figure | None = None, other: figure | None = None) -> figure:
        """The parts of one side on top of one another, over the times of the figure ``above``, as
        high as the ``other`` pile.
        """
        from bokeh.models import DataRange1d, Line, VArea

        course, (across, up) = self.streams[number], self.scales
        alone = [self._counted(course), *_merged(course), *self.notes]
        plot = self._canvas([f"{self.styles[number][0]}: its parts"] if above else alone, 344)
        plot.y_range = DataRange1d(start=0) if other is None else other.y_range
        if above is not None:
            plot.x_range = above.x_range
        entries: list[tuple[str, list[Any]]] = []
        below = 0 * course.mean
        for part, amount in enumerate(course.parts):
            title = counted(course.more, "other")
            if part < len(course.units):
                title = name_of(course.units[part], "unit", self.job, 0)
            with_it = below + amount
            data = source(
                x=course.x * across.factor,
                low=below * up.factor,
                high=with_it * up.factor,
                part=[shorten(title, HOVER)] * len(course.x),
                text=[quantity(value, self.unit) for value in amount.tolist()],
                when=self._moments(course),
                share=[
                    percent(value)[1:]
                    for value in (amount / np.where(course.mean > 0, course.mean, 1.0)).tolist()
                ],
            )
            colour = CYCLE[part % len(CYCLE)]
            glyph = VArea(
                x="x",
                y1="low",
                y2="high",
                fill_color=colour,
                fill_alpha=0.45,
                hatch_pattern=PATTERNS[part % len(PATTERNS)],
                hatch_color=colour,
                hatch_alpha=0.6,
                hatch_weight=0.8,
            )
            area = plot.add_glyph(data, glyph)
            edge = plot.add_glyph(data, Line(x="x", y="high", line_color=colour, line_width=1.5))
            hover(plot, [edge], [("", "@part"), ("mean", "@text, @share of all"), ("at", "@when")])
            entries.append((title, [area, edge]))
            below = with_it
        entries += self._line(plot, course, "all", INK, "solid")
        legend(plot, entries)
        return plot

    def _line(
        self, plot: figure, stream: Stream, name: str, colour: str, dash: str
    ) -> list[tuple[str, list[Any]]]:
        from bokeh.models import Line

        across, up = self.scales
        x, bounded = stream.x * across.factor, np.isfinite(stream.low)
        entries: list[tuple[str, list[Any]]] = []
        if bounded.any():
            low, high = stream.low[bounded] * up.factor, stream.high[bounded] * up.factor
            interval = band(plot, source(x=x[bounded], low=low, high=high), colour, 0.2)
            entries.append(
                (f"{name}, 99 % interval" if len(self.streams) > 1 else "99 % interval", [interval])
            )
        text = [quantity(value, self.unit) for value in stream.mean.tolist()]
        data = source(
            x=x,
            y=stream.mean * up.factor,
            text=text,
            when=self._moments(stream),
            count=stream.count,
        )
        line = plot.add_glyph(
            data, Line(x="x", y="y", line_color=colour, line_width=2, line_dash=dash)
        )
        marks = dots(plot, data, colour, 4 if len(x) <= 60 else 2)
        hover(plot, [marks], [(name, "@text"), ("at", "@when"), ("executions", "@count")])
        return [(name, [line, marks]), *entries]

    def _canvas(self, notes: list[str], height: int) -> figure:
        across, up = self.scales
        label = f"{metric_name(self.metric)} ({up.unit})".replace(" ()", "")
        below = f"time ({across.unit})" if across.unit else "measurement"
        title, *caption = notes
        return canvas(
            "\n".join(filter(None, [self.heading, title])),
            below,
            label,
            caption=caption,
            height=height,
        )

    def _moments(self, stream: Stream) -> list[str]:
        return [
            quantity(value, "s") if stream.unit else number(value + 1)
            for value in stream.x.tolist()
        ]

    def _counted(self, stream: Stream) -> str:
        """The number of executions at each moment, in words that fit on a line."""
        most, least = int(stream.count.max()), int(stream.count.min())
        if least < most:
            return f"mean of {least:,} to {most:,} executions"
        return no_interval(most) or f"mean of {most:,} executions, a band for each moment"


def _merged(stream: Stream) -> list[str]:
    """What a point stands for, where it is more than one moment."""
    if stream.step > 1:
        return [f"{stream.rows:,} rows, each point is the mean of {stream.step:,} moments"]
    return []


def _flowing(profiles: Sequence[Profile], metric: str) -> list[Profile]:
    return [profile for profile in profiles if _flows(profile, metric)]


def _flows(profile: Profile, metric: str) -> bool:
    """Whether a profile has a metric over time: samples, moments, or one unit's measurements."""
    if metric not in profile.metrics:
        return False
    if over_time(profile, metric):
        return True
    rows = profile.resources
    measured = np.isfinite(rows.array(metric))
    again = np.asarray(rows.integers("iteration"), dtype=np.int64)[measured]
    return (
        len(np.unique(np.asarray(rows.uid, dtype=np.int64)[measured])) == 1
        and bool((again > 0).any())
        and MOMENT not in profile.metrics
    )
