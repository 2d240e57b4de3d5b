"""False alarms and power of every method of comparison, on recorded and on made-up noise, as
Markdown tables.

    python benchmarks/methods.py [NOISE.jsonl] [--draws 300] [--seconds 30] [--jobs 2] [--method
    NAME ...]

The methods are those that perfvcs knows; each judges every comparison alone (a run of its own), at
its own published rule where it has one, else at 1 %. NOISE.jsonl is described in noise.py: 15
random blocks a draw, +10 % is the same work with its times multiplied. The made-up noises have 10
blocks of 10 measurements, all in turns but the last, which has all of one version first. A method
which needs longer than ``--seconds`` of a processor gets fewer draws. Left out are methods that do
not even tell ten times as much from samples.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from math import sqrt
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from time import process_time

import numpy as np
from noise import (
    METRICS,
    NOISES,
    TRUE,
    Array,
    Recorded,
    benches,
    drift_apart,
    lognormal,
    read,
    samples,
)

from perfvcs.check.case import Case
from perfvcs.check.change import Change
from perfvcs.check.matching import match
from perfvcs.check.method import Method, load, names
from perfvcs.check.rows import ProfileRows
from perfvcs.errors import PerfError
from perfvcs.profile import Collected, Design, Environment, Job, Metric, Profile, Resources
from perfvcs.profile.summary import Measured

EFFECTS = (0.0, 0.02, 0.05, 0.1)
RECORDED_BLOCKS, BLOCKS = 15, 10
FEWEST = 20  # draws, however long a method takes
PILOT = 5
COMMITS = ("a" * 40, "b" * 40)
RECORDED = ("recorded wall", "recorded CPU")
CELLS: list[Cell] = []  # what the processes that judge work on


@dataclass(frozen=True)
class Cell:
    """Comparisons of one kind of noise with one effect."""

    noise: str
    effect: float
    cases: list[Case]


@dataclass(frozen=True)
class Score:
    """Shares of comparisons: ``found`` is a change in the right direction (without an effect, in
    any), ``same`` called the same.

    ``suspected``: no change was called, those found were only suspected. ``covered``: the interval
    holds the truth; None without one.
    """

    found: float
    suspected: bool
    same: float
    covered: float | None

    @property
    def text(self) -> str:
        """What was found, in words."""
        return percent(self.found) + " suspected" * (self.suspected and self.found > 0)


def profile(side: int, units: Sequence[Array], *, turns: bool) -> Profile:
    """One version's measurements, seconds of shape (blocks, measurements) per unit."""
    blocks, inner = units[0].shape
    each = blocks * inner
    values: list[float | None] = np.concatenate([unit.ravel() for unit in units]).tolist()
    rows = Resources(
        names=[f"unit {number}" for number in range(len(units))],
        uid=np.repeat(np.arange(len(units)), each).tolist(),
        execution=np.tile(np.repeat(np.arange(blocks), inner), len(units)).tolist(),
        iteration=np.tile(np.arange(inner), blocks * len(units)).tolist(),
        metrics={"wall": values},
    )
    when = f"2026-01-01T0{0 if turns else side}:00:00Z"
    design = Design(
        executions=blocks,
        order="interleaved" if turns else "sequential",
        version=side,
        versions=list(COMMITS),
    )
    return Profile(
        commit=COMMITS[side],
        job=Job(name="replay", collector="time", cmd="replay"),
        metrics={"wall": Metric("s")},
        resources=rows,
        collected=Collected("turns" if turns else f"side {side}", when, when, "replay"),
        design=design,
        environment=Environment(fields={"cpu": "recorded"}, fingerprint="0" * 12),
    )


def cell(
    noise: str, effect: float, sides: Sequence[tuple[Array, Array]], *, turns: bool = True
) -> Cell:
    """The comparisons of pairs of sides, each (blocks, measurements)."""
    profiles = [profile(place, [pair[place] for pair in sides], turns=turns) for place in (0, 1)]
    found = [Measured.of(one) for one in profiles]
    cases, _ = match(
        found[:1],
        found[1:],
        {},
        ProfileRows({id(one): each for one, each in zip(found, profiles, strict=True)}),
    )
    return Cell(noise, effect, cases)


def recorded_cells(recorded: Recorded, draws: int) -> Iterator[Cell]:
    """Wall and CPU time of the interleaved design, the benchmarks in turns, with random blocks."""
    versions = {effect: version for version, effect in TRUE.items()}
    for metric, label in zip(METRICS, RECORDED, strict=True):
        for effect in EFFECTS:
            rng = np.random.default_rng(20261120)
            sides = []
            for bench in islice(cycle(benches(recorded)), draws):
                old = recorded["inter", bench, "A", metric]
                new = recorded["inter", bench, versions.get(effect, "B0"), metric] * (
                    1 if effect in versions else 1 + effect
                )
                chosen = rng.choice(len(old), size=RECORDED_BLOCKS, replace=False)
                sides.append((old[chosen], new[chosen]))
            yield cell(label, effect, sides)


def synthetic_cells(draws: int) -> Iterator[Cell]:
    """Every kind of noise."""
    for noise in (*NOISES, drift_apart):
        for effect in EFFECTS:
            rng = np.random.default_rng(20261120)
            sides = [samples(rng, noise, BLOCKS, effect) for _ in range(draws)]
            label = noise.__name__.replace("_", " ")
            yield cell(
                label,
                effect,
                [(pair[0], pair[1]) for pair in sides],
                turns=noise is not drift_apart,
            )


def judge(method: Method, case: Case) -> Change | None:
    """The method's change for a case; None if it has nothing to say."""
    found = method.compare([case])
    return found[0] if found else None


def score(method: Method, one: Cell, draws: int) -> Score:
    """How the method fares with the first draws of a cell."""
    changes = [judge(method, case) for case in one.cases[:draws]]
    words = [change.word if change else "" for change in changes]
    hits = [
        word == "degradation"
        or (word == "improvement" and not one.effect)
        or (word == "suspected" and right(change, one.effect))
        for word, change in zip(words, changes, strict=True)
    ]
    bounds = [
        (change.low, change.high)
        for change in changes
        if change and change.low is not None and change.high is not None
    ]
    covered = [low <= one.effect <= high for low, high in bounds]
    return Score(
        found=fmean(hits),
        suspected="degradation" not in words and "improvement" not in words,
        same=fmean(word == "same" for word in words),
        covered=fmean(covered) if len(covered) == len(changes) else None,
    )


def right(change: Change | None, effect: float) -> bool:
    """Whether a suspected change goes the way of the effect, if there is one."""
    return not effect or (change is not None and (change.effect or 0) > 0)


def obstacle(method: Method) -> str:
    """Why a method has no place in the tables: what it says of ten times as much; empty for a good
    one.
    """
    rng = np.random.default_rng(1)
    sides = [samples(rng, lognormal, BLOCKS, 9.0) for _ in range(PILOT)]
    try:
        found = [
            judge(method, case)
            for case in cell("pilot", 9.0, [(pair[0], pair[1]) for pair in sides]).cases
        ]
    except PerfError as error:
        return str(error)
    if any(change and change.word in ("degradation", "suspected") for change in found):
        return ""
    last = found[-1]
    return (last.reason if last else "") or "it has nothing to say of samples without sizes"


def affordable(method: Method, cells: Sequence[Cell], draws: int, seconds: float) -> int:
    """How many draws of every cell fit into the time, of a processor."""
    for one in cells:
        judge(method, one.cases[0])  # the first one of all opens the rows
    start = process_time()
    for one in cells:
        judge(method, one.cases[-1])
    each = process_time() - start
    return min(draws, max(FEWEST, int(seconds / each)))


def evaluate(
    name: str, draws: int, seconds: float
) -> str | tuple[int, dict[tuple[str, float], Score]]:
    """How many draws a method had, and its scores by noise and effect; what is in its way when it
    has no place in the tables.
    """
    method = load(name)()
    reason = obstacle(method)
    if reason:
        return reason
    enough = affordable(method, CELLS, draws, seconds)
    found = {(one.noise, one.effect): score(method, one, enough) for one in CELLS}
    print(f"{name}: {enough} draws", file=sys.stderr, flush=True)
    return enough, found


def table(title: str, rows: dict[str, list[str]], columns: Sequence[str]) -> None:
    """Print a Markdown table."""
    print(f"\n{title}\n\n| method | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for name, values in rows.items():
        print(f"| `{name}` | {' | '.join(values)} |")


def percent(share: float | None) -> str:
    """A share as people write it; a dash for none."""
    if share is None:
        return "-"
    return (
        f"{share:.1%}".replace("%", " %")
        if 0 < share < 0.0995
        else f"{share:.0%}".replace("%", " %")
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("noise", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--method", action="append")
    given = parser.parse_args()
    cells = [
        *(recorded_cells(read(given.noise), given.draws) if given.noise else ()),
        *synthetic_cells(given.draws),
    ]
    judged = partial(evaluate, draws=given.draws, seconds=given.seconds)
    scores: dict[str, dict[tuple[str, float], Score]] = {}
    draws: dict[str, int] = {}
    skipped: dict[str, str] = {}
    with get_context("fork").Pool(given.jobs, CELLS.extend, (cells,)) as pool:
        for name, result in zip(
            given.method or names(), pool.imap(judged, given.method or names()), strict=True
        ):
            if isinstance(result, str):
                skipped[name] = result
            else:
                draws[name], scores[name] = result
    kinds = list(dict.fromkeys(one.noise for one in cells))
    real, made = (
        [kind for kind in kinds if kind in RECORDED],
        [kind for kind in kinds if kind not in RECORDED],
    )
    heads = ["the same" if not effect else f"+{100 * effect:g} %" for effect in EFFECTS]
    for kind in real:
        rows = {
            name: [found[kind, effect].text for effect in EFFECTS] for name, found in scores.items()
        }
        for name, found in scores.items():
            rows[name] += [
                percent(found[kind, 0.05].same),
                percent(found[kind, 0.05].covered),
                str(draws[name]),
            ]
        table(
            f"Called changed, {kind} time, {RECORDED_BLOCKS} pairs:",
            rows,
            [*heads, "+5 % called same", "interval holds +5 %", "draws"],
        )
    for effect, head in zip(EFFECTS, heads, strict=True):
        rows = {name: [found[kind, effect].text for kind in made] for name, found in scores.items()}
        title = "False alarms" if not effect else f"Changes of {head} found"
        table(f"{title}, {BLOCKS} pairs:", rows, made)
    for name, reason in skipped.items():
        print(f"\n`{name}` is left out: {reason}.")
    spread = [
        f"{100 * share:g} +- {196 * sqrt(share * (1 - share) / given.draws):.1f} %"
        for share in (0.01, 0.05, 0.5)
    ]
    print(
        f"\n`suspected`: so it was called, never changed. Uncertainty of {given.draws} draws (95"
        f" %): {', '.join(spread)}."
    )


if __name__ == "__main__":
    main()
