"""Fitted models as the fields of ``RegressionEntry``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from perfvcs.errors import UsageError, nearest
from perfvcs.profile import Metric, Processed, Profile
from perfvcs.profile.fittedmodels import AnyEntry, FitStep, as_written
from perfvcs.profile.validity import MAX_HEADER, METRIC_NAME
from perfvcs.statistics.regression.models import (
    FORMULAS,
    FULL_QUADRATIC,
    LINEARISED,
    MODELS,
    SHAPED,
    order,
    parameters,
)
from perfvcs.system.numeric import Indices, np
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from perfvcs.statistics.regression.models import Fit
    from perfvcs.statistics.regression.strategies import FittedPieces, ModelPoints, StrategyStep


LARGEST_ENTRIES = MAX_HEADER - (
    1 << 20
)  # of the entries of all postprocessors; the rest is for what else is in a profile's header
OutcomeColumn = tuple[str, Sequence[float | None]]  # unit, values
# values, whose squares, and weights by them, are well within what a float holds
LARGEST_VALUE, SMALLEST_VALUE = 1e100, 1e-100


def name_of(member: DataclassInstance) -> str:
    """The name of a postprocessor, from its file: ``moving-average``."""
    return type(member).__module__.rpartition(".")[2].replace("_", "-")


def conclude(
    profile: Profile,
    member: DataclassInstance,
    models: Sequence[AnyEntry] = (),
    columns: Mapping[str, OutcomeColumn] | None = None,
    word: str = "",
) -> Profile:
    """The profile with the results of a postprocessor in the place of those that it left there
    before.

    ``columns`` are, per metric, unit and values of ``<metric>.<word>``: recorded, never judged.
    Earlier columns of that ``word`` go, whichever metric they belong to. Raises UsageError where
    the profile could not be written.
    """
    name = name_of(member)
    entries = [*(entry for entry in profile.models if entry.postprocessor != name), *models]
    if (
        models
        and (size := len(msgspec.json.encode(list(map(as_written, entries))))) > LARGEST_ENTRIES
    ):
        raise UsageError(
            f"{profile.job.label or 'the profile'} would have {size:,} bytes of models, and"
            f" {LARGEST_ENTRIES:,} is the most: name fewer metrics with of, or, of a regression,"
            " give keep=best"
        )
    metrics, values = dict(profile.metrics), dict(profile.resources.metrics)
    new = {f"{metric}.{word}": column for metric, column in (columns or {}).items()}
    earlier = {
        metric
        for metric, definition in metrics.items()
        if word and metric.endswith(f".{word}") and definition.better == "none"
    }
    for gone in earlier - new.keys():
        del metrics[gone], values[gone]
    for column, (unit, numbers) in new.items():
        if not METRIC_NAME.fullmatch(column):
            raise UsageError(
                f"the column `{column[:80]}` would have too long a name: name other metrics with of"
            )
        metrics[column], values[column] = Metric(unit, "none"), list(numbers)
    done = [processed for processed in profile.postprocessors if processed.name != name]
    # as it will be read again: a tuple becomes a list
    done.append(Processed(name, msgspec.json.decode(msgspec.json.encode(asdict(member)))))
    return msgspec.structs.replace(
        profile,
        models=entries,
        metrics=metrics,
        resources=replace(profile.resources, metrics=values),
        postprocessors=done,
    )


def entries(
    pieces: FittedPieces,
    scale: Sequence[float],
    zeros: Sequence[int],
    far: Sequence[int],
    lost: Mapping[str, Indices],
    *,
    guessed: bool = False,
    shares: bool = False,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Group and fields of the entry of every model of every piece that has rows, in order; the best
    one also names the models that are missing.

    ``scale``: per group what its values were divided by (``scaled``), ``zeros``: how many rows at
    size 0 were left out, ``far``: how many sizes that lie far from the others, ``lost``: how many
    rows of each piece a model was fitted without. ``guessed``: that only one model was tried is no
    reason to name the others. ``shares``: that residuals were weighted by the level, so that AICc
    has no unit.
    """
    scales = [scale[owner] for owner in pieces.owner.tolist()]
    columns = {model: _columns(fit, scales, shares=shares) for model, fit in pieces.fits.items()}
    some = next(iter(pieces.fits.values()))
    rows = np.max([fit.n for fit in pieces.fits.values()], axis=0).tolist()
    best, owners = pieces.choice.index.tolist(), pieces.owner.tolist()
    extents = _extents(pieces, some)
    dropped = {model: counts.tolist() for model, counts in lost.items()}
    steps = [_step(step) for step in pieces.steps]
    for piece, (owner, count) in enumerate(zip(owners, rows, strict=True)):
        if not count:
            continue
        name = MODELS[best[piece]] if best[piece] >= 0 else None
        if name is not None and columns[name][piece] is None:
            name = None  # its coefficients are more than a float holds
        fitted = {
            model: entry
            for model, of_pieces in columns.items()
            if (entry := of_pieces[piece]) is not None
        }
        missing = [model for model in columns if model not in fitted]
        notes: dict[str, Any] = {}
        if missing and not (guessed and fitted):
            notes["omitted"] = {model: _reason(model, count, *extents[piece]) for model in missing}
        if zeros[owner]:
            notes["zeros"] = zeros[owner]
        if far[owner]:
            notes["far"] = far[owner]
        if steps:
            notes["steps"] = [step[owner] for step in steps if step[owner] is not None]
        if name is None:
            yield owner, _nothing(count, extents[piece].low, extents[piece].high) | notes
        for model, entry in fitted.items():
            without = dropped[model][piece] if model in dropped else 0
            if without:
                entry["dropped"] = without
            entry.update(rows=count - without, best=model == name)
            if model == name:
                entry.update(notes, order=pieces.choice.order(piece, shape=True))
            yield owner, entry


def scaled(points: ModelPoints) -> tuple[ModelPoints, list[float]]:
    """The values of each group divided by a power of two, and which: 1 but where their squares are
    more or less than a float holds.
    """
    most = np.zeros(points.groups)
    np.maximum.at(most, points.group, np.abs(points.y))
    extreme = (most > 0) & ((most > LARGEST_VALUE) | (most < SMALLEST_VALUE))
    if not extreme.any():
        return points, [1.0] * points.groups
    scale = np.where(extreme, np.ldexp(1.0, np.frexp(most)[1] - 1), 1.0)
    return replace(points, y=points.y / scale[points.group]), scale.tolist()


def _columns(fit: Fit, scale: Sequence[float], *, shares: bool) -> list[dict[str, Any] | None]:
    """The entry of each group, its values times ``scale``; None where the model is not known."""
    count, name = parameters(fit.model), fit.model.removeprefix("linearised ")
    factor = np.ones(fit.coefficients.shape)
    factor[:, 0] = scale
    if fit.model not in SHAPED:
        factor[:, 1:] = np.array(scale)[:, None]
    with np.errstate(over="ignore"):
        both = fit.coefficients * factor, fit.errors * factor
    aicc = fit.aicc if shares else fit.aicc + 2 * fit.n * np.log(scale)
    defined = fit.known & np.isfinite(both[0]).all(axis=1)
    columns = (*both, fit.r2, fit.log_r2, fit.adjusted_r2, aicc, fit.low, fit.high, defined)
    entries_of_groups: list[dict[str, Any] | None] = []
    for coefficients, errors, r2, log_r2, adjusted, aicc, low, high, defined in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        if not defined:
            entries_of_groups.append(None)
            continue
        logarithmic = {"log_r2": _finite(log_r2)} if fit.model in LINEARISED else {}
        entries_of_groups.append(
            {
                "model": fit.model,
                "order": order(name, coefficients[1]),
                "formula": FORMULAS[name],
                "coefficients": coefficients[:count],
                "errors": [_finite(error) for error in errors[:count]],
                "r2": _finite(r2),
                **logarithmic,
                "adjusted_r2": _finite(adjusted),
                "aicc": _finite(aicc),
                "x": (low, high),
            }
        )
    return entries_of_groups


def _nothing(count: int, low: float, high: float) -> dict[str, Any]:
    return {
        "model": None,
        "order": None,
        "formula": None,
        "coefficients": [],
        "errors": [],
        "r2": None,
        "adjusted_r2": None,
        "aicc": None,
        "x": (low, high),
        "rows": count,
        "best": False,
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


class _PieceExtent(NamedTuple):
    """The smallest and the largest size, and the smallest value."""

    low: float
    high: float
    least: float


def _extents(pieces: FittedPieces, some: Fit) -> list[_PieceExtent]:
    points = pieces.points
    least = np.full(points.groups, np.inf)
    np.minimum.at(least, points.group, points.y)
    low, high = some.low, some.high
    for fit in pieces.fits.values():  # each may know other groups
        low, high = np.where(np.isnan(low), fit.low, low), np.where(np.isnan(high), fit.high, high)
    return [
        _PieceExtent(*row) for row in zip(low.tolist(), high.tolist(), least.tolist(), strict=True)
    ]


def _reason(model: str, count: int, low: float, high: float, least: float) -> str:
    name = model.removeprefix("linearised ")
    least_rows = parameters(model) + 1
    if count < least_rows:
        return f"{counted(count, 'row')}: it needs {'three' if least_rows == 3 else 'four'}"
    if low == high:
        return "all rows have one size"
    if model == FULL_QUADRATIC:
        return "it needs three sizes, and no coefficient more than a float holds"
    if name in ("logarithmic", "power") and low <= 0:
        return "a size is 0 or below"
    if name == "linearithmic" and low < 0:
        return "a size is below 0"
    if model in LINEARISED and least <= 0:
        return "a value is 0 or below"
    return "no finite curve fits"


def _step(step: StrategyStep) -> list[FitStep | None]:
    """The best of one step of each group; None if there is none."""
    columns = (step.rows.tolist(), step.choice.index.tolist(), step.choice.r2.tolist())
    return [
        FitStep(count, MODELS[index], _finite(r2)) if index >= 0 else None
        for count, index, r2 in zip(*columns, strict=True)
    ]


def check_word(member: DataclassInstance, option: str, words: Collection[str]) -> None:
    """Raises UsageError where an option is not one of the words."""
    value = getattr(member, option)
    if value not in words:
        raise UsageError(
            f"{name_of(member)}: {option} cannot be {value!r}{nearest(str(value), words)}"
        )


def check_number(
    member: DataclassInstance,
    option: str,
    low: float,
    high: float,
    example: str,
    *,
    whole: bool = False,
    above: bool = False,
) -> None:
    """Raise UsageError where a numeric option is outside ``low`` to ``high`` (``above``: ``low``
    itself too), or not ``whole``.

    None, an option that was not given, is right.
    """
    value = getattr(member, option)
    if value is None:
        return
    number = isinstance(value, int if whole else (int, float)) and not isinstance(value, bool)
    if not number or not low <= value <= high or (above and value == low):
        kind = "a whole number" if whole else "a number"
        span = f"from {low:,g} to {high:,g}"
        if above:
            span = f"above {low:g}" + (f", at most {high:g}" if high < 1e300 else "")
        raise UsageError(
            f"{name_of(member)}: {option} is {value!r}: give {kind} {span}, such as {example}"
        )
