"""What it costs to apply each postprocessor to a million rows.

    python benchmarks/postprocessors.py [--rows 1000000] [--repeat 3]

Prints the least time and CPU time of some runs of ``apply``, for a thousand units and for one, and
how much the largest memory of the process grew beyond the profile itself; each in a process of its
own. What searches or fits unit by unit is slow for many units: there are twenty of them.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

import numpy as np

from perfvcs import plugins
from perfvcs.profile import Collected, Job, Metric, Profile, Resources

CASES: dict[str, tuple[str, dict[str, object], int]] = {  # name, options, sizes of a unit (0: none)
    "normalizer": ("normalizer", {}, 1000),
    "regressogram, mean": ("regressogram", {}, 1000),
    "regressogram, median": ("regressogram", {"statistic": "median"}, 1000),
    "moving-average, mean": ("moving-average", {}, 1000),
    "moving-average, median": ("moving-average", {"kind": "median"}, 1000),
    "moving-average, exponential": ("moving-average", {"kind": "exponential"}, 1000),
    "kernel-regression, rule": ("kernel-regression", {}, 1000),
    "kernel-regression, estimator": ("kernel-regression", {"mode": "estimator"}, 1000),
    "lowess": ("lowess", {}, 1000),
    "clusterizer, sort-order": ("clusterizer", {"strategy": "sort-order"}, 1000),
    "clusterizer, sliding-window": ("clusterizer", {"strategy": "sliding-window"}, 1000),
    "clusterizer, mixture": ("clusterizer", {}, 1000),
    "outliers, around a model": ("outliers", {"around": "model"}, 1000),
    "outliers, around sizes": ("outliers", {"around": "size"}, 10),
    "bootstrap": ("bootstrap", {}, 10),
}
UNIT_BY_UNIT = ("kernel-regression, estimator", "lowess", "clusterizer, mixture")
FEW = 20  # units of these


def made(rows: int, units: int, sizes: int) -> Profile:
    """Durations that rise with the size, in ten executions."""
    random = np.random.default_rng(1)
    size = random.integers(1, sizes + 1, rows).astype(float)
    duration = 1e-9 * (50 + 3 * size) * np.exp(0.05 * random.standard_normal(rows))
    columns = Resources(
        names=[f"unit {number}" for number in range(units)],
        uid=random.integers(0, units, rows).tolist(),
        execution=(np.arange(rows) % 10).tolist(),
        size=size.tolist(),
        metrics={"duration": duration.tolist()},
    )
    return Profile(
        commit="0" * 40,
        job=Job("benchmark", "complexity", "none"),
        collected=Collected("", "", "", ""),
        metrics={"duration": Metric("s")},
        resources=columns,
    )


def largest() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(case: str, rows: int, units: int, repeat: int) -> None:
    """Print one line of the table."""
    name, options, sizes = CASES[case]
    member = plugins.build("postprocessors", name, options, "benchmark")
    profile = made(rows, units, sizes)
    member.apply(made(1000, 1, sizes))  # the imports
    before, times, busy = largest(), [], []
    for _ in range(repeat):
        begin, used = time.perf_counter(), time.process_time()
        member.apply(profile)
        times.append(time.perf_counter() - begin)
        busy.append(time.process_time() - used)
    grown = largest() - before
    print(
        f"{case:32} {rows:9,} {units:6,} {min(times):7.2f} s {min(busy):7.2f} s {grown:6.0f} MB",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--units", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        measure(options.case, options.rows, options.units, options.repeat)
        return
    print(f"{'postprocessor':32} {'rows':>9} {'units':>6} {'time':>9} {'CPU':>9} {'memory':>9}")
    for case in CASES:
        for units in (1, FEW) if case in UNIT_BY_UNIT else (1, 1000):
            command = [sys.executable, __file__, "--case", case, "--units", str(units)]
            subprocess.run(
                [*command, "--rows", str(options.rows), "--repeat", str(options.repeat)], check=True
            )


if __name__ == "__main__":
    main()
