"""How far values are from the others of their group, for all groups at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.postprocessors._groups import quantile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups
    from perfvcs.statistics.regression.choice import Choice

NORMAL = 0.6745  # median distance of normal values from their median, in standard deviations
MEAN_NORMAL = 1.253314  # standard deviation of normal values over their mean distance
FEWEST = 4
ROUNDING = 1e-12  # distances below this share of the values are those of floating point
LEAST = 0.01  # of the mean of a group: no value of a model counts as less


def far(
    values: NDArray[np.float64], number: NDArray[np.intp], method: str, threshold: float, relative: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which values are outliers of their group by "mad" or "iqr"; ``relative`` are those that are shares of something already."""
    import numpy as np

    groups = int(number.max(initial=-1)) + 1
    middle = quantile(values, number, groups, 0.5)[number]
    away = np.abs(values - middle)
    enough = (np.bincount(number, minlength=groups) >= FEWEST)[number]
    enough &= away > ROUNDING * np.where(relative, 1.0, np.abs(middle))
    if method == "iqr":
        low, high = (quantile(values, number, groups, share)[number] for share in (0.25, 0.75))
        reach = threshold * (high - low)
        return enough & ((values < low - reach) | (values > high + reach))
    spread = quantile(away, number, groups, 0.5) / NORMAL
    mean = np.bincount(number, away, groups) / np.maximum(np.bincount(number, minlength=groups), 1)
    spread = np.where(spread > 0, spread, MEAN_NORMAL * mean)
    return enough & (away > threshold * spread[number])


def relative(groups: Groups, used: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The distance of each value from the best model of its group, as a share of it; the model goes through the rows that are ``used``."""
    import numpy as np

    found, _ = _model(groups, used)
    expected = found.predict(groups.x * groups.x_scale[groups.number], groups.number)
    floor = LEAST * groups.total(np.abs(groups.y)) / groups.counts
    level = np.maximum(np.abs(expected), np.where(floor > 0, floor, 1.0)[groups.number])
    return np.where(np.isfinite(expected), (groups.y - expected) / level, 0.0)


def studentized(groups: Groups) -> NDArray[np.float64]:
    """The externally studentized residual of each value from the best model of its group; 0 where there is none.

    e sqrt(w) / sqrt(s^2 (1 - h)), with the weight w of the fit (1 / level^2), the leverage h, and s^2 the variance without the value.
    A power's and an exponential's leverage is to first order.
    """
    import numpy as np

    found, weight = _model(groups, np.ones(len(groups.y), dtype=bool))
    x = groups.x * groups.x_scale[groups.number]
    variance, df = np.full(len(groups), np.nan), np.zeros(len(groups))
    for place in range(len(groups)):
        if (model := found.model(place)) is not None:
            fit = found.fits[model]
            variance[place], df[place] = fit.variance[place], fit.df[place]
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = groups.y - found.predict(x, groups.number)
        leverage = weight * found.predict_variance(x, groups.number) / variance[groups.number]
        free = 1 - leverage
        squares = variance[groups.number] * df[groups.number] - weight * rest**2 / free
        others = np.maximum(squares, 0) / (df[groups.number] - 1)
        away = rest * np.sqrt(weight)
        residual = away / np.sqrt(others * free)
    sound = (df[groups.number] > 1) & (free > ROUNDING) & (np.abs(away) > ROUNDING)
    return np.where(sound & ~np.isnan(residual), residual, 0.0)


def _model(groups: Groups, used: NDArray[np.bool_]) -> tuple[Choice, NDArray[np.float64]]:
    """The best model of each group through the rows that are ``used``, and the weights of these."""
    import numpy as np

    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.regression.level import running
    from perfvcs.statistics.regression.models import MODELS

    x, y, number = groups.x[used] * groups.x_scale[groups.number[used]], groups.y[used], groups.number[used]
    with np.errstate(over="ignore"):
        weight = 1 / running(np.abs(y), number) ** 2
    return choose(fit(x, y, number, weight, groups=len(groups), models=MODELS)), weight
