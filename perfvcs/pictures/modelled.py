"""Models of values over sizes: stored ones as curves, and what each leaves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from perfvcs.pictures.canvas import (
    BLUE,
    INK,
    MUTED,
    VERMILLION,
    AxisScale,
    canvas,
    dots,
    hover,
    legend,
    source,
)
from perfvcs.pictures.curvesides import grid
from perfvcs.pictures.sample import DrawnSample
from perfvcs.profile import Profile
from perfvcs.profile.fittedmodels import (
    AnyEntry,
    CurveEntry,
    LowessEntry,
    OpenEntry,
    RegressionEntry,
    over_sizes,
)
from perfvcs.statistics.difference import NORMAL
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import Scale, number, percent, quantity, scale
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from bokeh.plotting import figure


FAR_DEVIATIONS = 3.0  # robust standard deviations; a normal distribution has 0.3 % beyond
REACH = 3.0  # how many times further than these the axis shows
STRETCHES = 24  # of sizes, each with a median
FITTED_BY = "regression"
SMOOTHED = ("moving-average", "kernel-regression", "lowess", "regressogram")
MOST_POINTS = 1000  # points of one curve, and curves of one unit: more are not ours
DETAILS = ("kind", "window", "alpha", "bandwidth", "share", "robust", "statistic", "buckets")


@dataclass(frozen=True)
class Residuals:
    """Values less a curve at their sizes, columns of the shape (rows,): in shares of the curve
    where that is above 0 (``relative``).
    """

    size: Floats
    values: Floats
    predicted: Floats
    unit: str

    @cached_property
    def relative(self) -> bool:
        """Whether the curve is above 0 at every size."""
        return bool((self.predicted > 0).all())

    @cached_property
    def rest(self) -> Floats:
        """The distances, as shares or in the metric's unit."""
        rest = self.values - self.predicted
        return rest / self.predicted if self.relative else rest

    @cached_property
    def limit(self) -> float:
        """The distance that counts as far: ``FAR_DEVIATIONS`` robust standard deviations."""
        return FAR_DEVIATIONS * NORMAL * float(np.median(np.abs(self.rest)))

    @property
    def outside(self) -> float:
        """The share of the rows that are far."""
        return float(np.mean(np.abs(self.rest) > self.limit))

    def text(self, value: float) -> str:
        """A distance in percent, or with its unit."""
        return percent(value) if self.relative else quantity(value, self.unit)

    def summary(self) -> str:
        """``1.2 % of 4,000 rows are beyond ±6.2 %``, and what that is."""
        rows, share = counted(len(self.rest), "row"), percent(self.outside).lstrip("+")
        return f"{share} of {rows} beyond ±{self.text(self.limit).lstrip('+')}"

    def draw(self, above: figure, axis: AxisScale, drawn: Integers) -> figure:
        """Below ``above``, with which it shares the sizes; ``drawn`` are the drawn rows."""
        from bokeh.models import Line, Range1d, VArea
        from bokeh.models.annotations.geometry import Span

        edge = REACH * self.limit or float(np.abs(self.rest).max(initial=0.0)) or 1.0
        chosen = Scale(100.0, "%") if self.relative else scale(edge / REACH, self.unit)
        beyond = int((np.abs(self.rest) > edge).sum())
        notes = [f"{beyond:,} further than this axis reaches"] if beyond else []
        label = f"value minus model ({chosen.unit})".replace(" ()", "")
        plot = canvas(
            "residuals of the best model",
            "size",
            label,
            height=230,
            x_axis=axis,
            caption=[f"{self.summary()}, three robust standard deviations", *notes],
        )
        plot.x_range = above.x_range
        plot.y_range = Range1d(start=-1.05 * edge * chosen.factor, end=1.05 * edge * chosen.factor)
        ends = [
            float(self.size[self.size > 0].min() if axis == "log" else self.size.min()),
            float(self.size.max()),
        ]
        half = self.limit * chosen.factor
        area = VArea(x="x", y1="low", y2="high", fill_color=MUTED, fill_alpha=0.15)
        band = plot.add_glyph(
            source(x=ends, low=[-half] * 2, high=[half] * 2), area, level="underlay"
        )
        plot.add_layout(Span(location=0, dimension="width", line_color=INK, line_width=1))
        rows = drawn[(self.size[drawn] > 0) | (axis == "linear")]
        data = source(
            x=self.size[rows],
            y=self.rest[rows] * chosen.factor,
            size=[number(value) for value in self.size[rows].tolist()],
            text=[self.text(value) for value in self.rest[rows].tolist()],
            value=[quantity(value, self.unit) for value in self.values[rows].tolist()],
        )
        points = dots(plot, data, BLUE, 4, alpha=0.35)
        hover(plot, [points], [("residual", "@text"), ("value", "@value"), ("size", "@size")])
        at, middle = self.medians
        shown = (at > 0) | (axis == "linear")
        medians = source(x=at[shown], y=middle[shown] * chosen.factor)
        line = plot.add_glyph(medians, Line(x="x", y="y", line_color=VERMILLION, line_width=2))
        marks = dots(plot, medians, VERMILLION, 6, marker="square")
        entries: list[tuple[str, list[Any]]] = [
            ("rows", [points]),
            ("medians", [line, marks]),
            ("±3 robust s. d.", [band]),
        ]
        legend(plot, entries)
        return plot

    @cached_property
    def medians(self) -> tuple[Floats, Floats]:
        """Median size and residual of some stretches of sizes with equally many rows."""
        order = np.argsort(self.size, kind="stable")
        size, rest = self.size[order], self.rest[order]
        ends = np.linspace(0, len(size), STRETCHES + 1)[1:-1].astype(np.int64)
        ends = np.unique(np.searchsorted(size, size[ends], side="left"))
        parts = [
            (at, mine)
            for at, mine in zip(np.split(size, ends), np.split(rest, ends), strict=True)
            if len(at)
        ]
        return np.array([np.median(at) for at, _ in parts]), np.array(
            [np.median(mine) for _, mine in parts]
        )


@dataclass(frozen=True)
class StoredCurve:
    """A curve with its name and what is known of it: ``x`` rising, both of the shape (points,), NaN
    if there is a gap.

    ``y`` is in the metric's unit; ``steps`` says that it is level about each point. ``band`` is its
    lower and upper end, where it has any.
    """

    name: str
    details: str
    x: Floats
    y: Floats
    steps: bool = False
    band: tuple[Floats, Floats] | None = None


def stored(
    profiles: Iterable[Profile], sample: DrawnSample, axis: AxisScale
) -> tuple[list[StoredCurve], int]:
    """A sample's stored curves, of its newest profile that has any; how many are unreadable."""
    for profile in sorted(profiles, key=lambda measured: measured.collected.started, reverse=True):
        same = (
            profile.job.label == sample.unit.job and profile.job.collector == sample.unit.collector
        )
        mine = [
            entry
            for entry in profile.models
            if (entry.uid, entry.metric) == (sample.unit.uid, sample.metric)
        ]
        if same and mine and profile.environment.fingerprint == sample.environment:
            return _curves(mine[:MOST_POINTS], axis)
    return [], 0


def _curves(models: Sequence[AnyEntry], axis: AxisScale) -> tuple[list[StoredCurve], int]:
    pieces: list[RegressionEntry] = []
    curves: list[StoredCurve] = []
    unreadable = 0
    for model in models:
        if model.postprocessor not in (FITTED_BY, *SMOOTHED) or not over_sizes(model):
            continue
        entry = model.known if isinstance(model, OpenEntry) else model
        try:
            if isinstance(entry, CurveEntry):
                curves.append(_smooth(entry))
            elif not isinstance(entry, RegressionEntry):
                raise ValueError("it lacks a field, or has one of another type")
            elif entry.best:
                pieces.append(_checked(entry))
        except ValueError:
            unreadable += 1
    return ([_fitted(pieces, axis)] if pieces else []) + curves, unreadable


def _smooth(entry: CurveEntry) -> StoredCurve:
    """A curve as points; raises ValueError if they are not a curve."""
    x, y = (np.asarray(column, dtype=np.float64) for column in entry.points)
    if not 0 < len(x) == len(y) <= MOST_POINTS or not (np.diff(x) >= 0).all():
        raise ValueError("these are not points of a curve")
    band = entry.band if isinstance(entry, LowessEntry) else None
    if band is not None and {len(end) for end in band} != {len(x)}:
        raise ValueError("this is not a band of these points")
    ends = None
    if band:
        ends = (np.asarray(band[0], dtype=np.float64), np.asarray(band[1], dtype=np.float64))
    values = ((name, getattr(entry, name, UNSET)) for name in DETAILS)
    words = [
        f"{name} {value if isinstance(value, str) else number(value)}"
        for name, value in values
        if value is not UNSET
    ]
    details = ", ".join([*words, *_explained(entry)])
    return StoredCurve(
        entry.postprocessor.replace("-", " "),
        details,
        x,
        y,
        entry.postprocessor == "regressogram",
        ends,
    )


def _checked(entry: RegressionEntry) -> RegressionEntry:
    """The entry; raises ValueError if its model or coefficients are unknown."""
    from perfvcs.statistics.regression.models import LINEARISED, MODELS, parameters

    if entry.model not in MODELS + LINEARISED or len(entry.coefficients) != parameters(entry.model):
        raise ValueError("this is not a model")
    return entry


def _fitted(pieces: Sequence[RegressionEntry], axis: AxisScale) -> StoredCurve:
    """The best models of all ranges of sizes as one curve, with a gap between them."""
    from perfvcs.statistics.regression.models import evaluate, order

    xs, ys = [], []
    for piece in pieces:
        assert piece.model is not None
        x = grid(*piece.x, axis)
        xs += [x, x[-1:]]
        ys += [evaluate(piece.model, x, *[*piece.coefficients, 0.0][:2]), np.array([np.nan])]
    (first, *others) = pieces
    facts = [str(first.model), order(str(first.model), first.coefficients[-1]), *_explained(first)]
    details = f"{len(pieces)} models of parts" if others else ", ".join(facts)
    return StoredCurve(FITTED_BY, details, np.concatenate(xs), np.concatenate(ys))


def _explained(entry: CurveEntry | RegressionEntry) -> list[str]:
    return [] if entry.r2 is None else [f"r² {entry.r2:.3f}"]
