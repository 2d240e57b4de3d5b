"""Benchmarks of a program of Google Benchmark: one, by its filter, or each, by where their loops
begin and end. It then does a single iteration.

https://github.com/google/benchmark/blob/main/docs/user_guide.md has the options.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from perfvcs.collectors._shared import symbols
from perfvcs.collectors._shared.commandrun import launched, mentions
from perfvcs.collectors._shared.harnessoutput import HarnessRun
from perfvcs.collectors._shared.testing.oneunit import Undivided, UnitAmount
from perfvcs.collectors.instructions import callgrind, valgrind
from perfvcs.collectors.instructions.callgrind import NothingCounted
from perfvcs.collectors.instructions.countfiles import CountFile
from perfvcs.collectors.instructions.counts import Counts, combine
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import name_command
from perfvcs.launcher.samples import ReportedSamples
from perfvcs.plugins.collector import CollectError, Run

# what a program has of the library, or names of it
SIGNS = (b"_ZN9benchmark", b"benchmark_list_tests")
PARAMETERS = re.compile(r"[/(]| \[| threads=")  # what stands behind a function's name
# Time runs between these, of which the last two also pause it.
LOOP = (
    "--zero-before=benchmark::State::StartKeepRunning()",
    "--zero-before=benchmark::State::ResumeTiming()",
    "--dump-before=benchmark::State::PauseTiming()",
    "--dump-before=benchmark::State::FinishKeepRunning()",
)
BOUND = {"LD_BIND_NOW": "1"}  # what is resolved in the first iteration would count in it
THREADS = re.compile(r" threads=(\d{1,4})(?: |$)")  # in a benchmark's name
SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")  # in a regular expression of POSIX


def divides(program: str) -> bool:
    """Whether a program was made with Google Benchmark."""
    return mentions(program, SIGNS)


def count(run: Run, folder: Path, *, inlined: bool = False) -> Counts:
    """The instructions of one iteration of the run's unit, of each of its sizes; raises
    CollectError.

    They are those of its loop. Where loops cannot be seen they are those of the function of that
    name, with what it does before; where no function has it (fixtures and lambdas), the program's
    own start is among them.
    """
    argv = run.argv
    if not run.alone:
        name = SPECIAL.sub(r"\\\g<0>", run.unit)
        argv = (*argv, f"--benchmark_filter=^{name}(/.*)?$", "--benchmark_min_time=0")
    alone = replace(run, unit="", argv=argv)
    listing = launched(run, (*argv, "--benchmark_list_tests=true"), options=LaunchOptions(run.cpus))
    if "Failed to match any benchmarks" in listing.stderr:
        raise CollectError(
            f"{run.unit} is not among the benchmarks of {name_command(run.argv)}"
            " (--benchmark_list_tests has them)"
        )
    folders = folder / "loops", folder / "alone", folder / "whole"
    for place in folders:
        place.mkdir()
    bound = replace(alone, env={**run.env, **BOUND})
    valgrind.execute(bound, "callgrind", folders[0], [*LOOP, valgrind.positions(inlined=inlined)])
    if loops := list(chain.from_iterable(_loops(folders[0]))):
        resolve = symbols.resolve if inlined else None
        return combine(callgrind.read(file.path, resolve) for file in loops)
    bare = PARAMETERS.split(run.unit, maxsplit=1)[0]
    function = f"*{bare}(benchmark::State&)"
    try:
        return valgrind.record(alone, "callgrind", folders[1], inlined=inlined, only=function)
    except NothingCounted:
        counts = valgrind.record(alone, "callgrind", folders[2], inlined=inlined)
        counts.warnings.append(
            f"{run.unit} is counted with the start of {name_command(run.argv)}: it is not a"
            " function of that name"
        )
        return counts


def count_each(run: Run, folder: Path) -> list[UnitAmount]:
    """The instructions of the loop of each benchmark, at each of its sizes, for a single iteration;
    raises CollectError, and Undivided where loops and what is reported do not match.

    Those of several threads are left out, since their loops run at the same time.
    """
    samples = reported(run, folder, LOOP)
    loops = [sum(file.total or 0.0 for file in files) for files in _loops(folder)]
    amounts, place = [], 0
    for uid, size in zip(samples.uid, samples.size, strict=True):
        threads = THREADS.search(uid)
        if threads is None and place < len(loops):
            amounts.append(UnitAmount(uid, size, loops[place]))
        place += 1 if threads is None else int(threads[1])
    if not amounts or place != len(loops):
        raise Undivided(
            f"the loops of {name_command(run.argv)} cannot be told apart: it ran {len(loops)} and"
            f" reported {len(samples.uid)} benchmarks"
        )
    return amounts


def reported(run: Run, folder: Path, options: Sequence[str]) -> ReportedSamples:
    """What a program's harness reports of one execution under callgrind, whose files go into the
    empty ``folder``; raises CollectError, and Undivided where nothing reads that.
    """
    if run.reads is None:
        command = name_command(run.argv)
        raise Undivided(f"nothing reads what {command} reports: give its job `reads`")
    env = valgrind.environment({**run.env, **BOUND})
    argv = (*valgrind.command("callgrind", folder, options), *run.argv)
    fixed = run.aslr and not valgrind.addresses_can_be_fixed()
    counted = HarnessRun.of(replace(run, unit="", uid="", argv=argv, env=env), run.reads)
    return counted.execute(LaunchOptions(run.cpus, fixed)).samples()


def _loops(folder: Path) -> Iterator[list[CountFile]]:
    """The files of each loop, in the order in which they ended, without those of what they did
    while their time was paused.
    """
    files = [file for file in map(CountFile.of, folder.glob("counts.*")) if file.at]
    taken, ended = list[CountFile](), False
    for file in sorted(files, key=lambda file: file.part):
        finished = file.at.endswith("FinishKeepRunning()")
        if finished or not ended:
            taken.append(file)
        if finished:
            yield taken
            taken = []
        ended = finished
