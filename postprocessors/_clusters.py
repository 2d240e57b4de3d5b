"""Clusters of the values of all units, which are sorted by value in each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfvcs.postprocessors._groups import thin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups

FITTED = 1_000  # values of a unit


def _new(groups: Groups) -> NDArray[np.bool_]:
    """Where a value differs from the one before, or its group does."""
    import numpy as np

    return np.append(True, (np.diff(groups.y) != 0) | (np.diff(groups.number) != 0))[: len(groups.y)]


def ranks(groups: Groups) -> NDArray[np.float64]:
    """The rank of each value in its group, from 0, equal values having one."""
    import numpy as np

    rank = np.cumsum(_new(groups)) - 1
    return (rank - rank[groups.starts][groups.number]).astype(np.float64)


def windows(
    groups: Groups, height: float | None, relative_height: bool, width: float | None, relative_width: bool
) -> NDArray[np.float64]:
    """The number of the window that each value is in; None is no bound."""
    import numpy as np

    total = len(groups.y)
    low, high = groups.y[groups.starts], groups.y[groups.starts + groups.counts - 1]
    ends = groups.starts + groups.counts
    after = np.repeat(ends, groups.counts)  # the row that begins the next window, if one begins at this row
    if height is not None:
        with np.errstate(over="ignore"):
            reach = height * (high - low) if relative_height else height / groups.y_scale
        bound = groups.y + reach[groups.number]
        for start, end in zip(groups.starts.tolist(), ends.tolist(), strict=True):
            after[start:end] = start + np.searchsorted(groups.y[start:end], bound[start:end], side="right")
    if width is not None:
        rows = np.maximum(width * groups.counts if relative_width else np.full(len(groups), width), 1)
        wide = np.arange(total) + np.minimum(rows, groups.counts)[groups.number].astype(np.intp)
        # up to the end of the equal values
        distinct = np.append(np.flatnonzero(_new(groups)), total)
        wide = distinct[np.searchsorted(distinct, np.minimum(wide, total))]
        after = np.minimum(after, wide)
    following, place, begins = after.tolist(), 0, []
    while place < total:
        begins.append(place)
        place = following[place]
    first = np.zeros(total, dtype=np.intp)
    first[begins] = 1
    window = np.cumsum(first) - 1
    return (window - window[groups.starts][groups.number]).astype(np.float64)


def mixture(groups: Groups, most: int) -> NDArray[np.float64]:
    """The likeliest component of each value, of as many as the BIC says, up to ``most``."""
    import numpy as np

    from perfvcs.statistics.clusters import clusters

    kept = thin(groups.number, len(groups), FITTED)
    found = np.zeros(len(groups.y))
    for start, count in zip(groups.starts.tolist(), groups.counts.tolist(), strict=True):
        rows = slice(start, start + count)
        y = groups.y[rows]
        values = np.log(y) if y[0] > 0 else y
        fitted = clusters(values[kept[rows]], most)
        if len(fitted.centres) > 1:
            found[rows] = _likeliest(values, fitted.centres, fitted.spreads, fitted.shares)
    return found


def _likeliest(
    values: NDArray[np.float64], centres: NDArray[np.float64], spreads: NDArray[np.float64], shares: NDArray[np.float64]
) -> NDArray[np.intp]:
    import numpy as np

    density = np.log(shares / spreads) - ((values[:, None] - centres) / spreads) ** 2 / 2
    return np.asarray(density.argmax(axis=1), dtype=np.intp)
