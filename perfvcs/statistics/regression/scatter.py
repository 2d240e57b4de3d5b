"""How the scatter of differences between two curves goes with the level of their values: the laws that it may follow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perfvcs.statistics.regression.level import running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.regression.pairs import Pairs

    Floats = NDArray[np.float64]
    RowSelection = NDArray[np.intp] | slice

POWERS = (1.0, 0.5, 0.0)  # of the level that a standard deviation may go with: times, counts, and what a clock adds
FLOORS = 16  # levels, from the smallest to the largest, below which scatter no longer shrinks
DOUBT = 1.5  # a law is likely where the logarithm of its likelihood is at most so much below that of the likeliest


@dataclass(frozen=True, eq=False)
class ScatterLaws:
    """The laws that the scatter of the differences of ``pairs`` may follow: a power of the level, or the level and a constant together.

    The level at a size is that of the values there, so that a wide range of levels, or few sizes, do not blur it; of twenty sizes and more
    the geometric mean over a twentieth to either side. Values of 0 have the smallest level of the group that is above 0. Both sides
    enter alike: of equal curves no law prefers a sign.

    The steps between neighbouring differences, mostly noise, show the likelihood of a law. Few steps cannot tell two
    laws apart: whoever tests asks all that are likely.
    """

    pairs: Pairs

    @cached_property
    def weights(self) -> Floats:
        """1 / variance of each difference but for a factor per group, by the likeliest law; shape (rows,)."""
        import numpy as np

        found = np.ones(len(self.pairs.x))
        best = self._likelihoods.argmax(axis=0)
        for law in np.unique(best).tolist():
            rows = self._rows(best == law)
            found[rows] = 1 / self._variance(law, rows)
        return found

    def others(self, wanted: NDArray[np.bool_]) -> Iterator[tuple[RowSelection, Floats]]:
        """The rows of those ``wanted`` groups (groups,) for which another law is likely too, and their weights by it; law by law."""
        import numpy as np

        logs = self._likelihoods
        likely = logs >= logs.max(axis=0, initial=-np.inf) - DOUBT
        likely[logs.argmax(axis=0), np.arange(self.pairs.groups)] = False
        for law, groups in enumerate(likely & wanted):
            if groups.any():
                rows = self._rows(groups)
                yield rows, 1 / self._variance(law, rows)

    def _rows(self, groups: NDArray[np.bool_]) -> RowSelection:
        """The rows of these groups (groups,)."""
        import numpy as np

        return slice(None) if groups.all() else np.flatnonzero(groups[self.pairs.group])

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        """The squared levels of both sides."""
        import numpy as np

        pairs = self.pairs
        sides = np.abs(pairs.baseline), np.abs(pairs.target)
        least = np.full(pairs.groups, np.inf)
        for side in sides:
            np.minimum.at(least, pairs.group, np.where(side > 0, side, np.inf))
        least = np.where(np.isfinite(least), least, 1.0)[pairs.group]
        first, second = (running(np.maximum(side, least), pairs.group, fewest=0, least=0.0) ** 2 for side in sides)
        return np.maximum(first, 1e-300), np.maximum(second, 1e-300)

    @cached_property
    def _range(self) -> tuple[Floats, Floats]:
        """The smallest and the largest squared level of each group."""
        import numpy as np

        low, high = np.full(self.pairs.groups, np.inf), np.zeros(self.pairs.groups)
        for level in self._levels:
            np.minimum.at(low, self.pairs.group, level)
            np.maximum.at(high, self.pairs.group, level)
        return np.where(np.isfinite(low), low, 1.0), np.maximum(high, 1e-300)

    @cached_property
    def _counts(self) -> tuple[Floats, Floats] | None:
        """How many values of either side each row is a mean of; None where that is one each."""
        first, second = self.pairs.counts.T.astype("float64")
        return None if (self.pairs.counts == 1).all() else (first, second)

    def _variance(self, law: int, rows: RowSelection) -> Floats:
        """The variance of these rows by a law, but for a factor per group."""
        levels = [level[rows] for level in self._levels]
        if law < len(POWERS):
            parts = [level ** POWERS[law] for level in levels]
        else:
            low, high = self._range
            floor = (low * (high / low) ** ((law - len(POWERS) + 0.5) / FLOORS))[self.pairs.group[rows]]
            parts = [level + floor for level in levels]
        if self._counts is not None:
            parts = [part / count[rows] for part, count in zip(parts, self._counts, strict=True)]
        found: Floats = parts[0] + parts[1]
        return found

    @cached_property
    def _likelihoods(self) -> Floats:
        """The logarithm of the likelihood of each law; shape (laws, groups)."""
        import numpy as np

        pairs = self.pairs
        # The steps from one group to the next are in none: they are counted as those of another group, behind the last.
        inside = np.diff(pairs.group) == 0
        step, number = np.diff(pairs.difference) ** 2, np.where(inside, pairs.group[1:], pairs.groups)

        def sums(steps: Floats) -> Floats:
            return np.asarray(np.bincount(number, steps, pairs.groups + 1)[:-1], dtype=np.float64)

        count = np.bincount(number, minlength=pairs.groups + 1)[:-1]
        found = np.empty((len(POWERS) + FLOORS, pairs.groups))
        for law in range(len(found)):
            variance = self._variance(law, slice(None))
            two = variance[1:] + variance[:-1]
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                found[law] = -(count * np.log(sums(step / two) / np.maximum(count, 1)) + sums(np.log(two))) / 2
        return np.where(np.isnan(found), -np.inf, np.where(found == np.inf, 0.0, found))
