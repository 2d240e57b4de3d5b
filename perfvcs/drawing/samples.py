"""The rows of profiles cut into benchmarks and metrics: what the figures draw, and the table counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from perfvcs.profile import REPEATED, Metric, Profile, Resources, is_derived
from perfvcs.subject import Subject
from perfvcs.summary import max_sizes
from perfvcs.text.quantity import interval as interval_text
from perfvcs.text.quantity import quantity
from perfvcs.text.words import ambiguous, metric_rank
from perfvcs.workloads import joined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfvcs.check import Change

CONFIDENCE = 0.99
KEPT = 4  # sets of profiles whose cuts and samples are kept: both sides of a page, by size and over all sizes
SAID = ("outlier", "cluster")  # what a postprocessor may have said of each row


class DrawnUnit(NamedTuple):
    """What is one benchmark to the reader, whatever the revision: the job, the unit inside it, and its size."""

    job: str
    collector: str
    uid: str
    size: float | None

    @property
    def whole(self) -> bool:
        """Whether the unit is the process itself, which has the job's name."""
        return not self.uid or self.job == self.uid or self.job.startswith(f"{self.uid} ")

    @property
    def title(self) -> str:
        """Job, unit where it is not just the job again, and size."""
        parts = [self.job] + ([self.uid] if not self.whole else [])
        told = self.size is None or parts[-1].rpartition(" ")[2] == f"{self.size:.10g}"
        return " · ".join(parts) + ("" if told else f" · size {self.size:,.10g}")


@dataclass(frozen=True)
class Centre:
    """Centre of the executions' medians with its 99 % interval, in the metric's unit; the ends are None with one execution.

    The geometric mean with Student's interval on the log scale; the arithmetic mean where a value is not positive.
    """

    value: float
    low: float | None
    high: float | None
    executions: int

    def at(self, level: float | None) -> Centre:
        """The same at the level that a verdict states, where there is one; ends move by as much."""
        if level is None or not self.value:
            return self
        low, high = (None if end is None else level * end / self.value for end in (self.low, self.high))
        return Centre(level, low, high, self.executions)

    def text(self, unit: str) -> str:
        """The centre with its unit, and the interval in percent of it."""
        text = quantity(self.value, unit)
        if self.low is None or self.high is None or not self.value:
            return text
        low, high = ((end - self.value) / abs(self.value) for end in (self.low, self.high))
        return f"{text} {interval_text(low, high)}"


@dataclass(frozen=True)
class DrawnSample:
    """All rows of one unit under one metric, in the order in which they were measured; arrays have the shape (rows,).

    ``execution`` counts from 0 through all profiles; ``name`` is its number and session, for people. ``size`` is NaN where a row has none.
    ``said`` has a column for each word of ``SAID``, NaN where nothing was said.
    """

    unit: DrawnUnit
    metric: str
    meaning: Metric
    environment: str
    commit: str
    execution: NDArray[np.int64]
    iteration: NDArray[np.int64]
    mark: NDArray[np.int64]
    size: NDArray[np.float64]
    values: NDArray[np.float64]
    sessions: tuple[str, ...]
    paired: tuple[tuple[str, int], ...]
    said: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @cached_property
    def medians(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Executions and their medians; rows of executions that were repeated are left out."""
        import numpy as np

        kept = self.mark != REPEATED
        execution, values = self.execution[kept], self.values[kept]
        if not len(values):
            return execution, values
        order = np.lexsort((values, execution))
        found, start, count = np.unique(execution[order], return_index=True, return_counts=True)
        ranked = values[order]
        return found, (ranked[start + (count - 1) // 2] + ranked[start + count // 2]) / 2

    @cached_property
    def centre(self) -> Centre | None:
        """The centre over executions; None without any."""
        return centre(self.medians[1])


def stated(change: Change | None, *, newer: bool) -> float | None:
    """The level of the target, or of the baseline, as a verdict states it; None where it states no effect."""
    if change is None or change.effect is None:
        return None
    return change.target if newer else change.baseline


def centre(medians: NDArray[np.float64]) -> Centre | None:
    """The centre of executions' medians, shape (executions,); None for an empty array."""
    import numpy as np

    from perfvcs.statistics.interval import interval

    if not len(medians):
        return None
    positive = bool((medians > 0).all())
    scaled = np.log(medians) if positive else medians
    found = interval(scaled[np.newaxis, :], CONFIDENCE)
    value, low, high = (float(end[0]) for end in (found.centre, found.low, found.high))
    if positive:
        with np.errstate(over="ignore"):
            value, low, high = (float(np.exp(end)) for end in (value, low, high))
    alone = len(medians) < 2
    return Centre(value, None if alone else low, None if alone else high, len(medians))


class _Columns:
    """The columns of one profile as arrays, each converted once however many units there are."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._floats: dict[str, NDArray[np.float64]] = {}
        self._integers: dict[str, NDArray[np.int64]] = {}

    def floats(self, name: str) -> NDArray[np.float64]:
        if name not in self._floats:
            self._floats[name] = self.profile.resources.array(name)
        return self._floats[name]

    def integers(self, name: str) -> NDArray[np.int64]:
        import numpy as np

        if name not in self._integers:
            self._integers[name] = np.asarray(self.profile.resources.integers(name), dtype=np.int64)
        return self._integers[name]


class RowCut(NamedTuple):
    """Some rows of a profile."""

    columns: _Columns
    rows: NDArray[np.int64]

    @property
    def profile(self) -> Profile:
        return self.columns.profile


@dataclass(frozen=True)
class Part:
    """One unit under one metric, cut out of a subject."""

    unit: DrawnUnit
    metric: str
    subject: Subject
    baseline: list[RowCut]
    target: list[RowCut]

    def narrow(self, verdict: Change | None = None) -> Subject:
        """A subject that holds this part's rows, the verdict on them, and nothing else."""
        baseline, target = ([_narrow(cut, self.metric) for cut in side] for side in (self.baseline, self.target))
        return Subject(self.subject.title, target, baseline, verdict=verdict)

    @property
    def judged(self) -> bool:
        """Whether the metric has a better direction."""
        return any(cut.profile.metrics[self.metric].better != "none" for cut in (*self.baseline, *self.target))

    @property
    def traced(self) -> bool:
        """Whether its profiles have call stacks, which tell of all parts of a program together what is not judged of each."""
        cuts = (*self.baseline, *self.target)
        if self.unit.whole or any(cut.profile.stacks is None for cut in cuts):
            return False
        return not self.judged or not any((cut.columns.floats(self.metric)[cut.rows] > 0).any() for cut in cuts)

    @property
    def sizes(self) -> int:
        """How many distinct sizes it has, on the side that has more."""
        import numpy as np

        sides = [
            np.concatenate(
                [cut.columns.floats("size")[cut.rows] for cut in side if cut.profile.resources.size is not None] or [np.empty(0)]
            )
            for side in (self.baseline, self.target)
        ]
        return max(len(np.unique(side[np.isfinite(side)])) for side in sides)


def _cuts(profile: Profile, *, whole: bool = False) -> dict[DrawnUnit, RowCut]:
    """Row numbers per unit, in row order; a unit with many sizes is one, as in ``summary.summarise``, with ``whole`` every unit."""
    import numpy as np

    rows = profile.resources
    if not len(rows):
        return {}
    columns, uid = _Columns(profile), np.asarray(rows.uid, dtype=np.int64)
    if (rows.size is None or whole) and len(rows.names) == 1:  # a million rows of one unit need no sorting
        return {DrawnUnit(profile.job.label, profile.job.collector, rows.names[0], None): RowCut(columns, np.arange(len(uid)))}
    distinct, which = np.unique(rows.array("size") if rows.size is not None else np.full(len(uid), np.nan), return_inverse=True)
    pairs = np.unique(uid * len(distinct) + which)
    many = np.bincount(pairs // len(distinct), minlength=len(rows.names)) > (0 if whole else max_sizes(profile.job))
    key = uid * len(distinct) + np.where(many[uid], 0, which)
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    found = {}
    for number, cut in zip(keys.tolist(), np.split(order, starts[1:]), strict=True):
        code, place = divmod(number, len(distinct))
        at = None if many[code] or np.isnan(distinct[place]) else float(distinct[place])
        found[DrawnUnit(profile.job.label, profile.job.collector, rows.names[code], at)] = RowCut(columns, cut)
    return found


def places(profile: Profile) -> dict[DrawnUnit, NDArray[np.int64]]:
    """The row numbers of each unit of a profile."""
    return {unit: cut.rows for unit, cut in _cuts(profile).items()}


def measured(profile: Profile) -> list[str]:
    """The metrics to draw: measurements, not what a postprocessor says of them."""
    return [metric for metric in profile.metrics if not is_derived(metric, profile.metrics)]


def _narrow(cut: RowCut, metric: str) -> Profile:
    """A profile of one unit and metric."""
    rows = cut.profile.resources
    whole, places = len(cut.rows) == len(rows), cut.rows.tolist()
    unit = rows.names[rows.uid[places[0]]]
    kept = [name for name in (metric, *(f"{metric}.{word}" for word in SAID)) if name in cut.profile.metrics]

    def take(column: list[float | None]) -> list[float | None]:
        return column if whole else [column[row] for row in places]

    def integers(column: list[int] | None) -> list[int] | None:
        return column if column is None or whole else [column[row] for row in places]

    narrowed = Resources(
        names=[unit], uid=[0] * len(places), execution=integers(rows.execution) or [],
        iteration=integers(rows.iteration), mark=integers(rows.mark), size=None if rows.size is None else take(rows.size),
        metrics={name: take(rows.metrics[name]) for name in kept},
    )  # fmt: skip
    metrics = {name: cut.profile.metrics[name] for name in kept}
    models = [model for model in cut.profile.models if (model.uid, model.metric) == (unit, metric)]
    if whole and kept == [*cut.profile.metrics] and len(models) == len(cut.profile.models) and cut.profile.stacks is None:
        return cut.profile
    return msgspec.structs.replace(cut.profile, resources=narrowed, metrics=metrics, stacks=None, models=models)


def parts(subject: Subject, *, whole: bool = False) -> list[Part]:
    """The units of a subject's profiles with their metrics: wall time, CPU time, peak memory, and the rest.

    With ``whole`` a unit is one over all its sizes, however few, and workloads of several sizes are one unit besides.
    """
    sides = [_cut(tuple(map(_Same, side)), whole=whole) for side in (subject.baseline, subject.target)]
    units = list(dict.fromkeys(unit for side in reversed(sides) for cuts in side for unit in cuts))
    profiles = [*subject.baseline, *subject.target]
    found = []
    metrics = sorted({metric for profile in profiles for metric in measured(profile)}, key=metric_rank)
    for unit in units:
        for metric in metrics:
            mine = [[cuts[unit] for cuts in side if unit in cuts and metric in cuts[unit].profile.metrics] for side in sides]
            if any(mine):
                found.append(Part(unit, metric, subject, *mine))
    return found


def samples(profiles: Sequence[Profile], *, whole: bool = False) -> list[DrawnSample]:
    """The samples of profiles, sessions of one environment joined in the order in which they started; ``whole`` as in ``parts``.

    Rows without a finite value are left out, and so are samples without a row. Those of the last profiles are kept, since several views
    ask for the same, as are the cuts that ``parts`` shares; a profile is never changed once it is made.
    """
    return list(_sampled(tuple(map(_Same, profiles)), whole=whole))


Key = tuple[str, str, float | None]  # of a benchmark, as people read it: job, unit and size


@dataclass(frozen=True)
class Naming:
    """Names of the benchmarks of a subject: the collector is told where several measured what has one name."""

    several: set[Key]
    collectors: Mapping[str, str]

    @classmethod
    def of(cls, subject: Subject) -> Naming:
        """The names that are needed for these profiles."""
        profiles = [*subject.baseline, *subject.target]
        units = [unit for whole in (False, True) for cuts in _cut(tuple(map(_Same, profiles)), whole=whole) for unit in cuts]
        several = ambiguous(((unit.job, unit.uid, unit.size), unit.collector) for unit in units)
        return cls(several, {profile.job.key: profile.job.collector for profile in profiles})

    def unit(self, unit: DrawnUnit) -> Key:
        """The name of a unit."""
        return self._key((unit.job, unit.uid, unit.size), unit.collector)

    def change(self, change: Change) -> Key:
        """The name of what a verdict is on."""
        return self._key((change.job, change.uid, change.size), self.collectors.get(change.series, ""))

    def _key(self, key: Key, collector: str) -> Key:
        return (f"{key[0]} ({collector})", *key[1:]) if collector and key in self.several else key


class _Same:
    """A profile, equal to nothing but itself."""

    __slots__ = ("profile",)

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.profile is self.profile

    def __hash__(self) -> int:
        return id(self.profile)


@lru_cache(maxsize=KEPT)
def _cut(held: tuple[_Same, ...], *, whole: bool) -> tuple[dict[DrawnUnit, RowCut], ...]:
    """The units of each profile that has rows; with ``whole`` also of those over the sizes of workloads."""
    profiles = [one.profile for one in held]
    return tuple(filter(None, (_cuts(profile, whole=whole) for profile in (*profiles, *(joined(profiles) if whole else ())))))


@lru_cache(maxsize=KEPT)
def _sampled(held: tuple[_Same, ...], *, whole: bool) -> tuple[DrawnSample, ...]:
    alike: dict[tuple[DrawnUnit, str, str, str], list[tuple[RowCut, NDArray[np.float64]]]] = {}
    for cuts in sorted(_cut(held, whole=whole), key=lambda cuts: _profile(cuts).collected.started):
        profile = _profile(cuts)
        for unit, cut in cuts.items():
            for metric in sorted(measured(profile), key=metric_rank):
                values = cut.columns.floats(metric)[cut.rows]
                alike.setdefault((unit, metric, profile.environment.fingerprint, profile.job.key), []).append((cut, values))
    found = [_join(unit, metric, environment, mine) for (unit, metric, environment, _), mine in alike.items()]
    return tuple(sample for sample in found if len(sample.values))


def _profile(cuts: Mapping[DrawnUnit, RowCut]) -> Profile:
    return next(iter(cuts.values())).profile


def _join(unit: DrawnUnit, metric: str, environment: str, cuts: list[tuple[RowCut, NDArray[np.float64]]]) -> DrawnSample:
    import numpy as np

    columns: dict[str, list[NDArray[np.int64]]] = {"execution": [], "iteration": [], "mark": []}
    kept_values, sizes, names, after = [], [], [], 0
    said: dict[str, list[NDArray[np.float64]]] = {
        word: [] for word in SAID if any(f"{metric}.{word}" in cut.profile.metrics for cut, _ in cuts)
    }
    for cut, values in cuts:
        kept = np.isfinite(values)
        for name, column in columns.items():
            column.append(cut.columns.integers(name)[cut.rows][kept])
        numbers, place = np.unique(columns["execution"][-1], return_inverse=True)
        columns["execution"][-1] = place.astype(np.int64) + after
        after += len(numbers)
        names += [(cut.profile.collected.session, int(number)) for number in numbers]
        kept_values.append(values[kept])
        for word, column_of in said.items():
            name = f"{metric}.{word}"
            known = cut.columns.floats(name)[cut.rows] if name in cut.profile.metrics else np.full(len(cut.rows), np.nan)
            column_of.append(known[kept])
        sized = cut.profile.resources.size is not None
        sizes.append(cut.columns.floats("size")[cut.rows][kept] if sized else np.full(np.count_nonzero(kept), np.nan))
    profile = cuts[-1][0].profile
    return DrawnSample(
        unit, metric, profile.metrics[metric], environment, profile.measured,
        np.concatenate(columns["execution"]), np.concatenate(columns["iteration"]), np.concatenate(columns["mark"]),
        np.concatenate(sizes), np.concatenate(kept_values), tuple(dict.fromkeys(session for session, _ in names)), tuple(names),
        {word: np.concatenate(column) for word, column in said.items()},
    )  # fmt: skip
