"""What makes a commit suspect before anything is measured: what it changes, and levels that were stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.locate.guide import Guide

MISSED = 0.05  # culprits that seem not to touch what the benchmark runs: no prior may rule a commit out
MISLED = 0.05  # ranges in which the stored levels have been moved by something else
FEWEST_STORED = 3  # levels: with fewer, how much they vary by themselves is not known


@dataclass(frozen=True)
class Prior:
    """Shares of the prior of commits 1 to ``last``.

    ``touched`` says of each whether it changes what the benchmark runs; ``stored`` has by commit (0 is the good end) the level that was
    measured in a session of its own, as the values of ``Evidence``; ``guide`` is what counts of instructions say.
    """

    last: int
    touched: Sequence[bool] | None = None
    stored: Mapping[int, float] = field(default_factory=dict)
    guide: Guide | None = None

    def weights(self, effect: float) -> NDArray[np.float64]:
        """The shares, shape (last,), place 0 for commit 1; ``effect`` is the difference of the ends."""
        import numpy as np

        even = np.full(self.last, 1 / self.last)
        found = even
        if self.touched is not None and any(self.touched):
            touched = np.array(self.touched, float)
            found = (1 - MISSED) * touched / touched.sum() + MISSED * even
        if len(self.stored) >= FEWEST_STORED and effect:
            likely = self._likely(effect) * found
            found = (1 - MISLED) * likely / likely.sum() + MISLED * found
        if self.guide is not None and effect > 0 and self.guide.effect > 0:
            # of a difference of which instructions explain a part, the rest may be anywhere
            explained = (1 - MISLED) * min(1.0, self.guide.effect / effect)
            found = explained * self.guide.jump / self.guide.jump.sum() + (1 - explained) * found
        return found

    def _likely(self, effect: float) -> NDArray[np.float64]:
        """How likely the stored levels are by the place of a single step of that size; the variance of sessions is estimated from them."""
        import numpy as np

        places, levels = np.array(list(self.stored)), np.array(list(self.stored.values()))
        without = levels - effect * (places >= np.arange(1, self.last + 1)[:, None])
        squares = ((without - without.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
        least = max(float(squares.min()), 1e-18)
        found: NDArray[np.float64] = (np.maximum(squares, least) / least) ** (-(len(levels) - 1) / 2)
        return found
