"""Values that are far from the others of their unit and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.postprocessors._entries import OutcomeColumn, check_number, check_word, conclude
from perfvcs.postprocessors._rows import (
    OUTLIER,
    MetricRows,
    chosen,
    fill,
    group,
    quantile,
    rows,
    thin,
)
from perfvcs.profile import Profile
from perfvcs.statistics.difference import NORMAL
from perfvcs.system.numeric import Flags, Floats, Indices, np

if TYPE_CHECKING:
    from perfvcs.postprocessors._rows import Groups
    from perfvcs.statistics.regression.choice import ModelChoice

THRESHOLDS = {"mad": 3.5, "iqr": 1.5, "studentized": 3.5}
CENTRES = ("auto", "unit", "size", "model")
FEWEST_ROWS = 8  # rows of one size, or of a model
MODEL_SIZES = 5  # of a model
FITTED = 500  # rows of a unit that its model goes through
MEAN_NORMAL = 1.253314  # standard deviation of normal values over their mean distance
LEAST_ROWS = 4  # rows of a group: fewer have no outlier
ROUNDING = 1e-12  # distances below this share of the values are those of floating point
LEAST_VALUE = 0.01  # of the mean of a group: no value of a model counts as less
MOST_ROUNDS = 3  # of fitting the model without what was found


@dataclass(frozen=True)
class Outliers:
    """Marks values that are far from the others; all rows are kept.

    ``around`` chooses the others: ``unit``, all values of the unit; ``size``, those of the same
    size; ``model``, the relative distances of the unit's values from its best model over the sizes,
    which is fitted to at most 500 rows, and again without the outliers found. ``auto`` takes, for
    each unit, ``size`` if there are at least eight rows per size on average, otherwise ``model`` if
    there are at least eight rows of five sizes, otherwise ``unit``. ``method`` defines far:
    ``mad``, a modified z-score above 3.5 (.6745 times the distance from the median over the median
    distance; where that is 0, the distance over 1.25 times the mean distance); ``iqr``, more than
    1.5 interquartile ranges beyond the quartiles; ``studentized``, an externally studentized
    residual of the model above 3.5, which exists only for units with enough sizes for a model.
    ``threshold`` replaces these numbers. Fewer than four values have no outliers, nor have equal
    ones. ``of`` names the metrics (by default, all that are judged). The result is the column
    ``<metric>.outlier``: 1 or 0, null where the value is missing or the execution was repeated.
    Postprocessors that fit models leave marked rows out. Sources: Iglewicz, Hoaglin 1993; Tukey
    1977; Cook, Weisberg 1982.
    """

    method: str = "mad"
    around: str = "auto"
    threshold: float | None = None
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_word(self, "method", THRESHOLDS)
        check_word(self, "around", CENTRES)
        check_number(self, "threshold", 0, 1e9, "3.5", above=True)
        if self.method == "studentized" and self.around not in ("auto", "model"):
            raise UsageError(
                'outliers: studentized residuals are those of a model: give around = "model"'
                f' instead of "{self.around}"'
            )

    def apply(self, profile: Profile) -> Profile:
        """The profile with a column per metric."""
        has_sizes = profile.resources.size is not None and bool(
            np.isfinite(profile.resources.array("size")).any()
        )
        needed = self.around in ("size", "model") or self.method == "studentized"
        columns: dict[str, OutcomeColumn] = {}
        for metric in chosen(profile, self.of):
            table = rows(profile, metric, "size" if has_sizes or needed else "", outliers=True)
            marks = np.zeros(len(table.y))
            for sized in (True, False):  # rows without a size are judged apart
                here = np.flatnonzero(np.isfinite(table.x) == sized)
                part = MetricRows(table.y[here], table.x[here], table.unit[here], table.place[here])
                groups = group(part, "size" if sized else "")
                marks[here[groups.index]] = self._marks(groups, sized=sized)
            columns[metric] = ("", fill(profile, table.place, marks))
        return conclude(profile, self, columns=columns, word=OUTLIER)

    def _marks(self, groups: Groups, *, sized: bool) -> Flags:
        """Which rows are outliers, shape (rows,)."""
        threshold = THRESHOLDS[self.method] if self.threshold is None else self.threshold
        sizes = np.bincount(groups.blocks.group, minlength=len(groups))
        modelled = (sizes >= MODEL_SIZES) & (groups.counts >= FEWEST_ROWS)
        if self.method == "studentized":
            return (np.abs(_studentized(groups)) > threshold) & modelled[groups.number] & sized
        if not sized:
            modelled[:] = False
        alone = groups.counts >= FEWEST_ROWS * sizes
        by_size = alone if self.around == "auto" else np.full(len(groups), self.around == "size")
        by_model = modelled & ~by_size & (self.around in ("auto", "model"))
        number = np.where(by_size[groups.number], len(groups) + groups.block, groups.number)
        distance = groups.y.copy()
        inside = by_model[groups.number]
        marks: Flags = np.zeros(len(distance), dtype=bool)
        fitted = inside & thin(groups.number, len(groups), FITTED)
        for _ in range(MOST_ROUNDS if inside.any() else 1):
            if inside.any():
                distance[inside] = _relative(groups, fitted & ~marks)[inside]
            before, marks = marks, _far(distance, number, self.method, threshold, inside)
            if (before == marks)[inside].all():
                break
        return marks


def _far(values: Floats, number: Indices, method: str, threshold: float, relative: Flags) -> Flags:
    """Which values are outliers of their group by "mad" or "iqr"; ``relative`` are those that are
    shares of something already.
    """
    groups = int(number.max(initial=-1)) + 1
    middle = quantile(values, number, groups, 0.5)[number]
    away = np.abs(values - middle)
    enough = (np.bincount(number, minlength=groups) >= LEAST_ROWS)[number]
    enough &= away > ROUNDING * np.where(relative, 1.0, np.abs(middle))
    if method == "iqr":
        low, high = (quantile(values, number, groups, share)[number] for share in (0.25, 0.75))
        reach = threshold * (high - low)
        return enough & ((values < low - reach) | (values > high + reach))
    spread = NORMAL * quantile(away, number, groups, 0.5)
    mean = np.bincount(number, away, groups) / np.maximum(np.bincount(number, minlength=groups), 1)
    spread = np.where(spread > 0, spread, MEAN_NORMAL * mean)
    return enough & (away > threshold * spread[number])


def _relative(groups: Groups, used: Flags) -> Floats:
    """The distance of each value from the best model of its group, as a share of it; the model goes
    through the rows that are ``used``.
    """
    model, _ = _model(groups, used)
    expected = model.predict(groups.x * groups.x_scale[groups.number], groups.number)
    floor = LEAST_VALUE * groups.total(np.abs(groups.y)) / groups.counts
    level = np.maximum(np.abs(expected), np.where(floor > 0, floor, 1.0)[groups.number])
    return np.where(np.isfinite(expected), (groups.y - expected) / level, 0.0)


def _studentized(groups: Groups) -> Floats:
    """The externally studentized residual of each value from the best model of its group; 0 where
    there is none.

    e sqrt(w) / sqrt(s^2 (1 - h)), with the weight w of the fit (1 / level^2), the leverage h, and
    s^2 the variance without the value. A power's and an exponential's leverage is to first order.
    """
    models, weight = _model(groups, np.ones(len(groups.y), dtype=bool))
    x = groups.x * groups.x_scale[groups.number]
    variance, df = np.full(len(groups), np.nan), np.zeros(len(groups))
    for place in range(len(groups)):
        if (model := models.model(place)) is not None:
            fit = models.fits[model]
            variance[place], df[place] = fit.variance[place], fit.df[place]
    with np.errstate(divide="ignore", invalid="ignore"):
        rest = groups.y - models.predict(x, groups.number)
        leverage = weight * models.predict_variance(x, groups.number) / variance[groups.number]
        free = 1 - leverage
        squares = variance[groups.number] * df[groups.number] - weight * rest**2 / free
        others = np.maximum(squares, 0) / (df[groups.number] - 1)
        away = rest * np.sqrt(weight)
        residual = away / np.sqrt(others * free)
    sound = (df[groups.number] > 1) & (free > ROUNDING) & (np.abs(away) > ROUNDING)
    return np.where(sound & ~np.isnan(residual), residual, 0.0)


def _model(groups: Groups, used: Flags) -> tuple[ModelChoice, Floats]:
    """The best model of each group through the rows that are ``used``, and the weights of these."""
    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.condensed import running
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.regression.models import MODELS

    x = groups.x[used] * groups.x_scale[groups.number[used]]
    y = groups.y[used]
    number = groups.number[used]
    with np.errstate(over="ignore"):
        weight = 1 / running(np.abs(y), number) ** 2
    return choose(fit(x, y, number, weight, groups=len(groups), models=MODELS)), weight
