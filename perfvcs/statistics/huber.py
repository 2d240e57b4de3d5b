"""Student's paired comparison with outliers drawn in: Huber's estimate of the shift, its interval and p-value, for many groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.statistics import difference
from perfvcs.statistics.difference import Difference, combine, moments, settle

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

BEND = 2.5  # standard deviations from the centre beyond which a value is drawn in
FEWEST = 8  # pairs from which their standard deviation is known well enough for that
NORMAL = 1.0483  # a normal standard deviation in medians of the distance of two values
NEIGHBOURS = 50  # distances of a value to that many others are enough
ROUNDS = 200
EQUIVALENCE = 0.9  # two one-sided tests at 5 %


@dataclass(frozen=True)
class Shift:
    """What ``paired`` finds: the ``difference``, and the ``gaps`` (groups, n) second minus first with outliers drawn in.

    Flips of the gaps' signs are the permutation test that belongs to it: a pair without any difference keeps 0, whose sign says nothing.
    ``widened`` (groups, n) are the gaps further from their mean, so that Student's standard error of theirs is the difference's: for tests
    of several such columns together. ``drawn`` (groups,) says where there were outliers, and ``reach`` (groups,) how far from 0 Student's
    interval of ``EQUIVALENCE`` reaches of the gaps as they are: within a bound it is the test at 5 % that the mean is, outliers and all.
    """

    difference: Difference
    gaps: NDArray[np.float64]
    widened: NDArray[np.float64]
    drawn: NDArray[np.bool_]
    reach: NDArray[np.float64]


def paired(first: ArrayLike, second: ArrayLike, confidence: float = 0.99, bend: float = BEND) -> Shift:
    """Shift of the second sample against the first, paired, both of shape (groups, n), n >= 1.

    Differences d further than ``bend`` standard deviations from their centre are drawn in to that distance; the centre is the mean of
    what results. Its standard error is that of Student's mean of the n drawn-in values, times K / m: m is the share that was left
    alone, K = 1 + (1 - m) / (m n); n - 1 degrees of freedom. The standard deviation is taken from the median distance of two values,
    which up to 29 % of outliers leave finite. So without outliers this is exactly Student's test; with them its interval is not
    stretched by what a burst did to one pair. Of fewer than ``FEWEST`` pairs, or where most are equal, none is drawn in. A NaN or
    infinity makes its group unknown: NaN, its interval infinite; as does a single pair.
    Sources: Huber 1964; Huber 1981, sections 6.4-6.5 (K); Bickel, Lehmann 1979 (the median distance); Schuirmann 1987 (equivalence).
    """
    import numpy as np

    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        gaps = b - a
    n = gaps.shape[1]
    known = np.isfinite(gaps).all(axis=1)
    whole = np.expand_dims(known, 1)
    a, b, gaps = (np.where(whole, values, 0.0) for values in (a, b, gaps))
    # Differences are rounded like the values that they come from, not like themselves.
    rounding = np.maximum(np.abs(a), np.abs(b)).max(axis=1) * (8 * np.finfo(np.float64).eps)
    scale = spread(gaps) if n >= FEWEST else np.zeros(len(gaps))
    bound = np.where(scale > rounding, bend * scale, np.inf)[:, None]
    drawn = draw_in(gaps, bound)
    about = moments(drawn)
    alone = np.maximum((drawn == gaps).mean(axis=1), 1 / n)
    factor = (1 + (1 - alone) / (alone * n)) / alone
    variance = np.where(about.variance <= rounding**2, 0.0, about.variance) * factor**2 / n
    estimate = np.where(known, settle(about.mean, a, b), np.nan)
    equal = np.abs(gaps) <= np.expand_dims(rounding, 1)
    student = difference.paired(a, b, EQUIVALENCE)
    return Shift(
        combine(estimate, [variance], [about.df], confidence),
        np.where(whole, np.where(equal, 0.0, drawn), np.nan),
        np.where(whole, about.mean[:, None] + factor[:, None] * (drawn - about.mean[:, None]), np.nan),
        (drawn != gaps).any(axis=1),
        np.where(known, np.maximum(-student.low, student.high), np.inf),
    )


def spread(values: ArrayLike) -> NDArray[np.float64]:
    """The standard deviation of each group, shape (groups, n), as the median distance of two of its values tells it; 0 for n = 1.

    All distances count up to 101 values; of more, those of values at most ``NEIGHBOURS`` places apart (round the end). ``values`` are
    finite. Source: Bickel, Lehmann 1979.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    groups, n = y.shape
    if n < 2:
        return np.zeros(groups)
    if n <= 2 * NEIGHBOURS + 1:
        rows, columns = np.triu_indices(n, 1)
    else:
        rows = np.repeat(np.arange(n), NEIGHBOURS)
        columns = (rows + np.tile(np.arange(1, NEIGHBOURS + 1), n)) % n
    found = np.empty(groups)
    step = max(1, 4_000_000 // len(rows))
    for start in range(0, groups, step):
        here = y[start : start + step]
        with np.errstate(over="ignore"):
            found[start : start + step] = _median(np.abs(here[:, rows] - here[:, columns])) * NORMAL
    return found


def draw_in(values: NDArray[np.float64], bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values (groups, n) at most ``bound`` (groups, 1) away from the mean of the result."""
    import numpy as np

    drawn, live, centre = values.copy(), np.arange(len(values)), _median(values)[:, None]
    for _ in range(ROUNDS):
        inside, reach = values[live], bound[live]
        far = np.abs(inside - centre) > reach
        edge = centre + np.copysign(np.where(far, reach, 0.0), inside - centre)
        drawn[live] = np.where(far, edge, inside)
        step = drawn[live].mean(axis=1, keepdims=True) - centre
        still = (np.abs(step) > 1e-13 * reach)[:, 0]
        # Newton's step where most are inside; a longer one might swing to and fro.
        live, centre = live[still], (centre + step / np.maximum(1 - far.mean(axis=1, keepdims=True), 0.6))[still]
        if not len(live):
            break
    return drawn


def _median(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The median of each row of finite values; numpy's own imports its masked arrays, which takes longer."""
    import numpy as np

    n = values.shape[1]
    middle = np.partition(values, [(n - 1) // 2, n // 2], axis=1)
    found: NDArray[np.float64] = (middle[:, (n - 1) // 2] + middle[:, n // 2]) / 2
    return found
