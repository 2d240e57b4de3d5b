"""Rules that look at growing samples again and again: how often are they wrong by chance?

`perf compare` and `perf judge` look at pairs beyond the usual thirty at every fifth. Pairs without a difference are
normal here, and a look is wrong where the p-value of Student's test is below that of the look. A ratchet
lowers a limit after each session where the newest ten allow it; sessions are normal here, by their
logarithms, and one fails where it lies above the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, inf

import numpy as np
from scipy import stats

from perfvcs.judge.expectation import PROOF
from perfvcs.reports.ratchet import LASTING, MOST_COMMITS, room
from perfvcs.statistics.multiplicity import FIRST_PAIRS, MOST_PAIRS, PAIRS, is_look, level

from .figures import Row
from .registry import benchmark

SPREAD = 0.02  # of sessions, as logarithms


@benchmark("pairs", quick={"draws": 200})
def looks(*, draws: int = 20_000, seed: int = 1) -> Iterator[Row]:
    """How often do `perf compare` and `perf judge` find a difference where there is none, by their
    pairs?

    ``times the level``: how often `perf judge` proves something, over the p-value that this needs.
    """
    gaps = np.random.default_rng(seed).standard_normal((draws, MOST_PAIRS))
    counts = np.arange(1, MOST_PAIRS + 1)
    means = gaps.cumsum(axis=1) / counts
    squares = (gaps**2).cumsum(axis=1) - counts * means**2
    errors = np.sqrt(squares[:, 1:] / counts[:-1] / counts[1:])
    p = 2 * stats.t.sf(np.abs(means[:, 1:] / errors), counts[:-1])
    for most in (PAIRS, 60, 100, MOST_PAIRS):
        turns = [turn for turn in range(FIRST_PAIRS, most + 1) if is_look(turn) or turn == most]
        levels = np.array([level(turn, most) for turn in turns])
        wrong = (p[:, np.array(turns) - 2] <= levels).any(axis=1)
        proofs = (p[:, np.array(turns) - 2] <= PROOF).any(axis=1)
        yield {
            "turns": most,
            "looks": len(turns),
            "draws": draws,
            "wrong, %": 100 * wrong.mean(),
            "proofs, times the level": proofs.mean() / PROOF,
        }


@benchmark("pairs", quick={"series": 3, "sessions": 40})
def ratchets(*, series: int = 200, sessions: int = 300, seed: int = 3) -> Iterator[Row]:
    """How many sessions fail a limit that a ratchet lowered in a series that does not change?"""
    levels = np.random.default_rng(seed).normal(0, SPREAD, (series, sessions))
    failed = {"highest of ten": 0, "with room": 0}
    for row in np.exp(levels).tolist():
        limits = dict.fromkeys(failed, inf)
        for turn in range(LASTING, sessions):
            last = row[max(0, turn - MOST_COMMITS) : turn][::-1]
            worst = max(last[:LASTING])
            limits["highest of ten"] = min(limits["highest of ten"], worst)
            limits["with room"] = min(limits["with room"], worst * room(last))
            for rule, limit in limits.items():
                failed[rule] += row[turn] > limit
    judged = series * (sessions - LASTING)
    for rule, count in failed.items():
        yield {
            "rule": rule,
            "sessions": judged,
            "spread, %": 100 * (exp(SPREAD) - 1),
            "failed, %": 100 * count / judged,
        }
