"""How exact counted allocations are, and what counting costs.

Exactness: programs in C and C++ that tell what they allocate (``tests/native/memory``), and functions in
Python whose objects' sizes are known; counts, bytes, peak and what is left, against what the collector
says. Cost: the least CPU time of some runs of a program that allocates a million small blocks, of one in
C++, and of two in Python, over that without; of Python net of what an empty program takes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

from perfvcs.collectors.memory import Memory, python, shim

from .figures import ROOT, Row
from .programs import compiled, least
from .registry import Wrong, benchmark
from .repositories import scratch

sys.path.append(str(ROOT / "tests"))
import heaps

C = """
#include <stdlib.h>
#include <string.h>
static volatile void *seen;
int main(void)
{
    static void *kept[100000];
    for (int i = 0; i < 900000; i++) { char *p = strdup("a string of exactly 29 bytes."); seen = p; free(p); }
    for (int i = 0; i < 100000; i++) kept[i] = malloc(32);
    char *big = malloc(8 << 20);
    memset(big, 1, 8 << 20);
    for (int i = 0; i < 100000; i++) free(kept[i]);
    return big[7] - 1;
}
"""
CPP = """
#include <map>
#include <string>
#include <vector>
int main()
{
    std::map<int, std::string> names;
    for (int i = 0; i < 50000; i++) names[i] = "a string that is longer than what fits " + std::to_string(i);
    std::vector<std::string> all;
    for (auto &one : names) all.push_back(one.second);
    return all.size() != 50000;
}
"""
PYTHON = {
    "objects.py": (
        """
for _ in range(200_000):
    block = bytearray(2000)
large = bytearray(16 << 20)
objects = [object() for _ in range(300_000)]
"""
    ),
    "calls.py": (
        """
class Point:
    def __init__(self, x):
        self.x = x
points = [Point(number) for number in range(300_000)]
"""
    ),
}
KNOWN = """
def churn(n, size):
    for _ in range(n):
        block = bytearray(size)

def keep(n, size):
    kept = [None] * n
    for number in range(n):
        kept[number] = bytearray(size)
    return kept

def repeat(n):
    return "0123456789" * n

churn(200, 25_000)
kept = keep(200, 100_000)
text = repeat(100_000)
"""
EXPECTED = {
    "churn": 200 * (25_001 + 56),
    "keep": 200 * (100_001 + 56) + 56 + 1600,
    "repeat": 1_000_049,
}


@benchmark("collectors", quick={}, needs=("gcc", "g++"))
def memory_native() -> Iterator[Row]:
    """Are the allocations of programs in C and C++ counted exactly?"""
    wrong = 0
    with scratch("memory") as folder:
        for known in heaps.programs():
            found = heaps.measured((str(known.build(folder)),), folder)
            counted = heaps.of_functions(found, known.functions)
            wrong += counted != known.totals
            totals = {name: int(value) for name, value in known.totals.items()}
            yield {"program": known.source.name, "exact": counted == known.totals, **totals}
    if wrong:
        raise Wrong(f"{wrong} programs are not counted exactly")


@benchmark("collectors", quick={}, needs=("memray",))
def memory_python() -> Iterator[Row]:
    """Are the bytes of Python's functions counted exactly?"""
    with scratch("memory") as folder:
        (folder / "known.py").write_text(KNOWN)
        found = heaps.measured((sys.executable, str(folder / "known.py")), folder, exact=True)
        for function, expected in EXPECTED.items():
            counted = int(heaps.of_functions(found, (function,))["bytes"])
            yield {
                "function": function,
                "bytes": expected,
                "counted": counted,
                "off by, %": 100 * (counted / expected - 1),
            }


def environment(folder: Path, more: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), **more}


@benchmark("collectors", quick={"runs": 1}, needs=("gcc", "g++"))
def memory_native_cost(*, runs: int = 15) -> Iterator[Row]:
    """How many times as long do allocating programs of C and C++ take, where they are counted?"""
    with scratch("memory") as folder:
        (folder / "left").mkdir()
        preload = {
            "LD_PRELOAD": str(shim.preloaded()),
            "PERFVCS_MEMORY": str(folder / "left"),
            "PERFVCS_MEMORY_DEPTH": "64",
        }
        for name in ("libunwind.so.8", "libunwind.so"):  # that have nothing
            shutil.move(compiled(folder, "empty.c", "", "-shared"), folder / name)
        bare = preload | {"LD_LIBRARY_PATH": str(folder)}
        ways = {"counted, times": preload, "without libunwind, times": bare}
        for name, source in (("million.c", C), ("map.cpp", CPP)):
            program = [str(compiled(folder, name, source, "-O2"))]
            plain = least(program, environment(folder, {}), folder, runs)
            row: Row = {"program": name, "plain, ms": 1000 * plain}
            for way, env in ways.items():
                row[way] = least(program, environment(folder, env), folder, runs) / plain
            yield row


@benchmark("collectors", quick={"runs": 1}, needs=("memray",))
def memory_python_cost(*, runs: int = 15) -> Iterator[Row]:
    """The same of Python under each recorder, net of what an empty program takes under it."""
    ways: dict[str, tuple[Literal["memray", "tracemalloc"] | None, bool]] = {
        "nothing": (None, False),
        "memray": ("memray", False),
        "memray, exact": ("memray", True),
        "tracemalloc": ("tracemalloc", False),
    }
    plain: dict[str, float] = {}
    with scratch("memory") as folder:
        for name, source in {**PYTHON, "nothing.py": ""}.items():
            (folder / name).write_text(source)
        run = heaps.run_of((sys.executable, "any.py"), folder)
        for way, (recorder, exact) in ways.items():
            env: dict[str, str] = {"PYTHONHASHSEED": "0"}
            if recorder:
                place = Path(tempfile.mkdtemp(dir=folder))
                env = python._environment(run, Memory(recorder, exact), place)
            env = environment(folder, env)
            start = least([sys.executable, str(folder / "nothing.py")], env, folder, runs)
            row: Row = {"recorder": way, "to start, ms": 1000 * start}
            for name in PYTHON:
                net = least([sys.executable, str(folder / name)], env, folder, runs) - start
                row[f"{name}, times"] = net / plain.setdefault(name, net)
            yield row
