"""One benchmark of a program that has a filter for that: Google Benchmark's, which then does a
single iteration of it.

https://github.com/google/benchmark/blob/main/docs/user_guide.md has the options.
"""

from __future__ import annotations

import mmap
import re
from dataclasses import replace
from pathlib import Path

from perfvcs.collectors._shared.commandrun import launched
from perfvcs.collectors.instructions import valgrind
from perfvcs.collectors.instructions.callgrind import NothingCounted
from perfvcs.collectors.instructions.counts import Counts
from perfvcs.launcher import LaunchOptions
from perfvcs.launcher.execution import name_command
from perfvcs.plugins.collector import CollectError, Run

# what a program has of the library, or names of it
SIGNS = (b"_ZN9benchmark", b"benchmark_list_tests")
NO_MATCH = "Failed to match any benchmarks"
SPECIAL = re.compile(r"[][\\^$.|?*+(){}]")  # in a regular expression of POSIX


def has_filter(program: str) -> bool:
    """Whether a program was made with Google Benchmark."""
    try:
        with (
            Path(program).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            return content[:4] == b"\x7fELF" and any(content.find(sign) >= 0 for sign in SIGNS)
    except (OSError, ValueError):  # ValueError: it is empty
        return False


def count(run: Run, folder: Path, *, inlined: bool = False) -> Counts:
    """The instructions of one iteration of the run's unit, of each of its sizes; raises
    CollectError.

    They are those of the function of that name, with what it does before its loop. Where no
    function has the name (fixtures and lambdas), the program's own start is among them.
    """
    name = SPECIAL.sub(r"\\\g<0>", run.unit)
    chosen = f"--benchmark_filter=^{name}(/.*)?$"
    alone = replace(run, unit="", argv=(*run.argv, chosen, "--benchmark_min_time=0"))
    listing = launched(
        run, (*run.argv, chosen, "--benchmark_list_tests=true"), options=LaunchOptions(run.cpus)
    )
    if NO_MATCH in listing.stderr:
        raise CollectError(
            f"{run.unit} is not among the benchmarks of {name_command(run.argv)}"
            " (--benchmark_list_tests has them)"
        )
    folders = folder / "alone", folder / "whole"
    for place in folders:
        place.mkdir()
    function = f"*{run.unit.partition('/')[0]}(benchmark::State&)"
    try:
        return valgrind.record(alone, "callgrind", folders[0], inlined=inlined, only=function)
    except NothingCounted:
        counts = valgrind.record(alone, "callgrind", folders[1], inlined=inlined)
        counts.warnings.append(
            f"{run.unit} is counted with the start of {name_command(run.argv)}: it is not a"
            " function of that name"
        )
        return counts
