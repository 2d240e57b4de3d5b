"""The sides of a curve: values over sizes of one revision or two, and their models in numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from perfvcs.profile import REPEATED
from perfvcs.quantity import number, quantity
from perfvcs.summary import RECORDER
from perfvcs.views._canvas import BLUE, VERMILLION, Axis
from perfvcs.views._samples import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.statistics.regression.course import Course

    Floats = NDArray[np.float64]

FEWEST = 5  # sizes that make a curve
POINTS = 160  # of a drawn curve
NAMES = {
    "constant": "", "logarithmic": "ln n", "linear": "n", "linearithmic": "n ln n", "quadratic": "n²", "cubic": "n³",
}  # fmt: skip


@dataclass(frozen=True)
class Side:
    """One revision of a curve, and how it is drawn."""

    name: str
    course: Course
    colour: str
    marker: str
    dash: str
    unit: str

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """What is told of each size on hovering, whatever the axes."""
        low, middle, high, mean, size = (
            column.tolist() for column in (getattr(self.course, name) for name in ("low", "middle", "high", "mean", "size"))
        )
        return {
            "text": [quantity(value, self.unit) for value in mean], "median": [quantity(value, self.unit) for value in middle],
            "quartiles": [f"{quantity(a, self.unit)} to {quantity(b, self.unit)}" for a, b in zip(low, high, strict=True)],
            "size": [number(value) for value in size],
        }  # fmt: skip


def sides_of(first: Sample | None, second: Sample | None) -> list[Side]:
    """What is there of baseline and target; near sizes are put together in the same way on both."""
    from perfvcs.statistics.regression.condensed import ranges
    from perfvcs.statistics.regression.course import course

    looks = {"baseline": (BLUE, "circle", "solid"), "target": (VERMILLION, "square", "dashed")}
    there = [(name, _columns(sample)) for name, sample in zip(looks, (first, second), strict=True) if sample is not None]
    if len(there) == 1:
        there, looks = [("measured", there[0][1])], {"measured": (BLUE, "circle", "solid")}
    most = max(len(set(columns[2].tolist())) for _, columns in there)
    within = ranges(tuple(columns[0] for _, columns in there), most)
    unit = next(sample for sample in (first, second) if sample is not None).meaning.unit
    return [Side(name, course(*columns, within), *looks[name], unit) for name, columns in there]


def growth(sample: Sample) -> str:
    """``O(log n), sizes 10 to 5,000``."""
    (side,) = sides_of(None, sample)
    size = side.course.size
    return f"{side.course.choice.order(shape=True)}, sizes {number(float(size[0]))} to {number(float(size[-1]))}"


def sized(sample: Sample) -> bool:
    """Whether a sample is a curve: values at five sizes or more, of a metric that is judged."""
    import numpy as np

    return sample.meaning.better != "none" and len(np.unique(sample.size[np.isfinite(sample.size)])) >= FEWEST


def equation(course: Course, model: str, unit: str) -> str:
    """``62.1 ns + 24.9 ns ln n``: a fitted model in numbers."""
    first, second = course.choice.fits[model].coefficients[0].tolist()
    if model == "power":
        return f"{quantity(first, unit)} n^{number(second)}"
    if model == "exponential":
        return f"{quantity(first, unit)} {second:.6g}^n"
    sign = "-" if second < 0 else "+"
    return quantity(first, unit) + (f" {sign} {quantity(abs(second), unit)} {NAMES[model]}" if NAMES[model] else "")


def models(course: Course) -> list[str]:
    """The models that could be fitted, the best one first."""
    best = course.choice.model() or "constant"
    return [best, *(name for name, fit in course.choice.fits.items() if name != best and bool(fit.known[0]))]


def _columns(sample: Sample) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Size, value and execution of the rows that are judged."""
    import numpy as np

    from perfvcs.statistics.regression.condensed import warm

    kept = np.isfinite(sample.size) & (sample.mark != REPEATED)
    if sample.unit.collector == RECORDER:
        kept &= warm(sample.iteration, sample.execution)
    kept = kept if kept.any() else np.isfinite(sample.size)
    return sample.size[kept], sample.values[kept], sample.execution[kept]


def grid(low: float, high: float, axis: Axis) -> Floats:
    """Sizes all over the range, evenly by their logarithms where the axis is."""
    import numpy as np

    found = np.geomspace(low if low > 0 else min(1.0, high), high, POINTS) if axis == "log" else np.linspace(low, high, POINTS)
    return np.asarray(found, dtype=np.float64)
