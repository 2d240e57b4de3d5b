"""Models that postprocessors left in a profile, as curves over sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from perfvcs.drawing.curves.sides import grid
from perfvcs.drawing.samples import DrawnSample
from perfvcs.entries import AnyEntry, CurveEntry, LowessEntry, OpenEntry, RegressionEntry, over_sizes
from perfvcs.profile import Profile
from perfvcs.text.quantity import number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.drawing.canvas import AxisScale

    Floats = NDArray[np.float64]

FITTED_BY = "regression"
SMOOTHED = ("moving-average", "kernel-regression", "lowess", "regressogram")
MOST_POINTS = 1000  # points of one curve, and curves of one unit: more are not ours
DETAILS = ("kind", "window", "alpha", "bandwidth", "share", "robust", "statistic", "buckets")


@dataclass(frozen=True)
class StoredCurve:
    """A curve with its name and what is known of it: ``x`` rising, both of the shape (points,), NaN if there is a gap.

    ``y`` is in the metric's unit; ``steps`` says that it is level about each point. ``band`` is its lower and upper end, where it has any.
    """

    name: str
    details: str
    x: Floats
    y: Floats
    steps: bool = False
    band: tuple[Floats, Floats] | None = None


def stored(profiles: Iterable[Profile], sample: DrawnSample, axis: AxisScale) -> tuple[list[StoredCurve], int]:
    """The stored curves of a sample, from its newest profile that has any, and the number of unreadable entries."""
    for profile in sorted(profiles, key=lambda one: one.collected.started, reverse=True):
        same = profile.job.label == sample.unit.job and profile.job.collector == sample.unit.collector
        mine = [entry for entry in profile.models if (entry.uid, entry.metric) == (sample.unit.uid, sample.metric)]
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
    import numpy as np

    x, y = (np.asarray(column, dtype=np.float64) for column in entry.points)
    if not 0 < len(x) == len(y) <= MOST_POINTS or not (np.diff(x) >= 0).all():
        raise ValueError("these are not points of a curve")
    band = entry.band if isinstance(entry, LowessEntry) else None
    if band is not None and {len(end) for end in band} != {len(x)}:
        raise ValueError("this is not a band of these points")
    ends = (np.asarray(band[0], dtype=np.float64), np.asarray(band[1], dtype=np.float64)) if band else None
    values = ((name, getattr(entry, name, UNSET)) for name in DETAILS)
    words = [f"{name} {value if isinstance(value, str) else number(value)}" for name, value in values if value is not UNSET]
    details = ", ".join([*words, *_explained(entry)])
    return StoredCurve(entry.postprocessor.replace("-", " "), details, x, y, entry.postprocessor == "regressogram", ends)


def _checked(entry: RegressionEntry) -> RegressionEntry:
    """The entry; raises ValueError if its model or coefficients are unknown."""
    from perfvcs.statistics.regression.models import LINEARISED, MODELS, parameters

    if entry.model not in MODELS + LINEARISED or len(entry.coefficients) != parameters(entry.model):
        raise ValueError("this is not a model")
    return entry


def _fitted(pieces: Sequence[RegressionEntry], axis: AxisScale) -> StoredCurve:
    """The best models of all ranges of sizes as one curve, with a gap between them."""
    import numpy as np

    from perfvcs.statistics.regression.models import evaluate, order

    xs, ys = [], []
    for piece in pieces:
        assert piece.model is not None
        x = grid(*piece.x, axis)
        xs += [x, x[-1:]]
        ys += [evaluate(piece.model, x, *[*piece.coefficients, 0.0][:2]), np.array([np.nan])]
    (first, *others) = pieces
    one = [str(first.model), order(str(first.model), first.coefficients[-1]), *_explained(first)]
    details = f"{len(pieces)} models of parts" if others else ", ".join(one)
    return StoredCurve(FITTED_BY, details, np.concatenate(xs), np.concatenate(ys))


def _explained(entry: CurveEntry | RegressionEntry) -> list[str]:
    return [] if entry.r2 is None else [f"r² {entry.r2:.3f}"]
