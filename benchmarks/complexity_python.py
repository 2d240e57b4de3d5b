"""What recording a call of a Python function costs: ``python benchmarks/complexity_python.py [INTERPRETER...]``.

A program calls a function of one line in a loop and reports its own CPU time per call, the least of 7 blocks of 200,000 calls. It is
run as it is, and with the function recorded (its size given, or guessed) or another one; the difference is what a call costs more, in
nanoseconds.
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

from perfvcs.collectors import Run
from perfvcs.complexity import Function, Request
from perfvcs.complexity.python import record

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
    function: Function
    compiled: bool


CASES = (
    Case("size given, compiled", Function("leaf:leaf", "len(items)"), True),
    Case("size guessed, compiled", Function("leaf:leaf"), True),
    Case("size computed by a function, compiled", Function("leaf:leaf", "sum(items)"), True),
    Case("size given, in Python", Function("leaf:leaf", "len(items)"), False),
    Case("size guessed, in Python", Function("leaf:leaf"), False),
    Case("another function recorded", Function("leaf:other"), True),
)


def plain(interpreter: str, folder: Path) -> float:
    """Nanoseconds per call of the program as it is."""
    subprocess.run([interpreter, "leaf.py", "plain"], cwd=folder, check=True)
    return float((folder / "plain").read_text())


def recorded(interpreter: str, folder: Path, case: Case) -> float:
    """Nanoseconds per call with a function recorded."""
    with tempfile.TemporaryDirectory() as scratch:
        run = Run((interpreter, "leaf.py", "recorded"), folder, dict(os.environ), Path(scratch), "all")
        if case.compiled:
            calls = record(run, Request((case.function,)))
        else:
            with mock.patch("perfvcs.complexity.python.compiled_recorder", return_value=([], None)):
                calls = record(run, Request((case.function,)))
    assert calls.engine == ("rewrite-c/1" if case.compiled else "rewrite/1"), calls
    return float((folder / "recorded").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("interpreters", nargs="*", default=[sys.executable], metavar="INTERPRETER")
    names = parser.parse_args().interpreters
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
                    taken[case][name] = min(taken[case].get(name, float("inf")), recorded(name, folder, case))
        print(f"{'(the call itself)':40}", *(f"{base[name]:10.0f}" for name in names))
        for case in CASES:
            print(f"{case.title:40}", *(f"{taken[case][name] - base[name]:10.0f}" for name in names))


if __name__ == "__main__":
    main()
