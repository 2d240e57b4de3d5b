"""What it costs to fit every model to a million rows of a thousand groups.

    python benchmarks/fitting.py [--rows 1000000] [--groups 1000]

Prints the time of the best of three and how much the largest memory of the process grew beyond the
columns themselves, for rows in the order of their groups and in none, with and without weights.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from perfvcs.statistics.regression.fitting import fit


def largest() -> float:
    """The largest memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--groups", type=int, default=1_000)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    group = np.sort(random.integers(0, options.groups, options.rows))
    x = random.uniform(1, 1000, options.rows)
    y = (50 + 3 * x) * np.exp(0.05 * random.standard_normal(options.rows))
    mixed = random.permutation(options.rows)
    print(f"{'rows':10} {'weights':8} {'time':>8} {'memory':>9}")
    for order, name in ((slice(None), "by group"), (mixed, "mixed")):
        for weights in (None, 1 / y[order] ** 2):
            columns = x[order].copy(), y[order].copy(), group[order].copy()
            before, times = largest(), []
            for _ in range(3):
                begin = time.perf_counter()
                fit(*columns, weights)
                times.append(time.perf_counter() - begin)
            grown = largest() - before
            print(
                f"{name:10} {'no' if weights is None else 'yes':8} {min(times):6.2f} s"
                f" {grown:6.0f} MB"
            )
    print(f"whole process {largest():.0f} MB")


if __name__ == "__main__":
    main()
