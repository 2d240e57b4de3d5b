"""A project's own tests as benchmarks: wall time, CPU time and memory of each, run by pytest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.collectors.pytest.testsession import SESSION_METRICS, Settings, measure
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import Observations, Run
from perfvcs.profile import Metric


@dataclass(frozen=True)
class Pytest(Unmodified):
    """A row per run of each test that passes, named as pytest names it; the command is one that
    runs pytest, with any selection.

    A test is run by pytest's whole protocol (setup, call, teardown with its own fixtures) up to
    ``repeat`` times after its first run, which is marked as left out of verdicts; after ``budget``
    seconds of such runs no further one begins, but there is always one. Measured is the test's own
    function. Tests that do not pass again when they are repeated have `` (once)`` behind their
    name: of these each process gives one run, the first. ``functions``: whether to record which
    functions of the project each test runs; a run before all others does, and no measured one.
    """

    repeat: int = 10
    budget: float = 0.1
    functions: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.repeat, bool) or not 0 <= self.repeat <= 100_000:
            raise UsageError(
                f"pytest: repeat is {self.repeat!r}: give a whole number from 0 (each test once) to"
                " 100,000"
            )
        if isinstance(self.budget, bool) or not isfinite(self.budget) or self.budget < 0:
            raise UsageError(f"pytest: budget is {self.budget!r}: give seconds such as 0.1")

    @property
    def engine(self) -> str:
        """``protocol/1``."""
        return "protocol/1"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """``wall`` and ``cpu`` of a test's own function, and ``peak``, by how much memory rose
        meanwhile.
        """
        return SESSION_METRICS

    def collect(self, run: Run) -> Observations:
        """Run the tests in one process; raises CollectError."""
        return measure(run, Settings(self.repeat, self.budget, self.functions))
