"""The rows of one sample over their sizes, its models, and what the best one leaves of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    CYCLE,
    HOVER,
    MUTED,
    ORANGE,
    SEEN,
    SKY,
    AxisReach,
    AxisScale,
    band,
    bound,
    canvas,
    dots,
    hover,
    legend,
    plain,
    source,
    thin,
    usual,
)
from perfvcs.pictures.course import in_words, means, model_line, over
from perfvcs.pictures.curvesides import (
    CurveSide,
    curved,
    interval,
    judged_rows,
    models,
    pairs,
    replicates,
    sides_of,
)
from perfvcs.pictures.modelled import Residuals, StoredCurve, stored
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.patterns import CLUSTER_MARKERS
from perfvcs.pictures.sample import FEWEST_FOR_INTERVAL, TAKEN, DrawnSample
from perfvcs.system.numeric import Flags, Integers, np
from perfvcs.text.characters import shorten
from perfvcs.text.quantity import number, percent, quantity, scale, span
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.plotting import figure

    from perfvcs.statistics.regression.models import Fit

    Entries = list[tuple[str, list[GlyphRenderer[Any]]]]

# times: how far a band reaches down on a logarithmic axis where its lower end is not above 0
BELOW = 1000.0
# how entries of the legend begin that are rows
ROW_ENTRIES = ("rows", "cluster", "other clusters", "marked")
STORED = CYCLE[2:] + CYCLE[:2]


@dataclass(frozen=True)
class Cloud:
    """One sample with its models, whatever the axes; ``about`` are further notes."""

    sample: DrawnSample
    subject: Subject
    about: list[str]

    @cached_property
    def side(self) -> CurveSide:
        """The course of its values."""
        (course,) = sides_of(None, self.sample)
        return course

    @cached_property
    def heading(self) -> list[str]:
        """The notes on it, and its order of growth."""
        return [*self.about, *in_words([self.side], self.side.unit)]

    @cached_property
    def order(self) -> Integers:
        """The rows that are judged, by their sizes."""
        judged = np.flatnonzero(judged_rows(self.sample))
        return judged[np.argsort(self.sample.size[judged], kind="stable")]

    @cached_property
    def replicates(self) -> Fit | None:
        """The best model of each execution."""
        return replicates(self.sample, self.side)

    @cached_property
    def residuals(self) -> tuple[Residuals, Flags]:
        """The residuals of the rows in their order, and the rows at which the model has a value: a
        logarithm has none at size 0.
        """
        size, values = self.sample.size[self.order], self.sample.values[self.order]
        predicted = self.side.course.choice.predict(size)
        fine = np.isfinite(predicted)
        return Residuals(size[fine], values[fine], predicted[fine], self.side.unit), fine

    def draw(self, axis: AxisScale, points: int) -> list[figure]:
        """The rows with their models, and the residuals of the best one."""
        drawn = thin(self.sample.values[self.order], points)
        above = self._above(axis, points, self.order[drawn])
        residuals, fine = self.residuals
        if not fine.any():
            return [above]
        return [above, residuals.draw(above, axis, (np.cumsum(fine) - 1)[drawn[fine[drawn]]])]

    def _above(self, axis: AxisScale, points: int, drawn: Integers) -> figure:
        side, choice = self.side, self.side.course.choice
        most = float(side.course.mean.max())
        chosen = scale(most / 3 or most, side.unit)
        profiles = [*self.subject.target, *self.subject.baseline]
        curves, unreadable = stored(profiles, self.sample, axis)
        notes = self.counted(len(drawn))
        notes += [f"{counted(unreadable, 'stored model')} cannot be read"] if unreadable else []
        low, high, beyond = self._reach(axis)
        notes += [f"{counted(beyond, 'row')} beyond this axis"] if beyond else []
        label = f"{metric_name(self.sample.metric)} ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            "\n".join(self.heading),
            "size",
            label,
            height=344,
            x_axis=axis,
            y_axis=axis,
            caption=notes,
        )
        entries = self._rows(plot, axis, chosen.factor, drawn)
        if side.course.count.max() > 1:
            entries.append(("means, quartiles", means(plot, side, axis, chosen.factor, points)))
        entries += self._interval(plot, axis, chosen.factor)
        for place, model in enumerate(models(side.course)):
            r2 = f"{float(choice.fits[model].r2[0]):.2f}".replace("0.", ".")
            line = model_line(plot, side, model, place, axis, chosen.factor)
            entries.append(
                (f"▸ {model} r² {r2}" if model == choice.model() else f"{model} r² {r2}", [line])
            )
        for place, curve in enumerate(curves):
            drawn_curve = _curve(plot, curve, STORED[place % len(STORED)], axis, chosen.factor)
            entries.append((f"stored {curve.name}", drawn_curve))
        self._bound(plot, entries, [low * chosen.factor, high * chosen.factor])
        legend(plot, entries)
        return plot

    def _rows(self, plot: figure, axis: AxisScale, factor: float, drawn: Integers) -> Entries:
        """The rows, those that a postprocessor has marked apart from the others."""
        size, values, remarks = self.sample.size, self.sample.values, self.sample.said
        rows = drawn[((size[drawn] > 0) & (values[drawn] > 0)) | (axis == "linear")]
        if "outlier" in remarks:
            outlier = remarks["outlier"][rows] == 1
        else:
            outlier = np.zeros(len(rows), dtype=bool)
        if "cluster" in remarks:
            cluster = np.nan_to_num(remarks["cluster"][rows], nan=-1).astype(np.int64)
        else:
            cluster = np.zeros(len(rows), np.int64)
        kinds = [("rows", ~outlier, "circle", SKY)]
        if len(numbers := np.unique(cluster[~outlier]).tolist()) > 1:
            kinds = []
            for place, number in enumerate(numbers[: len(CLUSTER_MARKERS)]):
                name, mine = f"cluster {number}", cluster == number
                if place == len(CLUSTER_MARKERS) - 1:
                    name, mine = "other clusters", cluster >= number
                kinds.append((name, ~outlier & mine, CLUSTER_MARKERS[place], CYCLE[place]))
        entries: Entries = []
        for name, mine, marker, colour in [*kinds, ("marked as outliers", outlier, "x", ORANGE)]:
            if mine.any():
                entries.append((name, [self._dots(plot, rows[mine], marker, colour, factor)]))
        return entries

    def _dots(
        self, plot: figure, rows: Integers, marker: str, colour: str, factor: float
    ) -> GlyphRenderer[Any]:
        sample = self.sample
        data = source(
            x=sample.size[rows],
            y=sample.values[rows] * factor,
            execution=sample.execution[rows] + 1,
            iteration=sample.iteration[rows] + 1,
            size=[number(value) for value in sample.size[rows].tolist()],
            text=[quantity(value, self.side.unit) for value in sample.values[rows].tolist()],
        )
        marks = dots(plot, data, colour, 6 if marker == "x" else 4, marker=marker, alpha=0.5)
        hover(plot, [marks], [("value", "@text"), ("size", "@size"), *TAKEN])
        return marks

    def _interval(self, plot: figure, axis: AxisScale, factor: float) -> Entries:
        """The band of the best model's curve over the executions."""
        x = over(self.side, axis)
        ends = interval(self.replicates, x) if self.replicates is not None else None
        if ends is None:
            return []
        low, high = (end * factor for end in ends)
        fine = np.isfinite(low) & np.isfinite(high) & ((low > 0) | (axis == "linear"))
        data = source(x=x[fine], low=low[fine], high=high[fine])
        return [("99 % interval", [band(plot, data, MUTED, 0.3)])]

    def counted(self, drawn: int) -> list[str]:
        """The numbers of executions and of rows judged and drawn, and the range of the means."""
        executions, rows, judged = len(self.sample.paired), len(self.sample.values), len(self.order)
        low, high = float(self.side.course.mean.min()), float(self.side.course.mean.max())
        far = f", {percent(high / low - 1)}" if low > 0 else ""
        lines = [f"means {span(low, high, self.side.unit)}{far}"]
        lines.append(
            counted(executions, "execution")
            + (", no interval" if executions < FEWEST_FOR_INTERVAL else "")
        )
        lines[-1] += f", {counted(judged, 'row')}" + (
            f", {drawn:,} drawn" if drawn < judged else ""
        )
        return lines + (
            [f"{rows - judged:,} rows left out: first calls, or repeated"] if judged < rows else []
        )

    def _reach(self, axis: AxisScale) -> AxisReach:
        """The reach that shows most rows not marked as outliers."""
        values, marked = self.sample.values[self.order], self.sample.said.get("outlier")
        values = values[(values > 0) | (axis == "linear")]
        fine = self.sample.values[
            self.order if marked is None else self.order[marked[self.order] != 1]
        ]
        fine = fine[(fine > 0) | (axis == "linear")]
        low, high = usual(fine)
        low = low if low > 0 or axis == "linear" else float(fine.min())
        return AxisReach(low, high, int(((values < low) | (values > high)).sum()))

    def _bound(self, plot: figure, entries: Entries, ends: list[float]) -> None:
        """Let the axis show all models that are drawn, and of the rows those between the ends."""
        others = [
            renderer
            for name, drawn in entries
            if not name.startswith(ROW_ENTRIES)
            for renderer in drawn
        ]
        bound(plot, float(self.sample.size[self.order[-1]]), ends, others)


def clouds(subject: Subject) -> list[Cloud]:
    """The samples of units that only one side has, those of one environment after the other."""
    both: set[tuple[DrawnUnit, str]] = set()
    if subject.baseline and subject.target:
        both = {
            (second.unit, second.metric) for first, second in pairs(subject) if first and second
        }
    sides = {"target": subject.target, "baseline": subject.baseline}
    sided = [
        (name, sample)
        for name, profiles in sides.items()
        for sample in curved(profiles)
        if (sample.unit, sample.metric) not in both
    ]
    places: dict[tuple[DrawnUnit, str], set[str]] = {}
    for _, sample in sided:
        places.setdefault((sample.unit, sample.metric), set()).add(sample.environment)
    drawn = []
    for name, sample in sided:
        verdict = subject.verdict
        if verdict:
            notes = [f"{SEEN[verdict.word].sign} {verdict.word}"]
        else:
            notes = [f"only the {name} has it"] * bool(subject.baseline)
        several = len(places[sample.unit, sample.metric]) > 1
        notes += [f"in {plain(sample.environment, 24)}"] if several else []
        drawn.append(Cloud(sample, subject, notes))
    return drawn


def _curve(
    plot: figure, curve: StoredCurve, colour: str, axis: AxisScale, factor: float
) -> list[GlyphRenderer[Any]]:
    from bokeh.models import Line, Step

    shown = (curve.x > 0) | (axis == "linear")
    data = source(
        x=curve.x[shown],
        y=curve.y[shown] * factor,
        details=[shorten(curve.details, HOVER)] * int(shown.sum()),
    )
    style: dict[str, Any] = {"line_color": colour, "line_width": 2, "line_dash": [8, 3]}
    line = plot.add_glyph(
        data,
        Step(x="x", y="y", mode="center", **style) if curve.steps else Line(x="x", y="y", **style),
    )
    hover(plot, [line], [(f"stored {curve.name}", "@details")])
    if curve.band is None:
        return [line]
    low, high = (end[shown] * factor for end in curve.band)
    if axis == "log":
        # what is below 0 has no place on it
        low = np.where(low > 0, low, curve.y[shown] * factor / BELOW)
    between = source(x=curve.x[shown], low=low, high=high)
    return [line, band(plot, between, colour, 0.2)]
