"""What one job gives on one version, execution after execution."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from perfvcs.collectors import Observations
from perfvcs.profile import Metric, Resources


@dataclass
class Recording:
    """The rows of one job on one version while they grow."""

    names: dict[str, int] = field(default_factory=dict)
    rows: Resources = field(default_factory=Resources)
    sizes: list[float | None] = field(default_factory=list)
    metrics: dict[str, Metric] = field(default_factory=dict)
    executions: int = 0
    engine: str = ""

    def add(self, seen: Observations, execution: int, binary: int) -> None:
        """Append what one execution gave."""
        before, count = len(self.rows), len(seen.uid)
        self.rows.uid += [self.names.setdefault(name, len(self.names)) for name in seen.uid]
        self.rows.execution += [execution] * count
        for column, values in (("binary", [binary] * count), ("iteration", seen.iteration), ("mark", seen.mark)):
            setattr(self.rows, column, (getattr(self.rows, column) or []) + list(values))
        self.sizes += seen.size
        self.metrics |= seen.metrics
        self.engine = seen.engine
        for name in self.metrics:
            known = self.rows.metrics.setdefault(name, [None] * before)
            known += seen.values.get(name, [None] * count)
        self.executions += 1

    def resources(self) -> Resources:
        """All rows, the columns that hold nothing left out."""
        size = self.sizes if any(size is not None for size in self.sizes) else None
        return replace(self.rows, names=list(self.names), size=size)
