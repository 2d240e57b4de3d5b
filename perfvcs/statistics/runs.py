"""Measurements of several executions: how they depend on each other, on the start and on the
clock.
"""

from __future__ import annotations

from math import inf, remainder, sqrt
from typing import TYPE_CHECKING

from msgspec import Struct

from perfvcs.system.numeric import Flags, Floats, Indices, Integers, np

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import ArrayLike

POINT = 1.959963984540054  # of the normal distribution, 95 % two-sided
FINEST = 1e-6  # share of the smallest value above 0: a finer step is none that matters
ROUNDING = 1e-7  # share of it that conversions between units may leave, or
EXACT_SHARE = 1e-12  # of the largest value
CHUNK_NUMBERS = 2_000_000  # random numbers held at once


class Runs(Struct, frozen=True):
    """``values`` has the shape (executions, most measurements), filled up with 0 behind the
    ``counts`` (executions,) that are there.
    """

    values: Floats
    counts: Integers

    @property
    def there(self) -> Flags:
        """Which places of ``values`` are measurements."""
        return np.arange(self.values.shape[1]) < self.counts[:, None]

    def means(self) -> Floats:
        """The mean of each execution."""
        means: Floats = self.values.sum(axis=1) / self.counts
        return means

    def centred(self) -> Runs:
        """Each execution without its mean."""
        return Runs(np.where(self.there, self.values - self.means()[:, None], 0.0), self.counts)


def stack(runs: Sequence[ArrayLike]) -> Runs:
    """Runs of a sequence with the measurements of each execution; ``ValueError`` for none, an empty
    one, or a value that is not finite.
    """
    rows = [np.asarray(run, dtype=np.float64).ravel() for run in runs]
    counts = np.array([row.size for row in rows], dtype=np.int64)
    if not rows or not counts.all():
        raise ValueError("every execution needs a measurement")
    values = np.zeros((len(rows), int(counts.max())))
    values[np.arange(values.shape[1]) < counts[:, None]] = np.concatenate(rows)
    if not np.isfinite(values).all():
        raise ValueError("measurements must be finite")
    return Runs(values, counts)


class Autocorrelation(Struct, frozen=True):
    """``coefficients`` at lags 0, 1, ... of rows of ``n`` values, shape (groups, lags + 1); NaN
    where the values do not vary.
    """

    coefficients: Floats
    n: int

    @property
    def bound(self) -> float:
        """95 % of the coefficients of independent values lie within +-bound."""
        return POINT / sqrt(self.n)


def autocorrelation(values: ArrayLike, lags: int = 10) -> Autocorrelation:
    """Autocorrelations of each row of ``values`` (groups, n), n >= 1, at lags up to ``lags``, at
    most n - 1.

    r_k = sum (y_i - mean)(y_(i+k) - mean) / sum (y_i - mean)^2. Rows with a NaN are NaN. Source:
    Box, Jenkins 1970.
    """
    y = np.asarray(values, dtype=np.float64)
    groups, n = y.shape
    most = min(lags, n - 1)
    y = np.where(np.isfinite(y), y, np.nan)
    rest = y - y.mean(axis=1, keepdims=True)
    total = (rest**2).sum(axis=1)
    rounding = n * (8 * np.finfo(np.float64).eps * np.abs(y).max(axis=1)) ** 2
    varies = total > rounding
    coefficients = np.full((groups, most + 1), np.nan)
    for lag in range(most + 1):
        products = (rest[:, : n - lag] * rest[:, lag:]).sum(axis=1)
        coefficients[:, lag] = np.where(varies, products / np.where(varies, total, 1.0), np.nan)
    return Autocorrelation(coefficients, n)


def step(values: Collection[float]) -> float:
    """The greatest step that all ``values`` are multiples of, in their unit: the tick of a clock,
    or the last digit that a tool prints.

    0 where no step is to be seen, as with a clock that is fine enough. Infinite where all are
    equal: then any step would do. Values are finite; their signs do not matter. By Euclid's
    algorithm, remainders of ``ROUNDING`` counting as none. A median of an even number of readings
    may lie half way between two steps, and halves what is found.
    """
    distinct = set(values)
    if len(distinct) < 2:
        return inf
    # starting with the smallest, whose remainders are the most exact
    sizes = sorted(abs(value) for value in distinct if value)
    divisor = sizes[0]
    finest, nothing = FINEST * divisor, max(ROUNDING * divisor, EXACT_SHARE * sizes[-1])
    if nothing > finest:  # so far apart that a float does not hold the one to the step of the other
        return 0.0
    for size in sizes:
        rest = abs(remainder(size, divisor))
        while rest > nothing:
            if rest < finest:
                return 0.0
            divisor, rest = rest, abs(remainder(divisor, rest))
    return divisor


class Impact(Struct, frozen=True):
    """``factor``: how many times more measurements of different executions differ than those of
    one; 1 means no impact.

    ``control`` is the same after the mean of each execution was taken away: it tends to 1 where the
    start shifts all measurements of an execution alike, and stays away from 1 where it changes
    their spread, too. ``samples`` is c, how many were compared at a time.
    """

    factor: float
    control: float
    samples: int


def impact(
    runs: Sequence[ArrayLike], iterations: int = 10_000, share: float = 0.75, seed: int = 0
) -> Impact:
    """The impact factor of m executions with their measurements, by bootstrap.

    The median over ``iterations`` of SD(one measurement of each of c executions) / SD(c
    measurements of one execution), all drawn without replacement, c = ``share`` m but at most the
    fewest measurements of an execution. For the impact of builds give the execution means of each
    binary. With c < 2 both are NaN; 0 / 0 counts as 1. ``ValueError`` as ``runs.stack``. Source:
    Kalibera 2006, ch. 4, fig. 2 and section 5.2.
    """
    given = stack(runs)
    samples = min(int(share * len(given.counts)), *given.counts.tolist())
    if samples < 2:
        return Impact(np.nan, np.nan, samples)
    return Impact(
        _factor(given, samples, iterations, seed),
        _factor(given.centred(), samples, iterations, seed),
        samples,
    )


def _factor(runs: Runs, samples: int, iterations: int, seed: int) -> float:
    rng = np.random.default_rng(seed)
    executions, width = runs.values.shape
    step = max(1, CHUNK_NUMBERS // max(executions, samples))
    ratios = []
    for start in range(0, iterations, step):
        count = min(step, iterations - start)
        chosen = _distinct(rng, np.full(count, executions), samples)
        place = (rng.random(chosen.shape) * runs.counts[chosen]).astype(np.intp)
        across = runs.values[chosen, place].std(axis=1, ddof=1)
        executed = rng.integers(executions, size=count)
        inside = runs.values[executed[:, None], _distinct(rng, runs.counts[executed], samples)].std(
            axis=1, ddof=1
        )
        rounding = np.abs(runs.values).max() * width * np.finfo(np.float64).eps
        across, inside = (np.where(spread <= rounding, 0.0, spread) for spread in (across, inside))
        ratios.append(
            np.where(
                inside > 0,
                across / np.where(inside > 0, inside, 1.0),
                np.where(across > 0, np.inf, 1.0),
            )
        )
    return float(np.median(np.concatenate(ratios)))


def _distinct(rng: np.random.Generator, limits: Integers, samples: int) -> Indices:
    """Rows of ``samples`` different random numbers below each of the ``limits``, by Floyd's
    algorithm over all rows at once.
    """
    numbers = np.empty((len(limits), samples), dtype=np.intp)
    for place in range(samples):
        last = limits - samples + place
        drawn = (rng.random(len(limits)) * (last + 1)).astype(np.intp)
        taken = (numbers[:, :place] == drawn[:, None]).any(axis=1)
        numbers[:, place] = np.where(taken, last, drawn)
    return numbers
