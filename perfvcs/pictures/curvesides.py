"""The sides of a curve: values over sizes of one revision or two, and their models in numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from perfvcs.check.subject import Subject
from perfvcs.pictures.canvas import BLUE, VERMILLION, AxisScale
from perfvcs.pictures.pageparts import DrawnUnit
from perfvcs.pictures.sample import CENTRE_CONFIDENCE, FEWEST_FOR_INTERVAL, DrawnSample, samples
from perfvcs.profile import REPEATED, Profile
from perfvcs.profile.summary import RECORDER
from perfvcs.system.numeric import Flags, Floats, Integers, np
from perfvcs.text.quantity import number, quantity, span

if TYPE_CHECKING:
    from perfvcs.statistics.regression.callcurves import SizeCourse
    from perfvcs.statistics.regression.condensed import Ranges
    from perfvcs.statistics.regression.models import Fit


FEWEST_OF_CURVE = 5  # sizes that make a curve
LOOK = 1000  # rows that are searched for sizes first
CURVE_POINTS = 160  # of a drawn curve
ALONE = "measured"  # the name of a side without another
SIDE_NAMES = {
    "constant": "",
    "logarithmic": "ln n",
    "linear": "n",
    "linearithmic": "n ln n",
    "quadratic": "n²",
    "cubic": "n³",
}


_known: dict[bytes, SizeCourse] = {}


@dataclass(frozen=True)
class CurveSide:
    """One revision of a curve, and how it is drawn."""

    name: str
    course: SizeCourse
    colour: str
    marker: str
    dash: str
    unit: str
    within: Ranges | None

    @property
    def alone(self) -> bool:
        """Whether there is no other side."""
        return self.name == ALONE

    @cached_property
    def texts(self) -> dict[str, list[str]]:
        """The texts of the tooltip of each size, whatever the axes."""
        course = self.course
        columns = (course.low, course.middle, course.high, course.mean, course.size)
        low, middle, high, mean, size = (column.tolist() for column in columns)
        return {
            "text": [quantity(value, self.unit) for value in mean],
            "median": [quantity(value, self.unit) for value in middle],
            "quartiles": [
                span(least, most, self.unit) for least, most in zip(low, high, strict=True)
            ],
            "size": [number(value) for value in size],
        }


def sides_of(first: DrawnSample | None, second: DrawnSample | None) -> list[CurveSide]:
    """The sides that exist; neighbouring sizes are put together in the same way on both."""
    from perfvcs.statistics.regression.condensed import ranges

    styles = {"baseline": (BLUE, "circle", "solid"), "target": (VERMILLION, "square", "dashed")}
    there = [
        (name, judged(sample))
        for name, sample in zip(styles, (first, second), strict=True)
        if sample is not None
    ]
    if len(there) == 1:
        there, styles = [(ALONE, there[0][1])], {ALONE: (BLUE, "circle", "solid")}
    most = max(len(set(columns[2].tolist())) for _, columns in there)
    within = ranges(tuple(columns[0] for _, columns in there), most)
    unit = next(sample for sample in (first, second) if sample is not None).meaning.unit
    return [
        CurveSide(name, _course(columns, within), *styles[name], unit, within)
        for name, columns in there
    ]


def _course(columns: tuple[Floats, Floats, Integers], within: Ranges | None) -> SizeCourse:
    """The course of rows, computed once: a page's table and its figure both need it."""
    from perfvcs.statistics.regression.callcurves import course

    digest = blake2b()
    for column in (*columns, *((within.edges, within.size) if within is not None else ())):
        digest.update(np.ascontiguousarray(column).data)
    key = digest.digest()
    if key not in _known:
        if len(_known) >= 200:
            _known.pop(next(iter(_known)))
        _known[key] = course(*columns, within)
    return _known[key]


def growth(sample: DrawnSample) -> str:
    """``O(log n), sizes 10 to 5,000``."""
    (side,) = sides_of(None, sample)
    size = side.course.size
    return (
        f"{side.course.choice.order(shape=True) or 'no model fits'}, sizes {number(float(size[0]))}"
        f" to {number(float(size[-1]))}"
    )


def sized(sample: DrawnSample) -> bool:
    """Whether a sample is a curve: values at five sizes or more, of a metric that is judged."""
    return (
        sample.meaning.better != "none"
        and len(np.unique(sample.size[np.isfinite(sample.size)])) >= FEWEST_OF_CURVE
    )


def equation(course: SizeCourse, model: str, unit: str) -> str:
    """``62.1 ns + 24.9 ns ln n``: a fitted model in numbers."""
    first, second = course.choice.fits[model].coefficients[0].tolist()
    if model == "power":
        return f"{quantity(first, unit)} n^{number(second)}"
    if model == "exponential":
        return f"{quantity(first, unit)} {second:.6g}^n"
    sign = "-" if second < 0 else "+"
    return quantity(first, unit) + (
        f" {sign} {quantity(abs(second), unit)} {SIDE_NAMES[model]}" if SIDE_NAMES[model] else ""
    )


def models(course: SizeCourse) -> list[str]:
    """The models that could be fitted, the best one first."""
    fitted = [name for name, fit in course.choice.fits.items() if bool(fit.known[0])]
    best = course.choice.model()
    return sorted(fitted, key=lambda name: name != best)


def curved(profiles: Sequence[Profile]) -> list[DrawnSample]:
    """The samples that are curves."""
    if _wide(profiles):
        return [sample for sample in samples(profiles, whole=True) if sized(sample)]
    return []


def _wide(profiles: Sequence[Profile]) -> bool:
    """Whether profiles together have rows of five sizes; cheaper than dividing them."""
    columns = [
        profile.resources.array("size")
        for profile in profiles
        if profile.resources.size is not None
    ]
    for few in (LOOK, None):  # most of those that have five sizes have them soon
        sizes = np.concatenate([*(column[:few] for column in columns), np.empty(0)])
        if len(np.unique(sizes[np.isfinite(sizes)])) >= FEWEST_OF_CURVE:
            return True
    return False


def pairs(subject: Subject) -> list[tuple[DrawnSample | None, DrawnSample | None]]:
    """The curves of baseline and target, of each unit and metric that has one on either side."""
    curves: dict[tuple[DrawnUnit, str], list[DrawnSample | None]] = {}
    for place, profiles in enumerate((subject.baseline, subject.target)):
        for sample in curved(profiles):
            curves.setdefault((sample.unit, sample.metric), [None, None])[place] = sample
    return [(first, second) for first, second in curves.values()]


def judged_rows(sample: DrawnSample) -> Flags:
    """Mask (rows,) of the judged rows of a sample: sized, not repeated, not a first call."""
    from perfvcs.statistics.regression.condensed import warm

    judged_mask = np.isfinite(sample.size) & (sample.mark != REPEATED)
    if sample.unit.collector == RECORDER:
        judged_mask &= warm(sample.iteration, sample.execution)
    return judged_mask if judged_mask.any() else np.isfinite(sample.size)


class JudgedColumns(NamedTuple):
    """Size, value and execution of the rows that are judged, each of shape (rows,)."""

    size: Floats
    values: Floats
    execution: Integers


def judged(sample: DrawnSample) -> JudgedColumns:
    """The rows of a sample that are judged."""
    judged_mask = judged_rows(sample)
    return JudgedColumns(
        sample.size[judged_mask], sample.values[judged_mask], sample.execution[judged_mask]
    )


def replicates(sample: DrawnSample, side: CurveSide) -> Fit | None:
    """The best model fitted to each execution by itself; None with fewer than two."""
    from perfvcs.statistics.regression.condensed import BUSY_CLIP, cells, drawn_in, level
    from perfvcs.statistics.regression.fitting import fit

    model = side.course.choice.model()
    size, values, execution = judged(sample)
    if model is None or (execution == execution[0]).all():
        return None
    cell = cells(size, drawn_in(size, values, BUSY_CLIP), execution, side.within)
    positive = (
        cell.size > 0 if (side.course.size > 0).sum() > 2 else np.ones(len(cell.size), dtype=bool)
    )
    numbers, place = np.unique(cell.execution[positive], return_inverse=True)
    at, means, group = cell.size[positive], cell.value[positive], place.astype(np.intp)
    with np.errstate(all="ignore"):
        weights = cell.count[positive] / level(at, means, group) ** 2
        return fit(at, means, group, weights, groups=len(numbers), models=[model])[model]


def interval(fits: Fit, x: Floats) -> tuple[Floats, Floats] | None:
    """The 99 % interval of the curves of executions at sizes ``x``; None with fewer than three
    curves. Both ends have the shape of ``x``.

    Student's t at each size by itself, on the logarithms where all curves are above 0.
    """
    from perfvcs.statistics.difference import interval as student

    with np.errstate(all="ignore"):
        curves = fits.predict(x[:, None], np.flatnonzero(fits.known)[None, :])
    curves = curves[:, np.isfinite(curves).all(axis=0)]
    if curves.shape[1] < FEWEST_FOR_INTERVAL:
        return None
    positive = bool((curves > 0).all())
    scaled = np.log(curves) if positive else curves / (np.abs(curves).max() or 1.0)
    mean = student(scaled, CENTRE_CONFIDENCE)
    with np.errstate(over="ignore"):
        ends = [
            np.exp(end) if positive else end * (np.abs(curves).max() or 1.0)
            for end in (mean.low, mean.high)
        ]
    return ends[0], ends[1]


def grid(low: float, high: float, axis: AxisScale) -> Floats:
    """Sizes all over the range, evenly by their logarithms where the axis is."""
    if axis != "log":
        return np.linspace(low, high, CURVE_POINTS)
    start = low if low > 0 else min(1.0, high)
    return np.asarray(np.geomspace(start, high, CURVE_POINTS), dtype=np.float64)
