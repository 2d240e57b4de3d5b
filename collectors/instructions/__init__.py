"""Instructions that a program executes: in all, by function, and along its calls."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from perfvcs.errors import UsageError
from perfvcs.plugins.collector import EVERY_UNIT, Observations, Run
from perfvcs.profile import Metric

if TYPE_CHECKING:
    from pathlib import Path

    from perfvcs.collectors.instructions.counts import Counts

TOTAL_METRICS = {
    "instructions": Metric("", "lower", "deterministic"),
    "repeatability": Metric("", "none"),
}
BY_FUNCTION = {"exclusive": Metric("", "none", "deterministic")}
BY_CALL = {
    "inclusive": Metric("", "none", "deterministic"),
    "calls": Metric("", "none", "deterministic"),
    "self": Metric("", "none", "deterministic"),
}
AGREEMENT = 0.0002  # a fifth of the smallest change that is reported
LARGEST_REPEAT = 100
LEAST_OF_UNIT = 20_000  # instructions, of which Python takes 7,000 to switch the counter


@dataclass(frozen=True)
class Instructions:
    """The instructions of a whole program with all its processes, of its functions, and of the
    paths to them.

    ``tool``: ``callgrind`` counts functions and calls, ``cachegrind`` functions only, somewhat
    quicker, ``perf`` the total only, by the processor's own counters and without slowing the
    program down; ``auto`` is callgrind where valgrind is installed, else perf. ``functions``:
    patterns of functions' names that are judged like the total, each with all that it calls.
    ``repeat``: how many more times at most the program is run until two runs in a row agree to 0.02
    %; the last one counts. ``least``: the share of the total below which functions and paths are
    left out. ``inlined``: functions that the compiler put into their callers are counted apart,
    where the program has debug information; only callgrind can.
    """

    tool: Literal["auto", "callgrind", "cachegrind", "perf"] = "auto"
    functions: tuple[str, ...] = ()
    repeat: int = 2
    least: float = 0.0005
    inlined: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.repeat <= LARGEST_REPEAT:
            raise UsageError(
                f"instructions: repeat is {self.repeat!r}: give a whole number from 0 to"
                f" {LARGEST_REPEAT}"
            )
        if not 1e-5 <= self.least <= 1:
            raise UsageError(
                f"instructions: least is {self.least!r}: give a share from 0.00001 to 1 such as"
                " 0.0005"
            )
        if not all(self.functions):
            raise UsageError(
                'instructions: functions is not a list of names: write ["name", "prefix*"]'
            )
        if self.functions and self.tool == "perf":
            raise UsageError(
                "instructions: perf counts no functions: leave functions out, or take tool ="
                ' "callgrind"'
            )
        if self.inlined and self.tool not in ("auto", "callgrind"):
            raise UsageError(
                "instructions: only callgrind tells inlined functions apart: leave inlined out, or"
                ' set tool = "callgrind"'
            )

    @property
    def engine(self) -> str:
        """Such as ``callgrind-3.19.0/1``: what counts as an instruction differs a little between
        versions of valgrind.
        """
        from perfvcs.collectors.instructions import valgrind

        tool = self._tool
        version = valgrind.version() if tool != "perf" else ""
        return f"{tool}-{version}/1" if version else f"{tool}/1"

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """``instructions`` and what else the tool knows."""
        return (
            TOTAL_METRICS
            | {"perf": {}, "cachegrind": BY_FUNCTION, "callgrind": BY_FUNCTION | BY_CALL}[
                self._tool
            ]
        )

    def flags(self, program: str) -> tuple[str, ...]:  # noqa: ARG002
        """None: it measures unmodified programs; with ``-g`` functions that are not exported have
        their names, too.
        """
        return ()

    def available(self) -> str | None:
        """Why neither valgrind nor the processor can count here, or the chosen one of them."""
        from perfvcs.collectors.instructions import hardware, valgrind

        if sys.platform != "linux":
            return "instructions needs Linux: measure on a Linux machine"
        if self._tool == "perf":
            return hardware.unavailable()
        reason = valgrind.unavailable()
        if reason and self.tool == "auto":
            return f"{reason}; or, for the total alone, Linux perf: {hardware.unavailable()}"
        return reason

    @property
    def _tool(self) -> Literal["callgrind", "cachegrind", "perf"]:
        from perfvcs.collectors.instructions import hardware, valgrind

        if self.tool != "auto":
            return self.tool
        return (
            "perf"
            if valgrind.unavailable() and not self.functions and not hardware.unavailable()
            else "callgrind"
        )

    def collect(self, run: Run) -> Observations:
        """Execute until two runs agree, or ``repeat`` allows no more; raises CollectError."""
        from perfvcs.collectors._shared.testing.oneunit import divide

        return divide(run, self._collect)

    def _collect(self, run: Run) -> Observations:
        from perfvcs.collectors._shared.commandrun import is_python
        from perfvcs.collectors.instructions.counts import symbols
        from perfvcs.collectors.instructions.paths import observations
        from perfvcs.launcher.execution import name_command

        if run.unit == EVERY_UNIT or (run.repetition and self._tool != "callgrind"):
            return self._each(run)
        counts, repeatability = self._count(run, 0), None
        for attempt in range(1, self.repeat + 1):
            before, counts = counts.total, self._count(run, attempt)
            repeatability = abs(counts.total - before) / max(counts.total, 1.0)
            if repeatability <= AGREEMENT:
                break
        rows = observations(run, counts, self.metrics, self.functions, self.least, repeatability)
        if repeatability is not None and repeatability > AGREEMENT:
            reason = f"the instructions of two runs in a row differ by {100 * repeatability:.2g} %"
            rows.warnings.append(
                f"{name_command(run.argv)}: {reason}: fix its seeds and inputs, or measure more"
                " executions"
            )
        ran = symbols(run, counts) if self._tool == "callgrind" and not run.unit else None
        if run.unit and counts.total < LEAST_OF_UNIT and is_python(run.argv[0]):
            rows.warnings.append(
                f"{run.unit} takes {counts.total:,.0f} instructions, some 7,000 of them to switch"
                " the counter: let it do more"
            )
        # cachegrind cannot be switched before valgrind 3.22
        engine = self.engine.replace("cachegrind", "callgrind") if run.unit else self.engine
        return replace(rows, engine=engine, reached=ran)

    def _each(self, run: Run) -> Observations:
        """Each unit counted by itself, and the whole program once more where it repeats itself."""
        from perfvcs.collectors._shared.testing.oneunit import rows_of
        from perfvcs.collectors.instructions import catch2bodies, filters, repetitions, valgrind

        folder = run.scratch / "instructions-each"
        folder.mkdir()
        if run.repetition is not None:
            units = repetitions.RepeatedBenchmarks(run, run.repetition, self._record, folder)
            rows = rows_of(replace(run, uid=""), "instructions", units.amounts())
            rows.warnings += units.unsettled
        elif filters.divides(run.argv[0]):
            rows = rows_of(run, "instructions", filters.count_each(run, folder))
        elif catch2bodies.divides(run.argv[0]):
            rows = rows_of(run, "instructions", catch2bodies.count_each(run, folder))
        else:
            rows = rows_of(run, "instructions", valgrind.record_each(run, folder))
            whole = self._count(replace(run, unit=""), 0)
            rows.add(run.uid, {"instructions": whole.total}, size=run.size)
        return replace(rows, engine=self.engine.replace("cachegrind", "callgrind"))

    def _count(self, run: Run, attempt: int) -> Counts:
        from perfvcs.collectors._shared.testing.oneunit import Undivided
        from perfvcs.collectors.instructions import catch2bodies, filters, repetitions, valgrind

        folder = run.scratch / f"instructions-{'unit-' if run.unit else ''}{attempt}"
        folder.mkdir()
        if not run.unit:
            return self._record(run, folder)
        if run.repetition is not None:
            return repetitions.RepeatedBenchmarks(
                run, run.repetition, self._record, folder
            ).counts()
        if self._tool == "perf":
            raise Undivided("the processor's counters cannot be switched: apt install valgrind")
        if filters.divides(run.argv[0]):
            return filters.count(run, folder, inlined=self.inlined)
        if catch2bodies.divides(run.argv[0]):
            return catch2bodies.count(run, folder, inlined=self.inlined)
        return valgrind.record(run, "callgrind", folder, inlined=self.inlined)

    def _record(self, run: Run, folder: Path) -> Counts:
        """The instructions of one execution of the whole program."""
        from perfvcs.collectors.instructions import hardware, valgrind

        tool = self._tool
        if tool == "perf":
            return hardware.record(run, folder)
        return valgrind.record(run, tool, folder, inlined=self.inlined)
