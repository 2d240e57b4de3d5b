"""Whole comparisons on this machine.

A git repository of ten small benchmarks of mixed noise (C and Python: computing, memory, sorting,
system calls, threads, files, a sleeping and a bimodal one), with a version that does the same work, one
with 5 % and one with 10 % more. Every run is a whole `perf check --measure` of two versions, measured in
turns. The true ratio of an injection is that of the counted work, start-up excluded: each benchmark
reports its inner wall and CPU time beside the whole process.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .figures import Row, percent
from .made import CHANGED
from .registry import benchmark
from .repositories import commit, perf, repository, scratch

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "factor.h"
#include "perfvcs.h"

static volatile uint64_t sink;
static uint64_t next(uint64_t *state) { *state ^= *state << 13; *state ^= *state >> 7; *state ^= *state << 17; return *state; }
static void compute(long n) { uint64_t x = 88172645463325252ull; for (long i = 0; i < n; i++) sink += next(&x); }
static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}
static void sort(long n) {
    uint32_t data[512]; uint64_t x = 1234567ull;
    for (long i = 0; i < n; i++) {
        for (int k = 0; k < 512; k++) data[k] = (uint32_t)next(&x);
        qsort(data, 512, 4, compare);
        sink += data[7];
    }
}
static void memory(long n) {
    size_t size = 8 << 20; unsigned char *block = malloc(size); memset(block, 1, size); uint64_t x = 99ull;
    for (long i = 0; i < n; i++) sink += block[next(&x) & (size - 1)];
    free(block);
}
static void allocate(long n) {
    void *live[256] = {0}; uint64_t x = 5ull;
    for (long i = 0; i < n; i++) { int k = (int)(next(&x) & 255); free(live[k]); live[k] = malloc(16 + (next(&x) & 1023)); }
    for (int k = 0; k < 256; k++) free(live[k]);
}
static void calls(long n) {
    int null = open("/dev/null", O_WRONLY);
    for (long i = 0; i < n; i++) if (write(null, "x", 1) < 0) break;
    close(null);
}
static void *thread(void *n) { compute((long)(intptr_t)n); return 0; }
static void threads(long n) {
    pthread_t two[2];
    for (int k = 0; k < 2; k++) pthread_create(&two[k], 0, thread, (void *)(intptr_t)n);
    for (int k = 0; k < 2; k++) pthread_join(two[k], 0);
}
static void bimodal(long n) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    compute(t.tv_nsec / 1000 % 2 ? n + n / 8 : n);
}

int main(int argc, char **argv) {
    struct { const char *name; void (*work)(long); long n; } all[] = {
        {"compute", compute, 20000000}, {"sort", sort, 700}, {"memory", memory, 5000000}, {"allocate", allocate, 900000},
        {"calls", calls, 250000}, {"threads", threads, 8000000}, {"bimodal", bimodal, 15000000}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (argc > 1 && !strcmp(argv[1], all[k].name)) {
            for (int i = 0; i < 5; i++) {
                perfvcs_timer timer = perfvcs_begin();
                all[k].work((long)(all[k].n / 5 * FACTOR));
                perfvcs_end(timer, "inner", PERFVCS_NO_SIZE);
            }
            return 0;
        }
    return 2;
}
"""

SCRIPT = """\
import sys
from factor import FACTOR
import perfvcs_bench as bench

def objects(n):
    kept = {}
    for i in range(n):
        kept[str(i % 5000)] = (i, [i])

def text(n):
    for i in range(n):
        "-".join(sorted(f"{i} is a number of {i * 7} things".split())).upper()

def numbers(n):
    total = 0
    for i in range(n):
        total += i * i % 7

work, n = {"py-objects": (objects, 60_000), "py-text": (text, 20_000), "py-numbers": (numbers, 250_000)}[sys.argv[1]]
for _ in range(5):
    with bench.measure("inner"):
        work(int(n / 5 * FACTOR))
"""

NATIVE = ("compute", "sort", "memory", "allocate", "calls", "threads", "bimodal")
PYTHON = ("py-objects", "py-text", "py-numbers")


FACTORS = (1.0, 1.05, 1.1)
Changes = list[dict[str, Any]]


def build(folder: Path) -> dict[float, str]:
    """The repository; the commits by the factor of their work."""
    jobs = [f'[[job]]\nname = "{name}"\ncmd = "./program {name}"\n' for name in NATIVE]
    jobs += [
        f'[[job]]\nname = "{name}"\ncmd = "\'{sys.executable}\' script.py {name}"\n'
        for name in PYTHON
    ]
    config = 'build = ["cc -O2 -pthread -o program program.c"]\n' + "".join(jobs)
    repository(folder, {"perf.toml": config, "program.c": PROGRAM, "script.py": SCRIPT})
    return {
        factor: commit(
            folder,
            f"{factor}",
            {"factor.h": f"#define FACTOR {factor}\n", "factor.py": f"FACTOR = {factor}\n"},
        )
        for factor in FACTORS
    }


@benchmark("pairs", quick="ten jobs on two versions take over 10 s", needs=("cc",))
def trials(*, runs: int = 20, executions: int = 10) -> Iterator[Row]:
    """How often is `perf check` wrong on this machine, and how often does it find what is there?"""
    with scratch("trials") as folder:
        versions = build(folder)
        for factor in FACTORS:
            found = []
            for _ in range(runs):
                shutil.rmtree(folder / ".perf", ignore_errors=True)
                words = ("--measure", "--json", "--executions", str(executions))
                said = perf(folder, "check", *words, versions[1.0], versions[factor])
                found.append(json.loads(said)["changes"])
            yield from _rows(factor, found)


def _rows(factor: float, runs: list[Changes]) -> Iterator[Row]:
    """A row per unit (whole process, inner time) and metric."""
    groups = defaultdict[tuple[str, str], list[Changes]](list)
    for changes in runs:
        by_kind = defaultdict[tuple[str, str], Changes](list)
        for change in changes:
            unit = "inner" if change["uid"] == "inner" else "process"
            by_kind[unit, change["metric"]].append(change)
        for kind, changes_of_kind in by_kind.items():
            groups[kind].append(changes_of_kind)
    words = CHANGED[:1] if factor > 1 else CHANGED
    for (unit, metric), found in sorted(groups.items()):
        if metric == "maxrss" and factor > 1:
            continue
        flat = [change for changes in found for change in changes]
        bounded = [change for change in flat if change["low"] is not None]
        held = sum(change["low"] <= factor - 1 <= change["high"] for change in bounded)
        known = unit == "inner" or factor == 1  # the share of the start is not
        yield {
            "work, %": 100 * factor - 100,
            "unit": unit,
            "metric": metric,
            "comparisons": len(flat),
            "changed": sum(change["word"] in words for change in flat),
            "in runs": sum(any(one["word"] in words for one in changes) for changes in found),
            "covered, %": percent(held, len(bounded)) if known else None,
        }
