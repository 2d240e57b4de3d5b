"""Where the time goes: call stacks, taken at a fixed rate while the program runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from perfvcs.collectors._shared.commandrun import is_python
from perfvcs.errors import UsageError
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import Observations, Run
from perfvcs.profile import FINE, Metric, Stacks

if TYPE_CHECKING:
    from perfvcs.collectors.samples.sampler import Folded, Sampler

METRICS = {
    "busy": Metric("s"),
    "samples": Metric("", "none"),
    "share": Metric("", "none"),
    "lost": Metric("", "none"),
    "rate": Metric("Hz", "none"),
}
FASTEST = 20_000


@dataclass(frozen=True)
class Samples:
    """A row for the whole program with its sampled time, and one per different call stack: how
    often it was seen, and its share.

    ``rate``: samples per second of a running thread; by default 100 for Python, which py-spy
    samples, and 997 for compiled programs, which Linux perf does. ``language`` decides where the
    command does not. ``unwind``: how Linux perf finds callers, ``dwarf`` by the tables for
    exceptions, ``fp`` by frame pointers.
    """

    # as far as known before an execution; its observations name the one used
    engine: ClassVar[str] = "sampling/1"
    metrics: ClassVar[Mapping[str, Metric]] = METRICS

    rate: int | None = None
    language: Literal["auto", "python", "native"] = "auto"
    unwind: Literal["auto", "dwarf", "fp"] = "auto"

    def __post_init__(self) -> None:
        if self.rate is not None and not 1 <= self.rate <= FASTEST:
            raise UsageError(
                f"samples: rate is {self.rate!r}: give a whole number from 1 to {FASTEST:,} per"
                " second"
            )

    def available(self) -> str | None:
        """Why neither of the tools can run here, with the cures."""
        if sys.platform != "linux":
            return "samples needs Linux: measure on a Linux machine"
        reasons = [self._sampler(python=python).missing() for python in (True, False)]
        return None if None in reasons else "; ".join(filter(None, reasons))

    def flags(self, program: str) -> tuple[str, ...]:
        """Frame pointers, if they are to be used."""
        from perfvcs.collectors.samples.linux import FRAME_POINTERS

        return FRAME_POINTERS if self.unwind == "fp" and not self._is_python(program) else ()

    def collect(self, run: Run) -> Observations:
        """Execute once; raises CollectError."""
        from perfvcs.collectors._shared.commandrun import environment, runtime
        from perfvcs.collectors._shared.testing.oneunit import whole
        from perfvcs.collectors.samples.sampler import record

        python = self._is_python(run.argv[0])
        compiler = "" if python else runtime(run.argv)
        sampler = self._sampler(python=python, runtime=compiler)
        own = replace(run, env=environment(compiler, run.env)) if compiler else run
        execution, folded = record(own, sampler)
        rows = _observations(run, sampler, folded)
        if not folded.total:
            rows.warnings.append(
                f"samples: {name_command(run.argv)} was never seen running: give it more to do, or"
                " raise rate"
            )
        if execution.leftover:
            rows.warnings.append(
                f"{name_command(run.argv)} left processes running, which perf stopped: wait for"
                " what it starts"
            )
        return whole(run, rows, "samples")

    def _sampler(self, *, python: bool, runtime: str = "") -> Sampler:
        if python:
            from perfvcs.collectors.samples.pyspy import PySpy

            return PySpy(self.rate)
        from perfvcs.collectors.samples.linux import LinuxPerf

        return LinuxPerf(self.rate, self.unwind, runtime)

    def _is_python(self, program: str) -> bool:
        """Whether a command's first word is a CPython interpreter, or a script that asks for
        one.
        """
        if self.language != "auto":
            return self.language == "python"
        return is_python(program)


def _observations(run: Run, sampler: Sampler, folded: Folded) -> Observations:
    """The row of the whole program, and those of the stacks, which are named by the functions at
    their leaves.
    """
    total, count = folded.total, len(folded.stacks)
    frames = {
        frame: number
        for number, frame in enumerate(
            dict.fromkeys(frame for stack in folded.stacks for frame in stack)
        )
    }
    nothing: list[float | None] = [None] * count
    seen: list[float | None] = [*map(float, folded.stacks.values())]
    return Observations(
        uid=[run.uid, *(stack[-1] for stack in folded.stacks)],
        size=[run.size, *nothing],
        iteration=[0] * (1 + count),
        mark=[FINE] * (1 + count),
        trace=[-1, *range(count)],
        stacks=Stacks(
            list(frames), [[frames[frame] for frame in stack] for stack in folded.stacks]
        ),
        values={
            "busy": [total / sampler.rate if total else None, *nothing],
            "samples": [float(total), *seen],
            "share": [None, *(value / total for value in folded.stacks.values())],
            "lost": [float(folded.lost), *nothing],
            "rate": [float(sampler.rate), *nothing],
        },
        metrics=dict(METRICS),
        warnings=list(folded.warnings),
        engine=sampler.engine,
    )
