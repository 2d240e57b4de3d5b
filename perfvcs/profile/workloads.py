"""Workloads of several sizes: each is a profile of its own, and together they are one over all
sizes, for models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from perfvcs.profile import Job, Profile, Resources, is_derived
from perfvcs.profile.validity import INTEGER_COLUMNS
from perfvcs.system.numeric import np

BOUND = "n"  # the parameter that is the size of a workload
LARGEST_SIZE = 2**53  # above, a float is not every integer
SIZE_NUMBER = re.compile(r"(?<!\w)(\d+)([kMG]?B|[KMG]iB)?(?!\w)")
FACTORS = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def joined(profiles: Sequence[Profile]) -> list[Profile]:
    """One profile over all sizes for each job that was measured with workloads of several sizes;
    none for all other jobs.

    Of one commit, session and environment, where jobs differ in nothing but the workload's size,
    ``{n}`` in the new job's name. The rows are those of ``at_workload``; executions keep their
    numbers, so that those of one number make one curve. For models over sizes only: it has neither
    stacks nor models, and is not to be stored.
    """
    groups: dict[tuple[Any, ...], dict[float, Profile]] = {}
    for profile in profiles:
        if (n := bound(profile)) is not None:
            place = (
                profile.commit,
                profile.dirty,
                profile.collected.session,
                profile.environment.fingerprint,
                profile.design.version,
            )
            groups.setdefault((*place, _template(profile.job, n).key), {}).setdefault(n, profile)
    joined_profiles: list[Profile] = []
    for group in groups.values():
        if len(group) > 1:
            over_sizes = _join([at_workload(group[n]) for n in sorted(group)])
            if len(over_sizes.resources):
                joined_profiles.append(over_sizes)
    return joined_profiles


def bound(profile: Profile) -> float | None:
    """The size of a profile's workload, None where it has none."""
    n = profile.job.params.get(BOUND)
    if isinstance(n, bool) or not isinstance(n, int | float):
        return None
    return float(n) if abs(n) <= LARGEST_SIZE else None


def at_workload(profile: Profile) -> Profile:
    """The rows that have the size of the workload and a value that is judged, without units that
    have sizes of their own.
    """
    rows, size = profile.resources, profile.resources.array("size")
    judged = [
        rows.array(name) for name, metric in profile.metrics.items() if metric.better != "none"
    ]
    chosen = np.zeros(len(rows), dtype=bool)
    if len(size) and judged:
        uid = np.asarray(rows.uid, dtype=np.int64)
        has_sizes = (
            np.bincount(
                uid[np.isfinite(size) & (size != bound(profile))], minlength=len(rows.names)
            )
            > 0
        )
        chosen = (size == bound(profile)) & ~has_sizes[uid] & np.isfinite(judged).any(axis=0)
    places = np.flatnonzero(chosen).tolist()
    columns: dict[str, Any] = {}
    for name in INTEGER_COLUMNS:
        if name != "trace":
            column = rows.integers(name)
            columns[name] = [column[row] for row in places]
    metrics = {
        name: metric
        for name, metric in profile.metrics.items()
        if not is_derived(name, profile.metrics) or name.endswith(".outlier")
    }
    values = {}
    for name in metrics:
        values[name] = [rows.metrics[name][row] for row in places]
    taken = Resources(
        names=rows.names,
        uid=[rows.uid[row] for row in places],
        size=[bound(profile)] * len(places),
        metrics=values,
        **columns,
    )
    return replace(
        profile,
        resources=taken,
        metrics=metrics,
        stacks=None,
        reached=None,
        turns=None,
        results=None,
        models=[],
        postprocessors=[],
    )


def _template(job: Job, n: float) -> Job:
    """The job with ``{n}`` in the place of its workload's size, the same for all sizes."""
    params = {name: value for name, value in job.params.items() if name != BOUND}
    source = {name: digest for name, digest in job.source.items() if name != job.workload}
    return replace(job, workload=_with_hole(job.workload, n), params=params, source=source)


def _with_hole(name: str, n: float) -> str:
    """``text-{n}`` for ``text-10kB``: the first number of a workload's name that is its size."""
    if name == f"{n:.0f}":  # which may be below zero
        return "{n}"
    for number in SIZE_NUMBER.finditer(name):
        if float(number[1]) * FACTORS[number[2] or "B"] == n:
            return f"{name[: number.start()]}{{n}}{name[number.end() :]}"
    return name


def _join(parts: Sequence[Profile]) -> Profile:
    """The rows of several profiles as those of one; a metric that one has not is None there."""
    names = list(
        dict.fromkeys(
            part.resources.names[code]
            for part in parts
            for code in dict.fromkeys(part.resources.uid)
        )
    )
    codes = {name: code for code, name in enumerate(names)}
    metrics = {name: metric for part in parts for name, metric in part.metrics.items()}
    rows = Resources(
        names=names,
        size=[],
        binary=[],
        iteration=[],
        mark=[],
        metrics={name: [] for name in metrics},
    )
    for part in parts:
        part_rows = part.resources
        rows.uid += [codes[part_rows.names[code]] for code in part_rows.uid]
        rows.size = [*(rows.size or ()), *(part_rows.size or ())]
        for column in INTEGER_COLUMNS:
            if column != "trace":
                setattr(rows, column, [*getattr(rows, column), *part_rows.integers(column)])
        for name, column_of in rows.metrics.items():
            column_of.extend(part_rows.metrics.get(name, [None] * len(part_rows)))
    last = parts[-1]
    return replace(
        last, job=_template(last.job, bound(last) or 0.0), metrics=metrics, resources=rows
    )
