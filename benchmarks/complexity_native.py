"""What recording a call of a C function costs: ``python benchmarks/complexity_native.py``.

A program calls a function of two instructions in a loop and reports its own CPU time per call, the
least of 7 blocks of 1,000,000 calls. It is compiled without the flags, with them, and run with the
function recorded, or another one; the table gives what each adds to a call in nanoseconds, the
least of some runs. Then the distortion of a recursive quicksort of 5,000 numbers: what it takes,
and what a profile says that it takes.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from needs import need

from perfvcs.collectors.complexity.calls import Calls, RecordingRequest, parse
from perfvcs.collectors.complexity.native import fentry
from perfvcs.plugins.collector import Run

FLAGS = ("-g", "-pg", "-mfentry")
LEAF = """
#include <stdio.h>
#include <time.h>
struct list { long count; };
__attribute__((noinline)) long leaf(struct list *l, long n) { __asm__ volatile("" : : "r"(l)); return n + 1; }
__attribute__((noinline)) long other(long n) { __asm__ volatile("" : : "r"(n)); return n; }
static double cpu(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
int main(int argc, char **argv)
{
    double best = 1e9;
    long sum = other(argc);
    struct list l = {0};
    for (int block = 0; block < 7; block++) {
        double start = cpu();
        for (long i = 0; i < 1000000; i++) {
            l.count = i & 1023;
            sum += leaf(&l, i & 1023);
        }
        double took = (cpu() - start) / 1e6;
        best = took < best ? took : best;
    }
    FILE *file = fopen(argv[1], "w");
    fprintf(file, "%g", best);
    fclose(file);
    return sum == 1;
}
"""
SORT = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
__attribute__((noinline)) void quicksort(int *a, int n)
{
    if (n < 2)
        return;
    int pivot = a[n / 2], i = 0, j = n - 1;
    for (;; i++, j--) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i >= j) break;
        int t = a[i]; a[i] = a[j]; a[j] = t;
    }
    quicksort(a, i);
    quicksort(a + i, n - i);
}
int main(int argc, char **argv)
{
    static int a[5000];
    double best = 1e12;
    for (int round = 0; round < 200; round++) {
        srand(1);
        for (int i = 0; i < 5000; i++) a[i] = rand();
        double start = now();
        quicksort(a, 5000);
        double took = now() - start;
        best = took < best ? took : best;
    }
    FILE *file = fopen(argv[argc - 1], "w");
    fprintf(file, "%g", best);
    fclose(file);
    return 0;
}
"""


def compile_(folder: Path, name: str, text: str, *flags: str) -> Path:
    """A program; linked without the flags, as perfvcs' builds do."""
    source, target = folder / f"{name}.c", folder / name
    source.write_text(text)
    subprocess.run(["gcc", "-O2", *flags, "-c", source, "-o", f"{target}.o"], check=True)
    subprocess.run(["gcc", f"{target}.o", "-o", target], check=True)
    return target


def measure(
    program: Path, function: str = "", *, patch: bool = True, outermost: bool = True
) -> tuple[float, Calls | None]:
    """What the program reports of one run, and what was recorded when a function is named."""
    with tempfile.TemporaryDirectory() as scratch:
        said = Path(scratch, "said")
        calls = None
        if function:
            run = Run(
                (str(program), str(said)),
                program.parent,
                dict(os.environ),
                Path(scratch),
                "program",
            )
            before, fentry.PATCH = fentry.PATCH, fentry.PATCH if patch else 0
            calls = fentry.record(run, RecordingRequest((parse(function),), outermost=outermost))
            fentry.PATCH = before
        else:
            subprocess.run([program, said], check=True)
        return float(said.read_text()), calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=7, help="of each line; the least counts")
    runs = parser.parse_args().runs
    need("gcc")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plain, flagged = compile_(folder, "plain", LEAF), compile_(folder, "flagged", LEAF, *FLAGS)
        base = min(measure(plain)[0] for _ in range(runs))
        print(f"a call takes {base:.2f} ns; more:")
        cases = (
            ("compiled with the flags, run without the recorder", "", True),
            ("recorded, size from an argument", "leaf=n", True),
            ("recorded, size behind a pointer", "leaf=l->count", True),
            ("recorded, size computed (3 * l->count + n)", "leaf=3*l->count+n", True),
            ("recorded, one size for all", "leaf=1", True),
            ("another function recorded", "other=n", True),
            ("another function recorded, code not patched", "other=n", False),
        )
        for title, function, patch in cases:
            best = min(measure(flagged, function, patch=patch)[0] for _ in range(runs))
            print(f"  {title:50s} {best - base:6.1f} ns")
        sort, recorded = compile_(folder, "sort", SORT), compile_(folder, "recorded", SORT, *FLAGS)
        alone = min(measure(sort)[0] for _ in range(runs))
        print(f"quicksort of 5,000 numbers takes {alone / 1e3:.0f} us; recorded:")
        for title, outermost in (("outermost calls", True), ("all calls", False)):
            found = [measure(recorded, "quicksort=n", outermost=outermost) for _ in range(runs)]
            calls = min(
                (calls for _, calls in found if calls),
                key=lambda one: one.duration[one.size == 5000].min(),
            )
            largest = dataclasses.astuple(calls)[3][calls.size == 5000]
            print(
                f"  {title:20s} takes {min(took for took, _ in found) / 1e3:.0f} us, profile says"
                f" {np.min(largest) * 1e6:.0f} us"
            )


if __name__ == "__main__":
    main()
