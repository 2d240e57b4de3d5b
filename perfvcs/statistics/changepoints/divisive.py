"""Steps of a series where the distances between its values show two distributions: E-divisive in windows, confirmed by t-tests."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate, pairwise
from math import fsum
from statistics import NormalDist
from typing import TYPE_CHECKING

from perfvcs.statistics.changepoints.pruning import CHANCE, exceeding, prune, scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

WINDOW = 50
COARSE = 4  # values in a mean
FEW = 8  # windows that are looked at together at first, and then twice as many
WEAK = 10.0  # times the chance is enough in the first pass


def divergence(values: ArrayLike) -> tuple[int, float]:
    """The split of a series that parts it best, and the divergence there; 0 and 0.0 for fewer than two values.

    Over all 0 < tau < kappa <= n the largest q = mn/(m+n) (2 mean |x - y| - mean |x - x'| - mean |y - y'|) of the m = tau values before
    the split and the n = kappa - tau behind it (means over distinct pairs, 0 of a single value). Source: Matteson, James 2014.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    count = len(y)
    if count < 2:
        return 0, 0.0
    sums = np.zeros((count + 1, count + 1))  # of the distances in the block before (tau, kappa)
    np.cumsum(np.cumsum(np.abs(y[:, None] - y), axis=0), axis=1, out=sums[1:, 1:])
    corner = np.diagonal(sums)
    before, behind, both, valid = _weights(count)
    inside = corner[:, None] / 2
    cross = sums - corner[:, None]
    after = (corner[None, :] - 2 * sums + corner[:, None]) / 2
    q = np.where(valid, both * cross - before * inside - behind * after, -np.inf)
    place = int(q.argmax())
    return place // (count + 1), float(q.flat[place])


@lru_cache(maxsize=128)
def _weights(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Factors of the three sums of distances, by (tau, kappa), and which pairs there are."""
    import numpy as np

    tau, kappa = np.arange(count + 1)[:, None], np.arange(count + 1)[None, :]
    m, n = tau.astype(np.float64), np.maximum(kappa - tau, 1).astype(np.float64)
    valid = (tau > 0) & (kappa > tau)
    both = 2 / (m + n)
    before = np.where(m > 1, 2 * n / (m + n) / np.maximum(m - 1, 1), 0.0)
    behind = np.where(n > 1, 2 * m / (m + n) / np.maximum(n - 1, 1), 0.0)
    return before, behind, both, valid


def divide(values: ArrayLike, chance: float = CHANCE) -> list[int]:
    """Steps of one window, ascending: the best split of all segments is kept and divided again while its t-test stays below ``chance``."""
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    plain = y.tolist()
    steps: list[int] = []
    hope: dict[tuple[int, int], bool] = {}
    known: dict[tuple[int, int], tuple[int, float]] = {}
    while True:
        parts = list(pairwise([0, *steps, len(y)]))
        for low, high in parts:
            if (low, high) not in hope:
                hope[low, high] = _hopeful(plain[low:high], chance)
        if not any(hope[part] for part in parts):
            return steps
        for low, high in parts:
            if (low, high) not in known:
                place, q = divergence(y[low:high])
                known[low, high] = (low + place, q)
        best = max(parts, key=lambda part: known[part][::-1])
        place, q = known[best]
        more = sorted([*steps, place])
        if q <= 0 or not hope[best]:
            return steps
        turn = more.index(place)
        t, df, _ = scores(y, more)
        if exceeding(t[turn : turn + 1], df[turn : turn + 1], chance):
            return steps
        steps = more


def _hopeful(values: list[float], chance: float) -> bool:
    """Whether values may have a split with a p of ``chance``: normal tails, lighter than Student's, do not rule it out. Saves most work.

    In plain Python: of so few values faster than numpy's calls.
    """
    n = len(values)
    if n < 3:
        return False
    mean = fsum(values) / n
    y = [value - mean for value in values]
    gain = max(total * total * weight for total, weight in zip(accumulate(y), _shares(n), strict=False))
    whole = sum(value * value for value in y)
    rest = whole - gain
    # The largest t^2 is that of the split that leaves the smallest squares.
    return rest <= whole * 1e-9 or gain * (n - 2) >= rest * _point(chance) ** 2


def _hopes(rows: NDArray[np.float64], chance: float) -> list[bool]:
    """The same for rows of values (m, n)."""
    import numpy as np

    n = rows.shape[1]
    if n < 3:
        return [False] * len(rows)
    y = rows - rows.mean(axis=1, keepdims=True)
    gain = (np.cumsum(y, axis=1)[:, :-1] ** 2 * _shares(n)).max(axis=1)
    whole = (y**2).sum(axis=1)
    rest = whole - gain
    found: list[bool] = ((rest <= whole * 1e-9) | (gain * (n - 2) >= rest * _point(chance) ** 2)).tolist()
    return found


@lru_cache(maxsize=128)
def _shares(n: int) -> list[float]:
    """By what the square of the sum before each split of n values about 0 reduces their squares."""
    return [n / (before * (n - before)) for before in range(1, n)]


@lru_cache
def _point(chance: float) -> float:
    """What a normal value is beyond, on either side, with this chance."""
    return -NormalDist().inv_cdf(chance / 2)


def divisive(
    values: ArrayLike, window: int = WINDOW, chance: float = CHANCE, smallest: float = 0.0, coarse: int = COARSE
) -> list[int]:
    """Steps of a series, ascending: each the index of the first value at the new level.

    Windows of ``window`` values that overlap by half, or start at the last step found, are divided at ten times the ``chance``; so are
    windows of as many means of ``coarse`` values each, in which small steps between long levels show (1 leaves that out). Of all their
    steps together the weakest are taken away until each has p <= ``chance`` between its neighbours and at least the size ``smallest``.
    The values are finite.

    Sources: Matteson, James 2014; Fleming et al. 2023 (Hunter, now Apache Otava, whose own chance is .001). The means are our own.
    """
    import numpy as np

    y = np.asarray(values, dtype=np.float64)
    found = _scan(y, window, WEAK * chance)
    if 1 < coarse <= len(y) / window:  # else the windows above are as long
        start = len(y) % coarse
        means = y[start:].reshape(-1, coarse).mean(axis=1)
        found |= {_refine(y, start + coarse * step, coarse) for step in _scan(means, window, WEAK * chance)}
    return prune(y, sorted(found), chance, smallest)


def _scan(values: NDArray[np.float64], window: int, chance: float) -> set[int]:
    """The steps of all windows."""
    import numpy as np

    found: set[int] = set()
    hope: dict[int, bool] = {}  # of the window that starts there
    start, half, ahead = 0, window // 2, FEW
    while start < len(values) - 1:
        if start not in hope:
            rows = np.lib.stride_tricks.sliding_window_view(values[start:], min(window, len(values) - start))[
                : ahead * half : half
            ]
            hope.update(zip(range(start, len(values), half), _hopes(rows, chance), strict=False))
            ahead *= 2
        if hope[start] and (steps := divide(values[start : start + window], chance)):
            found.update(start + step for step in steps)
            start, ahead = max(start + half, start + steps[-1]), FEW  # which moves all windows that follow
        else:
            start += half
    return found


def _refine(values: NDArray[np.float64], place: int, coarse: int) -> int:
    """The likeliest place within ``coarse`` of a place between means, by least squares on the values around."""
    import numpy as np

    low, high = max(0, place - 5 * coarse), min(len(values), place + 5 * coarse)
    part = values[low:high] - values[low:high].mean()
    n = len(part)
    before = np.arange(1, n)
    gain = np.cumsum(part)[:-1] ** 2 / (before * (n - before))
    start = max(1, place - coarse - low)
    return low + start + int(gain[start - 1 : place + coarse - low].argmax())
