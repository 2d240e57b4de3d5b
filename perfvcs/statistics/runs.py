"""Measurements of several executions, of equal or unequal number, as one array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Runs:
    """``values`` has the shape (executions, most measurements), filled up with 0 behind the ``counts`` (executions,) that are there."""

    values: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def there(self) -> NDArray[np.bool_]:
        """Which places of ``values`` are measurements."""
        import numpy as np

        return np.arange(self.values.shape[1]) < self.counts[:, None]

    def means(self) -> NDArray[np.float64]:
        """The mean of each execution."""
        found: NDArray[np.float64] = self.values.sum(axis=1) / self.counts
        return found

    def centred(self) -> Runs:
        """Each execution without its mean."""
        import numpy as np

        return Runs(np.where(self.there, self.values - self.means()[:, None], 0.0), self.counts)


def stack(runs: Sequence[ArrayLike]) -> Runs:
    """Runs of a sequence with the measurements of each execution; ``ValueError`` for none, an empty one, or a value that is not finite."""
    import numpy as np

    rows = [np.asarray(run, dtype=np.float64).ravel() for run in runs]
    counts = np.array([row.size for row in rows], dtype=np.int64)
    if not rows or not counts.all():
        raise ValueError("every execution needs a measurement")
    values = np.zeros((len(rows), int(counts.max())))
    values[np.arange(values.shape[1]) < counts[:, None]] = np.concatenate(rows)
    if not np.isfinite(values).all():
        raise ValueError("measurements must be finite")
    return Runs(values, counts)
