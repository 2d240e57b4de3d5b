"""The rows of profiles cut into benchmarks and metrics: the parts of a page, and what people call
them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import msgspec

from perfvcs.check import Change
from perfvcs.check.subject import Subject
from perfvcs.profile import Profile, Resources, is_derived
from perfvcs.profile.naming import drawn, is_whole
from perfvcs.profile.summary import max_sizes
from perfvcs.profile.workloads import joined
from perfvcs.system.numeric import Floats, Integers, np
from perfvcs.text.words import ambiguous, metric_rank

# sets of profiles whose cuts and samples are kept: both sides of a page, by size and over all sizes
KEPT_CUTS = 4
ROW_REMARKS = ("outlier", "cluster")  # what a postprocessor may have said of each row
# of a benchmark, as people read it: job, unit and size
BenchmarkKey = tuple[str, str, float | None]


class DrawnUnit(NamedTuple):
    """One benchmark, whatever the revision: the job, the unit inside it, and its size."""

    job: str
    collector: str
    uid: str
    size: float | None

    @property
    def whole(self) -> bool:
        """Whether the unit is the process itself, which has the job's name."""
        return is_whole(self.job, self.uid)

    @property
    def title(self) -> str:
        """Job, unit where it is not just the job again, and size."""
        return drawn(self.job, self.uid, self.size)


class _Columns:
    """The columns of one profile as arrays, each converted once however many units there are."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self._floats: dict[str, Floats] = {}
        self._integers: dict[str, Integers] = {}

    def floats(self, name: str) -> Floats:
        if name not in self._floats:
            self._floats[name] = self.profile.resources.array(name)
        return self._floats[name]

    def integers(self, name: str) -> Integers:
        if name not in self._integers:
            self._integers[name] = np.asarray(self.profile.resources.integers(name), dtype=np.int64)
        return self._integers[name]


class RowCut(NamedTuple):
    """Some rows of a profile."""

    columns: _Columns
    rows: Integers

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
        baseline = [_narrow(cut, self.metric) for cut in self.baseline]
        target = [_narrow(cut, self.metric) for cut in self.target]
        return Subject(self.subject.title, target, baseline, verdict=verdict)

    @property
    def judged(self) -> bool:
        """Whether the metric has a better direction."""
        return any(
            cut.profile.metrics[self.metric].better != "none"
            for cut in (*self.baseline, *self.target)
        )

    @property
    def traced(self) -> bool:
        """Whether its profiles have call stacks, which show all unjudged parts together."""
        cuts = (*self.baseline, *self.target)
        if self.unit.whole or any(cut.profile.stacks is None for cut in cuts):
            return False
        return not self.judged or not any(
            (cut.columns.floats(self.metric)[cut.rows] > 0).any() for cut in cuts
        )

    @property
    def sizes(self) -> int:
        """The number of distinct sizes, on the side that has more."""
        sides = [
            np.concatenate(
                [
                    cut.columns.floats("size")[cut.rows]
                    for cut in side
                    if cut.profile.resources.size is not None
                ]
                or [np.empty(0)]
            )
            for side in (self.baseline, self.target)
        ]
        return max(len(np.unique(side[np.isfinite(side)])) for side in sides)


def _cuts(profile: Profile, *, whole: bool = False) -> dict[DrawnUnit, RowCut]:
    """Row numbers per unit, in order; units of many sizes are one, with ``whole`` every one."""
    rows = profile.resources
    if not len(rows):
        return {}
    columns, uid = _Columns(profile), np.asarray(rows.uid, dtype=np.int64)
    # a million rows of one unit need no sorting
    if (rows.size is None or whole) and len(rows.names) == 1:
        return {
            DrawnUnit(profile.job.label, profile.job.collector, rows.names[0], None): RowCut(
                columns, np.arange(len(uid))
            )
        }
    distinct, which = np.unique(
        rows.array("size") if rows.size is not None else np.full(len(uid), np.nan),
        return_inverse=True,
    )
    pairs = np.unique(uid * len(distinct) + which)
    many = np.bincount(pairs // len(distinct), minlength=len(rows.names)) > (
        0 if whole else max_sizes(profile.job)
    )
    key = uid * len(distinct) + np.where(many[uid], 0, which)
    order = np.argsort(key, kind="stable")
    keys, starts = np.unique(key[order], return_index=True)
    cuts = {}
    for number, cut in zip(keys.tolist(), np.split(order, starts[1:]), strict=True):
        code, place = divmod(number, len(distinct))
        at = None if many[code] or np.isnan(distinct[place]) else float(distinct[place])
        cuts[DrawnUnit(profile.job.label, profile.job.collector, rows.names[code], at)] = RowCut(
            columns, cut
        )
    return cuts


def places(profile: Profile) -> dict[DrawnUnit, Integers]:
    """The row numbers of each unit of a profile."""
    return {unit: cut.rows for unit, cut in _cuts(profile).items()}


def measured(profile: Profile) -> list[str]:
    """The metrics to draw: measurements, not what a postprocessor says of them."""
    return [metric for metric in profile.metrics if not is_derived(metric, profile.metrics)]


def _narrow(cut: RowCut, metric: str) -> Profile:
    rows = cut.profile.resources
    whole, places = len(cut.rows) == len(rows), cut.rows.tolist()
    unit = rows.names[rows.uid[places[0]]]
    names = [metric, *(f"{metric}.{word}" for word in ROW_REMARKS)]
    names = [name for name in names if name in cut.profile.metrics]

    def take(column: list[float | None]) -> list[float | None]:
        return column if whole else [column[row] for row in places]

    def integers(column: list[int] | None) -> list[int] | None:
        return column if column is None or whole else [column[row] for row in places]

    narrowed = Resources(
        names=[unit],
        uid=[0] * len(places),
        execution=integers(rows.execution) or [],
        iteration=integers(rows.iteration),
        mark=integers(rows.mark),
        size=None if rows.size is None else take(rows.size),
        metrics={name: take(rows.metrics[name]) for name in names},
    )
    metrics = {name: cut.profile.metrics[name] for name in names}
    models = [model for model in cut.profile.models if (model.uid, model.metric) == (unit, metric)]
    if (
        whole
        and names == [*cut.profile.metrics]
        and len(models) == len(cut.profile.models)
        and cut.profile.stacks is None
    ):
        return cut.profile
    return msgspec.structs.replace(
        cut.profile, resources=narrowed, metrics=metrics, stacks=None, models=models
    )


def _having(
    side: tuple[dict[DrawnUnit, RowCut], ...], unit: DrawnUnit, metric: str
) -> list[RowCut]:
    cuts = [cuts[unit] for cuts in side if unit in cuts]
    return [cut for cut in cuts if metric in cut.profile.metrics]


def parts(subject: Subject, *, whole: bool = False) -> list[Part]:
    """The units of a subject's profiles with their metrics: wall time, CPU time, peak memory, and
    the rest.

    With ``whole`` a unit is one over all its sizes, however few, and workloads of several sizes are
    one unit besides.
    """
    sides = [
        cut_all(tuple(map(HeldProfile, side)), whole=whole)
        for side in (subject.baseline, subject.target)
    ]
    units = list(dict.fromkeys(unit for side in reversed(sides) for cuts in side for unit in cuts))
    profiles = [*subject.baseline, *subject.target]
    listed = []
    metrics = sorted(
        {metric for profile in profiles for metric in measured(profile)}, key=metric_rank
    )
    for unit in units:
        for metric in metrics:
            mine = [_having(side, unit, metric) for side in sides]
            if any(mine):
                listed.append(Part(unit, metric, subject, *mine))
    return listed


@dataclass(frozen=True)
class Naming:
    """Names of the benchmarks of a subject, with the collector if several measured one."""

    several: set[BenchmarkKey]
    collectors: Mapping[str, str]

    @classmethod
    def of(cls, subject: Subject) -> Naming:
        """The names that are needed for these profiles."""
        profiles = [*subject.baseline, *subject.target]
        units = [
            unit
            for whole in (False, True)
            for cuts in cut_all(tuple(map(HeldProfile, profiles)), whole=whole)
            for unit in cuts
        ]
        several = ambiguous(((unit.job, unit.uid, unit.size), unit.collector) for unit in units)
        return cls(several, {profile.job.key: profile.job.collector for profile in profiles})

    def unit(self, unit: DrawnUnit) -> BenchmarkKey:
        """The name of a unit."""
        return self._key((unit.job, unit.uid, unit.size), unit.collector)

    def change(self, change: Change) -> BenchmarkKey:
        """The name of what a verdict is on."""
        return self._key(
            (change.job, change.uid, change.size), self.collectors.get(change.series, "")
        )

    def _key(self, key: BenchmarkKey, collector: str) -> BenchmarkKey:
        return (f"{key[0]} ({collector})", *key[1:]) if collector and key in self.several else key


class HeldProfile:
    """A profile, equal to nothing but itself."""

    __slots__ = ("profile",)

    def __init__(self, profile: Profile) -> None:
        self.profile = profile

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldProfile) and other.profile is self.profile

    def __hash__(self) -> int:
        return id(self.profile)


@lru_cache(maxsize=KEPT_CUTS)
def cut_all(held: tuple[HeldProfile, ...], *, whole: bool) -> tuple[dict[DrawnUnit, RowCut], ...]:
    """The units of each profile with rows; with ``whole`` also over workloads' sizes."""
    profiles = [holder.profile for holder in held]
    return tuple(
        filter(
            None,
            (
                _cuts(profile, whole=whole)
                for profile in (*profiles, *(joined(profiles) if whole else ()))
            ),
        )
    )
