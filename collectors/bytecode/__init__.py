"""What a Python program executes: bytecode instructions and calls, by function and along its
calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import EVERY_UNIT, Observations, Run
from perfvcs.profile import Metric

INSTRUCTIONS = {
    "bytecodes": Metric("", "lower", "deterministic"),
    "exclusive": Metric("", "none", "deterministic"),
    "inclusive": Metric("", "none", "deterministic"),
    "calls": Metric("", "none", "deterministic"),
    "self": Metric("", "none", "deterministic"),
    "entered": Metric("", "none", "deterministic"),
}
TIME = {
    name: Metric("s" if name not in ("calls", "entered") else "", "none")
    for name in INSTRUCTIONS
    if name != "bytecodes"
}


@dataclass(frozen=True)
class Bytecode(Unmodified):
    """The bytecode instructions of a whole Python program with all its processes, or of one unit of
    it; of its functions, and of the paths to them.

    Functions of C have their calls, and no instructions. ``meter``: ``time`` takes the processor
    time of each thread instead, with what counting costs in it, for what functions of C do.
    ``warm``: the program is executed once before, uncounted, so that what it imports is compiled.
    ``least``: the share of all instructions, and of all calls, below which functions and paths are
    left out.
    """

    meter: Literal["instructions", "time"] = "instructions"
    warm: bool = True
    least: float = 1e-5

    def __post_init__(self) -> None:
        if not 0 <= self.least <= 1:
            raise UsageError(
                f"bytecode: least is {self.least!r}: give a share from 0 to 1 such as 0.00001"
            )

    @property
    def engine(self) -> str:
        """The way it counts; interpreters of another version have other instructions, and are
        another environment.
        """
        return f"{self.meter}/1"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """``bytecodes``, and what functions and paths have of it; by time, these alone."""
        return INSTRUCTIONS if self.meter == "instructions" else TIME

    def collect(self, run: Run) -> Observations:
        """Execute and count; raises CollectError."""
        from perfvcs.collectors._shared.testing.oneunit import divide

        return divide(run, self._count)

    def _count(self, run: Run) -> Observations:
        from perfvcs.collectors.bytecode.trees import observations, record, record_each

        if run.unit == EVERY_UNIT:
            return replace(record_each(run), engine=self.engine)
        counted = record(run, self.meter, warm=self.warm)
        return replace(observations(run, counted, self.metrics, self.least), engine=self.engine)
