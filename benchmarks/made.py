"""Profiles of two versions with drawn values, as if they had been measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Header, Measured, Summary

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
COMMITS = ("1" * 40, "2" * 40)
DRAWN = Environment({"cpu": "drawn"}, "0123456789ab")
PROGRAM = Job("program", "time", "./program")
WALL: Mapping[str, Metric] = {"wall": Metric("s")}
CHANGED = ("degradation", "improvement")


def collected(version: int, *, apart: bool) -> Collected:
    """When a version was measured: with the other in one session, or ``apart`` on a day after."""
    day = f"2026-11-2{version if apart else 0}"
    session = f"s{version}" if apart else "s"
    return Collected(session, f"{day}T09:30:00Z", f"{day}T09:40:00Z", "perfvcs")


def design(version: int, executions: int, *, apart: bool) -> Design:
    """So many executions, in turns with the other version or ``apart``."""
    if apart:
        return Design(executions, order="sequential", versions=[COMMITS[version]])
    return Design(executions, order="interleaved", version=version, versions=list(COMMITS))


def side(
    version: int,
    rows: Resources,
    executions: int,
    *,
    metrics: Mapping[str, Metric] = WALL,
    job: Job = PROGRAM,
    apart: bool = False,
) -> Profile:
    """The profile of the first (0) or the second version (1)."""
    return Profile(
        commit=COMMITS[version],
        job=job,
        collected=collected(version, apart=apart),
        environment=DRAWN,
        metrics=dict(metrics),
        resources=rows,
        design=design(version, executions, apart=apart),
    )


def measured(
    version: int,
    columns: Mapping[str, Sequence[float]],
    *,
    job: str = "program",
    apart: bool = False,
    later: Flags | None = None,
) -> Measured:
    """The header and the summaries of one unit: an execution's values by metric.

    ``later`` has the blocks in which the second version came later, where a verdict is to know it.
    """
    count = len(next(iter(columns.values())))
    header = Header(
        path="",
        commit=COMMITS[version],
        dirty=None,
        job=Job(job, "time", "./program"),
        environment=DRAWN,
        design=design(version, count, apart=apart),
        collected=collected(version, apart=apart),
        metrics={name: Metric("s") for name in columns},
    )
    summaries = [
        Summary(job, None, name, tuple(range(count)), tuple(column))
        for name, column in columns.items()
    ]
    found = Measured(header, summaries)
    if later is None:
        return found
    places = (later if version else ~later)[:count].tolist()
    turns = {(0, number): int(place) for number, place in enumerate(places)}
    return msgspec.structs.replace(found, turns=turns)
