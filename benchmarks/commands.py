"""Two commands, as `perf compare` and hyperfine compare them.

Ten pairs of a program that does a known amount of work, half of them equal, on a machine that ``busy``
other programs keep busy. hyperfine names a winner of every pair; it is taken to say so if the ratio
differs from 1 by more than the deviation that it prints, or by Welch's test over its runs at 5 %, as its
script `welch_ttest.py` has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import sqrt
from pathlib import Path
from typing import NamedTuple

from perfvcs.statistics.difference import welch

from .figures import Row
from .made import CHANGED
from .programs import compiled
from .registry import benchmark
from .repositories import perf, scratch

PROGRAM = r"""
#include <stdint.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    volatile uint64_t sink = 0;
    uint64_t x = 88172645463325252ull;
    for (long i = argc > 1 ? atol(argv[1]) : 0; i > 0; i--) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        sink += x;
    }
    return 0;
}
"""
THOUSANDS = {"1 ms": 300, "10 ms": 5_000, "50 ms": 25_000}  # of rounds
LEVEL = 0.05  # of Welch's test


class Pair(NamedTuple):
    """Two commands, and by how much the second one does more."""

    name: str
    first: str
    second: str
    more: float


class Said(NamedTuple):
    """What a tool says of a pair: 1 that the second is slower, -1 faster, 0 neither."""

    way: int
    ratio: float
    seconds: float


def pairs(program: Path) -> list[Pair]:
    """Ten pairs."""

    def pair(name: str, more: float) -> Pair:
        rounds = 1000 * THOUSANDS[name]
        first, second = (f"{program} {round(rounds * factor)}" for factor in (1, 1 + more))
        return Pair(f"{name}, {more:+.0%}" if more else f"{name}, equal", first, second, more)

    same = "python3 -S -c pass"
    return [
        *(pair(name, 0.0) for name in THOUSANDS),
        Pair("a start of Python, equal", same, same, 0.0),
        Pair("sleep 0.02, equal", "sleep 0.02", "sleep 0.02", 0.0),
        pair("1 ms", 1.0),
        pair("10 ms", 0.05),
        pair("10 ms", 0.2),
        pair("50 ms", 0.02),
        pair("50 ms", -0.1),
    ]


@benchmark(
    "pairs",
    quick="it takes minutes: hyperfine runs each command for 3 s",
    needs=("hyperfine", "gcc"),
)
def commands(*, runs: int = 2, busy: int = 1) -> Iterator[Row]:
    """Who is right about two commands, `perf compare` or hyperfine, and how long does it take?"""
    with scratch("commands") as folder, _busy(busy):
        right = {"perf": 0, "±": 0, "t": 0}
        spent = {"perf": 0.0, "hyperfine": 0.0}
        chosen = pairs(compiled(folder, "work.c", PROGRAM, "-O2"))
        for pair in chosen:
            for _ in range(runs):
                ours = _compared(folder, pair)
                theirs, by_test = _hyperfine(folder, pair)
                truth = (pair.more > 0) - (pair.more < 0)
                right["perf"] += ours.way == truth
                right["±"] += theirs.way == truth
                right["t"] += by_test == truth
                spent["perf"] += ours.seconds
                spent["hyperfine"] += theirs.seconds
                yield {
                    "pair": pair.name,
                    "perf compare": _words(ours, truth),
                    "s": ours.seconds,
                    "hyperfine by its ±": _words(theirs, truth),
                    "by Welch's test": _words(theirs._replace(way=by_test), truth),
                    "s of hyperfine": theirs.seconds,
                }
        count = len(chosen) * runs
        yield {
            "pairs": count,
            "right: perf compare": right["perf"],
            "right: hyperfine by its ±": right["±"],
            "right: by Welch's test": right["t"],
            "s": spent["perf"],
            "s of hyperfine": spent["hyperfine"],
            "load": os.getloadavg()[0],
        }


def _words(said: Said, truth: int) -> str:
    word = {1: "slower", -1: "faster", 0: "open"}[said.way]
    right = "" if said.way == truth else " (missed)" if said.way == 0 else " (wrong)"
    return f"{word}{right}, {said.ratio:.3g}"


def _compared(folder: Path, pair: Pair) -> Said:
    began = time.monotonic()
    said = json.loads(perf(folder, "compare", pair.first, pair.second, "--json"))
    (change,) = said["comparisons"]
    way = {"degradation": 1, "improvement": -1}.get(change["word"], 0)
    assert bool(way) == (change["word"] in CHANGED)
    first, second = (command["levels"][0]["centre"] for command in said["commands"])
    return Said(way, second / first, time.monotonic() - began)


def _hyperfine(folder: Path, pair: Pair) -> tuple[Said, int]:
    """What it says by its deviations, and by Welch's test over its runs."""
    began = time.monotonic()
    command = ["hyperfine", "-N", "--warmup", "1", "--export-json", "h.json"]
    subprocess.run([*command, pair.first, pair.second], cwd=folder, capture_output=True, check=True)
    seconds = time.monotonic() - began
    first, second = json.loads((folder / "h.json").read_text())["results"]
    ratio = second["mean"] / first["mean"]
    # as it prints it: the deviation of a quotient
    deviation = ratio * sqrt(sum((one["stddev"] / one["mean"]) ** 2 for one in (first, second)))
    test = welch([first["times"]], [second["times"]])
    way = _way(ratio - 1) if abs(ratio - 1) > deviation else 0
    by_test = _way(float(test.estimate[0])) if float(test.p[0]) < LEVEL else 0
    return Said(way, ratio, seconds), by_test


def _way(difference: float) -> int:
    return (difference > 0) - (difference < 0)


@contextmanager
def _busy(count: int) -> Iterator[Sequence[subprocess.Popen[bytes]]]:
    """So many programs that do nothing but take time."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield loops
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()
