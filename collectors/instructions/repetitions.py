"""Benchmarks that their harness runs as often as it is asked to: what one iteration executes is the
difference between two counts of the program, by that of their iterations.

So the program's start, and what the benchmark prepares once, count in none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from perfvcs.collectors._shared.harnessoutput import HarnessRun
from perfvcs.collectors._shared.testing.oneunit import UnitAmount
from perfvcs.collectors.instructions.counts import Counts, combine
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import EVERY_UNIT, CollectError, Repetition, Run
from perfvcs.system.numeric import np

FEW = 2  # iterations; Go's harness runs a benchmark once more before, unless it is to run once
MOST_ITERATIONS = 10_000_000
# Instructions between both counts. A program of Go whose start takes 3.2 million varies by 15,000
# (standard deviation), so that the difference of two is known within 0.1 %.
LEAST = 20_000_000
MOST = 400_000_000  # 0.4 s under cachegrind, and 2 s under callgrind
VARIES = 100_000  # instructions by which two counts of a program may differ by chance
# what changes goroutines' stacks, on which callgrind mistakes who called whom
SWITCHING = ("runtime.mcall", "runtime.gogo")
Record = Callable[[Run, Path], Counts]  # counts one execution, whose files go into an empty folder


@dataclass
class RepeatedBenchmarks:
    """The benchmarks of a run, each counted alone by ``record``, whose files go into ``folder``;
    ``unsettled`` says which could not be.
    """

    run: Run
    repetition: Repetition
    record: Record
    folder: Path
    unsettled: list[str] = field(default_factory=list)
    _executions: int = 0

    def amounts(self) -> list[UnitAmount]:
        """What one iteration of each benchmark executes; raises CollectError where none can be
        counted.
        """
        found = []
        for uid, size in self._reported(self.run.argv):
            try:
                few, many, iterations = self._counted(uid, size)
            except CollectError as error:
                if error.lasting:
                    raise
                self.unsettled.append(f"{uid} is not counted: {error}")
                continue
            more = max(0.0, many.total - few.total)
            found.append(UnitAmount(uid, size, more / iterations))
        if not found:
            raise CollectError("; ".join(self.unsettled[:1]), lasting=True)
        return found

    def counts(self) -> Counts:
        """What one iteration of the run's unit executes by functions and calls, of all its sizes
        together; raises CollectError.
        """
        parts = []
        for uid, size in self._reported(self.run.argv):
            few, many, iterations = self._counted(uid, size)
            parts.append(_difference(few, many, iterations))
        return combine(parts)

    def _counted(self, uid: str, size: float | None) -> tuple[Counts, Counts, int]:
        """The counts of few and of many iterations, and how many more these are."""
        known = self.repetition.iterations.get((uid, size))
        if known is None:
            self._require_alone(uid, size)
        few = self._count(uid, size, FEW)
        iterations = known or _next(FEW, few.total / FEW)
        while True:
            many = self._count(uid, size, iterations)
            more = many.total - few.total
            if known or more >= LEAST or iterations >= MOST_ITERATIONS:
                if more < VARIES:
                    raise CollectError(
                        f"{name_command(self.run.argv)} executes no more where it is to run a"
                        f" benchmark {iterations:,} times: let it take the options of its harness"
                    )
                self.repetition.iterations[uid, size] = iterations
                return few, many, iterations - FEW
            iterations = _next(iterations, (max(0.0, more) + VARIES) / (iterations - FEW))

    def _count(self, uid: str, size: float | None, often: int) -> Counts:
        folder = self.folder / str(self._executions)
        folder.mkdir()
        self._executions += 1
        argv = tuple(self.repetition.words(uid, size, often))
        env = {**self.repetition.env, **self.run.env}
        return self.record(replace(self.run, unit="", argv=argv, env=env), folder)

    def _require_alone(self, uid: str, size: float | None) -> None:
        """Raises CollectError where other benchmarks run with the one that is asked for."""
        together = self._reported(tuple(self.repetition.words(uid, size, 1)), every=True)
        if len(together) != 1:
            raise CollectError(
                f"{name_command(self.run.argv)} runs {len(together)} benchmarks where it is asked"
                f" for {uid}"
            )

    def _reported(
        self, argv: tuple[str, ...], *, every: bool = False
    ) -> list[tuple[str, float | None]]:
        """The benchmarks that a command reports, once each, without those that failed."""
        assert self.run.reads is not None
        unit = "" if every or self.run.unit == EVERY_UNIT else self.run.unit
        run = replace(self.run, unit=unit, uid="", argv=argv)
        samples = HarnessRun.of(run, self.run.reads).execute(LaunchOptions(run.cpus)).samples()
        values = zip(*samples.values.values(), strict=True)
        rows = zip(samples.uid, samples.size, values, strict=True)
        found = dict.fromkeys(
            (uid, size) for uid, size, row in rows if any(value is not None for value in row)
        )
        if not found:
            raise CollectError(f"{name_command(run.argv)} reports no value")
        return list(found)


def _next(iterations: int, each: float) -> int:
    """So many iterations that they take most of what may be executed, if one takes ``each``
    instructions at most: a power of ten, so that versions that take a little more take as many.

    >>> _next(2, 1_600_000), _next(100, 1300), _next(2, 1e9)
    (100, 100000, 10)
    """
    power = 10 * iterations if iterations > FEW else 10
    while power * 10 * each <= MOST:
        power *= 10
    return min(MOST_ITERATIONS, power)


def _difference(few: Counts, many: Counts, iterations: int) -> Counts:
    """What many iterations execute more than few, for each: by function, and by call where the
    program does not switch its stacks by itself.
    """
    if any(context.name.startswith(SWITCHING) for context in many.contexts):
        few, many = _without_calls(few), _without_calls(many)
    columns = ("exclusive", "calls", "inclusive")
    less = replace(few, **{name: -getattr(few, name) for name in columns}, warnings=[])
    both = combine([many, less])
    return replace(
        both, **{name: np.maximum(getattr(both, name), 0.0) for name in columns}
    ).divided(iterations)


def _without_calls(counts: Counts) -> Counts:
    columns = ("caller", "callee", "calls", "inclusive")
    return replace(counts, **{name: getattr(counts, name)[:0] for name in columns})
