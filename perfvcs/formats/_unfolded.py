"""The stacks of a profile with one metric, for formats that hold nothing else."""

from __future__ import annotations

from typing import NamedTuple

from perfvcs.profile import Profile
from perfvcs.validity import Malformed


class Unfolded(NamedTuple):
    """Stacks, root first, each with what was counted of it in a unit."""

    metric: str
    unit: str
    stacks: list[tuple[list[str], float]]


def unfolded(profile: Profile) -> Unfolded:
    """The stacks of all executions, with the first metric that rows with stacks have; raises Malformed where there are none."""
    rows, table = profile.resources, profile.stacks
    if table is None or rows.trace is None:
        raise Malformed("the profile has no call stacks: choose one of the collector samples, or of instructions, with --job")
    for metric, column in rows.metrics.items():
        counted: dict[int, float] = {}
        for trace, value in zip(rows.trace, column, strict=True):
            if trace >= 0 and value:
                counted[trace] = counted.get(trace, 0.0) + value
        if counted:
            frames = table.frames
            stacks = [([frames[number] for number in table.stacks[trace]], value) for trace, value in counted.items()]
            return Unfolded(metric, profile.metrics[metric].unit, stacks)
    raise Malformed("the profile's call stacks have no values")
