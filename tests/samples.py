"""Profiles made in memory for tests of everything but measuring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfvcs import formats
from perfvcs.formats._foreign import expanded
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.validity import MAX_PROFILE

if TYPE_CHECKING:
    from perfvcs.plugins.collector import Observations

WALL = Metric("s")


def format_of(path: Path) -> str:
    """The format that a file is recognised as."""
    return formats.recognised(str(path), expanded(formats.content(path), MAX_PROFILE))


def sample_profile(wall: Sequence[float] = (0.010, 0.011, 0.012), **overrides: Any) -> Profile:
    """A profile of a job ``sort`` with one row per execution; keywords replace whole fields of the
    profile.
    """
    rows = Resources(
        names=["sort"],
        uid=[0] * len(wall),
        execution=list(range(len(wall))),
        metrics={"wall": list(wall)},
    )
    fields: dict[str, Any] = {
        "commit": "8c7f6a1d0e5b4c3f2a1908172635445362718090",
        "job": Job(name="sort", collector="time", cmd="./sort", engine="launcher/1"),
        "collected": Collected(
            "20261120T093000-4f2a91",
            "2026-11-20T09:30:00Z",
            "2026-11-20T09:30:02Z",
            "perfvcs 0.1.0",
        ),
        "environment": Environment(fields={"cpu": "test"}, fingerprint="0123456789ab"),
        "design": Design(executions=len(wall)),
        "metrics": {"wall": WALL},
        "resources": rows,
    }
    return Profile(**(fields | overrides))


def observed(execution: Observations) -> Profile:
    """A profile of what a collector saw of one execution."""
    names = list(dict.fromkeys(execution.uid))
    rows = Resources(
        names=names,
        uid=[names.index(uid) for uid in execution.uid],
        execution=[0] * len(execution.uid),
        iteration=execution.iteration,
        size=execution.size,
        mark=execution.mark,
        trace=execution.trace or None,
        metrics=execution.values,
    )
    return sample_profile(metrics=execution.metrics, resources=rows, stacks=execution.stacks)


def interleaved(
    commits: Sequence[str],
    walls: Sequence[Sequence[float]],
    session: str = "20261120T093000-4f2a91",
    **overrides: Any,
) -> list[Profile]:
    """The profiles of one session that measured these commits in turns, one list of wall times
    each; ``cpu`` is nine tenths of it.
    """
    found = []
    for number, (commit, wall) in enumerate(zip(commits, walls, strict=True)):
        cpu: list[float | None] = [0.9 * value for value in wall]
        rows = Resources(
            names=["sort"],
            uid=[0] * len(wall),
            execution=list(range(len(wall))),
            metrics={"wall": list(wall), "cpu": cpu},
        )
        fields: dict[str, Any] = {
            "commit": commit,
            "collected": Collected(
                session, "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs 0.1.0"
            ),
            "design": Design(
                executions=len(wall),
                order="interleaved",
                version=number,
                versions=list(commits),
                seed=5,
            ),
            "metrics": {"wall": WALL, "cpu": Metric("s")},
            "resources": rows,
        }
        found.append(sample_profile(wall, **(fields | overrides)))
    return found


def noisy(centre: float, count: int = 10, seed: int = 1, spread: float = 0.002) -> list[float]:
    """Wall times about ``centre`` seconds with a relative ``spread``."""
    from random import Random

    random = Random(seed)
    return [centre * random.lognormvariate(0, spread) for _ in range(count)]
