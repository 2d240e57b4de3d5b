"""Which of the two executions of each pair was measured first, if that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from perfvcs.check.samples.scale import Scaled


def later(scaled: Scaled) -> list[bool] | None:
    """Whether the target came after the baseline, for each execution in the order of the pair's sessions; None if any is not known.

    None also where builds take the place of executions: each has some of either order.
    """
    if scaled.pair.builds:
        return None
    sides, found = scaled.pair.case.chosen.sides, []
    for before, after in zip(scaled.pair.before, scaled.pair.after, strict=True):
        for old, new in zip(before, after, strict=True):
            first, second = sides[0][old.profile].turns.get(old.place), sides[1][new.profile].turns.get(new.place)
            if first is None or second is None or first == second:
                return None
            found.append(second > first)
    return found
