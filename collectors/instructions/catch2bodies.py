"""Benchmarks of a program of Catch2, versions 2 and 3, by where their bodies begin and end.

Catch2 calls the body of a benchmark for a single iteration first, then for more and more until that
takes long enough by the clock: the first call is the one that is counted. It has no filter for one
benchmark, so that all of a test case are run, and told apart by the order in which they are
reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perfvcs.collectors._shared import symbols
from perfvcs.collectors._shared.commandrun import mentions
from perfvcs.collectors._shared.testing.oneunit import Undivided, UnitAmount
from perfvcs.collectors.instructions import callgrind, valgrind
from perfvcs.collectors.instructions.countfiles import CountFile
from perfvcs.collectors.instructions.counts import Counts, combine
from perfvcs.collectors.instructions.filters import reported
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run

SIGNS = (b"5Catch9Benchmark",)  # in the names of types, which strip leaves there
PREPARING = "Catch::XmlReporter::benchmarkPreparing"
BODY = "*::call(Catch::Benchmark::Chronometer) const"
# A body that prepares something measures the rest between the latter two, where the compiler did
# not put them into it.
BODIES = (
    f"--dump-before={PREPARING}*",
    f"--zero-before={BODY}",
    f"--dump-after={BODY}",
    "--zero-before=*_clock>::start()",
    "--dump-before=*_clock>::finish()",
)


def divides(program: str) -> bool:
    """Whether a program was made with the benchmarks of Catch2."""
    return mentions(program, SIGNS)


def count(run: Run, folder: Path, *, inlined: bool = False) -> Counts:
    """The instructions of one iteration of the run's unit, at each of its sizes; raises
    CollectError, and Undivided where it cannot be told apart.
    """
    files = [
        file
        for uid, _, file in _named(run, folder, (valgrind.positions(inlined=inlined),))
        if uid == run.unit
    ]
    if not files:
        raise CollectError(
            f"{run.unit} is not among the benchmarks that {name_command(run.argv)} reports"
        )
    resolve = symbols.resolve if inlined else None
    return combine(callgrind.read(file.path, resolve) for file in files)


def count_each(run: Run, folder: Path) -> list[UnitAmount]:
    """The instructions of one iteration of each benchmark; raises as ``count`` does."""
    return [UnitAmount(uid, size, file.total or 0.0) for uid, size, file in _named(run, folder)]


def _named(
    run: Run, folder: Path, options: tuple[str, ...] = ()
) -> list[tuple[str, float | None, CountFile]]:
    """The name and the size of each benchmark that an execution reports, and its first call."""
    samples = reported(run, folder, (*BODIES, *options))
    calls = list(_first_calls(folder))
    if not calls or len(calls) != len(samples.uid):
        raise Undivided(
            f"the benchmarks of {name_command(run.argv)} cannot be told apart: it began"
            f" {len(calls)} and reported {len(samples.uid)}"
        )
    return list(zip(samples.uid, samples.size, calls, strict=True))


def _first_calls(folder: Path) -> Iterator[CountFile]:
    """The first file that was written since a benchmark was announced, of each."""
    files = [file for file in map(CountFile.of, folder.glob("counts.*")) if file.at]
    announced = False
    for file in sorted(files, key=lambda file: file.part):
        if file.at.startswith(PREPARING):
            announced = True
        elif announced:
            announced = False
            yield file
