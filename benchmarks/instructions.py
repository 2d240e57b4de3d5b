"""How exact counted instructions are, and what counting costs: ``python
benchmarks/instructions.py``.

Repeatability: the largest difference between the counts of some runs, relative to their mean, for
programs in C, C++ and Python; with random hashes too, and with an environment of another length in
each run. Injected work: kernels that do 2 % more rounds, against the same kernel, one run each.
Parsing: a file of callgrind of at least 10 MB (Python importing half of its library, several times
over); the least CPU time of some. Cost: the CPU time of a program under the tools, over that
without.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from needs import need

from perfvcs import launcher
from perfvcs.collectors.instructions import Instructions, callgrind, valgrind
from perfvcs.collectors.instructions.functions import functions
from perfvcs.collectors.instructions.paths import paths
from perfvcs.environment import PADDING, clean
from perfvcs.plugins.collector import Run

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
NEWLINE = b"\n"
ROUNDS = {"sorting": 400, "multiplying": 400, "hashing": 500, "allocating": 500, "searching": 1000}
PYTHON_ROUNDS = {"loop": 1000, "sorting": 1000, "strings": 1000, "objects": 1000}
IMPORTS = (
    "import asyncio, concurrent.futures, email.mime.text, http.server, json, multiprocessing,"
    " sqlite3, unittest.mock, xml.dom.minidom"
)


def count(
    folder: Path, *command: str, tool: str = "callgrind", padding: int = 0, **env: str
) -> float:
    """The instructions of one run."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        environ = clean(os.environ) | {PADDING: "x" * padding, "LENGTH": "x" * padding} | env
        run = Run(command, folder, environ, Path(scratch), "whole", timeout=600)
        found = Instructions(tool=tool, repeat=0, least=1).collect(run).values["instructions"][0]  # type: ignore[arg-type]
    assert found is not None
    return found


def programs(folder: Path) -> tuple[str, str, tuple[str, str]]:
    """Compiles; the C program, the C++ program and the Python command."""
    for name, text, compiler in (("kernels.c", C, "gcc"), ("containers.cpp", CPP, "g++")):
        (folder / name).write_text(text)
        subprocess.run(
            [compiler, "-g", "-O2", "-pthread", name, "-o", Path(name).stem], cwd=folder, check=True
        )
    (folder / "kernels.py").write_text(PYTHON)
    return (
        str(folder / "kernels"),
        str(folder / "containers"),
        (sys.executable, str(folder / "kernels.py")),
    )


def repeatability(folder: Path, runs: int) -> None:
    """The table of spreads."""
    c, cpp, python = programs(folder)
    cases: list[tuple[str, tuple[str, ...], dict[str, str]]] = [
        ("C, sorting", (c, "sorting", "20"), {}),
        ("C, allocating", (c, "allocating", "20"), {}),
        ("C++, containers", (cpp, "containers", "10"), {}),
        ("C++, 4 threads", (cpp, "threads", "10"), {}),
        ("Python, strings", (*python, "strings", "50"), {}),
        ("Python, objects", (*python, "objects", "50"), {}),
        (
            "Python, strings, random hashes",
            (*python, "strings", "50"),
            {"PYTHONHASHSEED": "random"},
        ),
    ]
    print(f"| {runs} runs of | instructions | largest difference |\n|---|---|---|")
    for name, command, env in cases:
        same = [count(folder, *command, **env) for _ in range(runs)]
        print(f"| {name} | {same[0] / 1e6:,.1f} M | {spread(same)} |")
    padded = [count(folder, c, "sorting", "20", padding=900 * run) for run in range(runs)]
    print(
        f"| C, sorting, environments of different length | {padded[0] / 1e6:,.1f} M |"
        f" {spread(padded)} |"
    )
    padded = [count(folder, *python, "strings", "50", padding=900 * run) for run in range(runs)]
    print(
        f"| Python, strings, environments of different length | {padded[0] / 1e6:,.1f} M |"
        f" {spread(padded)} |"
    )


def spread(values: list[float]) -> str:
    """The largest difference, relative to the mean."""
    found = (max(values) - min(values)) / (sum(values) / len(values))
    return f"{100 * found:.4f} %" if found else "0"


def work(folder: Path) -> None:
    """The table of injected work."""
    c, _, python = programs(folder)
    print("\n| kernel | instructions | 2 % more rounds | the same again |\n|---|---|---|---|")
    for language, command, rounds in (("C", (c,), ROUNDS), ("Python", python, PYTHON_ROUNDS)):
        for name, number in rounds.items():
            before, again, after = (
                count(folder, *command, name, str(n)) for n in (number, number, number * 102 // 100)
            )
            more, same = (100 * (count / before - 1) for count in (after, again))
            print(f"| {language}, {name} | {before / 1e6:,.1f} M | {more:+.2f} % | {same:+.4f} % |")


def parsing(folder: Path, runs: int) -> None:
    """What reading a file takes, and what making its tables takes."""
    out = folder / "counts"
    command = [
        "valgrind",
        "-q",
        "--tool=callgrind",
        *valgrind.OF_CALLGRIND,
        f"--callgrind-out-file={out}",
        sys.executable,
        "-c",
        IMPORTS,
    ]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    one = out.read_bytes()
    content = one * -(-10_000_000 // len(one))
    counts = callgrind.parse(content, "counts")
    table = functions(counts, folder)
    least = 0.0005 * counts.total
    steps: list[tuple[str, Callable[[], object]]] = [
        (
            f"reading it: {len(counts.contexts):,} contexts, {len(counts.caller):,} edges",
            lambda: callgrind.parse(content, ""),
        ),
        (f"{len(table.uid):,} functions", lambda: functions(counts, folder)),
        (f"{len(paths(counts, least)):,} paths", lambda: paths(counts, least)),
    ]
    print(
        f"\n| {len(content) / 1e6:.1f} MB, {content.count(NEWLINE):,} lines | CPU time, best of"
        f" {runs} |\n|---|---|"
    )
    for name, step in steps:
        print(f"| {name} | {best(step, runs):.2f} s |")


def best(call: Callable[[], object], runs: int) -> float:
    """The shortest of some calls in seconds of CPU time, since others may use the processors
    too.
    """
    took = []
    for _ in range(runs):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return min(took)


def cost(folder: Path, runs: int) -> None:
    """The table of slow-downs."""
    c, _, python = programs(folder)
    print("\n| program | CPU time | callgrind | cachegrind |\n|---|---|---|---|")
    for name, command in (
        ("C, sorting", (c, "sorting", "3000")),
        ("Python, loop", (*python, "loop", "200")),
        ("C, nothing", (c, "none", "0")),
    ):
        took = []
        for tool in ((), ("callgrind",), ("cachegrind", "--cache-sim=no")):
            wrapped = (
                [
                    "/usr/bin/valgrind",
                    "-q",
                    f"--tool={tool[0]}",
                    f"--{tool[0]}-out-file=/dev/null",
                    *tool[1:],
                ]
                if tool
                else []
            )
            env = {**clean(os.environ), "PYTHONHASHSEED": "0"}
            took.append(
                min(
                    launcher.launch([*wrapped, *command], cwd=folder, env=env, timeout=600).cpu
                    for _ in range(runs)
                )
            )
        print(
            f"| {name} | {1000 * took[0]:.1f} ms | x {took[1] / took[0]:.0f} | x"
            f" {took[2] / took[0]:.0f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--case", choices=["repeatability", "work", "parsing", "cost"], action="append"
    )
    options = parser.parse_args()
    need("gcc", "g++", "valgrind")
    cases = options.case or ["repeatability", "work", "parsing", "cost"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "repeatability" in cases:
            repeatability(folder, options.runs)
        if "work" in cases:
            work(folder)
        if "parsing" in cases:
            parsing(folder, options.runs)
        if "cost" in cases:
            cost(folder, options.runs)


if __name__ == "__main__":
    main()
