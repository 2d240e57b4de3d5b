"""What the two methods share that look at the difference of two models."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from perfvcs.check.curves.judgement import CurveMethod, effect, graded, judged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check.change import Change
    from perfvcs.check.curves.curve import FittedCurves

AGREE = 0.05  # coefficients within this share are the same
CHANGED_SHARE = 0.25
GRID_POINTS = 201


@dataclass(frozen=True)
class DifferenceMethod(CurveMethod):
    """By the mean relative difference of the best models: beyond 25 % changed, else suspected; the same where the models agree."""

    name: ClassVar[str]

    def judge(self, fits: FittedCurves, number: int) -> Change:
        """The change of the case at that place."""
        sides = fits.sides[number]
        found = effect(*fits.predicted(number, self._grid(fits, number)))
        curve = fits.curve(number) if sides.sized else None
        if _agree(fits, number) or sides.equal:
            return judged(sides, self.name, "same", effect=found, curve=curve)
        word, reason = graded(sides, found, 0.0, CHANGED_SHARE)
        reason = f"the models differ by at most {100 * CHANGED_SHARE:g} %" if word == "suspected" else reason
        return judged(
            sides, self.name, word, reason, effect=found, delta=self.delta, finding=self.finding(fits, number), curve=curve
        )

    @abstractmethod
    def finding(self, fits: FittedCurves, number: int) -> str:
        """The kind of difference, in words."""

    def error(self, fits: FittedCurves, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sizes spread over the common range, and the difference of the best models there, if known."""
        import numpy as np

        grid = self._grid(fits, number)
        before, after = fits.predicted(number, grid)
        known = np.isfinite(before) & np.isfinite(after)
        return grid[known], (after - before)[known]

    def _grid(self, fits: FittedCurves, number: int) -> NDArray[np.float64]:
        import numpy as np

        sides = fits.sides[number]
        return np.linspace(sides.low, sides.high, GRID_POINTS if sides.high > sides.low else 1)


def _agree(fits: FittedCurves, number: int) -> bool:
    """Whether both best models are the same one with nearly the same coefficients."""
    if fits.models(number)[0] != fits.models(number)[1]:
        return False
    import numpy as np

    old, new = fits.baseline.coefficients[number], fits.target.coefficients[number]
    return bool(np.isclose(new, old, rtol=AGREE, atol=0.0, equal_nan=True).all())
