"""Random effects of builds, executions and measurements: their variances and the interval of the
mean under them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from perfvcs.statistics.difference import Interval
from perfvcs.system.numeric import Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def measurements(within: ArrayLike, executions: ArrayLike, warmup: ArrayLike) -> Floats:
    """The best number of measurements per execution, n0 = sqrt(w S_E^2 / S_B^2); elementwise, not
    rounded, at least 1.

    ``within`` is S_E^2 and ``executions`` S_B^2 in the same unit; ``warmup`` is w, what starting
    and warming up an execution costs, in measurements. Infinite where executions do not differ
    (never start again), 1 where nothing varies. It is the same with two levels and with three, and
    where the measured operation is a part of the repeated one. Sources: Kalibera, Bulej, Tuma 2005,
    section 3.1; Kalibera 2006, eq. 8 of ch. 4, eq. 21 and 23 of ch. 7.
    """
    return _root(np.multiply(warmup, within), executions)


def executions(
    executions: ArrayLike,
    binaries: ArrayLike,
    warmup: ArrayLike,
    build: ArrayLike,
    part: ArrayLike = 1.0,
) -> Floats:
    """The best number of executions per binary, m0 = sqrt(b S_B^2 / (q w S_V^2)); elementwise, not
    rounded, at least 1.

    ``executions`` is S_B^2, ``binaries`` S_V^2; ``build`` (b) is the cost of a build and ``warmup``
    (w) that of an execution's start, in measurements; the repeated operation takes ``part`` (q)
    times as long as the measured one. Infinite where binaries do not differ, or starting costs
    nothing. Source: Kalibera 2006, ch. 7, eq. 21; eq. 23 with q.
    """
    return _root(np.multiply(build, executions), np.multiply(np.multiply(part, warmup), binaries))


def variance(
    within: ArrayLike,
    executions: ArrayLike,
    binaries: ArrayLike,
    builds: ArrayLike,
    runs: ArrayLike,
    times: ArrayLike,
) -> Floats:
    """The variance of the mean of l ``builds`` with m ``runs`` each that measure n ``times``;
    elementwise.

    S_E^2/(lmn) + S_B^2/(lm) + S_V^2/l. Source: Kalibera 2006, ch. 7, eq. 19.
    """
    e, b, v, l_, m, n = (
        np.asarray(part, dtype=np.float64)
        for part in (within, executions, binaries, builds, runs, times)
    )
    return np.asarray((e / (m * n) + b / m + v) / l_)


def cost(
    builds: ArrayLike,
    runs: ArrayLike,
    times: ArrayLike,
    warmup: ArrayLike,
    build: ArrayLike = 0.0,
    part: ArrayLike = 1.0,
) -> Floats:
    """What the design costs, in measurements: (b + (w + n) m q) l; elementwise.

    Source: Kalibera 2006, ch. 7, eq. 18; eq. 22 with ``part`` (q).
    """
    l_, m, n, w, b, q = (
        np.asarray(part_, dtype=np.float64) for part_ in (builds, runs, times, warmup, build, part)
    )
    return np.asarray((b + (w + n) * m * q) * l_)


def observations(precision: float = 0.005, quantile: float = 0.5, confidence: float = 0.95) -> int:
    """How many independent observations place a quantile within +-``precision`` of its share of the
    distribution.

    n >= z^2 p (1 - p) / eps^2; .005 about the median at 95 % needs 38416 with z = 1.96. A quantile
    of 0 or 1 needs 1. ``ValueError`` outside 0 < precision, 0 <= quantile <= 1, 0 < confidence < 1.
    Source: Chen, Kelton 1999; Kalibera 2006, ch. 3.
    """
    if not (precision > 0 and 0 <= quantile <= 1 and 0 < confidence < 1):
        raise ValueError("precision must be positive, quantile and confidence shares")
    # tables of z have no more; the published 38416 rests on them
    z = round(NormalDist().inv_cdf((1 + confidence) / 2), 4)
    return max(1, ceil(round(z**2 * quantile * (1 - quantile) / precision**2, 6)))


def _root(above: ArrayLike, below: ArrayLike) -> Floats:
    """sqrt(above / below), at least 1; 1 for 0 / 0, infinite for x / 0, NaN for NaN."""
    a, b = np.broadcast_arrays(
        np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    )
    root = np.where(
        b > 0, np.sqrt(np.abs(a) / np.where(b > 0, b, 1.0)), np.where(a > 0, np.inf, 1.0)
    )
    return np.where(np.isnan(a) | np.isnan(b), np.nan, np.maximum(root, 1.0))


@dataclass(frozen=True)
class Components:
    """Mean and variances at each level, all of the shape (groups,); variances in the squared unit
    of the values.

    ``within`` is S_E^2 (between the measurements of one execution), ``executions`` S_B^2 (between
    the execution means of one binary), ``binaries`` S_V^2 (between the binary means): Kalibera
    2006, eq. 14-16. A level of which no binary or execution has two units is NaN. ``values_count``,
    ``executions_count`` and ``binaries_count`` are what the variances are divided by in the
    variance of the mean: l m n, l m and l of a balanced design, their harmonic equivalents of
    another. ``..._df`` are degrees of freedom.
    """

    mean: Floats
    within: Floats
    executions: Floats
    binaries: Floats
    values_count: Floats
    executions_count: Floats
    binaries_count: Floats
    within_df: Floats
    executions_df: Floats
    binaries_df: Floats

    def variance(self) -> Floats:
        """The variance of the mean, eq. 17: S_E^2/(lmn) + S_B^2/(lm) + S_V^2/l, for one binary
        S_E^2/(mn) + S_B^2/m (2005, eq. 4).

        As published it counts the lower levels twice, since S_V^2 and S_B^2 hold them already: it
        errs on the wide side. A level without a second unit is contained in the one above and adds
        nothing. NaN for a single execution, which says nothing about the next one.
        """
        total = (
            np.nan_to_num(self.within) / self.values_count
            + np.nan_to_num(self.executions) / self.executions_count
        )
        total = total + np.nan_to_num(self.binaries) / self.binaries_count
        defined = (self.executions_df + self.binaries_df > 0) & np.isfinite(self.mean)
        return np.where(defined, total, np.nan)

    def interval(
        self, confidence: float = 0.99, quantile: Literal["t", "normal"] = "t"
    ) -> Interval:
        """The confidence interval of the mean; infinite where its variance is unknown.

        ``normal`` is the published, asymptotic interval; ``t`` takes the quantile at the top
        level's degrees of freedom (binaries, or executions of the only binary), which holds for few
        of them, too.
        """
        from perfvcs.statistics.student import quantile as of_student

        variance = self.variance()
        defined = np.isfinite(variance)
        point = np.full(variance.shape, NormalDist().inv_cdf((1 + confidence) / 2))
        if quantile == "t":
            df = np.where(self.binaries_df > 0, self.binaries_df, self.executions_df)
            point = of_student((1 + confidence) / 2, np.where(defined, df, 1.0))
        half = np.where(defined, point * np.sqrt(np.where(defined, variance, 0.0)), np.inf)
        centre = np.where(defined, self.mean, 0.0)
        return Interval(self.mean, centre - half, centre + half)

    def separate(self) -> Separate:
        """What each level adds on its own, by the expected mean squares: E S_B^2 = sigma_B^2 +
        sigma_E^2/n, and so on upwards.

        For planning and for naming the source of noise. Never below 0; a level that is unknown is
        NaN, as is one that rests on an unknown lower level which has more than one unit. Source:
        Searle, Casella, McCulloch 1992, ANOVA estimators.
        """
        lower = np.nan_to_num(self.within)
        per_execution = self.values_count / self.executions_count
        executions = np.maximum(self.executions - lower / per_execution, 0.0)
        per_binary = self.executions_count / self.binaries_count
        below = np.where(np.isfinite(self.executions), self.executions, lower / per_execution)
        return Separate(
            self.within, executions, np.maximum(self.binaries - below / per_binary, 0.0)
        )


@dataclass(frozen=True)
class Separate:
    """The variance that each level adds, shape (groups,): sigma_E^2, sigma_B^2 and sigma_V^2."""

    within: Floats
    executions: Floats
    binaries: Floats


def components(
    values: ArrayLike,
    execution: ArrayLike,
    binary: ArrayLike | None = None,
    group: ArrayLike | None = None,
) -> Components:
    """Components of columns of equal length: value, its execution, the binary of that, and the
    group, which is evaluated separately.

    Labels are any integers; the same execution number in two binaries names two executions. Without
    ``binary`` there is one, without ``group`` there is one group; groups come in the order of their
    numbers. Unbalanced data: the mean is the mean of the binary means of the execution means, since
    the execution, not the measurement, is what was repeated; S_E^2 and S_B^2 pool their squares
    over the degrees of freedom; in the variance of the mean each mean has the weight that it has in
    the mean. Balanced data give the published formulas. A NaN or an infinity makes its group
    unknown. ``ValueError`` for columns of different lengths or none at all.
    """
    y = np.asarray(values, dtype=np.float64)
    y = np.where(np.isfinite(y), y, np.nan)
    labels = [_labels(column, y) for column in (group, binary, execution)]
    if not y.size:
        raise ValueError("there are no values")
    groups, (of_value, of_execution, of_binary) = _nest(labels)
    executions, binaries = len(of_execution), len(of_binary)

    measured = _sums(of_value, np.ones(len(y)), executions)
    execution_mean = _sums(of_value, y, executions) / measured
    runs = _sums(of_execution, np.ones(executions), binaries)
    binary_mean = _sums(of_execution, execution_mean, binaries) / runs
    built = _sums(of_binary, np.ones(binaries), groups)
    mean = _sums(of_binary, binary_mean, groups) / built
    group_of_execution = of_binary[of_execution]

    spread = _sums(group_of_execution[of_value], (y - execution_mean[of_value]) ** 2, groups)
    within_df = _sums(group_of_execution, measured - 1, groups)
    between = _sums(group_of_execution, (execution_mean - binary_mean[of_execution]) ** 2, groups)
    executions_df = _sums(of_binary, runs - 1, groups)
    above = _sums(of_binary, (binary_mean - mean[of_binary]) ** 2, groups)

    rounding = np.zeros(groups)
    np.maximum.at(
        rounding,
        group_of_execution[of_value],
        np.abs(np.nan_to_num(y)) * (8 * np.finfo(np.float64).eps),
    )
    weight = 1 / (built[of_binary] * runs)[of_execution]  # of an execution's mean in the mean
    return Components(
        mean=mean,
        within=_variance(spread, within_df, rounding),
        executions=_variance(between, executions_df, rounding),
        binaries=_variance(above, built - 1, rounding),
        values_count=1 / _sums(group_of_execution, weight**2 / measured, groups),
        executions_count=1 / _sums(of_binary, 1 / (built[of_binary] ** 2 * runs), groups),
        binaries_count=built,
        within_df=within_df,
        executions_df=executions_df,
        binaries_df=built - 1,
    )


def _labels(column: ArrayLike | None, like: Floats) -> Integers:
    labels = np.zeros(like.shape, dtype=np.int64) if column is None else np.asarray(column)
    if labels.shape != like.shape or like.ndim != 1:
        raise ValueError("values and labels must be columns of equal length")
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _nest(labels: list[Integers]) -> tuple[int, list[Integers]]:
    """Number of groups, and where each value, execution and binary belongs: its index in the level
    above.
    """
    group, binary, execution = labels
    width = int(binary.max()) + 1
    binaries, binary_of_value = np.unique(group * width + binary, return_inverse=True)
    depth = int(execution.max()) + 1
    executions, execution_of_value = np.unique(
        binary_of_value * depth + execution, return_inverse=True
    )
    return int(group.max()) + 1, [execution_of_value, executions // depth, binaries // width]


def _sums(places: Integers, values: Floats, count: int) -> Floats:
    """The sum of the values at each of ``count`` places."""
    return np.bincount(places, values, count).astype(np.float64)


def _variance(squares: Floats, df: Floats, rounding: Floats) -> Floats:
    """Squares over degrees of freedom; 0 where only rounding, NaN without degrees of freedom."""
    ratio = np.where(df > 0, squares / np.where(df > 0, df, 1.0), np.nan)
    return np.where(ratio <= rounding**2, 0.0, ratio)
