"""The curves of a case: both sides over the sizes that they share, the models fitted to them, and
words for what differs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec
from msgspec.structs import replace

from perfvcs.check.case import NO_USABLE_VALUE, UNSIZED, Case, decided_change, prepare
from perfvcs.check.change import Change, Curve
from perfvcs.check.curves.sizemeans import SizeMeans, levelled, means
from perfvcs.check.rows import CasePoints, points
from perfvcs.check.statement import finite
from perfvcs.check.vocabulary import Word
from perfvcs.statistics.regression.models import MODELS, order
from perfvcs.system.numeric import Flags, Floats, Integers, np
from perfvcs.text.quantity import number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from perfvcs.profile import Metric
    from perfvcs.statistics.regression.choice import ChoiceRule, ModelChoice
    from perfvcs.statistics.regression.curveerrors import Pairs
    from perfvcs.statistics.regression.kind import ErrorKind
    from perfvcs.statistics.regression.robust import ScatterLaws


PUBLISHED = ("constant", "linear", "quadratic")  # kinds of error
CURVE_KINDS = ("constant", "logarithmic", "linear", "linearithmic", "quadratic")
# named only on strong evidence against the published ones
DOUBTED = ("logarithmic", "linearithmic")
# r2 from which a model stands for its values: Stupinsky 2018, 5.1, asks for a "high enough" one
GOOD_R2 = 0.9

RANGES_APART = "sizes {} to {} and {} to {} do not overlap"
FEWEST_POSITIVE = 5  # sizes above 0, without which size 0 counts


class Sides(msgspec.Struct, frozen=True, eq=False, dict=True):
    """Both sides' rows of a case at the sizes from ``low`` to ``high`` that they share.

    ``sized`` is False where the case has no sizes; then all are 1. Values are divided by ``unit``,
    the largest magnitude of both, so that nothing computed from them overflows.
    """

    case: Case
    baseline: CasePoints
    target: CasePoints
    low: float
    high: float
    sized: bool
    unit: float
    size: ClassVar[None] = None  # it is of all of them

    @property
    def about(self) -> Metric:
        """The metric's unit and direction."""
        return self.case.about

    @property
    def paired(self) -> bool:
        """Whether the sides were measured in turns."""
        return self.case.chosen.paired

    @property
    def executions(self) -> tuple[int, int]:
        """How many there are a side."""
        return self.baseline.executions, self.target.executions

    @cached_property
    def grouped(self) -> tuple[SizeMeans, SizeMeans]:
        """For each side the distinct sizes, and the mean and the number of values at each."""
        return means(self.baseline), means(self.target)

    @cached_property
    def levelled(self) -> tuple[SizeMeans, SizeMeans]:
        """As ``grouped``, with the executions brought to one level."""
        return levelled(self.baseline), levelled(self.target)

    @cached_property
    def means(self) -> tuple[float, float]:
        """The means of all values."""
        return float(self.baseline.value.mean()), float(self.target.value.mean())

    @cached_property
    def equal(self) -> bool:
        """Whether each value of either side is the same."""
        values = np.concatenate([self.baseline.value, self.target.value])
        return bool((values == values[0]).all())


class FittedCurves(msgspec.Struct, frozen=True, eq=False, dict=True):
    """The curves of many cases at once: the group of a number is the case at that place of
    ``sides``.
    """

    sides: Sequence[Sides]
    baseline: ModelChoice
    target: ModelChoice
    family: Sequence[str]  # the kinds of error that are looked for
    level: bool  # whether executions are brought to one level

    @cached_property
    def pairs(self) -> Pairs:
        """The values of both sides brought together size by size."""
        from perfvcs.statistics.regression.curveerrors import pair

        with np.errstate(all="ignore"):
            return pair(*_columns(self.sides, level=self.level), len(self.sides))

    @cached_property
    def _scatter(self) -> ScatterLaws:
        from perfvcs.statistics.regression.robust import ScatterLaws

        return ScatterLaws(self.pairs)

    @cached_property
    def kinds(self) -> ErrorKind:
        """The kind of error of each case, from the means at each size as if these were independent.

        A logarithmic curve must not be called linear, nor n log n quadratic: the report names the
        order of growth.
        """
        from perfvcs.statistics.regression.kind import kind_of

        with np.errstate(all="ignore"):
            return kind_of(self.pairs, self._scatter, family=self.family, doubted=DOUBTED)

    def models(self, number: int) -> tuple[str, str]:
        """The best model of either side."""
        return self.baseline.model(number) or "constant", self.target.model(number) or "constant"

    def shapes(self, number: int) -> tuple[float, float]:
        """The second coefficients: the exponent of a power, the base of an exponential."""
        return float(self.baseline.coefficients[number, 1]), float(
            self.target.coefficients[number, 1]
        )

    def r2(self, number: int) -> tuple[float, float]:
        """The share of the variance that either model explains; 0 where that is unknown."""
        return finite(float(self.baseline.r2[number])) or 0.0, finite(
            float(self.target.r2[number])
        ) or 0.0

    def good(self, number: int) -> bool:
        """Whether the models of both sides may stand for the values (Stupinsky 2018, 5.1)."""
        return min(self.r2(number)) >= GOOD_R2

    def sizes(self, number: int) -> Floats:
        """The sizes, or the middles of narrow ranges of sizes, at which both sides have values."""
        return self.pairs.x[self._rows(number)]

    def values(self, number: int) -> tuple[Floats, Floats]:
        """Both sides' values at ``sizes``: of the models where both are good, else the means of
        what was measured.
        """
        if self.good(number):
            return self.predicted(number, self.sizes(number))
        return self.measured(number)

    def measured(self, number: int) -> tuple[Floats, Floats]:
        """The means of what was measured at ``sizes``."""
        rows = self._rows(number)
        before = self.pairs.baseline[rows]
        return before, before + self.pairs.difference[rows]

    def deviations(self, number: int) -> Floats:
        """What the noise of the difference is in proportion to, at ``sizes``."""
        return np.asarray(1 / np.sqrt(self._scatter.weights[self._rows(number)]))

    def predicted(self, number: int, sizes: Floats) -> tuple[Floats, Floats]:
        """Both models' values at these sizes."""
        return self.baseline.predict(sizes, number), self.target.predict(sizes, number)

    def curve(self, number: int) -> Curve:
        """What a change says of its curves."""
        sides, kind = self.sides[number], self.kinds
        scaled = (
            finite(float(column[number]) * sides.unit)
            for column in (kind.coefficient, kind.low, kind.high)
        )
        coefficient, low, high = scaled
        name = kind.name(number) or "none"
        return msgspec.structs.replace(
            self.models_of(number), kind=name, coefficient=coefficient, low=low, high=high
        )

    def models_of(self, number: int) -> Curve:
        """What is said of curves that did not change: they have no kind of error."""
        sides = self.sides[number]
        before, after = (
            side.order(number, shape=True) or order("constant")
            for side in (self.baseline, self.target)
        )
        return Curve(
            models=self.models(number),
            orders=(before, after),
            r2=self.r2(number),
            sizes=(sides.low, sides.high),
            kind="none",
            coefficient=None,
            low=None,
            high=None,
        )

    def _rows(self, number: int) -> slice:
        start, end = np.searchsorted(self.pairs.group, [number, number + 1]).tolist()
        return slice(start, end)


def share(cases: Iterable[Case]) -> tuple[list[Sides], list[Change]]:
    """The cases whose sides share sizes, and the changes of the others; profiles of counters are
    left out. Rows are read in one go.
    """
    wanted = [case for case in cases if not case.counters]
    prepare(wanted)
    shared: list[Sides] = []
    decided: list[Change] = []
    for case in wanted:
        sides = _share(case)
        if isinstance(sides, Sides):
            shared.append(sides)
        else:
            decided.append(sides)
    return shared, decided


def fitted(sides: Sequence[Sides], rule: ChoiceRule = "aicc") -> FittedCurves:
    """All models fitted to both sides of every case; ``rule`` chooses the best ones, see
    ``statistics.regression.choice``.

    "r2", the published rule, fits all values unchanged. "aicc" fits the means at each size,
    weighted by how many values they are of and by their level, since times scatter in proportion to
    themselves: an execution moves all of its values, they count as one, and are brought to one
    level with the others (``means.levelled``). Sizes far from those around them are left out
    (``robust.described``).
    """
    from perfvcs.statistics.regression.choice import choose
    from perfvcs.statistics.regression.fitting import fit
    from perfvcs.statistics.regression.robust import described

    choices = []
    with np.errstate(all="ignore"):
        for side in (0, 1):
            if rule == "r2":
                points = [(pair.baseline, pair.target)[side] for pair in sides]
                (size, value), group = _stacked([(pair.size, pair.value) for pair in points])
                choices.append(
                    choose(fit(size, value, group, groups=len(sides), models=MODELS), rule)
                )
            else:
                (size, value, count), group = _stacked([pair.levelled[side] for pair in sides])
                choices.append(described(size, value, count, group, groups=len(sides))[0])
    return FittedCurves(
        sides, choices[0], choices[1], PUBLISHED if rule == "r2" else CURVE_KINDS, rule != "r2"
    )


def _share(case: Case) -> Sides | Change:
    sides = points(case)
    if not all(len(side.value) for side in sides):
        return _decided(case, "inconclusive", NO_USABLE_VALUE)
    finite_sizes = [np.isfinite(side.size) for side in sides]
    sized = [bool(column.any()) for column in finite_sizes]
    if sized[0] != sized[1]:
        return _decided(case, "not comparable", UNSIZED)
    low = high = 1.0
    if sized[0]:
        ranges = [
            (float(side.size[column].min()), float(side.size[column].max()))
            for side, column in zip(sides, finite_sizes, strict=True)
        ]
        low, high = max(ranges[0][0], ranges[1][0]), min(ranges[0][1], ranges[1][1])
        in_range = [
            column & (side.size >= low) & (side.size <= high)
            for side, column in zip(sides, finite_sizes, strict=True)
        ]
        if not (in_range[0].any() and in_range[1].any()):
            return _decided(
                case,
                "not comparable",
                RANGES_APART.format(*(number(bound) for both in ranges for bound in both)),
            )
        first, second = (within(side, column) for side, column in zip(sides, in_range, strict=True))
    else:
        first, second = (replace(side, size=np.ones(len(side.value))) for side in sides)
    unit = float(max(np.abs(first.value).max(), np.abs(second.value).max())) or 1.0
    scaled = [replace(side, value=side.value / unit) for side in (first, second)]
    return Sides(
        case=case,
        baseline=scaled[0],
        target=scaled[1],
        low=low,
        high=high,
        sized=sized[0],
        unit=unit,
    )


def within(side: CasePoints, chosen: Flags) -> CasePoints:
    """The rows that are kept, of the same executions."""
    return replace(
        side, size=side.size[chosen], value=side.value[chosen], execution=side.execution[chosen]
    )


def _decided(case: Case, word: Word, reason: str) -> Change:
    return decided_change(case.header, case.uid, None, case.metric, word, reason)


class _PairColumns(NamedTuple):
    """Sizes and means of the baseline, of the target, and the group of each of either; as ``kind``
    and ``pair`` take them.
    """

    baseline_sizes: Floats
    baseline_means: Floats
    target_sizes: Floats
    target_means: Floats
    baseline_groups: Integers
    target_groups: Integers


def _columns(sides: Sequence[Sides], *, level: bool) -> _PairColumns:
    """The columns of all sides, one after the other."""
    means = [pair.levelled if level else pair.grouped for pair in sides]
    before = _stacked([baseline[:2] for baseline, _ in means])
    after = _stacked([target[:2] for _, target in means])
    return _PairColumns(before[0][0], before[0][1], after[0][0], after[0][1], before[1], after[1])


def _stacked(parts: Sequence[Sequence[Floats]]) -> tuple[list[Floats], Integers]:
    """The columns of all groups one after the other, and the number of the group of each row."""
    group = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
    width = len(parts[0]) if parts else 3
    return [
        np.concatenate([np.empty(0), *(part[column] for part in parts)]) for column in range(width)
    ], group


def condense(sides: Sides) -> Sides:
    """The sides with outliers pulled in, nearby sizes merged if there are many, and a value per
    execution and size.

    See ``statistics.regression.condensed``; what has no sizes stays as it is. Calls at size 0 are
    left out, where there are five sizes above: they seldom lie on the curve, and logarithms do not
    know them.
    """
    from perfvcs.statistics.regression.condensed import cells, drawn_in, ranges

    if not sides.sized:
        return sides
    both = sides.baseline, sides.target
    if sides.low == 0 < sides.high:
        positive = [side.size > 0 for side in both]
        distinct = [np.unique(side.size[above]) for side, above in zip(both, positive, strict=True)]
        if min(map(len, distinct)) >= FEWEST_POSITIVE:
            both = within(both[0], positive[0]), within(both[1], positive[1])
            sides = replace(sides, low=float(min(distinct[0][0], distinct[1][0])))
    near = ranges((both[0].size, both[1].size), max(side.executions for side in both))
    condensed_sides = []
    for side in both:
        cell = cells(side.size, drawn_in(side.size, side.value), side.execution, near)
        condensed_sides.append(
            replace(
                side, size=cell.size, value=cell.value, execution=cell.execution, weight=cell.count
            )
        )
    return replace(sides, baseline=condensed_sides[0], target=condensed_sides[1])
