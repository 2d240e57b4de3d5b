"""Standard deviations by the median distance, which outliers do not move."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NORMAL = 1.482602218505602  # standard deviations in a median distance from the middle, of normal values: 1 / Phi^-1(3/4)


def medians(values: NDArray[np.float64], group: NDArray[np.intp], groups: int) -> NDArray[np.float64]:
    """The (upper) median of the values of each of ``groups`` groups, shape (groups,); 0 for one without values."""
    import numpy as np

    counts, found = np.bincount(group, minlength=groups), np.zeros(groups)
    there, most = counts > 0, int(counts.max(initial=0))
    if most and (counts[there] == most).all() and (group[1:] >= group[:-1]).all():  # as curves at the same sizes have it
        found[there] = np.partition(values.reshape(-1, most), most // 2, axis=1)[:, most // 2]
        return found
    order = np.lexsort((values, group))
    places = np.cumsum(counts) - counts + counts // 2
    found[there] = values[order][places[there]]
    return found
