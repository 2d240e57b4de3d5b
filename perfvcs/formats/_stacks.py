"""Call stacks that a profiler counted: the row of the whole program, and one for each different
stack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from msgspec.structs import replace

from perfvcs.formats._foreign import UNKNOWN, NoResults, NoStacks, collected
from perfvcs.formats._readings import moment
from perfvcs.profile import Environment, Job, Metric, Profile, Resources, Stacks
from perfvcs.profile.units import base
from perfvcs.profile.validity import MAX_NAME, Malformed

MOST_FRAMES = 20_000_000  # frames of all different stacks together
SAMPLES = "samples"  # how often a stack was seen; everything else has a unit
# of a metric: what a stack has without the calls that it makes, recorded and not judged
SELF = "self"
# of a metric: what it has with them, where a tool says so without writing stacks
INCLUSIVE = "inclusive"
STACK_UNITS = {
    "nanoseconds": "ns",
    "microseconds": "us",
    "milliseconds": "ms",
    "seconds": "s",
    "bytes": "B",
    "kilobytes": "kB",
    "megabytes": "MB",
    "count": "",
    "none": "",
    "": "",
}
EMPTY_STACK = "[nothing]"  # the frame of what has no stack


class Unfolded(NamedTuple):
    """Stacks, root first, each with what was counted of it in a unit."""

    metric: str
    unit: str
    stacks: list[tuple[list[str], float]]


def unfolded(profile: Profile) -> Unfolded:
    """The stacks of all executions, with the first metric that rows with stacks have; raises
    NoStacks where there are none.
    """
    rows, table = profile.resources, profile.stacks
    if table is None or rows.trace is None:
        raise NoStacks(
            "the profile has no call stacks: choose one of the collector samples, or of"
            " instructions, with --job"
        )
    for metric, column in rows.metrics.items():
        counted: dict[int, float] = {}
        for trace, value in zip(rows.trace, column, strict=True):
            if trace >= 0 and value:
                counted[trace] = counted.get(trace, 0.0) + value
        if counted:
            frames = table.frames
            stacks = [
                ([frames[number] for number in table.stacks[trace]], value)
                for trace, value in counted.items()
            ]
            return Unfolded(metric, profile.metrics[metric].unit, stacks)
    raise Malformed("the profile has call stacks without values: measure it again, or for longer")


class CountedStacks:
    """Different stacks with what was counted of each, by metric.

    Raises Malformed where they are too many.
    """

    def __init__(self, metrics: Mapping[str, str]) -> None:
        """``metrics`` are names with the units that they are counted in."""
        self._bases = {name: base(STACK_UNITS.get(unit, unit)) for name, unit in metrics.items()}
        self._counted: dict[str, dict[int, float]] = {name: {} for name in metrics}
        self._inclusive: dict[str, dict[int, float]] = {}
        self._frames: dict[str, int] = {}
        self._stacks: dict[tuple[int, ...], int] = {}
        self._size = 0

    def add(
        self,
        stack: Sequence[str],
        values: Mapping[str, float],
        inclusive: Mapping[str, float] | None = None,
    ) -> None:
        """Count a stack, root first; ``inclusive`` has what its last frame and all that this calls
        were counted.
        """
        frames = self._frames
        key = tuple(
            [frames.setdefault(frame[:MAX_NAME], len(frames)) for frame in stack or (EMPTY_STACK,)]
        )
        number = self._stacks.get(key)
        if number is None:
            number = self._stacks[key] = len(self._stacks)
            self._size += len(key)
            if self._size > MOST_FRAMES:
                raise Malformed(f"its stacks have over {MOST_FRAMES:,} frames: record less")
        for name, value in values.items():
            if value:
                column = self._counted[name]
                column[number] = column.get(number, 0.0) + value
        for name, value in (inclusive or {}).items():
            column = self._inclusive.setdefault(name, {})
            column[number] = column.get(number, 0.0) + value

    def profile(
        self,
        document: bytes,
        tool: str,
        *,
        name: str = "",
        started: str = "",
        machine: Environment | None = None,
        notes: Sequence[str] = (),
    ) -> Profile:
        """The profile; ``notes`` are what to know of the document.

        Raises NoResults where nothing was counted.
        """
        counted = {
            metric: self._in_base(metric, column)
            for metric, column in self._counted.items()
            if column
        }
        if not counted:
            raise NoResults("it has no results: no stack was seen")
        count = len(self._stacks)
        metrics: dict[str, Metric] = {}
        columns: dict[str, list[float | None]] = {}
        for metric, values in counted.items():
            total = sum(values.values())
            whole = total if isfinite(total) else None
            exclusive: list[float | None] = [values.get(number) for number in range(count)]
            unit = self._bases[metric].unit
            if metric == SAMPLES:
                metrics[metric], columns[metric] = Metric("", "none"), [whole, *exclusive]
            else:
                metrics[metric], columns[metric] = Metric(unit), [whole, *[None] * count]
                metrics[f"{metric}.{SELF}"], columns[f"{metric}.{SELF}"] = (
                    Metric(unit, "none"),
                    [None, *exclusive],
                )
            if with_calls := self._in_base(metric, self._inclusive.get(metric, {})):
                columns[f"{metric}.{INCLUSIVE}"] = [
                    None,
                    *(with_calls.get(number) for number in range(count)),
                ]
                metrics[f"{metric}.{INCLUSIVE}"] = Metric(unit, "none")
        frames = list(self._frames)
        names: dict[str, int] = {name or tool: 0}
        uid = [0, *(names.setdefault(frames[stack[-1]], len(names)) for stack in self._stacks)]
        rows = Resources(
            names=list(names),
            uid=uid,
            execution=[0] * (count + 1),
            trace=[-1, *range(count)],
            metrics=columns,
        )
        return Profile(
            commit=UNKNOWN,
            job=Job(name or tool, tool, "", engine=tool),
            collected=collected(document, tool, moment(started)),
            environment=replace(machine or Environment(), warnings=[*notes]),
            metrics=metrics,
            resources=rows,
            stacks=Stacks(frames, [*map(list, self._stacks)]),
        )

    def _in_base(self, metric: str, column: Mapping[int, float]) -> dict[int, float]:
        unit = self._bases[metric]
        moved = {number: value * unit.times / unit.over for number, value in column.items()}
        return {number: value for number, value in moved.items() if isfinite(value)}


def frame(function: str, file: str = "") -> str:
    """A frame as profiles have it: the line is left out, for it changes with every edit above.

    >>> frame("main", "work.py"), frame("", "")
    ('main (work.py)', '[unknown]')
    """
    name = function.strip() or "[unknown]"
    return f"{name} ({file})" if file else name
