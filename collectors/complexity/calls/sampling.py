"""One uniform sample out of several: threads that run at the same time and processes each keep one of their own calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def one_sample(group: NDArray[np.int64], rate: NDArray[np.float64], keep: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows stay, at most ``keep`` per group, and for how many calls each row that stays stands.

    ``group``: a number for each row, the same for those of one function and bucket of sizes; ``rate``: how many calls the row stands for
    in its own sample. In each group all rows that stay have the same rate, and the sum of the rates is what it was; a group that has one
    rate and at most ``keep`` rows stays unchanged. The same rows give the same result.
    """
    import numpy as np

    if not len(group):
        return np.zeros(0, bool), np.empty(0)
    _, group = np.unique(group, return_inverse=True)
    count, total = np.bincount(group), np.bincount(group, weights=rate)
    first = np.cumsum(count) - count
    by_group = rate[np.argsort(group, kind="stable")]
    least, largest = np.minimum.reduceat(by_group, first), np.maximum.reduceat(by_group, first)
    random = np.random.default_rng(0)
    # a call was kept with the probability 1 / rate: then all of a group are with that of the thinnest sample
    stays = random.random(len(group)) < rate / largest[group]
    order = np.lexsort((random.random(len(group)), ~stays, group))
    kept = np.zeros(len(group), bool)
    kept[order] = stays[order] & (np.arange(len(group)) - np.repeat(first, count) < keep)
    even = (least == largest) & (count <= keep)  # not summed and divided again, which would round
    return kept, np.where(even[group], rate, (total / np.bincount(group[kept]))[group])
