"""Whether a plan keeps its promise: the power of `perf check` with as many executions as `perf
plan` says.

    python benchmarks/planning.py [NOISE.jsonl] [--draws 400]

First with noise that is known exactly, of several kinds: the power of a comparison in pairs at the
planned number for 1, 2, 5 and 10 %, which should be 80 %. Then planned, as in life, from one small
session of 5, 10 or 20 executions: the power averaged over the sessions, and the numbers planned
(median, and 10 % and 90 % of them). With a file of recorded noise (equal versions, and versions
that do 2 and 5 % more, in turns) the same from 10 of its pairs; plans for more pairs than were
recorded are not tried.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from math import sqrt
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perfvcs.check import compare
from perfvcs.plan.design import PlanRule, needed
from perfvcs.plan.variation import spreads
from perfvcs.profile import Collected, Design, Environment, Job, Metric
from perfvcs.profile.summary import Header, Measured, Summary

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Array]

EFFECTS = (0.01, 0.02, 0.05, 0.1)
SPREAD = 0.03
WIDEST = 2000  # executions that are still simulated
MANY = 100_000  # executions that tell all of a noise


def normal(rng: np.random.Generator, count: int) -> Array:
    return SPREAD * rng.standard_normal(count)


def heavy(rng: np.random.Generator, count: int) -> Array:
    """Student's t with 5 degrees of freedom, of the same variance."""
    return SPREAD * rng.standard_t(5, count) / sqrt(5 / 3)


def bimodal(rng: np.random.Generator, count: int) -> Array:
    return 0.02 * rng.standard_normal(count) + 0.05 * (rng.random(count) < 0.3)


def outliers(rng: np.random.Generator, count: int) -> Array:
    """One execution in 30 takes half as long again."""
    return 0.02 * rng.standard_normal(count) + 0.4 * (rng.random(count) < 1 / 30)


NOISES: tuple[Noise, ...] = (normal, heavy, bimodal, outliers)


def measured(wall: Array, version: int = 0, versions: int = 1) -> Measured:
    """A profile of these executions, alone or as one of several versions in turns."""
    order: Literal["interleaved", "sequential"] = "interleaved" if versions > 1 else "sequential"
    header = Header(
        "",
        str(version) * 40,
        None,
        Job("x", "time", "x"),
        Collected("s", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z", "x"),
        Environment(),
        Design(
            executions=len(wall),
            order=order,
            version=version,
            versions=["0" * 40, "1" * 40][:versions],
        ),
        {"wall": Metric("s")},
    )
    return Measured(
        header, [Summary("x", None, "wall", tuple(range(len(wall))), tuple(wall.tolist()))]
    )


def found(old: Array, new: Array, delta: float) -> bool:
    """Whether a check calls the second side worse."""
    report = compare([measured(old, 0, 2)], [measured(new, 1, 2)], delta=delta)
    return report.changes[0].word == "degradation"


def known(draws: int) -> None:
    """The power at the planned number where the noise is known."""
    print(f"{'noise known':12}" + "".join(f"{f'+{100 * effect:g} %':>18}" for effect in EFFECTS))
    for noise in NOISES:
        rng = np.random.default_rng(1)
        cells = []
        (one,) = spreads([measured(np.exp(noise(rng, MANY)))])
        for effect in EFFECTS:
            rule = PlanRule().below(effect)
            count = needed(one, effect, rule)[0] or WIDEST
            seen = [
                found(
                    np.exp(noise(rng, count)), np.exp(noise(rng, count)) * (1 + effect), rule.delta
                )
                for _ in range(draws)
            ]
            cells.append(f"{fmean(seen):.0%} with {count}")
        print(f"{noise.__name__:12}" + "".join(f"{cell:>18}" for cell in cells), flush=True)


def estimated(draws: int) -> None:
    """The same planned from a small session."""
    print(
        f"\n{'planned from':24}"
        + "".join(f"{f'+{100 * effect:g} %':>26}" for effect in EFFECTS[1:])
    )
    for noise, size in product(NOISES, (5, 10, 20)):
        rng = np.random.default_rng(2)
        cells = []
        for effect in EFFECTS[1:]:
            counts, seen = [], []
            for _ in range(draws):
                (one,) = spreads([measured(np.exp(noise(rng, size)))])
                rule = PlanRule().below(effect)
                count = min(needed(one, effect, rule)[0] or WIDEST, WIDEST)
                counts.append(count)
                seen.append(
                    found(
                        np.exp(noise(rng, count)),
                        np.exp(noise(rng, count)) * (1 + effect),
                        rule.delta,
                    )
                )
            low, middle, high = np.quantile(counts, (0.1, 0.5, 0.9))
            cells.append(f"{fmean(seen):.0%} with {middle:.0f} ({low:.0f}-{high:.0f})")
        print(
            f"{noise.__name__:12}{f'{size} executions':12}"
            + "".join(f"{cell:>26}" for cell in cells),
            flush=True,
        )


def recorded(path: Path, draws: int) -> None:
    """The same with recorded CPU time: planned from 10 pairs of equal versions in turns, checked
    with other blocks, as many as planned.
    """
    table: dict[tuple[str, str], list[float]] = defaultdict(list)
    for text in path.read_text().splitlines():
        row = json.loads(text)
        if row["design"] == "inter":
            table[row["bench"], row["ver"]].append(float(np.median(row["cpu"])))
    print(f"\n{'recorded CPU time':18}{'+2 %: power, planned':>32}{'+5 %':>32}")
    for bench in sorted({bench for bench, _ in table}):
        rng = np.random.default_rng(3)
        cells = []
        base, same = (np.array(table[bench, version]) for version in ("A", "B0"))
        for effect, version in ((0.02, "B2"), (0.05, "B5")):
            other = np.array(table[bench, version])
            counts, seen = [], []
            for _ in range(draws):
                order = rng.permutation(len(base))
                pilot, rest = order[:10], order[10:]
                (one,) = spreads([measured(base[pilot], 0, 2), measured(same[pilot], 1, 2)])
                rule = PlanRule().below(effect)
                count = needed(one, effect, rule)[0] or WIDEST
                counts.append(count)
                if count <= len(rest):
                    blocks = rest[:count]
                    seen.append(found(base[blocks], other[blocks], rule.delta))
            low, middle, high = np.quantile(counts, (0.1, 0.5, 0.9))
            share = f"{fmean(seen):.0%} of {len(seen)}" if seen else "-"
            cells.append(f"{share}, {middle:.0f} ({low:.0f}-{high:.0f})")
        print(f"{bench[:16]:18}" + "".join(f"{cell:>32}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("noise", nargs="?", type=Path)
    parser.add_argument("--draws", type=int, default=400)
    given = parser.parse_args()
    known(given.draws)
    estimated(given.draws)
    if given.noise:
        recorded(given.noise, given.draws)


if __name__ == "__main__":
    main()
