"""Clocks that tick too seldom.

A program of 3.2 ms that varies by 1 %, read ten times in turns by clocks of several steps, is
compared with one that takes so much longer: how often the word is `same`, how often a change, and how
often the 99 % interval holds the truth, of a program that starts at any moment between two ticks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from perfvcs.check import compare
from perfvcs.profile import Profile, Resources

from .figures import Row, percent
from .made import CHANGED, side
from .registry import benchmark

CENTRE, NOISE, PAIRS, LONG, WITHIN = 0.0032, 0.01, 10, 30, 0.03
TICKS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9)
EFFECTS = (0.0, 0.05, 0.2, 2.0)


def version(columns: dict[str, list[float]], number: int, count: int = PAIRS) -> Profile:
    """One of two versions that took turns, with a unit for each draw."""
    rows = Resources(
        names=list(columns),
        uid=[place for place in range(len(columns)) for _ in range(count)],
        execution=list(range(count)) * len(columns),
        metrics={"wall": [value for values in columns.values() for value in values]},
    )
    return side(number, rows, count)


@benchmark("pairs", quick={"draws": 5})
def ticks(*, draws: int = 300) -> Iterator[Row]:
    """How often does a clock that ticks too seldom hide a change?"""
    for tick in TICKS:
        row: Row = {"clock, s": f"{tick:g}"}
        for number, effect in enumerate(EFFECTS):
            said = words(tick, effect, draws, number)
            changed = sum(said[word] for word in CHANGED)
            row[f"same at {effect:+.0%}, %"] = percent(said["same"], draws)
            row[f"changed at {effect:+.0%}, %"] = percent(changed, draws)
            row[f"held at {effect:+.0%}, %"] = covered(tick, effect, draws, number)
        yield row


@benchmark("pairs", quick={"draws": 20})
def within(*, draws: int = 300, seed: int = 1) -> Iterator[Row]:
    """How many equal versions are open after 30 pairs, and settled by `--within 3`?"""
    rng = np.random.default_rng(seed)
    for noise in (0.01, 0.015, 0.02, 0.03):
        sides = [[bounded(rng, noise, number, draws)] for number in (0, 1)]
        changes = compare(*sides, method="log-median").changes
        still = [change for change in changes if change.word == "inconclusive"]
        settled = [change for change in still if change.bound and change.bound <= WITHIN]
        yield {
            "equal versions at ±, %": 100 * noise,
            "open at 1 %, %": percent(len(still), draws),
            "of all settled by --within 3, %": percent(len(settled), draws),
        }


def words(tick: float, effect: float, draws: int, seed: int) -> Counter[str]:
    """The words of so many comparisons, each judged for itself."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(draws):
        both = [CENTRE * factor * np.exp(rng.normal(0, NOISE, PAIRS)) for factor in (1, 1 + effect)]
        profiles = [
            version({"job": (np.floor(values / tick) * tick).tolist()}, number)
            for number, values in enumerate(both)
        ]
        found.update(
            change.word
            for change in compare([profiles[0]], [profiles[1]], method="log-median").changes
        )
    return found


def covered(tick: float, effect: float, draws: int, seed: int) -> float:
    """How many of the intervals hold the effect, in percent; relative ones, or where a reading is 0
    those in seconds.
    """
    rng = np.random.default_rng(seed)
    sides = []
    for number, factor in enumerate((1, 1 + effect)):
        times = CENTRE * factor * np.exp(rng.normal(0, NOISE, (draws, PAIRS)))
        read = np.floor(times / tick + rng.random(times.shape)) * tick
        sides.append([version({str(draw): row.tolist() for draw, row in enumerate(read)}, number)])
    longer = CENTRE * effect * np.exp(NOISE**2 / 2)
    held = []
    for change in compare(sides[0], sides[1], method="log-median").changes:
        low, high, truth = change.low, change.high, effect
        if low is None or high is None:
            low, high, truth = change.shift_low, change.shift_high, longer
        if low is not None and high is not None:  # equal readings have no interval
            held.append(low <= truth <= high)
    return 100 * float(np.mean(held))


def bounded(rng: np.random.Generator, noise: float, number: int, draws: int) -> Profile:
    """A version of so many units, thirty executions each."""
    return version(
        {
            str(draw): (CENTRE * np.exp(rng.normal(0, noise, LONG))).tolist()
            for draw in range(draws)
        },
        number,
        count=LONG,
    )
