"""Wall time, CPU time and memory of a whole process, and what the program measured itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perfvcs.collectors._shared.unmodified import Unmodified
from perfvcs.errors import UsageError
from perfvcs.plugins.collector import CollectError, Observations, Run
from perfvcs.profile import DELAYED, FINE, REPEATED, Metric
from perfvcs.text.words import counted

if TYPE_CHECKING:
    from perfvcs.launcher.execution import Execution
    from perfvcs.launcher.samples import ReportedSamples

SHORTEST_DELAY = 0.5e-3  # seconds; below, run-queue delay is the usual latency of waking up
BLOCK_BYTES = 512  # bytes that Linux counts as one block of file system input or output

METRICS = {
    "wall": Metric("s"),
    "cpu": Metric("s"),
    "maxrss": Metric("B"),
    "run_delay": Metric("s", "none"),
    "wake_delay": Metric("s", "none"),
    "minor_faults": Metric("", "none"),
    "major_faults": Metric("", "none"),
    "voluntary_switches": Metric("", "none"),
    "involuntary_switches": Metric("", "none"),
    "block_input": Metric("B", "none"),
    "block_output": Metric("B", "none"),
    "read_chars": Metric("B", "none"),
    "write_chars": Metric("B", "none"),
    "read_bytes": Metric("B", "none"),
    "write_bytes": Metric("B", "none"),
    "pressure": Metric("s", "none"),
    "steal": Metric("s", "none"),
    "pace": Metric("s", "none"),
}
# Of a job whose harness reports, the process around it is recorded and not judged: it takes as long
# as the harness likes.
AROUND = {"elapsed": Metric("s", "none")} | {
    name: metric for name, metric in METRICS.items() if metric.better == "none"
}
LAUNCHER_ONLY = (
    "maxrss",
    "wake_delay",
    "read_chars",
    "write_chars",
    "read_bytes",
    "write_bytes",
    "pressure",
    "steal",
    "pace",
)


@dataclass(frozen=True)
class Time(Unmodified):
    """One execution as one row, and a row for each sample that the program reported.

    An execution is marked when it waited for a processor for over ``delay`` times its wall time and
    over 0.5 ms: then wall time says more about the machine's load than about the program. Measured
    on two busy processors, waiting is either a wake-up of 0.02 to 0.1 ms or another process's turn
    of 2 ms and more; leaving out what is marked took the variation of wall time from 174 % to 9 %
    (a program of 0.55 ms), 64 % to 3.5 % (3.8 ms) and 5.5 % to 0.5 % (31 ms). The delay is that of
    the first thread alone: what other threads and child processes waited is not seen. A marked
    execution is done again up to ``repeat`` times; the last one counts, the others stay as raw
    data.
    """

    repeat: int = 0
    delay: float = 0.02

    def __post_init__(self) -> None:
        if not 0 <= self.repeat <= 100:
            raise UsageError(f"time: repeat is {self.repeat!r}: give a whole number from 0 to 100")
        if not 0 <= self.delay < math.inf:
            raise UsageError(
                f"time: delay is {self.delay!r}: give a share of the wall time such as 0.02"
            )

    @property
    def engine(self) -> str:
        """``launcher/1``, or ``wait4/1`` without a C compiler (``perfvcs.launcher.fallback_reason``
        says why).
        """
        from perfvcs import launcher

        return launcher.engine()

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics of the whole process; without a C compiler memory is not among them."""
        from perfvcs import launcher

        native = launcher.fallback_reason() is None
        return {
            name: metric for name, metric in METRICS.items() if native or name not in LAUNCHER_ONLY
        }

    def collect(self, run: Run) -> Observations:
        """Execute once, and again while the execution was delayed and ``repeat`` allows; raises
        CollectError.

        If the run asks for functions, those of a Python program are recorded instead; nothing is
        measured then.
        """
        from perfvcs import launcher
        from perfvcs.collectors._shared.harnessoutput import reporting
        from perfvcs.launcher.execution import failure, name_command, unnoticed

        if run.functions and (rows := _functions(run)):
            return rows
        metrics = {name: METRICS[name] for name in self.metrics} if run.reads is None else AROUND
        rows = Observations(values={name: [] for name in metrics}, metrics=dict(metrics))
        if reason := launcher.fallback_reason():
            rows.warnings.append(reason)
        options = launcher.LaunchOptions(run.cpus, run.aslr, pace=True)
        for attempt in range(self.repeat + 1):
            path = run.scratch / f"samples-{attempt}.jsonl"
            execution, samples = reporting(run, options, path, METRICS)
            rows.warnings += [note for note in samples.notes if note not in rows.warnings]
            delayed = self._delayed(execution)
            mark = FINE
            if delayed:
                mark = REPEATED if attempt < self.repeat else DELAYED
            _append(rows, run, execution, samples, mark)
            if run.may_fail and (reason := failure(run.argv, execution, run.timeout)):
                rows.warnings.append(reason)
            elif run.reads is None and (lacking := unnoticed(execution)):
                rows.warnings.append(lacking)
            if execution.leftover:
                left = counted(execution.leftover, "process", "processes")
                rows.warnings.append(
                    f"{name_command(run.argv)} left {left} running, which perf stopped: wait for"
                    " what it starts"
                )
            if not delayed:
                break
        return rows

    def _delayed(self, execution: Execution) -> bool:
        waited = (execution.run_delay or 0.0) + (execution.wake_delay or 0.0)
        return waited > max(SHORTEST_DELAY, self.delay * execution.wall)


def _functions(run: Run) -> Observations | None:
    """The functions that a Python program runs; None where it is another one, or does not run
    so.
    """
    from perfvcs.collectors._shared.commandrun import executed, is_python
    from perfvcs.collectors._shared.functions import recorded, recording
    from perfvcs.launcher.samples import SAMPLES_VARIABLE

    if not is_python(run.argv[0]):
        return None
    path = run.scratch / "functions"
    try:
        executed(
            run, env=recording(run, path) | {SAMPLES_VARIABLE: str(run.scratch / "samples.jsonl")}
        )
    except CollectError:
        return None
    return Observations(reached=recorded(path, run.uid))


def _values(execution: Execution) -> dict[str, float | None]:
    """The execution under the names of METRICS and AROUND."""
    renamed: dict[str, float | None] = {
        "elapsed": execution.wall,
        "block_input": execution.blocks_in * BLOCK_BYTES,
        "block_output": execution.blocks_out * BLOCK_BYTES,
        "pace": execution.pace.mean if execution.pace else None,
    }
    return {
        name: renamed[name] if name in renamed else getattr(execution, name)
        for name in AROUND | METRICS
    }


def _append(
    observations: Observations, run: Run, execution: Execution, samples: ReportedSamples, mark: int
) -> None:
    """The row of the whole process and those of its samples, with None where a row has no value for
    a metric.
    """
    before, added = len(observations.uid), len(samples.uid)
    values = _values(execution)
    for name, metric in samples.metrics.items():
        if observations.metrics.setdefault(name, metric) != metric:
            from perfvcs.launcher.execution import name_command

            raise CollectError(
                f"{name_command(run.argv)}: {name} has another unit or direction than in the"
                " attempt before: fix one"
            )
        observations.values.setdefault(name, [None] * before)
    judged = METRICS.keys() - AROUND.keys() if run.reads is not None else set()
    for name, column in observations.values.items():
        column.append(None if name in judged else values.get(name))
        column.extend(samples.values.get(name) or [None] * added)
    observations.uid += [run.uid, *samples.uid]
    observations.size += [run.size, *samples.size]
    observations.iteration += [0, *samples.iteration]
    observations.mark += [mark, *(mark or own for own in samples.mark or [FINE] * added)]
