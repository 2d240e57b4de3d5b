"""All units of a job under one metric: their rows as columns, for pictures in which they stand side
by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import msgspec

from perfvcs.check.subject import Subject
from perfvcs.pictures.pageparts import DrawnUnit, measured, places
from perfvcs.profile import REPEATED, Metric, Profile, Resources
from perfvcs.profile.summary import PACE, RECORDER, SAMPLER
from perfvcs.system.numeric import Flags, Floats, Integers, np
from perfvcs.text.quantity import quantity
from perfvcs.text.words import metric_rank

NOTHING_USABLE = "no row has a usable value"  # why a view does not draw what has rows
FIRST_ROWS = 1000  # rows that are looked at before all are
# columns that say when a row was taken, in s, and for how many calls it stands
MOMENT, RATE_COLUMN = "moment", "rate"
# columns of recorded calls that tell of the recording, with their units
CALL_COLUMNS = {RATE_COLUMN: "", PACE: "s", "cost": "s"}
AGAIN = ("self", "share")  # metrics that tell of stacks what another one tells of functions
COUNTERS = (
    "rss",
    "cpu_use",
    "threads",
    "minor_fault_rate",
    "read_char_rate",
    "write_char_rate",
)  # those of about thirty that tell most
# metrics that come first
FIRST_METRICS = ("live", *COUNTERS, "exclusive", "site_bytes", "samples", "duration")


BothSides = tuple[list[Profile], list[Profile]]  # of the baseline and of the target
NOT_METRICS = ("unit", "size", "execution", "iteration", "when", "weight", "traced", "values")


class JobKey(NamedTuple):
    """The properties that profiles share if their units belong on one picture."""

    label: str
    collector: str


class ExecutionKey(NamedTuple):
    """One execution of a job."""

    job: str
    session: str
    number: int


@dataclass(frozen=True)
class UnitRows:
    """The rows of one side that have a finite value, repeated executions left out; columns of the
    shape (rows,).

    ``unit`` is an index into ``units``, ``execution`` into ``executions``. ``when`` is the moment
    of a row in s, NaN if none was recorded; ``weight`` is for how many it stands; ``traced`` says
    whether it has a call stack.
    """

    metric: str
    meaning: Metric
    profile: Profile
    units: tuple[DrawnUnit, ...]
    executions: tuple[ExecutionKey, ...]
    unit: Integers
    size: Floats
    execution: Integers
    iteration: Integers
    when: Floats
    weight: Floats
    traced: Flags
    values: Floats

    def keep(self, mask: Flags) -> UnitRows:
        """Some of the rows."""
        return replace(self, **{name: getattr(self, name)[mask] for name in NOT_METRICS})


def together(subject: Subject) -> dict[tuple[JobKey, str], Subject]:
    """All units of each job under one metric, where it has values of several units, or over time;
    those that tell most first.

    Of counters over time only those that tell most.

    The profiles keep all rows, and the columns that say when each was taken and for how many it
    stands.
    """
    bundles: dict[tuple[JobKey, str], Subject] = {}
    for side in ("target", "baseline"):
        for profile in getattr(subject, side):
            for metric in unit_metrics(profile):
                timed = profile.job.collector != SAMPLER or metric in COUNTERS
                if metric not in AGAIN and (
                    several(profile, metric) or (timed and over_time(profile, metric))
                ):
                    key = (JobKey(profile.job.label, profile.job.collector), metric)
                    bundle = bundles.get(key, Subject(subject.title))
                    sides: dict[str, Any] = {side: [*getattr(bundle, side), only(profile, metric)]}
                    bundles[key] = replace(bundle, **sides)
    return dict(sorted(bundles.items(), key=lambda pair: _rank(pair[0][1])))


def _rank(metric: str) -> tuple[int, int, str]:
    first, name = metric_rank(metric)
    return (
        first,
        FIRST_METRICS.index(metric) if metric in FIRST_METRICS else len(FIRST_METRICS),
        name,
    )


def unit_metrics(profile: Profile) -> list[str]:
    """The metrics that are of the units, not of single rows."""
    return [metric for metric in measured(profile) if metric not in _aside(profile)]


def only(profile: Profile, metric: str) -> Profile:
    """A profile under one metric, with what stands aside of it."""
    names = [name for name in profile.metrics if name == metric or name in _aside(profile)]
    rows = replace(
        profile.resources, metrics={name: profile.resources.metrics[name] for name in names}
    )
    return msgspec.structs.replace(
        profile, resources=rows, metrics={name: profile.metrics[name] for name in names}
    )


def several(profile: Profile, metric: str) -> bool:
    """Whether a metric has values of more than one unit."""
    if len(profile.resources.names) == 1 and profile.resources.size is None:
        return False
    return any(_several(rows, metric) for rows in _first_few_and_all(profile, metric))


def _several(rows: Resources, metric: str) -> bool:
    measured = np.isfinite(rows.array(metric))
    sizes = [rows.array("size")[measured]] if rows.size is not None else []
    return any(
        len(np.unique(column)) > 1
        for column in (np.asarray(rows.uid, dtype=np.int64)[measured], *sizes)
    )


def _first_few_and_all(profile: Profile, metric: str) -> Iterator[Resources]:
    """The rows that say whether any has some property: the first ones mostly do."""
    rows = profile.resources
    if len(rows) > FIRST_ROWS:
        optional = {name: getattr(rows, name) for name in ("iteration", "mark", "size")}
        cut: dict[str, Any] = {
            name: column[:FIRST_ROWS] for name, column in optional.items() if column is not None
        }
        metrics = {name: rows.metrics[name][:FIRST_ROWS] for name in {metric, *_aside(profile)}}
        yield replace(rows, uid=rows.uid[:FIRST_ROWS], metrics=metrics, **cut)
    yield rows


def over_time(profile: Profile, metric: str) -> bool:
    """Whether rows of a metric have a moment, or are samples taken at intervals."""
    if MOMENT in _aside(profile):
        return any(
            np.isfinite(rows.array(metric) + rows.array(MOMENT)).any()
            for rows in _first_few_and_all(profile, metric)
        )
    # others are what the command itself reported
    counter = profile.metrics[metric].better == "none"
    if profile.job.collector != SAMPLER or not counter or profile.resources.iteration is None:
        return False
    few_and_all = _first_few_and_all(profile, metric)
    return any(
        np.asarray(rows.integers("iteration"))[np.isfinite(rows.array(metric))].any()
        for rows in few_and_all
    )


def valued(profiles: BothSides, metrics: Sequence[str]) -> bool:
    """Whether some metric has a finite value, of an execution that was not repeated."""
    every = (
        (profile, metric)
        for side in profiles
        for profile in side
        for metric in metrics
        if metric in profile.metrics
    )
    return any(
        _counting(rows, metric).any()
        for profile, metric in every
        for rows in _first_few_and_all(profile, metric)
    )


def _counting(rows: Resources, metric: str) -> Flags:
    """Mask of the rows with a finite value, of executions that were not repeated."""
    counting: Flags = np.isfinite(rows.array(metric))
    if rows.mark is not None:
        counting &= np.asarray(rows.mark, dtype=np.int64) != REPEATED
    return counting


def alike(subject: Subject, metric: str) -> list[BothSides]:
    """Baseline and target profiles that can stand on one picture: of one collector and environment,
    else the newest other one.

    Of a job that was measured with several settings only the newest ones count.
    """
    before, after = (_by_place(profiles, metric) for profiles in (subject.baseline, subject.target))
    pairs = [
        (before.get(key) or _newest(before, key[0]), profiles) for key, profiles in after.items()
    ]
    collectors = {collector for collector, _ in after}
    return pairs + [
        (profiles, []) for (collector, _), profiles in before.items() if collector not in collectors
    ]


def _by_place(profiles: Sequence[Profile], metric: str) -> dict[tuple[str, str], list[Profile]]:
    """The profiles that have a metric by collector and environment, sessions in their order."""
    having = sorted(
        (profile for profile in profiles if metric in unit_metrics(profile)),
        key=lambda profile: profile.collected.started,
    )
    settings = {(profile.job.collector, profile.job.label): profile.job.key for profile in having}
    by_place: dict[tuple[str, str], list[Profile]] = {}
    for profile in having:
        if profile.job.key == settings[profile.job.collector, profile.job.label]:
            by_place.setdefault(
                (profile.job.collector, profile.environment.fingerprint), []
            ).append(profile)
    return by_place


def _newest(side: dict[tuple[str, str], list[Profile]], collector: str) -> list[Profile]:
    """The profiles of a collector in the environment that was measured last."""
    return next((profiles for key, profiles in reversed(side.items()) if key[0] == collector), [])


def rows_of(profiles: Sequence[Profile], metric: str) -> UnitRows | None:
    """The rows of profiles under a metric, in the order given; None if no row has a value."""
    units: dict[DrawnUnit, int] = {}
    paired: dict[ExecutionKey, int] = {}
    columns: dict[str, list[Any]] = {name: [] for name in NOT_METRICS}
    having = [profile for profile in profiles if metric in profile.metrics]
    for profile in having:
        rows = profile.resources
        counting = _counting(rows, metric)
        if not counting.any():
            continue
        codes = np.empty(len(rows), dtype=np.int64)
        for unit, at in places(profile).items():
            if counting[at].any():
                codes[at] = units.setdefault(unit, len(units))
        columns["unit"].append(codes[counting])
        numbers, place = np.unique(
            np.asarray(rows.execution, dtype=np.int64)[counting], return_inverse=True
        )
        label, session = profile.job.label, profile.collected.session
        execution_numbers = [
            paired.setdefault(ExecutionKey(label, session, number), len(paired))
            for number in numbers.tolist()
        ]
        columns["execution"].append(np.array(execution_numbers, dtype=np.int64)[place])
        for name, column in _columns(profile, metric).items():
            columns[name].append(column[counting])
    if not paired:
        return None
    joined: dict[str, Any] = {name: np.concatenate(parts) for name, parts in columns.items()}
    return UnitRows(
        metric, having[-1].metrics[metric], having[-1], tuple(units), tuple(paired), **joined
    )


def without_whole(sides: Sequence[Sequence[UnitRows]]) -> tuple[list[list[UnitRows]], str]:
    """The rows without the whole process, if its job has two other units; what was left out."""
    others: dict[str, set[DrawnUnit]] = {}
    for unit in (unit for side in sides for rows in side for unit in rows.units if not unit.whole):
        others.setdefault(unit.job, set()).add(unit)
    remaining: list[list[UnitRows]] = []
    left_out: list[float] = []
    for side in sides:
        remaining.append([])
        for rows in side:
            gone = np.array(
                [unit.whole and len(others.get(unit.job, ())) > 1 for unit in rows.units]
            )[rows.unit]
            left_out += rows.values[gone].tolist()
            remaining[-1].append(rows.keep(~gone) if gone.any() else rows)
    if not left_out:
        return remaining, ""
    return (
        remaining,
        (
            "without the whole process,"
            f" {quantity(float(np.median(left_out)), sides[-1][-1].meaning.unit)}"
        ),
    )


def _columns(profile: Profile, metric: str) -> dict[str, Any]:
    rows = profile.resources
    aside = _aside(profile)
    nothing = np.full(len(profile.resources), np.nan)
    size = nothing if rows.size is None else rows.array("size")
    when = rows.array(MOMENT) if MOMENT in aside else nothing
    weight = np.ones(len(rows))
    if RATE_COLUMN in aside:
        weight = np.nan_to_num(rows.array(RATE_COLUMN), nan=1.0)
    return {
        "size": size,
        "iteration": np.asarray(rows.integers("iteration"), dtype=np.int64),
        "when": when,
        "weight": weight,
        "traced": np.asarray(rows.integers("trace"), dtype=np.int64) >= 0,
        "values": rows.array(metric),
    }


def _aside(profile: Profile) -> list[str]:
    """The columns of a profile that are of single rows."""
    units = {MOMENT: "s"} | (CALL_COLUMNS if profile.job.collector == RECORDER else {})
    return [
        name
        for name, unit in units.items()
        if name in profile.metrics and profile.metrics[name].unit == unit
    ]


def jobs(subject: Subject) -> Mapping[JobKey, Subject]:
    """The profiles of each job."""
    by_job: dict[JobKey, Subject] = {}
    for side in ("target", "baseline"):
        for profile in getattr(subject, side):
            key = JobKey(profile.job.label, profile.job.collector)
            earlier = by_job.get(key, Subject(subject.title))
            sides = {"target": earlier.target, "baseline": earlier.baseline}
            by_job[key] = Subject(subject.title, **sides | {side: [*sides[side], profile]})
    return by_job
