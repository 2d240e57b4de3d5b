"""Small profiles that no other number has."""

from __future__ import annotations

import random

from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources

SIZES = tuple(range(10, 130, 10))
EXECUTIONS = 10
BATCHES = (1, 50, 400)  # of adding.py: loose objects; a pack; one long stream


def timed(
    commit: str, job: str, number: int, *, factor: float = 1.0, versions: tuple[str, ...] = ()
) -> Profile:
    """Ten executions of one job; ``versions`` were measured in turns in a session named by
    ``number``.
    """
    noise = random.Random(f"{commit} {job} {number}")
    walls = [factor * noise.gauss(1, 0.005) for _ in range(EXECUTIONS)]
    rows = Resources(
        names=[job],
        uid=[0] * EXECUTIONS,
        execution=list(range(EXECUTIONS)),
        metrics={"wall": walls},
    )
    design = Design(EXECUTIONS, order="sequential", versions=[commit])
    if versions:
        place = versions.index(commit)
        design = Design(EXECUTIONS, order="interleaved", version=place, versions=list(versions))
    return _profile(commit, job, number, rows, design)


def sized(commit: str, job: str, number: int) -> Profile:
    """Calls of one function over sizes, as models need them."""
    noise = random.Random(number)
    walls = [size * noise.gauss(1, 0.01) for size in SIZES]
    rows = Resources(
        names=[job],
        uid=[0] * len(SIZES),
        execution=[0] * len(SIZES),
        metrics={"wall": walls},
        size=[float(size) for size in SIZES],
    )
    return _profile(commit, job, number, rows, Design(executions=1))


def _profile(commit: str, job: str, number: int, rows: Resources, design: Design) -> Profile:
    return Profile(
        commit=commit,
        job=Job(name=job, collector="time", cmd=f"./{job}"),
        collected=Collected(
            f"session-{number}", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs"
        ),
        design=design,
        metrics={"wall": Metric("s")},
        resources=rows,
    )
