"""What sampling call stacks costs the program: ``python benchmarks/sampling.py``.

A C++ and a Python program, each of more than half a second of processor time, are run in pairs,
alone and sampled, in random order. The program itself says how much processor time it used, so that
the sampler's own and the start of both do not count. The cost is the geometric mean of the ratios,
with Student's 99 % interval over the pairs; shown with it is how far the sampled time is from the
program's own, what share of the stacks lacks its beginning, and how long reading the samples took.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import mean, stdev

from needs import need

from perfvcs import launcher
from perfvcs.collectors.samples.linux import LinuxPerf
from perfvcs.collectors.samples.pyspy import PySpy
from perfvcs.collectors.samples.sampler import TRUNCATED, Sampler, record
from perfvcs.plugins.collector import Run

CPP = """
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>
__attribute__((noinline)) long fill(int n) {
    std::map<std::string, int> m;
    for (int i = 0; i < n; i++) m["key" + std::to_string(i * 7919L % n)] += i;
    return m.size();
}
__attribute__((noinline)) long order(int n) {
    std::vector<unsigned> v(n);
    unsigned seed = 1;
    for (auto &x : v) x = seed = seed * 1103515245u + 12345u;
    std::sort(v.begin(), v.end());
    return v[0];
}
int main(int, char **argv) {
    long sum = 0;
    for (int round = 0; round < 60; round++) sum += fill(30000) + order(60000);
    FILE *file = fopen(argv[1], "w");
    fprintf(file, "%.6f %ld", clock() / (double)CLOCKS_PER_SEC, sum);
    fclose(file);
}
"""
PYTHON = """
import json, sys, time

def push(heap, value):
    heap.append(value)
    at = len(heap) - 1
    while at and heap[(at - 1) // 2] > heap[at]:
        heap[at], heap[(at - 1) // 2] = heap[(at - 1) // 2], heap[at]
        at = (at - 1) // 2

def fill(count):
    heap = []
    for number in range(count, 0, -1):
        push(heap, number)
    return heap

for _ in range(12):
    json.loads(json.dumps(fill(25_000)))
open(sys.argv[1], "w").write(f"{time.process_time():.6f} 0")
"""


def programs(folder: Path) -> dict[str, tuple[str, ...]]:
    """Both programs, made ready in ``folder``."""
    (folder / "work.cpp").write_text(CPP)
    (folder / "work.py").write_text(PYTHON)
    subprocess.run(
        ["g++", "-O2", "-g", "-fno-omit-frame-pointer", "work.cpp", "-o", "work"],
        cwd=folder,
        check=True,
    )
    return {"C++": (str(folder / "work"),), "Python": (sys.executable, str(folder / "work.py"))}


def own(path: Path) -> float:
    """The processor time that a program said it used."""
    return float(path.read_text().split()[0])


def pairs(
    argv: tuple[str, ...], sampler: Sampler, folder: Path, count: int, cwd: Path
) -> list[str]:
    """The row of one program and sampler."""
    logs, distances, truncated, reading = [], [], [], []
    env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    for number in range(count):
        seconds = {}
        for sampled in random.sample((False, True), 2):
            place = folder / f"{sampler.engine.replace('/', '-')}-{sampler.rate}-{number}-{sampled}"
            place.mkdir()
            command = (*argv, str(place / "own"))
            if not sampled:
                launcher.launch(command, cwd=cwd, env=env, timeout=600)
            else:
                began = time.perf_counter()
                execution, folded = record(
                    Run(command, cwd, env, place, "work", timeout=600), sampler
                )
                reading.append(time.perf_counter() - began - execution.wall)
                short = sum(
                    count for stack, count in folded.stacks.items() if stack[0] == TRUNCATED
                )
                truncated.append(short / max(1, folded.total))
            seconds[sampled] = own(place / "own")
        distances.append(folded.total / sampler.rate / seconds[True] - 1)
        logs.append(math.log(seconds[True] / seconds[False]))
    from scipy.stats import t

    half = float(t.ppf(0.995, count - 1)) * stdev(logs) / math.sqrt(count)
    centre, low, high = (
        100 * (math.exp(value) - 1) for value in (mean(logs), mean(logs) - half, mean(logs) + half)
    )
    return [
        sampler.engine,
        f"{sampler.rate} Hz",
        f"{centre:+.1f} % [{low:+.1f}, {high:+.1f}]",
        f"{100 * mean(distances):+.1f} %",
        f"{100 * mean(truncated):.1f} %",
        f"{mean(reading):.2f} s",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    count = parser.parse_args().pairs
    need("g++", "/usr/bin/perf", "py-spy")
    print(
        "| program | engine | rate | cost in CPU time | sampled time against its own | without"
        " beginning | beside the program |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        argv = programs(folder)
        cases: list[tuple[str, Sampler]] = [
            ("C++", LinuxPerf()),
            ("C++", LinuxPerf(unwind="fp")),
            ("C++", LinuxPerf(4999)),
            ("Python", PySpy()),
            ("Python", PySpy(1000)),
        ]
        for language, sampler in cases:
            print(
                f"| {language} |"
                f" {' | '.join(pairs(argv[language], sampler, folder, count, folder))} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
