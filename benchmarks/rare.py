"""Changes that only some executions have, and that add more than delta on average.

Pairs of executions differ by ``noise`` a side; a share of the new ones is slower, by so much that all
together are slower by delta, or by half as much again, or by twice. Counted is how often no slow one
was among them, so that nothing can tell, how often it was called the same, and how often it would be
if Student's interval of 99 % were asked for in place of that of 90 % (``statistics.huber``).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from perfvcs.statistics import difference, huber

from .figures import Row
from .registry import benchmark

CONFIDENCE = 0.99


@benchmark("pairs", quick={"draws": 50})
def rare(
    *, draws: int = 4000, delta: float = 0.05, noise: float = 0.01, seed: int = 1
) -> Iterator[Row]:
    """How often does `perf check` say "same" of a change that only some executions have?"""
    random, bar = np.random.default_rng(seed), float(np.log1p(delta))
    for pairs, share, times in product((10, 15, 20, 40), (0.05, 0.1, 0.2), (1.0, 1.5, 2.0)):
        slower = bar * times / share
        slow = random.random((draws, pairs)) < share
        gaps = random.normal(0, noise * np.sqrt(2), slow.shape) + slower * slow
        found = huber.paired(0 * gaps, gaps, CONFIDENCE)
        plain = difference.paired(0 * gaps, gaps, CONFIDENCE)
        inside = (found.difference.low >= -bar) & (found.difference.high <= bar)
        same = inside & ~(found.drawn & (found.reach > bar))
        strict = inside & ~(found.drawn & (np.maximum(-plain.low, plain.high) > bar))
        yield {
            "pairs": pairs,
            "share, %": 100 * share,
            "on average, %": 100 * np.expm1(bar * times),
            "slower by, %": 100 * np.expm1(slower),
            "none seen, %": 100 * (~slow.any(axis=1)).mean(),
            "same, %": 100 * same.mean(),
            "with 99 %, %": 100 * strict.mean(),
        }
