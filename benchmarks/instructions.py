"""How exact counted instructions are.

Repeatability: the largest difference between the counts of some runs, relative to their mean, for
programs in C, C++ and Python; with random hashes too, and with an environment of another length in each
run. Injected work: kernels that do 2 % more rounds, against the same kernel, one run each.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from perfvcs.collectors.instructions import Instructions
from perfvcs.environment import PADDING, clean
from perfvcs.plugins.collector import Run

from .figures import Row
from .programs import compiled
from .registry import benchmark
from .repositories import scratch

C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned seed = 1;
static unsigned next(void) { return (seed = seed * 1103515245u + 12345u) >> 8; }
static unsigned long sorting(void)
{
    static int a[300];
    for (int i = 0; i < 300; i++) a[i] = next();
    for (int i = 1; i < 300; i++) {
        int v = a[i], j = i;
        for (; j > 0 && a[j - 1] > v; j--) a[j] = a[j - 1];
        a[j] = v;
    }
    return a[7];
}
static unsigned long multiplying(void)
{
    static double a[24][24], b[24][24], c[24][24];
    for (int i = 0; i < 24; i++) for (int j = 0; j < 24; j++) {
        double s = 0;
        for (int k = 0; k < 24; k++) s += a[i][k] * b[k][j];
        c[i][j] = s + next() % 3;
    }
    return c[1][1];
}
static unsigned long hashing(void)
{
    unsigned long h = 14695981039346656037u;
    for (int i = 0; i < 20000; i++) h = (h ^ (i & 255)) * 1099511628211u;
    return h;
}
static unsigned long allocating(void)
{
    void *p[200];
    for (int i = 0; i < 200; i++) memset(p[i] = malloc(16 + next() % 500), 0, 16);
    for (int i = 0; i < 200; i++) free(p[i]);
    return 0;
}
static unsigned long searching(void)
{
    static char text[4096];
    for (int i = 0; i < 4095; i++) text[i] = 'a' + next() % 4;
    return strstr(text, "dddddddddddd") != 0;
}
int main(int argc, char **argv)
{
    unsigned long (*kernels[])(void) = {sorting, multiplying, hashing, allocating, searching};
    const char *names[] = {"sorting", "multiplying", "hashing", "allocating", "searching"};
    unsigned long sum = 0;
    for (int kernel = 0; kernel < 5; kernel++)
        if (!strcmp(argv[1], names[kernel]))
            for (int round = 0; round < atoi(argv[2]); round++) sum += kernels[kernel]();
    printf("%lu\\n", sum);
    return 0;
}
"""
CPP = """
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
static unsigned long containers(int rounds)
{
    std::unordered_map<std::string, int> counts;
    std::map<int, std::string> names;
    for (int i = 0; i < 200 * rounds; i++) {
        counts[std::to_string(i * 7919 % 1000)]++;
        names[i * 31 % 500] = "name";
    }
    return counts.size() + names.size();
}
int main(int, char **argv)
{
    unsigned long sum = 0;
    if (std::string(argv[1]) == "threads") {
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; i++) threads.emplace_back([&] { containers(std::atoi(argv[2])); });
        for (auto &thread : threads) thread.join();
    } else {
        sum = containers(std::atoi(argv[2]));
    }
    std::printf("%lu\\n", sum);
}
"""
PYTHON = """
import sys

def loop():
    return sum(number * number for number in range(2000))

def sorting():
    return sorted(((number * 7919) % 1009 for number in range(600)), key=lambda value: -value)[0]

def strings():
    return len({f"{number:x}-{number % 7}" for number in range(500)})

def objects():
    class Point:
        def __init__(self, x, y):
            self.x, self.y = x, y
    return sum(point.x * point.y for point in [Point(number, 2) for number in range(500)])

kernel = globals()[sys.argv[1]]
print([kernel() for _ in range(int(sys.argv[2]))][0])
"""
ROUNDS = {"sorting": 400, "multiplying": 400, "hashing": 500, "allocating": 500, "searching": 1000}
PYTHON_ROUNDS = {"loop": 1000, "sorting": 1000, "strings": 1000, "objects": 1000}
FLAGS = ("-g", "-O2", "-pthread")
NEEDS = ("gcc", "g++", "valgrind")


def count(folder: Path, *command: str, padding: int = 0, **env: str) -> float:
    """The instructions of one run."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        environ = clean(os.environ) | {PADDING: "x" * padding, "LENGTH": "x" * padding} | env
        run = Run(command, folder, environ, Path(place), "whole", timeout=600)
        found = Instructions(repeat=0, least=1).collect(run).values["instructions"][0]
    assert found is not None
    return found


def python(folder: Path) -> tuple[str, str]:
    """The command of the kernels in Python."""
    (folder / "kernels.py").write_text(PYTHON)
    return sys.executable, str(folder / "kernels.py")


@benchmark("collectors", quick={"runs": 2, "only": "C,"}, needs=NEEDS)
def instructions_repeat(*, runs: int = 5, only: str = "") -> Iterator[Row]:
    """How far do the counts of runs of the same program differ?"""
    with scratch("instructions") as folder:
        c = str(compiled(folder, "kernels.c", C, *FLAGS))
        cpp = str(compiled(folder, "containers.cpp", CPP, *FLAGS))
        strings = (*python(folder), "strings", "50")
        random = {"PYTHONHASHSEED": "random"}
        cases: dict[str, tuple[tuple[str, ...], int, dict[str, str]]] = {
            "C, sorting": ((c, "sorting", "20"), 0, {}),
            "C, allocating": ((c, "allocating", "20"), 0, {}),
            "C++, containers": ((cpp, "containers", "10"), 0, {}),
            "C++, 4 threads": ((cpp, "threads", "10"), 0, {}),
            "Python, strings": (strings, 0, {}),
            "Python, objects": ((*python(folder), "objects", "50"), 0, {}),
            "Python, strings, random hashes": (strings, 0, random),
            "C, sorting, environments of different length": ((c, "sorting", "20"), 900, {}),
            "Python, strings, environments of different length": (strings, 900, {}),
        }
        for name, (command, more, env) in cases.items():
            if only in name:
                counts = [count(folder, *command, padding=more * run, **env) for run in range(runs)]
                spread = (max(counts) - min(counts)) / (sum(counts) / runs)
                yield {
                    "program": name,
                    "runs": runs,
                    "instructions, M": counts[0] / 1e6,
                    "largest difference, %": 100 * spread,
                }


@benchmark("collectors", quick={"only": ("hashing",)}, needs=NEEDS)
def instructions_work(*, only: tuple[str, ...] = ()) -> Iterator[Row]:
    """Do counts show work of 2 % more, and nothing where there is none?"""
    with scratch("instructions") as folder:
        c = (str(compiled(folder, "kernels.c", C, *FLAGS)),)
        languages = {"C": (c, ROUNDS), "Python": (python(folder), PYTHON_ROUNDS)}
        for language, (command, rounds) in languages.items():
            for name, number in rounds.items():
                if only and name not in only:
                    continue
                before, again, after = (
                    count(folder, *command, name, str(n))
                    for n in (number, number, number * 102 // 100)
                )
                yield {
                    "kernel": f"{language}, {name}",
                    "instructions, M": before / 1e6,
                    "2 % more rounds, %": 100 * (after / before - 1),
                    "the same again, %": 100 * (again / before - 1),
                }
