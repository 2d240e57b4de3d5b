"""How often `perf check` is wrong on this machine, and how often it finds what is there.

    python benchmarks/trials.py [--runs 20] [--executions 10] [--folder DIR]

Makes a git repository of ten small benchmarks of mixed noise (C and Python: computing, memory,
sorting, system calls, threads, files, a sleeping and a bimodal one), with a version that does the
same work, one with 5 % and one with 10 % more. Every run is a whole `perf check --measure` of two
versions, measured in turns. Prints, per metric: false alarms of the version against itself, how
many of the runs found the injected work, and how many intervals cover the true ratio.

The true ratio of an injection is that of the counted work, start-up excluded, so that it is told by
the benchmarks themselves: each reports its inner wall and CPU time beside the whole process.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from needs import need

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


def main() -> None:
    """Run the trials and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--executions", type=int, default=10)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    need("cc")
    folder = options.folder or Path(tempfile.mkdtemp(prefix="perfvcs-trials-"))
    versions = build(folder)
    print(
        f"{options.runs} runs of {len(NATIVE) + len(PYTHON)} benchmarks with {options.executions}"
        " executions a side",
        flush=True,
    )
    print(f"{'work %':8} {'unit':8} {'metric':8} {'changed':>12} {'in runs':>10} {'covered':>10}")
    for factor in (1.0, 1.05, 1.1):
        rows = [
            trial(folder, versions[1.0], versions[factor], options.executions)
            for _ in range(options.runs)
        ]
        report(factor, rows)
    if options.folder is None:
        shutil.rmtree(folder)


def build(folder: Path) -> dict[float, str]:
    """The repository; the commits by the factor of their work."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main")
    python = sys.executable
    jobs = [f'[[job]]\nname = "{name}"\ncmd = "./program {name}"\n' for name in NATIVE]
    jobs += [
        f'[[job]]\nname = "{name}"\ncmd = "\'{python}\' script.py {name}"\n' for name in PYTHON
    ]
    build = 'build = ["cc -O2 -pthread -o program program.c"]\n'
    (folder / "perf.toml").write_text(build + "".join(jobs))
    (folder / "program.c").write_text(PROGRAM)
    (folder / "script.py").write_text(SCRIPT)
    commits = {}
    for factor in (1.0, 1.05, 1.1):
        (folder / "factor.h").write_text(f"#define FACTOR {factor}\n")
        (folder / "factor.py").write_text(f"FACTOR = {factor}\n")
        git(folder, "add", "--all")
        git(
            folder,
            "-c",
            "user.name=trials",
            "-c",
            "user.email=trials@example.org",
            "commit",
            "--quiet",
            "--message",
            f"{factor}",
        )
        commits[factor] = git(folder, "rev-parse", "HEAD")
    return commits


def git(folder: Path, *arguments: str) -> str:
    """Run git and return what it printed."""
    return subprocess.run(
        ["git", *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def trial(folder: Path, old: str, new: str, executions: int) -> list[dict[str, object]]:
    """The changes of one `perf check --measure` in a fresh store."""
    shutil.rmtree(folder / ".perf", ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "perfvcs",
        "check",
        "--measure",
        "--json",
        "--executions",
        str(executions),
        old,
        new,
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 4):
        raise SystemExit(f"{command}: {done.returncode}: {done.stderr}")
    changes: list[dict[str, object]] = json.loads(done.stdout)["changes"]
    return changes


def report(factor: float, runs: list[list[dict[str, object]]]) -> None:
    """Print a line per unit (whole process, inner time) and metric."""
    groups: dict[tuple[str, str], list[list[dict[str, object]]]] = defaultdict(list)
    for changes in runs:
        by_kind: dict[tuple[str, str], list[dict[str, object]]] = defaultdict(list)
        for change in changes:
            by_kind[
                "inner" if change["uid"] == "inner" else "process", str(change["metric"])
            ].append(change)
        for kind, found in by_kind.items():
            groups[kind].append(found)
    words = ("degradation",) if factor > 1 else ("degradation", "improvement")
    for (unit, metric), found in sorted(groups.items()):
        if metric == "maxrss" and factor > 1:
            continue
        flat = [change for changes in found for change in changes]
        called = sum(change["word"] in words for change in flat)
        runs_with = sum(any(change["word"] in words for change in changes) for changes in found)
        known = [change for change in flat if change["low"] is not None]
        covered = sum(
            float(str(change["low"])) <= factor - 1 <= float(str(change["high"]))
            for change in known
        )
        cover = f"{covered}/{len(known)}" if unit == "inner" or factor == 1 else ""
        runs_called = f"{runs_with}/{len(found)}"
        print(
            f"+{100 * factor - 100:<7.0f} {unit:8} {metric:8} {f'{called}/{len(flat)}':>12}"
            f" {runs_called:>10} {cover:>10}",
            flush=True,
        )


if __name__ == "__main__":
    main()
