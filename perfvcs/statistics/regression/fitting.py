"""Least squares of every model to many groups at once, without a loop over rows or groups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.statistics.regression.models import (
    FITTED_MODELS,
    FULL_QUADRATIC,
    LINEARISED,
    MODELS,
    SHAPED,
    Fit,
    parameters,
    transform,
)
from perfvcs.statistics.regression.projection import BLOCK_ROWS, RowBlock, blocks, parabola, project
from perfvcs.system.numeric import Floats, Indices, np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike


@dataclass(frozen=True)
class FittedLine:
    """A straight line per group: its coefficients, the sum of squared residuals, and the moments of
    what it is drawn over.
    """

    b0: Floats
    b1: Floats
    squares: Floats
    weight: Floats
    centre: Floats
    spread: Floats


def fit(
    x: ArrayLike,
    y: ArrayLike,
    group: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    groups: int | None = None,
    models: Sequence[str] = MODELS + LINEARISED,
) -> dict[str, Fit]:
    """Fit models to the values ``y`` at the sizes ``x``, columns of equal length, by (weighted)
    least squares; by name of the model.

    ``group`` numbers the groups of the rows from 0 (all one group without it), ``groups`` says how
    many there are (the largest number plus one). ``weights`` are those of the squared residuals: 1
    / variance. Power and exponential are fitted on the original scale; their linearised forms, as
    published, are straight lines through ln y under the same weights.

    Rows with a NaN or an infinity, or without a positive weight, are left out. A constant needs one
    row, ``FULL_QUADRATIC`` four of at least three sizes, the others three of at least two.
    Logarithmic and power need positive sizes, linearithmic none below 0, the linearised forms
    positive values: else that model of that group is NaN, as where it overflows (leave the rows of
    size 0 out to have the others). AICc needs two rows more than what is estimated, and is infinite
    below. ``ValueError`` for columns of different lengths, numbers below 0 or unknown models.

    Sources: Stupinsky 2018, ch. 3.2; AICc: Hurvich, Tsai 1989; the scale of a curve by projection:
    Golub, Pereyra 1973.
    """
    for model in models:
        if model not in FITTED_MODELS:
            transform(model, 1.0)  # says what there is
    size, value, number, weight = _columns(x, y, group, weights)
    if number.size and number.min() < 0:
        raise ValueError("groups are numbered from 0")
    total = int(number.max(initial=-1)) + 1 if groups is None else groups
    keep = np.isfinite(size) & np.isfinite(value)
    if weight is not None:
        keep &= np.isfinite(weight) & (weight > 0)
    if not keep.all():
        size, value, number = size[keep], value[keep], number[keep]
        weight = None if weight is None else weight[keep]
    if (np.diff(number) < 0).any():
        # sixteen bits sort in linear time
        narrow = number.astype(np.uint16) if total <= 1 << 16 else number
        place = np.argsort(narrow, kind="stable")
        size, value, number = size[place], value[place], number[place]
        weight = None if weight is None else weight[place]
    counts = np.bincount(number, minlength=total)
    if 0 < len(size) <= BLOCK_ROWS and counts.all():  # as a rule
        fitted = dict(_fit(next(blocks(size, value, weight, counts))[0], models))
        return {model: fitted[model] for model in models}
    fits = {model: _unknown(model, total, counts) for model in models}
    for block, present in blocks(size, value, weight, counts):
        for model, result in _fit(block, models):
            for field in fields(Fit)[1:]:
                getattr(fits[model], field.name)[present] = getattr(result, field.name)
    return fits


class _FitColumns(NamedTuple):
    """Size, value, number of the group and weight of each row, shape (n,)."""

    size: Floats
    value: Floats
    number: Indices
    weight: Floats | None


def _columns(
    x: ArrayLike, y: ArrayLike, group: ArrayLike | None, weights: ArrayLike | None
) -> _FitColumns:
    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    number = (
        np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    )
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)
    shapes = {size.shape, value.shape, number.shape, size.shape if weight is None else weight.shape}
    if len(shapes) > 1 or size.ndim != 1:
        raise ValueError("sizes, values, groups and weights must be columns of equal length")
    return _FitColumns(size, value, number, weight)


def _unknown(model: str, total: int, counts: Indices) -> Fit:
    def column() -> Floats:
        return np.full(total, np.nan)

    several = np.full((total, max(2, parameters(model))), np.nan)
    return Fit(
        model=model,
        coefficients=several,
        errors=several.copy(),
        r2=column(),
        log_r2=column(),
        adjusted_r2=column(),
        aicc=column(),
        n=counts.copy(),
        variance=column(),
        squares=column(),
        low=column(),
        high=column(),
        weight=column(),
        centre=column(),
        spread=column(),
    )


def _undefined(model: str, n: Indices, low: Floats, high: Floats) -> Fit:
    """A model that no group has."""
    several, nan = np.full((len(n), max(2, parameters(model))), np.nan), np.full(len(n), np.nan)
    return Fit(
        model=model,
        coefficients=several,
        errors=several,
        r2=nan,
        log_r2=nan,
        adjusted_r2=nan,
        aicc=nan,
        n=n,
        variance=nan,
        squares=nan,
        low=low,
        high=high,
        weight=nan,
        centre=nan,
        spread=nan,
    )


def _fit(block: RowBlock, models: Sequence[str]) -> Iterator[tuple[str, Fit]]:
    low, high = block.least(block.x), block.most(block.x)
    weight = block.total(np.ones(len(block.x)))
    with np.errstate(all="ignore"):  # what overflows or is not defined becomes NaN below
        flat = _constant(block, weight)
        sloped = (high > low).any()
        linearised: dict[str, FittedLine] = {}
        # with the sum of squares on the original scale
        lines: dict[str, tuple[FittedLine, Floats]] = {}
        # the direct forms start from them
        for model in sorted(models, key=lambda name: name not in LINEARISED):
            shaped = model.removeprefix("linearised ")
            if model == FULL_QUADRATIC:
                yield model, _bent(block, flat, low, high)
            elif model == "constant":
                lines[model] = flat, flat.squares
            elif not sloped:  # nothing but a constant goes through one size
                yield model, _undefined(model, block.lengths, low, high)
            elif model not in SHAPED:
                line = _line(block, transform(model, block.x), block.y, weight)
                lines[model] = line, line.squares
            else:
                u = transform(shaped, block.x)
                if shaped not in linearised:
                    linearised[shaped] = _line(block, u, np.log(block.y), weight)
                line = linearised[shaped]
                if model in LINEARISED:
                    curve = np.exp(block.spread(line.b0) + block.spread(line.b1) * u)
                    lines[model] = line, block.squares(block.y - curve, block.y)
                else:
                    line = FittedLine(*project(block, u, line.b1, low, high))
                    lines[model] = line, line.squares
        if lines:
            yield from _results(lines, block.lengths, flat, low, high)


def _constant(block: RowBlock, weight: Floats) -> FittedLine:
    mean = block.total(block.y) / weight
    squares = block.squares(block.y - block.spread(mean), block.y)
    return FittedLine(
        mean, np.zeros(len(mean)), squares, weight, np.zeros(len(mean)), np.full(len(mean), np.inf)
    )


def _line(block: RowBlock, f: Floats, y: Floats, weight: Floats) -> FittedLine:
    """By centred sums, which lose nothing to large sizes far from 0."""
    centre, mean = block.total(f) / weight, block.total(y) / weight
    away, rest = f - block.spread(centre), y - block.spread(mean)
    spread = block.total(away * away)
    slope = block.total(away * rest) / spread
    rest -= block.spread(slope) * away
    return FittedLine(mean - slope * centre, slope, block.squares(rest, y), weight, centre, spread)


def _results(
    lines: Mapping[str, tuple[FittedLine, Floats]],
    n: Indices,
    flat: FittedLine,
    low: Floats,
    high: Floats,
) -> Iterator[tuple[str, Fit]]:
    """What lines and sums of squares say of models at once, arrays (models, groups)."""
    columns = [
        [line.b0, line.b1, line.squares, line.weight, line.centre, line.spread, squares]
        for line, squares in lines.values()
    ]
    b0, b1, rest, weight, centre, spread, squares = np.array(columns).swapaxes(0, 1)
    count = np.array([[parameters(model)] for model in lines])
    shaped = np.array([model in SHAPED for model in lines])
    logarithmic = np.array([model in LINEARISED for model in lines])
    exponential = np.array([model.endswith("exponential") for model in lines])
    df = n - count
    variance = np.where(df > 0, rest / df, np.nan)
    error1 = np.sqrt(variance / spread)
    error0 = np.sqrt(variance * (1 / weight + centre**2 / spread))
    log_r2 = np.full(b0.shape, np.nan)
    if logarithmic.any():
        straight = b1[logarithmic] ** 2 * spread[logarithmic]
        log_r2[logarithmic] = np.where(
            straight > 0, straight / (straight + rest[logarithmic]), straight
        )
        b0[logarithmic] = np.exp(b0[logarithmic])
    if shaped.any():
        error0[shaped] *= np.abs(b0[shaped])
        b1[exponential] = np.exp(b1[exponential])
        error1[exponential] *= b1[exponential]
    defined = np.isfinite(b0) & np.isfinite(b1) & np.isfinite(squares)
    defined &= (count == 1) | ((n >= 3) & (high > low))
    defined &= ~shaped[:, None] | (b0 != 0)
    measures = [
        *_explained(n, count, squares, flat),
        log_r2,
        variance,
        squares,
        weight,
        centre,
        spread,
    ]
    coefficients, errors = np.stack([b0, b1], axis=2), np.stack([error0, error1], axis=2)
    if not defined.all():
        measures = [np.where(defined, column, np.nan) for column in measures]
        coefficients, errors = (
            np.where(defined[:, :, None], column, np.nan) for column in (coefficients, errors)
        )
    for place, model in enumerate(lines):
        r2, adjusted, aicc, log_, variance_, squares_, *moments = (
            column[place] for column in measures
        )
        yield (
            model,
            Fit(
                model,
                coefficients[place],
                errors[place],
                r2,
                log_,
                adjusted,
                aicc,
                n,
                variance_,
                squares_,
                low,
                high,
                *moments,
            ),
        )


def _bent(block: RowBlock, flat: FittedLine, low: Floats, high: Floats) -> Fit:
    curve, n = parabola(block), block.lengths
    df = n - parameters(FULL_QUADRATIC)
    variance = np.where(df > 0, curve.squares / df, np.nan)
    errors = np.sqrt(variance[:, None] * curve.factors)
    nothing = np.full(len(n), np.nan)
    defined = (df > 0) & np.isfinite(curve.coefficients).all(axis=1) & np.isfinite(curve.squares)
    columns = (
        *_explained(n, np.array(parameters(FULL_QUADRATIC)), curve.squares, flat),
        variance,
        curve.squares,
    )
    r2, adjusted, aicc, variance, squares = (
        np.where(defined, column, np.nan) for column in columns
    )
    coefficients, errors = (
        np.where(defined[:, None], column, np.nan) for column in (curve.coefficients, errors)
    )
    return Fit(
        model=FULL_QUADRATIC,
        coefficients=coefficients,
        errors=errors,
        r2=r2,
        log_r2=nothing,
        adjusted_r2=adjusted,
        aicc=aicc,
        n=n,
        variance=variance,
        squares=squares,
        low=low,
        high=high,
        weight=nothing,
        centre=nothing,
        spread=nothing,
    )


class _Explained(NamedTuple):
    """How well models fit, of the shape of their sums of squared residuals."""

    r2: Floats
    adjusted: Floats
    aicc: Floats


def _explained(n: Indices, count: Indices, squares: Floats, flat: FittedLine) -> _Explained:
    """What follows from the sums of squared residuals of models with so many parameters."""
    df, estimated = n - count, count + 1
    share = np.where(flat.squares == 0, 0.0, 1 - squares / flat.squares)
    adjusted = np.where(df > 0, 1 - (1 - share) * (n - 1) / np.maximum(df, 1), np.nan)
    correction = np.where(
        n > estimated + 1,
        2 * estimated * (estimated + 1) / np.maximum(n - estimated - 1, 1),
        np.inf,
    )
    aicc = np.where(
        np.isfinite(correction), n * np.log(squares / n) + 2 * estimated + correction, np.inf
    )
    return _Explained(share, adjusted, aicc)
