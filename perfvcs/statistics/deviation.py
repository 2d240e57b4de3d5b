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

    order = np.lexsort((values, group))
    counts = np.bincount(group, minlength=groups)
    places = np.cumsum(counts) - counts + counts // 2
    found = np.zeros(groups)
    found[counts > 0] = values[order][places[counts > 0]]
    return found
