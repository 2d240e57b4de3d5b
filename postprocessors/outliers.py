"""Values that are far from the others of their unit and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.errors import UsageError
from perfvcs.postprocessors import _deviation
from perfvcs.postprocessors._groups import fill, group, thin
from perfvcs.postprocessors._options import check_number, check_word
from perfvcs.postprocessors._outcome import Column, conclude
from perfvcs.postprocessors._rows import OUTLIER, Rows, chosen, rows
from perfvcs.profile import Profile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.postprocessors._groups import Groups

THRESHOLDS = {"mad": 3.5, "iqr": 1.5, "studentized": 3.5}
AROUND = ("auto", "unit", "size", "model")
FEWEST = 8  # rows of one size, or of a model
SIZES = 5  # of a model
FITTED = 500  # rows of a unit that its model goes through
ROUNDS = 3  # of fitting the model without what was found


@dataclass(frozen=True)
class Outliers:
    """Marks values that are far from the others; no row is dropped.

    ``around`` says which others. ``unit``: all values of the unit; ``size``: those of the same size; ``model``: the relative distances of
    all values of the unit from its best model over the sizes, which goes through at most 500 rows and is fitted again
    without what was found. ``auto`` takes, unit by
    unit, ``size`` where there are on average at least eight rows of each size, else ``model`` where there are at least eight rows of
    five sizes, else ``unit``. ``method`` says how far. ``mad``: a modified z-score, .6745 times the distance from the median over the
    median distance, above 3.5 (over 1.25 times the mean distance where the median one is 0); ``iqr``: more than 1.5 interquartile ranges
    beyond the quartiles; ``studentized``: an externally studentized residual of the model above 3.5, which a unit with too few sizes for
    a model has none of. ``threshold`` replaces these numbers. Fewer than four values have no outlier, nor have equal ones. ``of`` names
    the metrics, all that are judged without it. The result is the column ``<metric>.outlier``: 1 or 0, null where there is no value or
    the execution was repeated. Postprocessors that fit models leave marked rows out. Sources: Iglewicz, Hoaglin 1993; Tukey 1977; Cook,
    Weisberg 1982.
    """

    method: str = "mad"
    around: str = "auto"
    threshold: float | None = None
    of: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_word(self, "method", THRESHOLDS)
        check_word(self, "around", AROUND)
        check_number(self, "threshold", 0, 1e9, "3.5", above=True)
        if self.method == "studentized" and self.around not in ("auto", "model"):
            raise UsageError(
                f'outliers: studentized residuals are those of a model: give around = "model" instead of "{self.around}"'
            )

    def apply(self, profile: Profile) -> Profile:
        """The profile with a column per metric."""
        import numpy as np

        known = profile.resources.size is not None and bool(np.isfinite(profile.resources.array("size")).any())
        needed = self.around in ("size", "model") or self.method == "studentized"
        columns: dict[str, Column] = {}
        for metric in chosen(profile, self.of):
            found = rows(profile, metric, "size" if known or needed else "", outliers=True)
            marks = np.zeros(len(found.y))
            for sized in (True, False):  # rows without a size are judged apart
                here = np.flatnonzero(np.isfinite(found.x) == sized)
                part = Rows(found.y[here], found.x[here], found.unit[here], found.place[here])
                groups = group(part, "size" if sized else "")
                marks[here[groups.index]] = self._marks(groups, sized)
            columns[metric] = ("", fill(profile, found.place, marks))
        return conclude(profile, self, columns=columns, word=OUTLIER)

    def _marks(self, groups: Groups, sized: bool) -> NDArray[np.bool_]:
        """Which rows are outliers, shape (rows,)."""
        import numpy as np

        threshold = THRESHOLDS[self.method] if self.threshold is None else self.threshold
        sizes = np.bincount(groups.blocks.group, minlength=len(groups))
        modelled = (sizes >= SIZES) & (groups.counts >= FEWEST)
        if self.method == "studentized":
            return (np.abs(_deviation.studentized(groups)) > threshold) & modelled[groups.number] & sized
        if not sized:
            modelled[:] = False
        alone = groups.counts >= FEWEST * sizes
        by_size = alone if self.around == "auto" else np.full(len(groups), self.around == "size")
        by_model = modelled & ~by_size & (self.around in ("auto", "model"))
        number = np.where(by_size[groups.number], len(groups) + groups.block, groups.number)
        distance = groups.y.copy()
        inside = by_model[groups.number]
        marks: NDArray[np.bool_] = np.zeros(len(distance), dtype=bool)
        fitted = inside & thin(groups.number, len(groups), FITTED)
        for _ in range(ROUNDS if inside.any() else 1):
            if inside.any():
                distance[inside] = _deviation.relative(groups, fitted & ~marks)[inside]
            before, marks = marks, _deviation.far(distance, number, self.method, threshold, inside)
            if (before == marks)[inside].all():
                break
        return marks
