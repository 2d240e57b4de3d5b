"""What a verdict needs of a profile: its header, and one median per execution for each unit and
metric.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import exp, fsum, inf, isfinite, log
from typing import Any
from zlib import crc32

import msgspec

from perfvcs.profile import REPEATED, Collected, Design, Environment, Job, Metric, Profile, Results
from perfvcs.profile.units import in_base_units

Place = tuple[int, int]  # build and number of an execution

MAX_SIZES = 32  # above, a unit's sizes are points of a curve, not separate benchmarks
# the collector whose rows are single calls of functions, with the machine's own speed beside them;
RECORDER = "complexity"
PACE = "pace"
WORKER = "worker"  # the note that names the host of a session over several
MAX_SIZES_OF_CALLS = 4  # these are a curve earlier
# the collector of counters over time: its totals are judged like those of others, its samples
# together
SAMPLER = "counters"
SIZES = "size"  # the collector that looks at files, and executes nothing


class Summary(msgspec.Struct, frozen=True):
    """One unit (``uid``, and ``size`` where it has few) under one metric: medians in the metric's
    unit, one per execution.

    ``binaries`` is the build of each execution; empty where all are of build 0. ``sizes`` is 0, or
    where a unit with more than ``MAX_SIZES`` sizes (of recorded calls: ``MAX_SIZES_OF_CALLS``) is
    summarised as a whole a larger number that stands for the set of its sizes.
    """

    uid: str
    size: float | None
    metric: str
    executions: tuple[int, ...]
    medians: tuple[float, ...]
    binaries: tuple[int, ...] = ()
    sizes: int = 0

    @property
    def places(self) -> list[tuple[int, int]]:
        """Build and number of each execution, which distinguish it from the others."""
        return list(zip(self.binaries or (0,) * len(self.executions), self.executions, strict=True))


class Header(msgspec.Struct, frozen=True):
    """A profile without its rows; ``path`` is its place in the store, empty while it has none."""

    path: str
    commit: str
    dirty: str | None
    job: Job
    collected: Collected
    environment: Environment
    design: Design
    metrics: dict[str, Metric]

    @property
    def worker(self) -> str:
        """The host that measured it for a session over several; empty where the session had one
        machine.
        """
        return self.environment.notes.get(WORKER, "")

    @classmethod
    def of(cls, profile: Profile, path: str = "") -> Header:
        """The header of a profile."""
        names = ("commit", "dirty", "job", "collected", "environment", "design", "metrics")
        return cls(path, **{name: getattr(profile, name) for name in names})


class Measured(msgspec.Struct, frozen=True):
    """A header with its summaries: all that ``check`` looks at.

    ``paces``: the machine's pace in each execution, in s, by build and number; of those where it
    was read. ``turns``: the place (0 = first) that each execution had among the versions in its
    block, ``seeds``: what all of these drew; empty where that is not known. ``results``: what each
    gave beside its numbers.
    """

    header: Header
    summaries: list[Summary]
    paces: dict[Place, float] = {}
    turns: dict[Place, int] = {}
    seeds: dict[Place, int] = {}
    results: Results | None = None

    @classmethod
    def of(cls, profile: Profile, path: str = "") -> Measured:
        """Header and summaries of a profile, all values in units without a prefix."""
        profile = in_base_units(profile)
        header = Header.of(profile, path)
        return cls(header, summarise(profile), paces(profile), *turns(profile), profile.results)


def paces(profile: Profile) -> dict[Place, float]:
    """The geometric mean of the machine's pace in each execution, by build and number; of those
    where it was read.
    """
    rows, logarithms = profile.resources, defaultdict[Place, list[float]](list)
    if profile.metrics.get(PACE) != Metric("s", "none"):
        return {}
    columns = rows.integers("binary"), rows.execution, rows.integers("mark"), rows.metrics[PACE]
    for binary, execution, mark, value in zip(*columns, strict=True):
        if value is not None and value > 0 and mark != REPEATED:
            logarithms[binary, execution].append(log(value))
    return {place: exp(fsum(values) / len(values)) for place, values in logarithms.items()}


def turns(profile: Profile) -> tuple[dict[Place, int], dict[Place, int]]:
    """The place that each execution had in its block, and its seed, by build and number; empty
    where the profile does not say.
    """
    if profile.turns is None:
        return {}, {}
    rows, recorded = profile.resources, profile.turns
    turn_of = dict(
        zip(recorded.execution, zip(recorded.place, recorded.seed, strict=True), strict=True)
    )
    if rows.binary:
        executions = set(zip(rows.binary, rows.execution, strict=True))
    else:
        executions = {(0, execution) for execution in set(rows.execution)}
    places: dict[Place, int] = {}
    seeds: dict[Place, int] = {}
    for place in sorted(executions):
        if place[1] in turn_of:
            places[place], seeds[place] = turn_of[place[1]]
    return places, seeds


def summarise(profile: Profile) -> list[Summary]:
    """The summaries of all judged metrics (``better`` is not none), in order of first appearance.

    Rows whose execution was repeated, and rows without a value, are left out. A unit with more than
    ``MAX_SIZES`` distinct sizes is summarised as a whole; one of recorded calls from five on.
    """
    rows = profile.resources
    judged = [name for name, metric in profile.metrics.items() if metric.better != "none"]
    if not judged:
        return []
    mark, (sizes, curves) = rows.integers("mark"), _group_sizes(profile)
    several = rows.binary is not None and any(rows.binary)
    executions: Sequence[Any] = (
        list(zip(rows.integers("binary"), rows.execution, strict=True))
        if several
        else rows.execution
    )
    summaries: list[Summary] = []
    for name in judged:
        groups: dict[tuple[int, float | None], dict[Any, float | list[float]]] = defaultdict(dict)
        many: list[float] | None = None  # those of the row before, which often has the same place
        last: tuple[Any, Any, Any] = (None, None, None)
        for uid, size, execution, marked, value in zip(
            rows.uid, sizes, executions, mark, rows.metrics[name], strict=True
        ):
            if value is None or marked == REPEATED:
                continue
            if many is not None and execution is last[2] and size is last[1] and uid is last[0]:
                many.append(value)
                continue
            by_execution, many = groups[uid, size], None
            earlier = by_execution.get(execution)
            if earlier is None:
                # often the only one: without a list each is stored in half of the time
                by_execution[execution] = value
                continue
            many = earlier if isinstance(earlier, list) else [earlier]
            many.append(value)
            by_execution[execution], last = many, (uid, size, execution)
        for (uid, size), by_execution in groups.items():
            medians = tuple(
                _median(values) if isinstance(values, list) else values
                for values in by_execution.values()
            )
            if several:
                binaries, numbers = zip(*by_execution, strict=True)
                binaries = binaries if any(binaries) else ()
            else:
                numbers, binaries = tuple(by_execution), ()
            summaries.append(
                Summary(
                    uid=rows.names[uid],
                    size=size,
                    metric=name,
                    executions=numbers,
                    medians=medians,
                    binaries=binaries,
                    sizes=curves.get(uid, 0),
                )
            )
    return summaries


def has_totals(job: Job, metrics: Mapping[str, Metric]) -> bool:
    """Whether a profile has samples of counters and beside them totals, which are judged like other
    metrics.
    """
    return (
        job.collector == SAMPLER
        and len({metric.better == "none" for metric in metrics.values()}) == 2
    )


def _median(values: list[float]) -> float:
    """The median, also where the sum of the two in the middle is beyond a float."""
    ordered, half = sorted(values), len(values) // 2
    if len(values) % 2:
        return ordered[half]
    low, high = ordered[half - 1], ordered[half]
    middle = (low + high) / 2
    return middle if isfinite(middle) else low / 2 + high / 2


def _digest(sizes: set[float | None]) -> int:
    """A number that is the same for the same sizes, and hardly ever for others."""
    return crc32(
        msgspec.json.encode(sorted(sizes, key=lambda size: -inf if size is None else size))
    )


def max_sizes(job: Job) -> int:
    """How many sizes of a unit are benchmarks of their own; of more, they are the points of a
    curve.
    """
    return MAX_SIZES_OF_CALLS if job.collector == RECORDER else MAX_SIZES


def _group_sizes(profile: Profile) -> tuple[list[float | None], dict[int, int]]:
    """The size that each row is summarised under, and the units that have too many, with a number
    for the set of them.
    """
    rows = profile.resources
    if rows.size is None:
        return [None] * len(rows), {}
    distinct: dict[int, set[float | None]] = defaultdict(set)
    if len(rows.names) == 1:
        distinct[0] = set(rows.size)
    else:
        for uid, size in zip(rows.uid, rows.size, strict=True):
            distinct[uid].add(size)
    most = max_sizes(profile.job)
    many = {
        uid: MAX_SIZES + 1 + _digest(sizes) for uid, sizes in distinct.items() if len(sizes) > most
    }
    if not many or len(many) == len(distinct):  # as a rule: none, or all
        return [None] * len(rows) if many else rows.size, many
    return [
        None if uid in many else size for uid, size in zip(rows.uid, rows.size, strict=True)
    ], many
