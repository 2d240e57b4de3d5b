"""Series that move back and forth between levels: one finding, where steps would be dozens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Switching:
    """A stretch of a series that moves back and forth between few levels.

    From index ``first`` to ``last``, both inside. ``levels`` are logarithms, ascending, and ``shares`` what part of the values is at each.
    ``moves`` counts how often it changed between them.
    """

    first: int
    last: int
    levels: tuple[float, ...]
    shares: tuple[float, ...]
    moves: int

    @property
    def commonest(self) -> int:
        """The place in ``levels`` of the level that most values have; of equally common ones the lowest."""
        return self.shares.index(max(self.shares))
