"""The default verdict on made-up noise, in a balanced order that it knows.

Counted are `degradation` and `improvement`.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import NamedTuple

import numpy as np

from perfvcs.check import Change, compare
from perfvcs.check.stopping import interim
from perfvcs.statistics.multiplicity import schedule

from .figures import Row
from .made import CHANGED, measured
from .noise import NOISES, Array, Noise, balanced, samples
from .registry import benchmark

EFFECTS = (0.0, 0.02, 0.05, 0.1)


def drawn(rng: np.random.Generator, noise: Noise, blocks: int, effect: float) -> Array:
    """Medians per execution of both versions, shape (2, blocks), in seconds."""
    found: Array = np.median(samples(rng, noise, blocks, effect), axis=2)
    return found


@benchmark("pairs", quick={"draws": 5})
def verdict_synthetic(*, draws: int = 300, blocks: int = 10, seed: int = 1) -> Iterator[Row]:
    """How often is the default verdict wrong on made-up noise, and how often does it find changes?"""
    for noise in NOISES:
        rng = np.random.default_rng(seed)
        row: Row = {"noise": noise.__name__.replace("_", " ")}
        covered = {}
        for effect in EFFECTS:
            changes: list[Change] = []
            for _ in range(draws):
                sides, later = drawn(rng, noise, blocks, effect), balanced(rng, blocks)
                old, new = (
                    [measured(side, {"wall": sides[side].tolist()}, later=later)] for side in (0, 1)
                )
                changes += compare(old, new).changes
            heading = f"+{effect:.0%} found, %" if effect else "false alarms, %"
            row[heading] = 100 * fmean(change.word in CHANGED for change in changes)
            covered[effect] = 100 * fmean(_held(change, effect) for change in changes)
        yield row | {"covered at 0, %": covered[0.0], "covered at +5%, %": covered[0.05]}


def _held(change: Change, effect: float) -> bool:
    """Whether the interval holds an effect."""
    return (change.low or 0) <= effect <= (change.high or 0)


class Stopped(NamedTuple):
    """The verdict where measuring stopped, and after how many pairs."""

    change: Change
    pairs: int


@benchmark("pairs", quick={"draws": 3})
def verdict_sequential(*, draws: int = 300, seed: int = 2) -> Iterator[Row]:
    """The same where measuring stops as soon as the verdict is there (`--measure`)."""
    for noise in NOISES:
        rng = np.random.default_rng(seed)
        row: Row = {"noise": noise.__name__.replace("_", " ")}
        for effect, heading in ((0.0, "false alarms, %"), (0.05, "+5% found, %")):
            ends = [_stopped(rng, noise, effect) for _ in range(draws)]
            row[heading] = 100 * fmean(end.change.word in CHANGED for end in ends)
            row[f"pairs at +{effect:.0%}"] = fmean(end.pairs for end in ends)
            row[f"covered at +{effect:.0%}, %"] = 100 * fmean(
                _held(end.change, effect) for end in ends
            )
        yield row


def _stopped(rng: np.random.Generator, noise: Noise, effect: float) -> Stopped:
    """One draw, measured until its verdict is there."""
    looks = schedule()
    sides, later = drawn(rng, noise, looks[-1], effect), balanced(rng, looks[-1])
    count: int | None = looks[0]
    while count is not None:
        have = count
        old, new = (
            [measured(side, {"wall": sides[side, :have].tolist()}, later=later)] for side in (0, 1)
        )
        seen = interim(old, new, pairs=have)
        count = seen.pairs
    return Stopped(seen.report.changes[0], have)
