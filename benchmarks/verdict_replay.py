"""The default verdict on recorded noise and on made-up noise.

The file of recorded noise is described in noise.py: each draw takes random blocks of the interleaved
design. ``alone``: every comparison is a run of its own; ``together``: all of a draw's comparisons are
one run, as `perf check` does it. Counted are `degradation` and `improvement`. Made-up noise is
measured in a balanced order that the verdict knows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np

from perfvcs.check import Change, EarlierSessions, Unit, compare
from perfvcs.check.stopping import interim
from perfvcs.profile.summary import Measured
from perfvcs.statistics.multiplicity import schedule

from .figures import Row
from .made import CHANGED, DRAWN, measured
from .noise import METRICS, NOISES, TRUE, Array, Noise, balanced, read, samples
from .registry import benchmark

Table = dict[tuple[str, str, str], Array]  # bench, version, metric -> median per block
EFFECTS = (0.0, 0.02, 0.05, 0.1)


def steady(side: Sequence[Measured]) -> dict[Unit, EarlierSessions]:
    """A history without any variance between sessions, which turns the unpaired rule into plain
    Welch.
    """
    return {
        Unit(one.header.job.key, DRAWN.fingerprint, found.uid, None, found.metric): EarlierSessions(
            (0.0,) * 6
        )
        for one in side
        for found in one.summaries
    }


def verdicts(
    old: list[Measured], new: list[Measured], *, together: bool, paired: bool
) -> list[Change]:
    """All changes of one draw."""
    history = None if paired else steady(new)
    if together:
        return compare(old, new, history=history).changes
    found: list[Change] = []
    for first, second in zip(old, new, strict=True):
        for place in range(len(first.summaries)):
            single = [Measured(one.header, [one.summaries[place]]) for one in (first, second)]
            found += compare(single[:1], single[1:], history=history).changes
    return found


def medians(path: Path) -> Table:
    """The medians of the interleaved executions, by block."""
    return {
        key[1:]: np.median(values, axis=1)
        for key, values in read(path).items()
        if key[0] == "inter"
    }


@benchmark("pairs", quick="needs recorded noise", needs=("recorded noise",))
def verdict_replay(
    *, noise: Path, draws: int = 300, blocks: int = 15, seed: int = 20261120
) -> Iterator[Row]:
    """How often is the default verdict wrong on recorded noise, and how often does it find 2 and 5 %?"""
    table = medians(noise)
    for paired, together in product((True, False), (False, True)):
        rng = np.random.default_rng(seed)
        found: dict[str, list[Change]] = defaultdict(list)
        for _ in range(draws):
            chosen = rng.choice(len(next(iter(table.values()))), size=blocks, replace=False)
            for version in ("B0", "B2", "B5"):
                old = _recorded(table, 0, "A", chosen, paired=paired)
                new = _recorded(table, 1, version, chosen, paired=paired)
                found[version] += verdicts(old, new, together=together, paired=paired)
        rule = f"{'paired' if paired else 'welch'} {'together' if together else 'alone'}"
        for version, changes in found.items():
            yield {"rule": rule, "version": version, **_shares(version, changes)}


def _recorded(
    table: Table, number: int, version: str, chosen: Array, *, paired: bool
) -> list[Measured]:
    """The chosen blocks of one version, of all benchmarks."""
    found = []
    for bench in sorted({bench for bench, _, _ in table}):
        columns = {metric: table[bench, version, metric][chosen].tolist() for metric in METRICS}
        found.append(measured(number, columns, job=bench, apart=not paired))
    return found


def _shares(version: str, changes: list[Change]) -> Row:
    """In percent: called changed, called improved, intervals with the truth, and the other words."""
    row: Row = {}
    for metric in METRICS:
        here = [change for change in changes if change.metric == metric]
        row[f"{metric}, %"] = 100 * fmean(change.word in CHANGED for change in here)
    words = Counter(change.word for change in changes)
    return row | {
        "wrong way, %": 100 * words["improvement"] / len(changes),
        "covered, %": 100 * fmean(_bounded(change, TRUE[version]) for change in changes),
        "same, %": 100 * words["same"] / len(changes),
        "no word, %": 100 * words["inconclusive"] / len(changes),
    }


def _bounded(change: Change, truth: float) -> bool:
    """Whether the interval has both bounds and holds the truth."""
    return change.low is not None and change.high is not None and change.low <= truth <= change.high


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
