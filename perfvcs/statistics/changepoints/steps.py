"""What a step of a history is, and the level and spread about it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from perfvcs.system.numeric import Floats, np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


VERSION = 15  # of what `judge` finds: results that were kept are used only under the same number
# what says that there is a step: the series itself, Horvath's test of it, or a verdict measured in
# turns
Detector = Literal["series", "horvath"]
BY_SERIES: Detector = "series"
BY_HORVATH: Detector = "horvath"
TURNS = "turns"
# standard deviations from which a value does not count: 95 % as efficient as the mean of normal
# values
TUNING = 4.685
CLIP = 3.0
CONVERGED_DEVIATIONS = 1e-6  # standard deviations
STRIDE = 5  # values from one window to the next
FEW_VALUES = 60  # values; in a series of fewer, twenty would often hold three levels
MEDIAN_WINDOWS = 31  # windows whose median is taken
ROUNDING = 1e-9  # of the largest deviation: values that differ by less are equal
TICK = 0.3  # of the distance between readings: what their rounding adds at least
# number of values, and the mean width of the shortest half of that many normal values, in standard
# deviations
SHORTEST_HALF_OF, NORMAL_WIDTH = 20, 0.944
WINDOW_OF_FEW, NORMAL_OF_FEW = 9, 0.833


class ChangePoint(Struct, frozen=True):
    """A lasting change of a series of log medians.

    ``place`` is the index of the first value at the new level, likeliest; it may as well be any of
    ``first``..``last``. ``before`` and ``after`` are the levels, ``effect`` their difference with
    its standard ``error`` on ``df`` degrees of freedom, ``p`` its chance without a change,
    ``detectors`` what says so: ``series`` or ``horvath``, ``turns``, or both.
    """

    place: int
    first: int
    last: int
    before: float
    after: float
    effect: float
    error: float
    df: float
    p: float
    detectors: tuple[str, ...]

    def interval(self, confidence: float = 0.99) -> tuple[float, float]:
        """The effect's confidence interval, by Student's t; infinite without a variance."""
        return intervals([self], confidence)[0]

    def holds_no_change(self) -> bool:
        """Whether the 99 % interval of the effect is known, and includes 0."""
        low, high = self.interval()
        return self.df > 0 and low <= 0 <= high


def intervals(
    changes: Sequence[ChangePoint], confidence: float = 0.99
) -> list[tuple[float, float]]:
    """The confidence intervals of many steps' effects, in one go."""
    from perfvcs.statistics.student import quantile

    df = np.array([step.df for step in changes], dtype=np.float64)
    points = quantile((1 + confidence) / 2, np.where(df > 0, df, 1.0)) if changes else df
    halves = [
        point * step.error if step.df > 0 else inf
        for point, step in zip(points.tolist(), changes, strict=True)
    ]
    return [
        (step.effect - half, step.effect + half) for step, half in zip(changes, halves, strict=True)
    ]


class LevelEstimate(Struct, frozen=True):
    """``centre``, the ``variance`` of one value about it, ``error`` (that of the centre, squared),
    and of how many values.
    """

    centre: float
    variance: float
    error: float
    n: int


def start(values: Floats) -> float:
    """The mean of the shortest half of some values: about the commonest component's centre."""
    ordered = values.copy()
    ordered.sort()
    half = (len(ordered) + 1) // 2
    first = int((ordered[half - 1 :] - ordered[: len(ordered) - half + 1]).argmin())
    return float(ordered[first : first + half].mean())


def level(values: Floats, scale: Floats, centre: float) -> LevelEstimate:
    """Tukey's bisquare location of n values with standard deviations ``scale``, starting from the
    ``centre`` of their shortest half (``start``); n >= 1.

    The error is the asymptotic one, sum psi^2 / (sum psi')^2, and at least that of the mean of
    values clipped at 3 standard deviations: of skewed values the former is too small. Infinite of a
    single value. Source: Beaton, Tukey 1974; Huber 1981, 6.3.
    """
    n = len(values)
    for _ in range(20):
        z = (values - centre) / scale
        share = np.maximum(1 - (z / TUNING) ** 2, 0.0)
        weight = share**2
        moved = float(weight @ (values - centre) / max(float(weight.sum()), 1e-300))
        centre += moved
        if abs(moved) <= CONVERGED_DEVIATIONS * float(scale[0]):
            break
    z = (values - centre) / scale
    share = np.maximum(1 - (z / TUNING) ** 2, 0.0)
    slope = float((share * (1 - 5 * (z / TUNING) ** 2)).sum())
    psi = scale * z * share**2
    # Few values may all lie where psi falls.
    slope = max(slope, float(np.count_nonzero(share)) / 4, 0.25)
    plain = scale * np.clip(z, -CLIP, CLIP)
    if n > 1:
        error = max(float(psi @ psi) / slope**2, float(plain @ plain) / n**2) * n / (n - 1)
    else:
        error = inf
    return LevelEstimate(centre, error * n, error, n)


def scale(values: ArrayLike) -> Floats:
    """The standard deviation (..., n) of the values about their level, at each of the finite
    ``values`` (..., n), n >= 1; above 0.

    That of the shortest half of twenty values (nine in a short series), as of normal ones, its
    median over about 170 values: neither steps nor outliers nor rarer components enlarge it. Equal
    readings have the spread of a clock that ticks at the smallest distance between values.
    """
    y = np.asarray(values, dtype=np.float64)
    n = y.shape[-1]
    window, normal, stride = (
        (WINDOW_OF_FEW, NORMAL_OF_FEW, 1)
        if n < FEW_VALUES
        else (SHORTEST_HALF_OF, NORMAL_WIDTH, STRIDE)
    )
    width = min(window, n)
    half = (width + 1) // 2
    ordered = np.sort(_windows(y, width)[..., ::stride, :], axis=-1)
    short = (ordered[..., half - 1 :] - ordered[..., : width - half + 1]).min(axis=-1) / normal
    count = short.shape[-1]
    if count > MEDIAN_WINDOWS:
        middle = np.median(_windows(short, MEDIAN_WINDOWS), axis=-1)
        side = MEDIAN_WINDOWS // 2
        before, after = (np.repeat(middle[..., end], side, axis=-1) for end in ([0], [-1]))
        near = np.concatenate([before, middle, after], axis=-1)
        places, centres = np.arange(n), np.arange(count) * stride + width / 2
        rows = [np.interp(places, centres, row) for row in near.reshape(-1, count)]
        deviation = np.array(rows).reshape(y.shape)
    else:
        deviation = np.repeat(np.median(short, axis=-1, keepdims=True), n, axis=-1)
    bounded: Floats = np.maximum(deviation, _floor(y))
    return bounded


def _windows(values: Floats, width: int) -> Floats:
    return np.lib.stride_tricks.sliding_window_view(values, width, axis=-1)


def _floor(y: Floats) -> Floats:
    rounding = np.maximum(np.abs(y).max(axis=-1) * 1e-12, np.ptp(y, axis=-1) * ROUNDING)
    rounding = np.maximum(rounding, 1e-300)[..., None]
    apart = np.diff(np.sort(y, axis=-1), axis=-1)
    tick = np.where(apart > rounding, apart, np.inf).min(axis=-1, keepdims=True, initial=np.inf)
    floor: Floats = np.maximum(rounding, np.where(np.isfinite(tick), TICK * tick, 0.0))
    return floor
