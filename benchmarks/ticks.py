"""How often a clock that ticks too seldom hides a change: `python benchmarks/ticks.py`.

A program of 3.2 ms that varies by 1 %, read ten times in turns by clocks of several steps, is
compared with one that takes so much longer. Prints in percent how often the word is `same`, and how
often it is a change. Below that: how often the 99 % interval holds the truth, of a program that
starts at any moment between two ticks; bytes, which are exact, from 0 to 1,000,000; and how much of
equal versions is open after 30 pairs, and settled by --within 3.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np

from perfvcs.check import compare
from perfvcs.profile import Collected, Design, Job, Metric, Profile, Resources

CENTRE, NOISE, PAIRS, LONG, WITHIN = 0.0032, 0.01, 10, 30, 0.03
TICKS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-9)
EFFECTS = (0.0, 0.05, 0.2, 2.0)
COMMITS = ["1" * 40, "2" * 40]


def side(
    columns: dict[str, list[float]], number: int, unit: str = "s", count: int = PAIRS
) -> Profile:
    """One of two versions that took turns, with a unit for each draw."""
    rows = Resources(
        names=list(columns),
        uid=[place for place in range(len(columns)) for _ in range(count)],
        execution=list(range(count)) * len(columns),
        metrics={"wall": [value for values in columns.values() for value in values]},
    )
    design = Design(executions=count, order="interleaved", version=number, versions=COMMITS)
    time = "2026-01-01T00:00:00Z"
    return Profile(
        commit=COMMITS[number],
        job=Job(name="job", collector="time", cmd="job"),
        collected=Collected("s", time, time, "benchmark"),
        design=design,
        metrics={"wall": Metric(unit)},
        resources=rows,
    )


def words(tick: float, effect: float, draws: int, seed: int) -> Counter[str]:
    """The words of so many comparisons, each judged for itself."""
    rng = np.random.default_rng(seed)
    found: Counter[str] = Counter()
    for _ in range(draws):
        both = [CENTRE * factor * np.exp(rng.normal(0, NOISE, PAIRS)) for factor in (1, 1 + effect)]
        profiles = [
            side({"job": (np.floor(values / tick) * tick).tolist()}, number)
            for number, values in enumerate(both)
        ]
        found.update(
            change.word
            for change in compare([profiles[0]], [profiles[1]], method="log-median").changes
        )
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    draws = parser.parse_args().draws
    print(f"{'clock':>8}" + "".join(f"{f'{100 * effect:+g} %':>18}" for effect in EFFECTS))
    print(f"{'':>8}" + f"{'same  changed':>18}" * len(EFFECTS))
    for tick in TICKS:
        cells = []
        for number, effect in enumerate(EFFECTS):
            found = words(tick, effect, draws, number)
            changed = sum(found[word] for word in ("degradation", "improvement"))
            cells.append(f"{100 * found['same'] / draws:.1f} {100 * changed / draws:8.1f}")
        print(f"{tick:>7g}s" + "".join(f"{cell:>18}" for cell in cells))
    for tick in TICKS:
        held = [covered(tick, effect, draws, number) for number, effect in enumerate(EFFECTS)]
        print(
            f"{tick:>7g}s  intervals that hold the truth: "
            + ", ".join(f"{share:.1f} %" for share in held)
        )
    (change,) = compare(
        [side({"job": [0.0] * PAIRS}, 0, "B")], [side({"job": [1e6] * PAIRS}, 1, "B")]
    ).changes
    print(f"0 -> 1,000,000 B: {change.word}")
    rng = np.random.default_rng(1)
    for noise in (0.01, 0.015, 0.02, 0.03):
        report = compare(
            *([bounded(rng, noise, number, draws)] for number in (0, 1)), method="log-median"
        )
        still = [change for change in report.changes if change.word == "inconclusive"]
        shares = (
            100 * len(one) / draws
            for one in (
                still,
                [change for change in still if change.bound and change.bound <= WITHIN],
            )
        )
        print(
            "equal versions at ±{:g} %: {:.0f} % open at 1 %, of all {:.0f} % settled by --within 3".format(
                100 * noise, *shares
            )
        )


def covered(tick: float, effect: float, draws: int, seed: int) -> float:
    """How many of the intervals hold the effect, in percent; relative ones, or where a reading is 0
    those in seconds.
    """
    rng = np.random.default_rng(seed)
    sides = []
    for number, factor in enumerate((1, 1 + effect)):
        times = CENTRE * factor * np.exp(rng.normal(0, NOISE, (draws, PAIRS)))
        read = np.floor(times / tick + rng.random(times.shape)) * tick
        sides.append([side({str(draw): row.tolist() for draw, row in enumerate(read)}, number)])
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
    return side(
        {
            str(draw): (CENTRE * np.exp(rng.normal(0, noise, LONG))).tolist()
            for draw in range(draws)
        },
        number,
        count=LONG,
    )


if __name__ == "__main__":
    main()
