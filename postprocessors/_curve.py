"""Smooth curves as a profile keeps them: points per unit, with what they explain."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from perfvcs.postprocessors._entries import conclude
from perfvcs.postprocessors._rows import Groups, by_number, chosen, group, rows
from perfvcs.profile.fittedmodels import AnyEntry, CurveEntry
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from perfvcs.profile import Profile
    from perfvcs.statistics.regression.strategies import FittedPieces, ModelPoints


FEWEST_MEANS = 5  # fewer of them make no curve of means
Made = TypeVar("Made", bound=CurveEntry)
CURVE_POINTS = 200  # of one curve
METRIC_POINTS = 100_000  # of all curves of a metric, so that the profile's header stays small
FEWEST_FITTED_SIZES = 16  # points of a curve, however many groups


def first_calls(profile: Profile) -> Flags:
    """Mask (rows,) of recorded calls at the start of an execution, when caches are empty."""
    from perfvcs.profile.summary import RECORDER
    from perfvcs.statistics.regression.condensed import warm

    rows = profile.resources
    if profile.job.collector != RECORDER or rows.iteration is None:
        return np.zeros(len(rows), dtype=bool)
    columns = (rows.binary, rows.execution, rows.uid)
    key = np.zeros(len(rows), dtype=np.int64)
    for column in (np.array(column, dtype=np.int64) for column in columns if column is not None):
        key = np.unique(key * (int(column.max(initial=0)) + 1) + column, return_inverse=True)[1]
    return ~warm(rows.integers("iteration"), key)


class GroupMeans(NamedTuple):
    """Means as points, of how many values (of how much weight) each is, shape (rows,), and which
    groups became means, shape (groups,).
    """

    points: ModelPoints
    weight: Floats
    many: Flags


def means(points: ModelPoints) -> GroupMeans:
    """The mean of the values at each size of each group, outliers pulled in; for groups of fewer
    than ``FEWEST_MEANS`` sizes all values.

    Values weigh their number / level^2, as in ``robust.described``; they come in the order of
    groups and sizes.
    """
    from perfvcs.statistics.regression.condensed import (
        BUSY_CLIP,
        OUTLIER_NEIGHBOURS,
        drawn_in,
        running,
    )
    from perfvcs.statistics.regression.strategies import ModelPoints

    order = np.argsort(points.x)
    order = order[by_number(points.group[order])]
    x, y, group = points.x[order], points.y[order], points.group[order]
    weight = np.ones(len(x)) if points.weights is None else points.weights[order]
    changes = np.append(True, (np.diff(x) != 0) | (np.diff(group) != 0))[: len(x)]
    many = np.bincount(group, changes, points.groups) >= FEWEST_MEANS
    starts = np.flatnonzero(changes | ~many[group])
    if not len(starts):
        return GroupMeans(points, weight, many)
    ends = np.searchsorted(group, np.arange(points.groups + 1)).tolist()
    for number in np.flatnonzero(
        many & (np.bincount(group, minlength=points.groups) >= OUTLIER_NEIGHBOURS)
    ).tolist():
        rows = slice(ends[number], ends[number + 1])
        y[rows] = drawn_in(x[rows], y[rows], BUSY_CLIP)
    count, first = np.add.reduceat(weight, starts), y[starts]
    # of equal values the mean is exact
    away = y - np.repeat(first, np.diff(np.append(starts, len(x))))
    mean, of = first + np.add.reduceat(weight * away, starts) / count, group[starts]
    most = np.zeros(points.groups)
    np.maximum.at(most, of, np.abs(mean))
    scale = np.where(most > 0, most, 1.0)[of]  # so that no weight is more than a float holds
    condensed = ModelPoints(
        x[starts], mean, of, points.groups, count / running(np.abs(mean) / scale, of) ** 2
    )
    return GroupMeans(condensed, count, many)


def without_undefined(pieces: FittedPieces) -> tuple[FittedPieces, dict[str, Indices]]:
    """The fits, with those that were not known because of some rows made from the others, and by
    model how many rows of each piece it lost; shape (pieces,).

    The choice stays: what was fitted to other rows cannot be compared.
    """
    from perfvcs.statistics.regression.fitting import fit

    points, fits, lost = pieces.points, dict(pieces.fits), {}
    for model, whole in pieces.fits.items():
        defined = _defined(model, points)
        wanted = ~whole.known & (np.bincount(points.group, ~defined, points.groups) > 0)
        if not wanted.any():
            continue
        rest = points.of(defined & wanted[points.group])
        part = fit(rest.x, rest.y, rest.group, rest.weights, groups=rest.groups, models=[model])[
            model
        ]
        made = part.known
        columns = {
            field.name: (getattr(part, field.name), getattr(whole, field.name))
            for field in fields(part)[1:]
        }
        joined = {
            name: np.where(made if new.ndim == 1 else made[:, None], new, old)
            for name, (new, old) in columns.items()
        }
        fits[model] = replace(part, **joined)
        lost[model] = np.where(made, np.bincount(points.group, ~defined, points.groups), 0).astype(
            np.intp
        )
    return replace(pieces, fits=fits), lost


def _defined(model: str, points: ModelPoints) -> Flags:
    """The rows at which a model, or the logarithm of their values, is defined; shape (rows,)."""
    from perfvcs.statistics.regression.models import FULL_QUADRATIC, LINEARISED, transform

    finite = np.isfinite(transform("linear" if model == FULL_QUADRATIC else model, points.x))
    return np.asarray(finite & (points.y > 0) if model in LINEARISED else finite)


class SmoothCurve(ABC):
    """A postprocessor that lays a curve through the values of each unit.

    ``of`` and ``by`` are options, where each member documents them.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # as every member is a dataclass
    of: tuple[str, ...]
    by: str

    def apply(self, profile: Profile) -> Profile:
        """The profile with a model per unit and metric."""
        models: list[AnyEntry] = []
        for metric in chosen(profile, self.of, self.by):
            groups = group(rows(profile, metric, self.by), self.by)
            models += self.curves(profile, metric, groups)
        return conclude(profile, self, models)

    @abstractmethod
    def curves(self, profile: Profile, metric: str, groups: Groups) -> Sequence[AnyEntry]:
        """The curves of one metric, whose rows are in ``groups``."""


@dataclass(frozen=True)
class CurvePoints:
    """Points of all groups, x rising in each: ``group``, ``x`` and ``y`` of the shape (points,), on
    the scale of ``Groups``.
    """

    group: Indices
    x: Floats
    y: Floats


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
    predicted: Floats | None = None,
) -> list[Made]:
    """The curves of all groups; ``options`` are the fields that this ``kind`` has besides, with a
    value per group.

    ``r2`` is what ``predicted`` (rows,) explains; without it, the curve that is straight between
    its points, and level beyond them.
    """
    ends = np.searchsorted(curve.group, np.arange(len(groups) + 1))
    if predicted is None:
        predicted = np.empty(len(groups.x))
        for place, (start, count) in enumerate(
            zip(groups.starts.tolist(), groups.counts.tolist(), strict=True)
        ):
            points = slice(ends[place], ends[place + 1])
            predicted[start : start + count] = np.interp(
                groups.x[start : start + count], curve.x[points], curve.y[points]
            )
    rest = groups.total((groups.y - predicted) ** 2)
    r2 = np.where(
        groups.squares > 0, 1 - rest / np.where(groups.squares > 0, groups.squares, 1.0), 0.0
    )
    last = groups.starts + groups.counts - 1
    largest = np.finfo(np.float64).max
    # next to the largest double a smooth value may leave what a float holds
    with np.errstate(over="ignore"):
        xs = np.clip(curve.x * groups.x_scale[curve.group], -largest, largest)
        ys = np.clip(curve.y * groups.y_scale[curve.group], -largest, largest)
    low, high = groups.x[groups.starts] * groups.x_scale, groups.x[last] * groups.x_scale
    sizes = np.bincount(groups.blocks.group, minlength=len(groups))
    names = profile.resources.names
    columns = {name: values.tolist() for name, values in options.items()}
    return [
        kind(
            uid=names[unit],
            metric=metric,
            by=by,
            x=(float(low[place]), float(high[place])),
            rows=int(groups.counts[place]),
            sizes=int(sizes[place]),
            r2=float(r2[place]),
            **{name: values[place] for name, values in columns.items()},
            points=(
                xs[ends[place] : ends[place + 1]].tolist(),
                ys[ends[place] : ends[place + 1]].tolist(),
            ),
        )
        for place, unit in enumerate(groups.unit.tolist())
    ]
