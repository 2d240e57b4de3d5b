"""Each measurement against the one before it in the same execution: what depends on the past, and
what jumps between levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import (
    BLUE,
    CYCLE,
    INK,
    MUTED,
    canvas,
    dots,
    hover,
    legend,
    source,
    stack,
    thin,
    thinned,
    usual,
)
from perfvcs.pictures.patterns import CLUSTER_MARKERS, clusters
from perfvcs.pictures.sample import TAKEN, DrawnSample, of_one_revision, samples
from perfvcs.plugins import Count
from perfvcs.plugins.view import Unfit, View
from perfvcs.profile import REPEATED
from perfvcs.profile.summary import SAMPLER
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import percent, quantity, scale
from perfvcs.text.words import counted, metric_name

if TYPE_CHECKING:
    from bokeh.models.renderers import GlyphRenderer
    from bokeh.models.ui.ui_element import UIElement
    from bokeh.plotting import figure

    from perfvcs.statistics.runs import Autocorrelation

FEWEST_MEASUREMENTS = 10  # measurements of an execution, below which a coefficient says nothing
STRONG = 0.3  # a coefficient that is worth a figure
TITLE_COEFFICIENTS = 4  # coefficients in the title


@dataclass(frozen=True)
class Lag(View[list[DrawnSample]]):
    """``points``: at most so many pairs of a sample are drawn; ``lags``: how far apart two
    measurements are at most.
    """

    points: Count = 1500
    lags: Count = 10

    def cut(self, subject: Subject) -> list[DrawnSample]:
        """The samples of one revision in which some execution has ten measurements of one unit."""
        profiles = of_one_revision(subject)
        measured = [profile for profile in profiles if profile.job.collector != SAMPLER]
        if not (drawable := [sample for sample in samples(measured) if _long(sample)]):
            raise Unfit(
                f"it draws executions of at least {FEWEST_MEASUREMENTS} measurements, not samples"
                " over time"
            )
        return drawable

    def telling(self, data: list[DrawnSample]) -> str:
        """Whether a measurement depends on the one before it, and by how much."""
        dependences = (self._found(sample).dependence for sample in data)
        return "; ".join(
            note
            for dependence in dependences
            if dependence.n and abs(dependence.coefficients[0, 1]) > STRONG
            for note in _notes(dependence)
        )

    def render(self, data: list[DrawnSample]) -> UIElement:
        """Two figures per sample: the pairs, and the coefficients of all lags."""
        return stack([plot for sample in data for plot in self._draw(sample)])

    def _draw(self, sample: DrawnSample) -> list[figure]:
        order, execution, dependence = self._found(sample)
        pairs = _Pairs(sample, order, np.flatnonzero(execution[1:] == execution[:-1]))
        drawn = pairs.draw(self.points, _notes(dependence))
        return [drawn, _correlogram(dependence)] if dependence.n else [drawn]

    def _found(self, sample: DrawnSample) -> _OrderedRows:
        order = np.lexsort((sample.iteration, sample.execution))
        order = order[sample.mark[order] != REPEATED]
        execution = sample.execution[order]
        return _OrderedRows(
            order, execution, _dependence(execution, sample.values[order], self.lags)
        )


class _OrderedRows(NamedTuple):
    """The rows of a sample in their order, their executions, and how they depend on one another."""

    order: Integers
    execution: Integers
    dependence: Autocorrelation


@dataclass(frozen=True)
class _Pairs:
    """The rows of a sample in their ``order``, and the places in it of those that another one of
    the same execution follows.
    """

    sample: DrawnSample
    order: Integers
    first: Integers

    @cached_property
    def rest(self) -> Floats:
        """The values in their order; less the medians of their executions, which differ as a whole,
        where there are several.
        """
        values, (executions, medians) = self.sample.values[self.order], self.sample.medians
        if len(executions) == 1:
            return values
        rest: Floats = (
            values - medians[np.searchsorted(executions, self.sample.execution[self.order])]
        )
        return rest

    def draw(self, points: int, heading: list[str]) -> figure:
        """Each value across, the next one up."""
        from bokeh.models import Range1d

        sample, unit, rest = self.sample, self.sample.meaning.unit, self.rest
        drawn = self.first[thin(rest[self.first], points)]
        low, high = usual(rest)
        chosen = scale(max(-low, high), unit)
        groups = clusters(sample)
        values, beyond = sample.values[self.order], int(((rest < low) | (rest > high)).sum())
        notes = [
            *heading[1:],
            *([groups.text(unit)] if groups else []),
            _range(float(values.min()), float(values.max()), unit, beyond),
            *thinned(len(drawn), len(self.first), "pairs"),
        ]
        name = metric_name(sample.metric) + (
            " minus the median of the execution" if len(sample.medians[0]) > 1 else ""
        )
        plot = canvas(
            heading[0],
            f"{name} ({chosen.unit})".replace(" ()", ""),
            "the next one",
            caption=notes,
            height=314,
        )
        room = 0.03 * (high - low) or 0.05 * abs(high) or 1.0
        ends = [(low - room) * chosen.factor, (high + room) * chosen.factor]
        plot.x_range = Range1d(start=ends[0], end=ends[1])
        plot.y_range = Range1d(start=ends[0], end=ends[1])
        equal = plot.line(ends, ends, line_color=MUTED, line_dash="dotted")
        labels = (
            groups.labels[self.order[drawn]] if groups else np.zeros(len(drawn), dtype=np.int64)
        )
        entries: list[tuple[str, list[Any]]] = []
        for label in np.unique(labels).tolist():
            marks = self._dots(plot, drawn[labels == label], label, chosen.factor)
            entries.append((f"in cluster {label + 1}" if groups else "measurements", [marks]))
        legend(plot, [*entries, ("the next is equal", [equal])])
        return plot

    def _dots(
        self, plot: figure, places: Integers, label: int, factor: float
    ) -> GlyphRenderer[Any]:
        sample, rows, after = self.sample, self.order[places], self.order[places + 1]
        unit = sample.meaning.unit
        data = source(
            x=self.rest[places] * factor,
            y=self.rest[places + 1] * factor,
            execution=sample.execution[rows] + 1,
            iteration=sample.iteration[rows] + 1,
            text=[quantity(value, unit) for value in sample.values[rows].tolist()],
            next=[quantity(value, unit) for value in sample.values[after].tolist()],
        )
        marks = dots(plot, data, CYCLE[label], 4, marker=CLUSTER_MARKERS[label], alpha=0.5)
        hover(plot, [marks], [("value", "@text"), ("the next", "@next"), *TAKEN])
        return marks


def _long(sample: DrawnSample) -> bool:
    """Whether some execution has enough measurements."""
    counts = np.bincount(sample.execution[sample.mark != REPEATED], minlength=1)
    return bool(counts.max() >= FEWEST_MEASUREMENTS) and bool(sample.iteration.any())


def _dependence(execution: Integers, values: Floats, lags: int) -> Autocorrelation:
    """The mean coefficients of the executions that are long enough, each with its own mean; ``n``
    is how many values these have.
    """
    from perfvcs.statistics.runs import Autocorrelation, autocorrelation

    scaled = values / (np.abs(values).max() or 1.0)
    starts = np.flatnonzero(np.diff(execution, prepend=-1))
    counts = np.diff(np.append(starts, len(execution)))
    most = min(lags, int(counts.max()) - 1)
    coefficients = np.full((len(starts), most + 1), np.nan)
    for length in np.unique(counts[counts >= FEWEST_MEASUREMENTS]).tolist():
        mine = np.flatnonzero(counts == length)
        computed = autocorrelation(
            scaled[starts[mine][:, None] + np.arange(length)], lags
        ).coefficients[:, : most + 1]
        coefficients[mine, : computed.shape[1]] = computed
    defined = np.isfinite(coefficients)
    with np.errstate(invalid="ignore"):
        mean = np.nansum(coefficients, axis=0) / defined.sum(axis=0)
    return Autocorrelation(mean[None], int(counts[defined[:, 0]].sum()))


def _notes(autocorrelation: Autocorrelation) -> list[str]:
    """The first coefficients, and how far those of independent values are from 0."""
    coefficients = autocorrelation.coefficients[0, 1:]
    if not autocorrelation.n:
        return ["equal values in every execution: no autocorrelation"]
    outside = np.abs(coefficients) > autocorrelation.bound
    first = ", ".join(
        f"{value:+.2f}"
        for value in coefficients[:TITLE_COEFFICIENTS].tolist()
        if np.isfinite(value)
    )
    what = "no dependence on the measurement before"
    if outside[0]:
        what = "a measurement depends on those before it"
    return [what, f"autocorrelation {first}; independent: within ±{autocorrelation.bound:.2f}"]


def _range(low: float, high: float, unit: str, beyond: int) -> str:
    wide = f", {percent(high / low - 1)}" if low > 0 else ""
    far = f"; {counted(beyond, 'value')} beyond this axis" if beyond else ""
    return f"{quantity(low, unit)} to {quantity(high, unit)}{wide}{far}"


def _correlogram(autocorrelation: Autocorrelation) -> figure:
    """The coefficients of all lags, and the band of independent values."""
    from bokeh.models import AdaptiveTicker, Range1d

    coefficients = autocorrelation.coefficients[0, 1:]
    lags = np.arange(1.0, len(coefficients) + 1)
    defined = np.isfinite(coefficients)
    plot = canvas(
        "autocorrelation by lag, mean of the executions",
        "measurements apart",
        "coefficient",
        height=200,
        tools="save",
    )
    plot.y_range = Range1d(
        start=min(-0.3, float(coefficients[defined].min(initial=0.0)) - 0.05), end=1.0
    )
    plot.xaxis.ticker = AdaptiveTicker(min_interval=1, num_minor_ticks=0)
    band = plot.quad(
        0.5,
        len(lags) + 0.5,
        autocorrelation.bound,
        -autocorrelation.bound,
        fill_color=MUTED,
        fill_alpha=0.2,
        line_color=None,
    )
    plot.segment([0.5], [0.0], [len(lags) + 0.5], [0.0], line_color=INK)
    stems = plot.segment(
        lags[defined], 0, lags[defined], coefficients[defined], line_color=BLUE, line_width=3
    )
    data = source(
        x=lags[defined],
        y=coefficients[defined],
        text=[f"{value:+.3f}" for value in coefficients[defined].tolist()],
    )
    heads = plot.scatter("x", "y", source=data, size=7, color=BLUE)
    hover(plot, [heads], [("apart", "@x"), ("autocorrelation", "@text")])
    legend(plot, [("coefficients", [stems, heads]), ("independent (95 %)", [band])])
    return plot
