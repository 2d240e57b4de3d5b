"""What recording a call of a Python function costs: ``python benchmarks/complexity_python.py
[--loop CALLS] [INTERPRETER...]``.

A program calls a function of one line in a loop and reports its own CPU time per call, the least of
7 blocks of 200,000 calls. It is run as it is, and with the function recorded (its size given, or
guessed) or another one; the difference is what a call costs more, in nanoseconds. With ``--loop``,
what so many calls of one function take in all, how much memory, and how large the file of its rows
is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from needs import need

from perfvcs.collectors.complexity.calls import RecordingRequest, TracedFunction
from perfvcs.collectors.complexity.python import record
from perfvcs.plugins.collector import Run

PROGRAM = """
import sys, time

def leaf(items):
    return items

def other(items):
    return items

def block(calls):
    items = [1, 2, 3]
    start = time.process_time()
    for _ in range(calls):
        leaf(items)
    return (time.process_time() - start) / calls

other([1])
block(1000)
best = min(block(200_000) for _ in range(7))
with open(sys.argv[1], "w") as file:
    file.write(str(best * 1e9))
"""
ROUNDS = 5


class Case(NamedTuple):
    """One row: what is recorded, and whether by the compiled recorder."""

    title: str
    function: TracedFunction
    compiled: bool


CASES = (
    Case("size given, compiled", TracedFunction("leaf:leaf", "len(items)"), True),
    Case("size guessed, compiled", TracedFunction("leaf:leaf"), True),
    Case("size computed by a function, compiled", TracedFunction("leaf:leaf", "sum(items)"), True),
    Case("size given, in Python", TracedFunction("leaf:leaf", "len(items)"), False),
    Case("size guessed, in Python", TracedFunction("leaf:leaf"), False),
    Case("another function recorded", TracedFunction("leaf:other"), True),
)


def plain(interpreter: str, folder: Path) -> float:
    """Nanoseconds per call of the program as it is."""
    subprocess.run([interpreter, "leaf.py", "plain"], cwd=folder, check=True)
    return float((folder / "plain").read_text())


def recorded(interpreter: str, folder: Path, case: Case) -> float:
    """Nanoseconds per call with a function recorded."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Run(
            (interpreter, "leaf.py", "recorded"), folder, dict(os.environ), Path(scratch), "all"
        )
        if case.compiled:
            calls = record(run, RecordingRequest((case.function,)))
        else:
            with mock.patch(
                "perfvcs.collectors.complexity.python.compiled_recorder", return_value=([], None)
            ):
                calls = record(run, RecordingRequest((case.function,)))
    assert calls.engine == ("rewrite-c/1" if case.compiled else "rewrite/1"), calls
    return float((folder / "recorded").read_text())


LOOP = """
import sys, time

def f(n): return n

start = time.process_time()
for i in range(int(sys.argv[1])):
    f(i % 100)
used = time.process_time() - start
most = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
open(sys.argv[2], "w").write(f"{used} {most}")
"""


def loop(interpreter: str, folder: Path, calls: int) -> None:
    """Print what a loop of so many calls takes, as it is and recorded."""
    (folder / "loop.py").write_text(LOOP)

    def cost_of(name: str) -> str:
        seconds, memory = (folder / name).read_text().split()
        return f"{float(seconds):.1f} s of CPU time, {int(memory) * 1024 / 1e6:.1f} MB"

    subprocess.run([interpreter, "loop.py", str(calls), "plain"], cwd=folder, check=True)
    print(f"{calls:,} calls: {cost_of('plain')}")
    for some in (10_000, calls):
        with tempfile.TemporaryDirectory() as scratch:
            run = Run(
                (interpreter, "loop.py", str(some), "recorded"),
                folder,
                dict(os.environ),
                Path(scratch),
                "all",
            )
            rows = record(run, RecordingRequest((TracedFunction("loop:f", "n"),)))
            size = sum(path.stat().st_size for path in Path(scratch).rglob("calls-*.bin"))
        print(
            f"{some:,} calls recorded ({rows.engine}): {cost_of('recorded')}, {size / 1e3:.0f} kB"
            f" of rows; {len(rows.size):,} rows, whose rates add up to {rows.rate.sum():,.0f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--loop",
        type=int,
        metavar="CALLS",
        help="a loop of so many calls instead, such as 100000000",
    )
    parser.add_argument("interpreters", nargs="*", default=[sys.executable], metavar="INTERPRETER")
    chosen = parser.parse_args()
    need("cc", "Python.h")
    names = chosen.interpreters
    if chosen.loop:
        with tempfile.TemporaryDirectory() as place:
            for name in names:
                loop(name, Path(place), chosen.loop)
        return
    print(f"{'ns per call, added':40}", *(f"{Path(name).parts[-3][:10]:>10}" for name in names))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "leaf.py").write_text(PROGRAM)
        base = {name: plain(name, folder) for name in names}
        taken: dict[Case, dict[str, float]] = {case: {} for case in CASES}
        for _ in range(ROUNDS):
            for name in names:
                for case in CASES:
                    base[name] = min(base[name], plain(name, folder))
                    taken[case][name] = min(
                        taken[case].get(name, float("inf")), recorded(name, folder, case)
                    )
        print(f"{'(the call itself)':40}", *(f"{base[name]:10.0f}" for name in names))
        for case in CASES:
            print(
                f"{case.title:40}", *(f"{taken[case][name] - base[name]:10.0f}" for name in names)
            )


if __name__ == "__main__":
    main()
