"""Rows of many groups in blocks that stay in the cache, with sums per group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

BLOCK_ROWS = 1 << 15
ROUNDING = 16 * 2.0**-52  # residuals below this share of their values are those of a perfect fit


@dataclass(frozen=True)
class RowBlock:
    """Rows of some groups, one group after the other; ``w`` is None for weights of 1."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    w: NDArray[np.float64] | None
    starts: NDArray[np.intp]
    lengths: NDArray[np.intp]

    def total(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted sum per group."""
        import numpy as np

        found: NDArray[np.float64] = np.add.reduceat(rows if self.w is None else rows * self.w, self.starts)
        return found

    def spread(self, groups: NDArray[np.float64]) -> NDArray[np.float64]:
        """Each group's number at each of its rows."""
        import numpy as np

        return np.repeat(groups, self.lengths)

    def only(self, rows: NDArray[np.bool_], lengths: NDArray[np.intp]) -> RowBlock:
        """The rows of some of the groups, which are so long."""
        import numpy as np

        w = None if self.w is None else self.w[rows]
        return RowBlock(self.x[rows], self.y[rows], w, np.cumsum(lengths) - lengths, lengths)

    def least(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The smallest value per group."""
        import numpy as np

        found: NDArray[np.float64] = np.minimum.reduceat(rows, self.starts)
        return found

    def most(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The largest value per group."""
        import numpy as np

        found: NDArray[np.float64] = np.maximum.reduceat(rows, self.starts)
        return found

    def squares(self, residuals: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weighted sum of squared residuals, 0 where they are but the rounding of the values."""
        import numpy as np

        found = self.total(residuals * residuals)
        exact = self._exact if values is self.y else self.total((ROUNDING * values) ** 2)
        return np.where(found <= exact, 0.0, found)

    @cached_property
    def _exact(self) -> NDArray[np.float64]:
        return self.total((ROUNDING * self.y) ** 2)


def blocks(
    x: NDArray[np.float64], y: NDArray[np.float64], w: NDArray[np.float64] | None, counts: NDArray[np.intp]
) -> Iterator[tuple[RowBlock, NDArray[np.intp]]]:
    """Blocks of whole groups, with the numbers of the groups in them; groups without rows are in none."""
    import numpy as np

    present = np.flatnonzero(counts)
    ends = np.cumsum(counts[present])
    first = 0
    while first < len(present):
        begin = ends[first] - counts[present[first]]
        last = max(first + 1, int(np.searchsorted(ends, begin + BLOCK_ROWS, side="right")))
        rows = slice(begin, ends[last - 1])
        lengths = counts[present[first:last]]
        starts = np.cumsum(lengths) - lengths
        yield RowBlock(x[rows], y[rows], None if w is None else w[rows], starts, lengths), present[first:last]
        first = last
