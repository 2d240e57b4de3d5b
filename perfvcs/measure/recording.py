"""What one job gives on one version, execution after execution."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from perfvcs.collector import Observations
from perfvcs.profile import Metric, Reached, Resources, Stacks, Turns


class JobRecording(msgspec.Struct):
    """The rows of one job on one version while they grow."""

    names: dict[str, int] = msgspec.field(default_factory=dict)
    rows: Resources = msgspec.field(default_factory=Resources)
    sizes: list[float | None] = msgspec.field(default_factory=list)
    metrics: dict[str, Metric] = msgspec.field(default_factory=dict)
    executions: int = 0
    turns: Turns = msgspec.field(default_factory=lambda: Turns([], [], []))
    engine: str = ""
    frames: dict[str, int] = msgspec.field(default_factory=dict)
    traces: dict[tuple[int, ...], int] = msgspec.field(default_factory=dict)
    reached: Reached | None = None

    def add(self, seen: Observations, execution: int, binary: int, position: int = 0, seed: int = 0) -> None:
        """Append what one execution gave; ``position`` is its place in its block, ``seed`` what it shared with the others there."""
        before, count = len(self.rows), len(seen.uid)
        self.rows.uid += [self.names.setdefault(name, len(self.names)) for name in seen.uid]
        self.rows.execution += [execution] * count
        for column, values in (("binary", [binary] * count), ("iteration", seen.iteration), ("mark", seen.mark)):
            setattr(self.rows, column, (getattr(self.rows, column) or []) + list(values))
        self.sizes += seen.size
        self._add_traces(seen, before, count)
        self.metrics |= seen.metrics
        self.engine = seen.engine
        self.reached = seen.reached or self.reached
        for name in self.metrics:
            known = self.rows.metrics.setdefault(name, [None] * before)
            known += seen.values.get(name, [None] * count)
        self.executions += 1
        self.turns.execution.append(execution)
        self.turns.place.append(position)
        self.turns.seed.append(seed)

    def _add_traces(self, seen: Observations, before: int, count: int) -> None:
        """Append the rows' stacks, each kept once over all executions."""
        if seen.stacks is None:
            if self.rows.trace is not None:
                self.rows.trace += [-1] * count
            return
        frames = [self.frames.setdefault(frame, len(self.frames)) for frame in seen.stacks.frames]
        numbers = [
            self.traces.setdefault(tuple(frames[place] for place in stack), len(self.traces)) for stack in seen.stacks.stacks
        ]
        if self.rows.trace is None:
            self.rows.trace = [-1] * before
        self.rows.trace += [numbers[trace] if trace >= 0 else -1 for trace in seen.trace or [-1] * count]

    def stacks(self) -> Stacks | None:
        """The stacks of all executions; None where no execution had any."""
        return None if self.rows.trace is None else Stacks(list(self.frames), [list(stack) for stack in self.traces])

    def resources(self) -> Resources:
        """All rows, the columns that hold nothing left out."""
        size = self.sizes if any(size is not None for size in self.sizes) else None
        return replace(self.rows, names=list(self.names), size=size)
