"""All rows of one benchmark under one metric, which is what figures draw: their bins and centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import isfinite

from perfvcs.check import Change
from perfvcs.check.subject import Subject
from perfvcs.pictures.bundle import UnitRows
from perfvcs.pictures.pageparts import (
    KEPT_CUTS,
    ROW_REMARKS,
    DrawnUnit,
    HeldProfile,
    RowCut,
    cut_all,
    measured,
)
from perfvcs.plugins.view import Unfit
from perfvcs.profile import REPEATED, Metric, Profile
from perfvcs.profile.summary import SAMPLER
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.quantity import interval as interval_text
from perfvcs.text.quantity import quantity
from perfvcs.text.words import metric_rank

INTERVAL = 0.1  # seconds between two samples of counters, where the job does not say
FEWEST_FOR_INTERVAL = 3  # executions
CENTRE_CONFIDENCE = 0.99
TAKEN = [("execution", "@execution"), ("measurement", "@iteration")]  # of a row, in a tooltip


@dataclass(frozen=True)
class BinColumns:
    """Bins of whole numbers from ``first``, ``step`` of them in each; ``edges`` are where the
    ``count`` bins of a side begin and end.

    ``unit`` is that of the edges: seconds, or empty if they are the numbers themselves.
    """

    first: int
    step: int
    count: int
    edges: Floats
    unit: str = ""

    def place(self, numbers: Integers) -> Integers:
        """The bin of each number."""
        return (numbers - self.first) // self.step


def numbered(sides: Sequence[Integers], most: int) -> list[BinColumns]:
    """Bins of each side's numbers, equally wide, at most ``most``; edges are first numbers."""
    first = min(int(numbers.min()) for numbers in sides if len(numbers))
    spans = [int(numbers.max()) - first + 1 if len(numbers) else 1 for numbers in sides]
    step = -(-max(spans) // most)
    counts = [-(-span // step) for span in spans]
    return [
        BinColumns(first, step, count, first + step * np.arange(count + 1.0)) for count in counts
    ]


def seconds(columns: BinColumns, rows: UnitRows) -> BinColumns:
    """The same bins with edges in seconds, by moments or intervals; as they are without both."""
    place, timed = columns.place(rows.iteration), np.isfinite(rows.when)
    starts = np.full(columns.count, np.inf)
    np.minimum.at(starts, place[timed], rows.when[timed])
    bins = np.flatnonzero(np.isfinite(starts))
    if len(bins) > 1 and starts[bins[-1]] > starts[bins[0]]:
        moments = np.maximum.accumulate(np.interp(np.arange(columns.count), bins, starts[bins]))
        width = (moments[-1] - moments[0]) / (columns.count - 1)
        return replace(columns, edges=np.append(moments, moments[-1] + width), unit="s")
    if timed.any() or rows.profile.job.collector != SAMPLER:
        return columns
    # sample 1 is taken at the end of the first interval
    ends = columns.edges - 1 if columns.first > 0 else columns.edges
    return replace(columns, edges=ends * interval(rows.profile), unit="s")


def interval(profile: Profile) -> float:
    """Seconds between two samples of counters, as the job's options say."""
    seconds = profile.job.options.get("interval", INTERVAL)
    usable = (
        isinstance(seconds, (int, float))
        and not isinstance(seconds, bool)
        and isfinite(seconds)
        and seconds > 0
    )
    return float(seconds) if usable else INTERVAL


@dataclass(frozen=True)
class Centre:
    """Centre of the executions' medians with its 99 % interval, in the metric's unit; the ends are
    None with fewer than three executions: of two they may be twenty orders of magnitude apart.

    The geometric mean with Student's interval on the log scale; the arithmetic mean where a value
    is not positive.
    """

    value: float
    low: float | None
    high: float | None
    executions: int

    def at(self, level: float | None) -> Centre:
        """The same at the level that a verdict states, where there is one; ends move by as much."""
        if level is None or not self.value:
            return self
        low, high = (
            None if end is None else level * end / self.value for end in (self.low, self.high)
        )
        return Centre(level, low, high, self.executions)

    def text(self, unit: str) -> str:
        """The centre with its unit, and the interval in percent of it."""
        text = quantity(self.value, unit)
        if self.low is None or self.high is None or not self.value:
            return text
        low, high = ((end - self.value) / abs(self.value) for end in (self.low, self.high))
        return f"{text} {interval_text(low, high)}"


def no_interval(executions: int) -> str:
    """That so many executions are too few for an interval, for a caption; empty if they are not."""
    if executions >= FEWEST_FOR_INTERVAL:
        return ""
    alone = "one execution has no interval"
    return alone if executions == 1 else "mean of 2 executions, no interval"


def stated(change: Change | None, *, newer: bool) -> float | None:
    """The level of the target or baseline as a verdict states it; None without an effect."""
    if change is None or change.effect is None:
        return None
    return change.target if newer else change.baseline


def centre(medians: Floats) -> Centre | None:
    """The centre of executions' medians, shape (executions,); None for an empty array."""
    from perfvcs.statistics.difference import interval

    if not len(medians):
        return None
    positive = bool((medians > 0).all())
    scaled = np.log(medians) if positive else medians
    mean = interval(scaled[np.newaxis, :], CENTRE_CONFIDENCE)
    value, low, high = (float(end[0]) for end in (mean.centre, mean.low, mean.high))
    if positive:
        with np.errstate(over="ignore"):
            value, low, high = (float(np.exp(end)) for end in (value, low, high))
    if len(medians) < FEWEST_FOR_INTERVAL:
        return Centre(value, None, None, len(medians))
    return Centre(value, low, high, len(medians))


@dataclass(frozen=True)
class DrawnSample:
    """All rows of one unit under one metric, in the order in which they were measured; arrays have
    the shape (rows,).

    ``execution`` counts from 0 through all profiles; ``name`` is its number and session, for
    people. ``size`` is NaN if a row has none. ``said`` has a column for each word of
    ``ROW_REMARKS``, NaN if nothing was said.
    """

    unit: DrawnUnit
    metric: str
    meaning: Metric
    environment: str
    commit: str
    execution: Integers
    iteration: Integers
    mark: Integers
    size: Floats
    values: Floats
    paired: tuple[tuple[str, int], ...]
    said: Mapping[str, Floats] = field(default_factory=dict)

    @cached_property
    def medians(self) -> tuple[Integers, Floats]:
        """Executions and their medians; rows of executions that were repeated are left out."""
        counting = self.mark != REPEATED
        execution, values = self.execution[counting], self.values[counting]
        if not len(values):
            return execution, values
        order = np.lexsort((values, execution))
        numbers, start, count = np.unique(execution[order], return_index=True, return_counts=True)
        ranked = values[order]
        return numbers, (ranked[start + (count - 1) // 2] + ranked[start + count // 2]) / 2

    @cached_property
    def centre(self) -> Centre | None:
        """The centre over executions; None without any."""
        return centre(self.medians[1])


def of_one_revision(subject: Subject, instead: str = "") -> list[Profile]:
    """The profiles of a subject that has one revision, with rows; raises Unfit for others."""
    if subject.baseline:
        raise Unfit(f"it draws one revision, not two{instead}")
    if not any(len(profile.resources) for profile in subject.target):
        raise Unfit("there are no measurements")
    return list(subject.target)


def samples(profiles: Sequence[Profile], *, whole: bool = False) -> list[DrawnSample]:
    """The samples of profiles, sessions of one environment joined in the order in which they
    started; ``whole`` as in ``parts``.

    Rows without a finite value are left out, and so are samples without a row. Those of the last
    profiles are kept, since several views ask for the same, as are the cuts that ``parts`` shares;
    a profile is never changed once it is made.
    """
    return list(_sampled(tuple(map(HeldProfile, profiles)), whole=whole))


@lru_cache(maxsize=KEPT_CUTS)
def _sampled(held: tuple[HeldProfile, ...], *, whole: bool) -> tuple[DrawnSample, ...]:
    alike: dict[tuple[DrawnUnit, str, str, str], list[tuple[RowCut, Floats]]] = {}
    for cuts in sorted(
        cut_all(held, whole=whole), key=lambda cuts: _profile(cuts).collected.started
    ):
        profile = _profile(cuts)
        for unit, cut in cuts.items():
            for metric in sorted(measured(profile), key=metric_rank):
                values = cut.columns.floats(metric)[cut.rows]
                alike.setdefault(
                    (unit, metric, profile.environment.fingerprint, profile.job.key), []
                ).append((cut, values))
    joined = [
        _join(unit, metric, environment, mine)
        for (unit, metric, environment, _), mine in alike.items()
    ]
    return tuple(sample for sample in joined if len(sample.values))


def _profile(cuts: Mapping[DrawnUnit, RowCut]) -> Profile:
    return next(iter(cuts.values())).profile


def _join(
    unit: DrawnUnit, metric: str, environment: str, cuts: list[tuple[RowCut, Floats]]
) -> DrawnSample:
    columns: dict[str, list[Integers]] = {"execution": [], "iteration": [], "mark": []}
    kept_values, sizes, names, after = [], [], [], 0
    recorded = {name for cut, _ in cuts for name in cut.profile.metrics}
    remarks: dict[str, list[Floats]] = {
        word: [] for word in ROW_REMARKS if f"{metric}.{word}" in recorded
    }
    for cut, values in cuts:
        finite = np.isfinite(values)
        for name, column in columns.items():
            column.append(cut.columns.integers(name)[cut.rows][finite])
        numbers, place = np.unique(columns["execution"][-1], return_inverse=True)
        columns["execution"][-1] = place.astype(np.int64) + after
        after += len(numbers)
        names += [(cut.profile.collected.session, int(number)) for number in numbers]
        kept_values.append(values[finite])
        for word, column_of in remarks.items():
            name = f"{metric}.{word}"
            if name in cut.profile.metrics:
                remark = cut.columns.floats(name)[cut.rows]
            else:
                remark = np.full(len(cut.rows), np.nan)
            column_of.append(remark[finite])
        sized = cut.profile.resources.size is not None
        sizes.append(
            cut.columns.floats("size")[cut.rows][finite]
            if sized
            else np.full(np.count_nonzero(finite), np.nan)
        )
    profile = cuts[-1][0].profile
    return DrawnSample(
        unit=unit,
        metric=metric,
        meaning=profile.metrics[metric],
        environment=environment,
        commit=profile.measured,
        execution=np.concatenate(columns["execution"]),
        iteration=np.concatenate(columns["iteration"]),
        mark=np.concatenate(columns["mark"]),
        size=np.concatenate(sizes),
        values=np.concatenate(kept_values),
        paired=tuple(names),
        said={word: np.concatenate(column) for word, column in remarks.items()},
    )
