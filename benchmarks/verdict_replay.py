"""False alarms and power of the default verdict, on recorded noise or on synthetic noise.

    python benchmarks/verdict_replay.py NOISE.jsonl [--draws 300] [--blocks 15]
    python benchmarks/verdict_replay.py --synthetic [--draws 300] [--blocks 10]

NOISE.jsonl is described in noise.py. Each draw takes random blocks of the interleaved design.
``alone``: every comparison is a run of its own; ``together``: all of a draw's comparisons are one
run, as `perf check` does it. Counted are `degradation` and `improvement`. Made-up noise is measured
in a balanced order that the verdict knows.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
from noise import METRICS, NOISES, TRUE, Array, Flags, Noise, balanced, read, samples

from perfvcs.check import Change, EarlierSessions, Unit, compare
from perfvcs.check.stopping import interim
from perfvcs.profile import Collected, Design, Environment, Job, Metric
from perfvcs.profile.summary import Header, Measured, Summary
from perfvcs.statistics.multiplicity import schedule

Table = dict[tuple[str, str, str], Array]  # bench, version, metric -> median per block
COMMITS = ("a" * 40, "b" * 40)
ENVIRONMENT = Environment(fields={"cpu": "recorded"}, fingerprint="0" * 12)


def measured(
    side: int,
    bench: str,
    values: dict[str, Sequence[float]],
    *,
    paired: bool = True,
    later: Flags | None = None,
) -> Measured:
    """One profile's header and summaries; ``later``: in which blocks the second side came later,
    where the verdict is to know that.
    """
    count = len(next(iter(values.values())))
    design = Design(
        executions=count,
        order="interleaved" if paired else "sequential",
        version=side,
        versions=list(COMMITS),
    )
    when = "2026-01-01T00:00:00Z"
    session = "one" if paired else f"session {side}"
    header = Header(
        path="",
        commit=COMMITS[side],
        dirty=None,
        job=Job(name=bench, collector="time", cmd=bench),
        environment=ENVIRONMENT,
        design=design,
        collected=Collected(session, when, when, "replay"),
        metrics={name: Metric("s") for name in values},
    )
    found = Measured(
        header,
        [
            Summary(bench, None, name, tuple(range(count)), tuple(column))
            for name, column in values.items()
        ],
    )
    if later is None or "turns" not in Measured.__struct_fields__:  # earlier versions
        return found
    places = (later if side else ~later)[:count].tolist()
    return msgspec.structs.replace(
        found, turns={(0, number): int(place) for number, place in enumerate(places)}
    )


def steady(side: Sequence[Measured]) -> dict[Unit, EarlierSessions]:
    """A history without any variance between sessions, which turns the unpaired rule into plain
    Welch.
    """
    return {
        Unit(
            one.header.job.key, ENVIRONMENT.fingerprint, found.uid, None, found.metric
        ): EarlierSessions((0.0,) * 6)
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


def replay(table: Table, draws: int, blocks: int) -> None:
    """Print shares of changes, per version and metric, paired and not, alone and together."""
    benches = sorted({bench for bench, _, _ in table})
    print(
        f"{'rule':<18}{'version':<9}{'wall':>8}{'cpu':>8}{'wrong way':>11}{'covered':>9}{'same':>8}{'no word':>9}"
    )
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
                                {
                                    metric: table[bench, ver, metric][chosen].tolist()
                                    for metric in METRICS
                                },
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
    for metric in METRICS:
        here = [change for change in changes if change.metric == metric]
        cells.append(fmean(change.word in ("degradation", "improvement") for change in here))
    wrong = fmean(change.word == "improvement" for change in changes)
    covered = fmean(
        change.low is not None
        and change.high is not None
        and change.low <= TRUE[version] <= change.high
        for change in changes
    )
    words = Counter(change.word for change in changes)
    rest = words["same"] / len(changes), words["inconclusive"] / len(changes)
    return f"{version:<9}{cells[0]:>8.2%}{cells[1]:>8.2%}{wrong:>11.2%}{covered:>9.1%}{rest[0]:>8.1%}{rest[1]:>9.1%}"


def drawn(rng: np.random.Generator, noise: Noise, blocks: int, effect: float) -> Array:
    """Medians per execution of both versions, shape (2, blocks), in seconds."""
    found: Array = np.median(samples(rng, noise, blocks, effect), axis=2)
    return found


def synthetic(draws: int, blocks: int) -> None:
    """Print false alarms and power per kind of noise."""
    print(
        f"{'noise':<20}{'false alarms':>13}{'+2 %':>8}{'+5 %':>8}{'+10 %':>8}   covered at 0 % and"
        f" +5 %   ({blocks} pairs, paired)"
    )
    for noise in NOISES:
        rng = np.random.default_rng(1)
        shares, covered = [], []
        for effect in (0.0, 0.02, 0.05, 0.1):
            found = []
            for _ in range(draws):
                sides, later = drawn(rng, noise, blocks, effect), balanced(rng, blocks)
                found += compare(
                    *(
                        [measured(side, "x", {"wall": sides[side].tolist()}, later=later)]
                        for side in (0, 1)
                    )
                ).changes
            shares.append(fmean(change.word in ("degradation", "improvement") for change in found))
            covered.append(
                fmean((change.low or 0) <= effect <= (change.high or 0) for change in found)
            )
        print(
            f"{noise.__name__:<20}{shares[0]:>13.2%}{shares[1]:>8.1%}{shares[2]:>8.1%}{shares[3]:>8.1%}"
            f"   {covered[0]:.1%} {covered[2]:.1%}"
        )


def sequential(draws: int) -> None:
    """Print false alarms, power and the pairs used when measuring stops as soon as the verdict is
    there.
    """
    first, *_, last = schedule()
    print(
        f"\n{'sequential':<20}{'false alarms':>13}{'+5 %':>8}{'pairs 0 %':>11}{'pairs +5 %':>12}  "
        f" covered at 0 % and +5 %   ({len(schedule())} looks at {first} to {last} pairs)"
    )
    for noise in NOISES:
        rng = np.random.default_rng(2)
        shares, used, covered = [], [], []
        for effect in (0.0, 0.05):
            words, pairs, inside = [], [], []
            for _ in range(draws):
                sides, later = (
                    drawn(rng, noise, schedule()[-1], effect),
                    balanced(rng, schedule()[-1]),
                )
                count: int | None = schedule()[0]
                while count is not None:
                    have = count
                    pair = [
                        measured(side, "x", {"wall": sides[side, :have].tolist()}, later=later)
                        for side in (0, 1)
                    ]
                    seen = interim(pair[:1], pair[1:], pairs=have)
                    count = seen.pairs
                change = seen.report.changes[0]
                words.append(change.word)
                pairs.append(have)
                inside.append((change.low or 0) <= effect <= (change.high or 0))
            shares.append(fmean(word in ("degradation", "improvement") for word in words))
            used.append(fmean(pairs))
            covered.append(fmean(inside))
        print(
            f"{noise.__name__:<20}{shares[0]:>13.2%}{shares[1]:>8.1%}{used[0]:>11.1f}{used[1]:>12.1f}"
            f"   {covered[0]:.1%} {covered[1]:.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("noise", nargs="?", type=Path)
    parser.add_argument("--synthetic", action="store_true")
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--blocks", type=int)
    given = parser.parse_args()
    if given.synthetic:
        synthetic(given.draws, given.blocks or 10)
        sequential(given.draws)
    elif given.noise:
        replay(medians(given.noise), given.draws, given.blocks or 15)
    else:
        parser.error("name a file of recorded noise, or --synthetic")


if __name__ == "__main__":
    main()
