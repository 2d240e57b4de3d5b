"""Least squares of every model to many groups at once, without a loop over rows or groups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from perfvcs.statistics.regression.block import BLOCK_ROWS, RowBlock, blocks
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
from perfvcs.statistics.regression.parabola import parabola
from perfvcs.statistics.regression.projection import project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class FittedLine:
    """A straight line per group: its coefficients, the sum of squared residuals, and the moments of what it is drawn over."""

    b0: NDArray[np.float64]
    b1: NDArray[np.float64]
    squares: NDArray[np.float64]
    weight: NDArray[np.float64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]


def fit(
    x: ArrayLike,
    y: ArrayLike,
    group: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    groups: int | None = None,
    models: Sequence[str] = MODELS + LINEARISED,
) -> dict[str, Fit]:
    """Fit models to the values ``y`` at the sizes ``x``, columns of equal length, by (weighted) least squares; by name of the model.

    ``group`` numbers the groups of the rows from 0 (all one group without it), ``groups`` says how many there are (the largest number
    plus one). ``weights`` are those of the squared residuals: 1 / variance. Power and exponential are fitted on the original scale;
    their linearised forms, as published, are straight lines through ln y under the same weights.

    Rows with a NaN or an infinity, or without a positive weight, are left out. A constant needs one row, ``FULL_QUADRATIC`` four of at
    least three sizes, the others three of at least two. Logarithmic and power need positive sizes, linearithmic none below 0,
    the linearised forms positive values: else that model of that group is NaN, as where it overflows (leave the rows of size 0
    out to have the others). AICc needs two rows more than what is estimated, and is infinite below. ``ValueError`` for columns of
    different lengths, numbers below 0 or unknown models.

    Sources: Stupinsky 2018, ch. 3.2; AICc: Hurvich, Tsai 1989; the scale of a curve by projection: Golub, Pereyra 1973.
    """
    import numpy as np

    for model in models:
        if model not in FITTED_MODELS:
            transform(model, 1.0)  # says what there is
    columns = _columns(x, y, group, weights)
    size, value, number, weight = columns
    if number.size and number.min() < 0:
        raise ValueError("groups are numbered from 0")
    total = int(number.max(initial=-1)) + 1 if groups is None else groups
    keep = np.isfinite(size) & np.isfinite(value)
    if weight is not None:
        keep &= np.isfinite(weight) & (weight > 0)
    if not keep.all():
        size, value, number, weight = (None if column is None else column[keep] for column in columns)  # type: ignore[assignment]
    if (np.diff(number) < 0).any():
        narrow = number.astype(np.uint16) if total <= 1 << 16 else number  # sixteen bits sort in linear time
        place = np.argsort(narrow, kind="stable")
        size, value, number = size[place], value[place], number[place]
        weight = None if weight is None else weight[place]
    counts = np.bincount(number, minlength=total)
    if 0 < len(size) <= BLOCK_ROWS and counts.all():  # as a rule
        fitted = dict(_fit(next(blocks(size, value, weight, counts))[0], models))
        return {model: fitted[model] for model in models}
    found = {model: _unknown(model, total, counts) for model in models}
    for block, present in blocks(size, value, weight, counts):
        for model, result in _fit(block, models):
            for field in fields(Fit)[1:]:
                getattr(found[model], field.name)[present] = getattr(result, field.name)
    return found


def _columns(
    x: ArrayLike, y: ArrayLike, group: ArrayLike | None, weights: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], NDArray[np.float64] | None]:
    import numpy as np

    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    number = np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    weight = None if weights is None else np.asarray(weights, dtype=np.float64)
    shapes = {size.shape, value.shape, number.shape, size.shape if weight is None else weight.shape}
    if len(shapes) > 1 or size.ndim != 1:
        raise ValueError("sizes, values, groups and weights must be columns of equal length")
    return size, value, number, weight


def _unknown(model: str, total: int, counts: NDArray[np.intp]) -> Fit:
    import numpy as np

    def column() -> NDArray[np.float64]:
        return np.full(total, np.nan)

    several = np.full((total, max(2, parameters(model))), np.nan)
    return Fit(
        model, several, several.copy(), column(), column(), column(), column(), counts.copy(), column(), column(), column(), column(),
        column(), column(), column(),
    )  # fmt: skip


def _undefined(model: str, n: NDArray[np.intp], low: NDArray[np.float64], high: NDArray[np.float64]) -> Fit:
    """A model that no group has."""
    import numpy as np

    several, one = np.full((len(n), max(2, parameters(model))), np.nan), np.full(len(n), np.nan)
    return Fit(model, several, several, one, one, one, one, n, one, one, low, high, one, one, one)


def _fit(block: RowBlock, models: Sequence[str]) -> Iterator[tuple[str, Fit]]:
    import numpy as np

    low, high = block.least(block.x), block.most(block.x)
    weight = block.total(np.ones(len(block.x)))
    with np.errstate(all="ignore"):  # what overflows or is not defined becomes NaN below
        flat = _constant(block, weight)
        sloped = (high > low).any()
        linearised: dict[str, FittedLine] = {}
        for model in sorted(models, key=lambda name: name not in LINEARISED):  # the direct forms start from them
            shaped = model.removeprefix("linearised ")
            if model == FULL_QUADRATIC:
                yield model, _bent(block, flat, low, high)
                continue
            if model == "constant":
                line, curve = flat, None
            elif not sloped:  # nothing but a constant goes through one size
                yield model, _undefined(model, block.lengths, low, high)
                continue
            elif model not in LINEARISED and shaped not in ("power", "exponential"):
                line, curve = _line(block, transform(model, block.x), block.y, weight), None
            else:
                u = transform(shaped, block.x)
                if shaped not in linearised:
                    linearised[shaped] = _line(block, u, np.log(block.y), weight)
                line = linearised[shaped]
                curve = np.exp(block.spread(line.b0) + block.spread(line.b1) * u) if model in LINEARISED else None
                if model not in LINEARISED:
                    line = FittedLine(*project(block, u, line.b1, low, high))
            yield model, _result(model, block, line, flat, curve, low, high)


def _constant(block: RowBlock, weight: NDArray[np.float64]) -> FittedLine:
    import numpy as np

    mean = block.total(block.y) / weight
    squares = block.squares(block.y - block.spread(mean), block.y)
    return FittedLine(mean, np.zeros(len(mean)), squares, weight, np.zeros(len(mean)), np.full(len(mean), np.inf))


def _line(block: RowBlock, f: NDArray[np.float64], y: NDArray[np.float64], weight: NDArray[np.float64]) -> FittedLine:
    """By centred sums, which lose nothing to large sizes far from 0."""
    centre, mean = block.total(f) / weight, block.total(y) / weight
    away, rest = f - block.spread(centre), y - block.spread(mean)
    spread = block.total(away * away)
    slope = block.total(away * rest) / spread
    rest -= block.spread(slope) * away
    return FittedLine(mean - slope * centre, slope, block.squares(rest, y), weight, centre, spread)


def _result(
    model: str,
    block: RowBlock,
    line: FittedLine,
    flat: FittedLine,
    curve: NDArray[np.float64] | None,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> Fit:
    import numpy as np

    n, count = block.lengths, parameters(model)
    df = n - count
    squares = line.squares if curve is None else block.squares(block.y - curve, block.y)
    variance = np.where(df > 0, line.squares / df, np.nan)
    b0, b1 = line.b0, line.b1
    error1 = np.sqrt(variance / line.spread)
    error0 = np.sqrt(variance * (1 / line.weight + line.centre**2 / line.spread))
    if model.endswith(("power", "exponential")):
        b0 = np.exp(line.b0) if model in LINEARISED else line.b0
        error0 = error0 * np.abs(b0)
        if model.endswith("exponential"):
            b1 = np.exp(b1)
            error1 = error1 * b1
    known = np.isfinite(b0) & np.isfinite(b1) & np.isfinite(squares)
    if count > 1:
        known &= (n >= 3) & (high > low)
    if model in SHAPED:
        known &= b0 != 0
    log_r2 = np.full(len(n), np.nan)
    if model in LINEARISED:
        straight = line.b1**2 * line.spread
        log_r2 = np.where(straight > 0, straight / (straight + line.squares), straight)
    coefficients, errors = np.stack([b0, b1], axis=1), np.stack([error0, error1], axis=1)
    moments = line.weight, line.centre, line.spread
    return _described(model, n, known, coefficients, errors, squares, variance, log_r2, flat, low, high, moments)


def _bent(block: RowBlock, flat: FittedLine, low: NDArray[np.float64], high: NDArray[np.float64]) -> Fit:
    import numpy as np

    found, n = parabola(block), block.lengths
    df = n - parameters(FULL_QUADRATIC)
    variance = np.where(df > 0, found.squares / df, np.nan)
    errors = np.sqrt(variance[:, None] * found.factors)
    nothing = np.full(len(n), np.nan)
    known = (df > 0) & np.isfinite(found.coefficients).all(axis=1) & np.isfinite(found.squares)
    return _described(
        FULL_QUADRATIC,
        n,
        known,
        found.coefficients,
        errors,
        found.squares,
        variance,
        nothing,
        flat,
        low,
        high,
        (nothing, nothing, nothing),
    )


def _described(
    model: str,
    n: NDArray[np.intp],
    known: NDArray[np.bool_],
    coefficients: NDArray[np.float64],
    errors: NDArray[np.float64],
    squares: NDArray[np.float64],
    variance: NDArray[np.float64],
    log_r2: NDArray[np.float64],
    flat: FittedLine,
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    moments: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
) -> Fit:
    """The fit, with what follows from the sum of squared residuals."""
    import numpy as np

    count = parameters(model)
    df = n - count
    share = np.where(flat.squares == 0, 0.0, 1 - squares / flat.squares)
    estimated = count + 1
    correction = np.where(n > estimated + 1, 2 * estimated * (estimated + 1) / np.maximum(n - estimated - 1, 1), np.inf)
    aicc = np.where(np.isfinite(correction), n * np.log(squares / n) + 2 * estimated + correction, np.inf)

    every = bool(known.all())

    def column(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if every else np.where(known, values, np.nan)

    return Fit(
        model=model,
        coefficients=coefficients if every else np.where(known[:, None], coefficients, np.nan),
        errors=errors if every else np.where(known[:, None], errors, np.nan),
        r2=column(share),
        log_r2=column(log_r2),
        adjusted_r2=column(np.where(df > 0, 1 - (1 - share) * (n - 1) / np.maximum(df, 1), np.nan)),
        aicc=column(aicc),
        n=n,
        variance=column(variance),
        squares=column(squares),
        low=low,
        high=high,
        weight=column(moments[0]),
        centre=column(moments[1]),
        spread=column(moments[2]),
    )
