"""The level of values along their sizes, whatever curve they follow: what multiplicative noise goes with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

NEIGHBOURS = 20  # the mean is over a twentieth of the rows to either side
FEWEST_ROWS = 2  # but at least this many
SMALLEST_VALUE = 0.01  # of the mean of the group: no value counts as less


def level(x: ArrayLike, y: ArrayLike, group: ArrayLike | None = None) -> NDArray[np.float64]:
    """The running geometric mean of the absolute values along the sizes of each group, at each row; positive everywhere.

    ``x``, ``y`` and ``group`` are columns of equal length, the groups numbered from 0. Rows with a NaN or an infinity are NaN. Since
    times scatter in proportion to themselves, 1 / level^2 are the weights under which a model should be fitted and chosen: without
    them the largest sizes decide everything, and the shape at the small ones is lost.
    """
    import numpy as np

    size, value = np.asarray(x, dtype=np.float64), np.abs(np.asarray(y, dtype=np.float64))
    number = np.zeros(size.shape, dtype=np.intp) if group is None else np.asarray(group, dtype=np.intp)
    found = np.full(size.shape, np.nan)
    rows = np.flatnonzero(np.isfinite(size) & np.isfinite(value))
    order = rows[by_size(size[rows], number[rows])]
    found[order] = running(value[order], number[order])
    return found


def by_size(size: NDArray[np.float64], group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The order of the rows by group, then by size; quick where they have it already."""
    import numpy as np

    steps = np.diff(group)
    if ((steps > 0) | ((steps == 0) & (np.diff(size) >= 0))).all():
        return np.arange(len(size))
    return np.lexsort((size, group))


def running(
    values: NDArray[np.float64], group: NDArray[np.intp], fewest: int = FEWEST_ROWS, least: float = SMALLEST_VALUE
) -> NDArray[np.float64]:
    """The same of values >= 0 that are in the order of group and size already; ``fewest`` neighbours to either side at least.

    With 0 of them a value of few is its own level, which is right however steep the curve is. No value counts as less than ``least`` of
    the mean of its group.
    """
    import numpy as np

    starts = np.flatnonzero(np.append(True, np.diff(group) != 0)[: len(values)])
    lengths = np.diff(np.append(starts, len(values)))
    begin, n = np.repeat(starts, lengths), np.repeat(lengths, lengths)
    index = np.arange(len(values)) - begin
    # Narrower towards the ends, where a wide mean would lean to one side.
    reach = np.clip(np.minimum(index, n - 1 - index), fewest, np.maximum(n // NEIGHBOURS, fewest))
    first, last = begin + np.maximum(index - reach, 0), begin + np.minimum(index + reach + 1, n)
    most = np.repeat(np.bincount(np.repeat(np.arange(len(starts)), lengths), values) / lengths, lengths)
    logs = np.log(np.where(most > 0, np.maximum(values, least * most), 1.0))
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    found: NDArray[np.float64] = np.exp((sums[last] - sums[first]) / (last - first))
    return found
