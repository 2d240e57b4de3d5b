"""What a verdict needs of a profile: its header, and one median per execution for each unit and metric."""

from __future__ import annotations

from collections import defaultdict
from statistics import median

import msgspec

from perfvcs.profile import REPEATED, Collected, Design, Environment, Job, Metric, Profile

MAX_SIZES = 32  # above, a unit's sizes are points of a curve, not separate benchmarks


class Summary(msgspec.Struct, frozen=True):
    """One unit (``uid``, and ``size`` where it has few) under one metric: medians in the metric's unit, one per execution."""

    uid: str
    size: float | None
    metric: str
    executions: tuple[int, ...]
    medians: tuple[float, ...]


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

    @classmethod
    def of(cls, profile: Profile, path: str = "") -> Header:
        """The header of a profile."""
        names = ("commit", "dirty", "job", "collected", "environment", "design", "metrics")
        return cls(path, **{name: getattr(profile, name) for name in names})


class Measured(msgspec.Struct, frozen=True):
    """A header with its summaries: all that ``check`` looks at."""

    header: Header
    summaries: list[Summary]

    @classmethod
    def of(cls, profile: Profile, path: str = "") -> Measured:
        """Header and summaries of a profile."""
        return cls(Header.of(profile, path), summarise(profile))


def summarise(profile: Profile) -> list[Summary]:
    """The summaries of all judged metrics (``better`` is not none), in order of first appearance.

    Rows whose execution was repeated, and rows without a value, are left out. A unit with more than ``MAX_SIZES`` distinct
    sizes is summarised as a whole.
    """
    rows = profile.resources
    judged = [name for name, metric in profile.metrics.items() if metric.better != "none"]
    if not judged:
        return []
    mark, sizes = rows.integers("mark"), _group_sizes(profile)
    found: list[Summary] = []
    for name in judged:
        groups: dict[tuple[int, float | None], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for uid, size, execution, marked, value in zip(rows.uid, sizes, rows.execution, mark, rows.metrics[name], strict=True):
            if value is not None and marked != REPEATED:
                groups[uid, size][execution].append(value)
        for (uid, size), by_execution in groups.items():
            medians = tuple(values[0] if len(values) == 1 else median(values) for values in by_execution.values())
            found.append(Summary(rows.names[uid], size, name, tuple(by_execution), medians))
    return found


def _group_sizes(profile: Profile) -> list[float | None]:
    rows = profile.resources
    if rows.size is None:
        return [None] * len(rows)
    distinct: dict[int, set[float | None]] = defaultdict(set)
    for uid, size in zip(rows.uid, rows.size, strict=True):
        if len(distinct[uid]) <= MAX_SIZES:
            distinct[uid].add(size)
    few = {uid for uid, sizes in distinct.items() if len(sizes) <= MAX_SIZES}
    return [size if uid in few else None for uid, size in zip(rows.uid, rows.size, strict=True)]
