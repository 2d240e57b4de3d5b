"""What cannot be counted of a job that measures a service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError

if TYPE_CHECKING:
    from perfvcs.plugins.collector import Collector, Observations, Run
    from perfvcs.profile import Metric

NOT_COUNTED = "of a service the processor time is taken, its functions are not counted"


@dataclass(frozen=True)
class Uncounted:
    """A collector that cannot run, since it would count the command and not its service."""

    own: Collector

    @property
    def engine(self) -> str:
        """That of the job's own collector."""
        return self.own.engine

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Those of the job's own collector."""
        return self.own.metrics

    def flags(self, program: str) -> tuple[str, ...]:
        """Those of the job's own collector."""
        return self.own.flags(program)

    def available(self) -> str:
        """Why it cannot run."""
        return f"{NOT_COUNTED}: leave out --metric"

    def collect(self, run: Run) -> Observations:
        """Refuse to."""
        raise CollectError(f"{name_command(run.argv)}: {self.available()}", lasting=True)
