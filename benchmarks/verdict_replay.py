"""False alarms and power of the default verdict, on recorded noise or on synthetic noise.

    python benchmarks/verdict_replay.py NOISE.jsonl [--draws 300] [--blocks 15]
    python benchmarks/verdict_replay.py --synthetic [--draws 300] [--blocks 10]

NOISE.jsonl has one execution a line: design, bench, ver (A and B0 do the same work, B2 +2 %, B5 +5 %), block, and per metric a
list of iterations. Each draw takes random blocks of the interleaved design. ``alone``: every comparison is a run of its own;
``together``: all of a draw's comparisons are one run, as `perf check` does it. Counted are `degradation` and `improvement`.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from perfvcs.check import Change, Past, Unit, compare
from perfvcs.check.look import look
from perfvcs.profile import Collected, Design, Environment, Job, Metric
from perfvcs.statistics.looks import schedule
from perfvcs.summary import Header, Measured, Summary

Table = dict[tuple[str, str, str], NDArray[np.float64]]  # bench, version, metric -> median per block
COMMITS = ("a" * 40, "b" * 40)
ENVIRONMENT = Environment(fields={"cpu": "recorded"}, fingerprint="0" * 12)
TRUE = {"B0": 0.0, "B2": 0.02, "B5": 0.05}


def measured(side: int, bench: str, values: dict[str, Sequence[float]], *, paired: bool = True) -> Measured:
    """One profile's header and summaries."""
    count = len(next(iter(values.values())))
    design = Design(executions=count, order="interleaved" if paired else "sequential", version=side, versions=list(COMMITS))
    when = "2026-01-01T00:00:00Z"
    session = "one" if paired else f"session {side}"
    header = Header(
        path="", commit=COMMITS[side], dirty=None, job=Job(name=bench, collector="time", cmd=bench), environment=ENVIRONMENT, design=design,
        collected=Collected(session, when, when, "replay"), metrics={name: Metric("s") for name in values},
    )  # fmt: skip
    return Measured(header, [Summary(bench, None, name, tuple(range(count)), tuple(column)) for name, column in values.items()])


def steady(side: Sequence[Measured]) -> dict[Unit, Past]:
    """A history without any variance between sessions, which turns the unpaired rule into plain Welch."""
    return {
        Unit(one.header.job.key, ENVIRONMENT.fingerprint, found.uid, None, found.metric): Past((0.0,) * 6)
        for one in side
        for found in one.summaries
    }


def verdicts(old: list[Measured], new: list[Measured], *, together: bool, paired: bool) -> list[Change]:
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


def read(path: Path) -> Table:
    """The medians of the interleaved executions, by block."""
    rows: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    with path.open() as lines:
        for line in lines:
            row = json.loads(line)
            if row["design"] == "inter":
                for metric in ("wall", "cpu"):
                    rows[row["bench"], row["ver"], metric][row["block"]] = float(np.median(row[metric]))
    return {key: np.array([medians[block] for block in sorted(medians)]) for key, medians in rows.items()}


def replay(table: Table, draws: int, blocks: int) -> None:
    """Print shares of changes, per version and metric, paired and not, alone and together."""
    benches = sorted({bench for bench, _, _ in table})
    print(f"{'rule':<18}{'version':<9}{'wall':>8}{'cpu':>8}{'wrong way':>11}{'covered':>9}{'same':>8}{'no word':>9}")
    for paired in (True, False):
        for together in (False, True):
            rng = np.random.default_rng(20261120)
            found: dict[str, list[Change]] = defaultdict(list)
            for _ in range(draws):
                chosen = rng.choice(len(next(iter(table.values()))), size=blocks, replace=False)
                for version in ("B0", "B2", "B5"):
                    sides = [
                        [
                            measured(
                                side,
                                bench,
                                {metric: table[bench, ver, metric][chosen].tolist() for metric in ("wall", "cpu")},
                                paired=paired,
                            )
                            for bench in benches
                        ]
                        for side, ver in enumerate(("A", version))
                    ]
                    found[version] += verdicts(sides[0], sides[1], together=together, paired=paired)
            for version, changes in found.items():
                print(
                    f"{('paired' if paired else 'welch') + (' together' if together else ' alone'):<18}{line(version, changes)}"
                )


def line(version: str, changes: list[Change]) -> str:
    """One row of the table."""
    cells = []
    for metric in ("wall", "cpu"):
        here = [change for change in changes if change.metric == metric]
        cells.append(fmean(change.word in ("degradation", "improvement") for change in here))
    wrong = fmean(change.word == "improvement" for change in changes)
    covered = fmean(
        change.low is not None and change.high is not None and change.low <= TRUE[version] <= change.high for change in changes
    )
    words = Counter(change.word for change in changes)
    rest = words["same"] / len(changes), words["inconclusive"] / len(changes)
    return f"{version:<9}{cells[0]:>8.2%}{cells[1]:>8.2%}{wrong:>11.2%}{covered:>9.1%}{rest[0]:>8.1%}{rest[1]:>9.1%}"


def iterations(rng: np.random.Generator, blocks: int, inner: int = 10) -> NDArray[np.float64]:
    """Logarithms of well-behaved measurements, shape (2 versions, blocks, inner): 3 % inside an execution, 2 % between
    executions.
    """
    return 0.03 * rng.standard_normal((2, blocks, inner)) + 0.02 * rng.standard_normal((2, blocks, 1))


def lognormal(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    return iterations(rng, blocks)


def execution_effects(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    return iterations(rng, blocks) + 0.05 * rng.standard_normal((2, blocks, 1))


def bimodal(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    return iterations(rng, blocks) + 0.06 * (rng.random((2, blocks, 1)) < 0.3)


def autocorrelation(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    walk: NDArray[np.float64] = 0.03 * rng.standard_normal((2, blocks, 10))
    for place in range(1, walk.shape[2]):
        walk[..., place] += 0.9 * walk[..., place - 1]
    return walk


def outliers(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    slow = np.log(3) * (rng.random((2, blocks, 10)) < 0.05) + np.log(1.5) * (rng.random((2, blocks, 1)) < 0.03)
    found: NDArray[np.float64] = iterations(rng, blocks) + slow
    return found


def drift(rng: np.random.Generator, blocks: int) -> NDArray[np.float64]:
    trend = np.linspace(0, 0.2, blocks) + np.cumsum(0.02 * rng.standard_normal(blocks))
    return iterations(rng, blocks) + trend[None, :, None]


NOISES: tuple[Callable[[np.random.Generator, int], NDArray[np.float64]], ...] = (
    lognormal, execution_effects, bimodal, autocorrelation, outliers, drift,
)  # fmt: skip


def drawn(
    rng: np.random.Generator, noise: Callable[[np.random.Generator, int], NDArray[np.float64]], blocks: int, effect: float
) -> NDArray[np.float64]:
    """Medians per execution of both versions, shape (2, blocks), in seconds."""
    medians = np.exp(np.median(noise(rng, blocks), axis=2)) * 0.01
    medians[1] *= 1 + effect
    found: NDArray[np.float64] = medians
    return found


def synthetic(draws: int, blocks: int) -> None:
    """Print false alarms and power per kind of noise, then of sequential measuring."""
    print(
        f"{'noise':<20}{'false alarms':>13}{'+2 %':>8}{'+5 %':>8}{'+10 %':>8}   covered at 0 % and +5 %   ({blocks} pairs, paired)"
    )
    for noise in NOISES:
        rng = np.random.default_rng(1)
        shares, covered = [], []
        for effect in (0.0, 0.02, 0.05, 0.1):
            found = []
            for _ in range(draws):
                sides = drawn(rng, noise, blocks, effect)
                found += compare(*([measured(side, "x", {"wall": sides[side].tolist()})] for side in (0, 1))).changes
            shares.append(fmean(change.word in ("degradation", "improvement") for change in found))
            covered.append(fmean((change.low or 0) <= effect <= (change.high or 0) for change in found))
        print(
            f"{noise.__name__:<20}{shares[0]:>13.2%}{shares[1]:>8.1%}{shares[2]:>8.1%}{shares[3]:>8.1%}   {covered[0]:.1%} {covered[2]:.1%}"
        )
    print(f"\n{'sequential':<20}{'false alarms':>13}{'+5 %':>8}{'pairs 0 %':>11}{'pairs +5 %':>12}   (looks at {schedule()})")
    for noise in NOISES:
        rng = np.random.default_rng(2)
        shares, used = [], []
        for effect in (0.0, 0.05):
            words, pairs = [], []
            for _ in range(draws):
                sides = drawn(rng, noise, schedule()[-1], effect)
                count: int | None = schedule()[0]
                while count is not None:
                    have = count
                    seen = look(*([measured(side, "x", {"wall": sides[side, :have].tolist()})] for side in (0, 1)), pairs=have)
                    count = seen.pairs
                words.append(seen.report.changes[0].word)
                pairs.append(have)
            shares.append(fmean(word in ("degradation", "improvement") for word in words))
            used.append(fmean(pairs))
        print(f"{noise.__name__:<20}{shares[0]:>13.2%}{shares[1]:>8.1%}{used[0]:>11.1f}{used[1]:>12.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("noise", nargs="?", type=Path)
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--blocks", type=int)
    given = parser.parse_args()
    if given.synthetic:
        synthetic(given.draws, given.blocks or 10)
    elif given.noise:
        replay(read(given.noise), given.draws, given.blocks or 15)
    else:
        parser.error("name a file of recorded noise, or --synthetic")


if __name__ == "__main__":
    main()
