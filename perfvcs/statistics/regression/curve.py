"""Whether a whole curve shifted: the change of log y over all sizes at once, from one sample a side or from replicated executions.

Both rest on a level and a tilt: log target - log baseline = offset + slope (ln size - centre). One percent everywhere is an offset of
0.01 without a slope; a changed exponent is a slope. Estimates are of the natural logarithm: exp(estimate) - 1 is the effect.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from perfvcs.statistics.difference import Difference
    from perfvcs.statistics.regression.models import Fit


@dataclass(frozen=True)
class Pooled:
    """The shift between one sample a side; arrays of the shape (groups,).

    ``offset`` is the log effect at the ln size ``centre``, ``slope`` the change of the exponent, ``p`` that of both together, ``df`` the
    degrees of freedom of the residuals; all NaN where fewer than three sizes are known on both sides. ``fit`` is the line itself.
    """

    offset: NDArray[np.float64]
    slope: NDArray[np.float64]
    centre: NDArray[np.float64]
    p: NDArray[np.float64]
    df: NDArray[np.float64]
    fit: Fit

    def at(self, size: ArrayLike, confidence: float = 0.99) -> Difference:
        """The log effect of every group at ``size`` (a number, or (groups,)) with its t interval; unknown at sizes of 0 or below."""
        import numpy as np

        from perfvcs.statistics.difference import combine

        every = np.arange(len(self.offset))
        estimate = self.fit.predict(size, every)
        return combine(estimate, [self.fit.predict_variance(size, every)], [self.df], confidence)


@dataclass(frozen=True)
class Replicated:
    """The shift between executions, each with its own offset and slope; ``offset``, ``slope``, ``centre`` and ``p`` as in ``Pooled``.

    ``first`` and ``second`` are (offsets, slopes) of baseline and target of the shape (groups, executions), which belong together
    place by place where ``paired``.
    """

    offset: NDArray[np.float64]
    slope: NDArray[np.float64]
    centre: NDArray[np.float64]
    p: NDArray[np.float64]
    first: tuple[NDArray[np.float64], NDArray[np.float64]]
    second: tuple[NDArray[np.float64], NDArray[np.float64]]
    paired: bool

    def at(self, size: ArrayLike, confidence: float = 0.99) -> Difference:
        """The log effect of every group at ``size``: the executions' there are compared as any values, paired or by Welch's test."""
        import numpy as np

        from perfvcs.statistics import difference
        from perfvcs.statistics.regression.models import transform

        away = np.broadcast_to(transform("logarithmic", size) - self.centre, self.offset.shape)[:, None]
        first, second = (offsets + slopes * away for offsets, slopes in (self.first, self.second))
        return (difference.paired if self.paired else difference.welch)(first, second, confidence)


def shift(
    x1: ArrayLike,
    y1: ArrayLike,
    x2: ArrayLike,
    y2: ArrayLike,
    group1: ArrayLike | None = None,
    group2: ArrayLike | None = None,
    groups: int | None = None,
) -> Pooled:
    """Test log y ~ size + version + version x ln size against log y ~ size, by an F-test with 2 degrees of freedom, for every group.

    ``size`` is a level of its own for each size, or for each range of sizes where the sides' sizes do not coincide, corrected by a
    smooth curve (``pairs.pair``). Values and sizes of 0 or below are left out. All values count as independent: where one side
    comes from few executions, ``replicated`` is the test that holds. Fewer than three common sizes leave ``p`` NaN.
    """
    import numpy as np

    from perfvcs.statistics.regression.errors import pair
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.student import f_tail

    logs = [_log(x, y) for x, y in ((x1, y1), (x2, y2))]
    pairs = pair(logs[0][0], logs[0][1], logs[1][0], logs[1][1], group1, group2, groups)
    weights = 1 / (1 / pairs.counts).sum(axis=1)
    line = fit(pairs.x, pairs.difference, pairs.group, weights, groups=pairs.groups, models=["logarithmic"])["logarithmic"]
    every = np.arange(pairs.groups)
    with np.errstate(all="ignore"):
        offset = line.predict(np.exp(line.centre), every)
        explained = line.weight * offset**2 + line.spread * line.coefficients[:, 1] ** 2
        ratio = np.where(explained > 0, explained, 0.0) / 2 / line.variance
    ratio = np.where((line.variance == 0) & (explained == 0), 0.0, ratio)
    p = np.where(line.df > 0, f_tail(ratio, 2, np.maximum(line.df, 1)), np.nan)
    return Pooled(offset, line.coefficients[:, 1], line.centre, p, line.df, line)


def lines(
    x: ArrayLike, y: ArrayLike, expected: ArrayLike, execution: ArrayLike, centre: float, executions: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The level and tilt of each execution's curve against a common one: (offsets, slopes) of the shape (executions,).

    ``expected`` is the common curve at each row (a model's prediction, or ``expectation``), so that executions may have run other
    sizes; ``execution`` numbers the rows' executions from 0; ``centre`` is the ln size at which the offsets are, the same for both
    sides. Rows with a size, value or expected value of 0 or below are left out; an execution of fewer than three rows or of one
    size is NaN.
    """
    import numpy as np

    from perfvcs.statistics.regression.fitting import fit

    size, ratio = _log(x, y)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = ratio - np.log(np.asarray(expected, dtype=np.float64))
    found = fit(size, ratio, execution, groups=executions, models=["logarithmic"])["logarithmic"]
    return found.predict(np.exp(centre), np.arange(len(found.n))), found.coefficients[:, 1]


def expectation(x: ArrayLike, y: ArrayLike, group: ArrayLike | None = None) -> NDArray[np.float64]:
    """A common curve at each row: the geometric mean of the values at its size, where sizes repeat, else the best model's value.

    Rows with sizes or values of 0 or below are NaN. Sizes repeat where there are on average at least two rows for each.
    """
    import numpy as np

    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.fitting import fit

    size, value = _log(x, y)
    number = np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    rows = np.flatnonzero(np.isfinite(size) & np.isfinite(value))
    order = rows[np.lexsort((size[rows], number[rows]))]
    found = np.full(size.shape, np.nan)
    if not len(order):
        return found
    edges = np.append(True, (np.diff(size[order]) != 0) | (np.diff(number[order]) != 0))
    place = np.cumsum(edges) - 1
    mean = np.bincount(place, value[order]) / np.bincount(place)
    places = np.bincount(number[order], edges)
    repeated = (2 * places <= np.bincount(number[order]))[number[order]]
    found[order] = np.exp(mean[place])
    single = order[~repeated]
    if len(single):
        y_ = np.exp(value[single])
        best = choose(fit(size[single], y_, number[single], 1 / y_**2))
        model = best.predict(size[single], number[single])
        found[single] = np.where(model > 0, model, np.nan)
    return found


def replicated(
    first: tuple[ArrayLike, ArrayLike], second: tuple[ArrayLike, ArrayLike], centre: ArrayLike = 0.0, *, paired: bool = False
) -> Replicated:
    """Test the offsets and slopes of executions together, for every group: Hotelling's T^2 (``hotelling.hotelling``).

    ``first`` and ``second`` are (offsets, slopes) of baseline and target, from ``lines``: each of the shape (groups, executions).
    ``paired`` where the executions at one place belong together; then both sides have equally many. The executions are what is
    replicated: this holds its level under execution effects, where ``shift`` does not.
    """
    import numpy as np

    from perfvcs.statistics.period import hotelling

    a, b = (np.stack([np.asarray(part, dtype=np.float64) for part in side], axis=-1) for side in (first, second))
    p = hotelling(a, b, paired=paired)
    with np.errstate(invalid="ignore"):
        mean = b.mean(axis=1) - a.mean(axis=1)
    middle = np.broadcast_to(np.asarray(centre, dtype=np.float64), p.shape)
    return Replicated(mean[:, 0], mean[:, 1], middle, p, (a[..., 0], a[..., 1]), (b[..., 0], b[..., 1]), paired)


def _log(x: ArrayLike, y: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sizes and the logarithms of the values; NaN for those of 0 or below."""
    import numpy as np

    size, value = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0, size, np.nan), np.where(value > 0, np.log(value), np.nan)
