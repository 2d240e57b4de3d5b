"""Smooth curves as a profile keeps them: points per unit, with what they explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from perfvcs.entries import CurveEntry

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups
    from perfvcs.profile import Profile

Made = TypeVar("Made", bound=CurveEntry)
CURVE_POINTS = 200  # of one curve
METRIC_POINTS = 100_000  # of all curves of a metric, so that the profile's header stays small
FEWEST_FITTED_SIZES = 16


@dataclass(frozen=True)
class CurvePoints:
    """Points of all groups, x rising in each: ``group``, ``x`` and ``y`` of the shape (points,), on the scale of ``Groups``."""

    group: NDArray[np.intp]
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def most_points(groups: int) -> int:
    """The largest number of points of each curve."""
    return max(FEWEST_FITTED_SIZES, min(CURVE_POINTS, METRIC_POINTS // max(groups, 1)))


def entries(
    kind: Callable[..., Made],
    profile: Profile,
    metric: str,
    by: str,
    groups: Groups,
    curve: CurvePoints,
    options: Mapping[str, NDArray[Any]],
    predicted: NDArray[np.float64] | None = None,
) -> list[Made]:
    """The curves of all groups; ``options`` are the fields that this ``kind`` has besides, with a value per group.

    ``r2`` is what ``predicted`` (rows,) explains; without it, the curve that is straight between its points, and level beyond them.
    """
    import numpy as np

    ends = np.searchsorted(curve.group, np.arange(len(groups) + 1))
    if predicted is None:
        predicted = np.empty(len(groups.x))
        for place, (start, count) in enumerate(zip(groups.starts.tolist(), groups.counts.tolist(), strict=True)):
            points = slice(ends[place], ends[place + 1])
            predicted[start : start + count] = np.interp(groups.x[start : start + count], curve.x[points], curve.y[points])
    rest = groups.total((groups.y - predicted) ** 2)
    r2 = np.where(groups.squares > 0, 1 - rest / np.where(groups.squares > 0, groups.squares, 1.0), 0.0)
    last = groups.starts + groups.counts - 1
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):  # next to the largest double a smooth value may leave what a float holds
        xs = np.clip(curve.x * groups.x_scale[curve.group], -largest, largest)
        ys = np.clip(curve.y * groups.y_scale[curve.group], -largest, largest)
    low, high = groups.x[groups.starts] * groups.x_scale, groups.x[last] * groups.x_scale
    sizes = np.bincount(groups.blocks.group, minlength=len(groups))
    names = profile.resources.names
    columns = {name: values.tolist() for name, values in options.items()}
    return [
        kind(
            uid=names[unit], metric=metric, by=by, x=(float(low[place]), float(high[place])), rows=int(groups.counts[place]),
            sizes=int(sizes[place]), r2=float(r2[place]), **{name: values[place] for name, values in columns.items()},
            points=(xs[ends[place] : ends[place + 1]].tolist(), ys[ends[place] : ends[place + 1]].tolist()),
        )
        for place, unit in enumerate(groups.unit.tolist())
    ]  # fmt: skip
