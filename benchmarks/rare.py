"""How often `perf check` says "same" of a change that only some executions have, and that adds more
than delta on average.

    python benchmarks/rare.py [--draws 4000] [--delta 0.05] [--noise 0.01]

Pairs of executions differ by ``--noise`` a side; a share of the new ones is slower, by so much that
all together are slower by delta, or by half as much again, or by twice. Prints how often no slow
one was among them, so that nothing can tell, how often it was called the same, and how often it
would be if Student's interval of 99 % were asked for in place of that of 90 %
(``statistics.huber``).
"""

from __future__ import annotations

import argparse

import numpy as np

from perfvcs.statistics import difference, huber

CONFIDENCE = 0.99


def main() -> None:
    """Draw, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--noise", type=float, default=0.01)
    options = parser.parse_args()
    random, bar = np.random.default_rng(1), float(np.log1p(options.delta))
    print("pairs  share  on average  slower by  none seen    same  with 99 %")
    for pairs in (10, 15, 20, 40):
        for share in (0.05, 0.1, 0.2):
            for times in (1.0, 1.5, 2.0):
                slower = bar * times / share
                slow = random.random((options.draws, pairs)) < share
                gaps = random.normal(0, options.noise * np.sqrt(2), slow.shape) + slower * slow
                found, plain = (
                    huber.paired(0 * gaps, gaps, CONFIDENCE),
                    difference.paired(0 * gaps, gaps, CONFIDENCE),
                )
                inside = (found.difference.low >= -bar) & (found.difference.high <= bar)
                same, strict = (
                    (inside & ~(found.drawn & (reach > bar))).mean()
                    for reach in (found.reach, np.maximum(-plain.low, plain.high))
                )
                print(
                    f"{pairs:5} {share:6.0%} {np.expm1(bar * times):11.1%} {np.expm1(slower):10.0%}"
                    f" {(~slow.any(axis=1)).mean():10.1%} {same:7.1%} {strict:10.1%}"
                )


if __name__ == "__main__":
    main()
