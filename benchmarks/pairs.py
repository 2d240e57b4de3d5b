"""False alarms, power and coverage of the default verdict of two versions, per kind of noise and
number of pairs, as Markdown tables.

    python benchmarks/pairs.py [--draws 500] [--method log-median] [--table noise|place|forks ...]

``noise``: kinds of noise.py, in turns with a balanced order that is known. ``place``: the second
execution of a block is slower by 5 to 20 %, with noise of 1 % or outliers; the order by a coin or
balanced, known or not. ``forks``: a suite of 586 benchmarks like those of JMH, five forks against
five, in one run. The script also runs with earlier versions, which know no order.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import ClassVar

import msgspec
import numpy as np
from noise import (
    NOISES,
    Array,
    Flags,
    balanced,
    coin,
    forks,
    outliers,
    poisson,
    quiet,
    samples,
    second_slower,
    switching,
    ticks,
)
from verdict_replay import measured, steady

from perfvcs.check import Change, compare
from perfvcs.check.matching import match
from perfvcs.check.methods.log_median import LogMedian
from perfvcs.check.rows import ProfileRows
from perfvcs.check.samples.estimate import Estimate
from perfvcs.check.samples.scale import Scaled
from perfvcs.profile.summary import Measured
from perfvcs.statistics import difference

PAIRS = (5, 8, 10, 15, 30)
PLACES = (0.05, 0.1, 0.2)
CALLED = ("degradation", "improvement")
BENCHMARKS, FORKS = 586, 5

# pairs, effect: medians (2, pairs) and who came later
Draw = Callable[[np.random.Generator, int, float], tuple[Array, Flags]]


@dataclass(frozen=True)
class Kind:
    """A kind of data; ``known``: whether the verdict is given the order."""

    name: str
    draw: Draw
    known: bool = True


def kinds() -> Iterator[Kind]:
    """Noise in turns."""
    for noise in (*NOISES, switching, poisson):

        def draw(
            rng: np.random.Generator, pairs: int, effect: float, noise: object = noise
        ) -> tuple[Array, Flags]:
            return np.median(samples(rng, noise, pairs, effect), axis=2), balanced(rng, pairs)  # type: ignore[arg-type]

        yield Kind(noise.__name__.replace("_", " "), draw)

    def coarse(rng: np.random.Generator, pairs: int, effect: float) -> tuple[Array, Flags]:
        return np.median(ticks(samples(rng, NOISES[0], pairs, effect), 1e-4), axis=2), balanced(
            rng, pairs
        )

    yield Kind("ticks of 1 %", coarse)


def placed() -> Iterator[Kind]:
    """The second execution of a block is slower."""
    for base, name in ((quiet, "1 %"), (outliers, "outliers")):
        for order, known in ((coin, False), (coin, True), (balanced, False), (balanced, True)):
            for share in PLACES:

                def draw(
                    rng: np.random.Generator,
                    pairs: int,
                    effect: float,
                    base: object = base,
                    order: object = order,
                    share: float = share,
                ) -> tuple[Array, Flags]:
                    later = order(rng, pairs)  # type: ignore[operator]
                    seconds = second_slower(samples(rng, base, pairs, effect), later, share)  # type: ignore[arg-type]
                    return np.median(seconds, axis=2), later

                label = (
                    f"{name}, {order.__name__}, {'known' if known else 'unknown'}, second"
                    f" +{100 * share:g} %"
                )
                yield Kind(label, draw, known)


@dataclass(frozen=True)
class Alone(LogMedian):
    """The default rule with every comparison a run of its own, so that none raises what another
    needs.
    """

    def _judge(self, one: Scaled, result: Estimate, q: float) -> Change:  # noqa: ARG002
        return super()._judge(one, result, result.p)


@dataclass(frozen=True)
class StudentAlone(Alone):
    """The same with nothing drawn in."""

    robust: ClassVar[bool] = False


def side(
    number: int,
    name: str,
    columns: Sequence[Sequence[float]],
    later: Flags | None,
    *,
    paired: bool = True,
) -> Measured:
    """One side's profile: seconds per execution of each unit, and who came later where the verdict
    is to know it.
    """
    base = measured(number, name, {"wall": columns[0]}, paired=paired, later=later)
    parts = [
        msgspec.structs.replace(base.summaries[0], uid=f"x{n}", medians=tuple(each))
        for n, each in enumerate(columns)
    ]
    return msgspec.structs.replace(base, summaries=parts)


def judged(kind: Kind, pairs: int, effect: float, draws: int, method: LogMedian) -> list[Change]:
    """One change per draw."""
    rng = np.random.default_rng(1)
    found: tuple[list[Measured], list[Measured]] = [], []
    for draw in range(draws):
        values, later = kind.draw(rng, pairs, effect)
        for number in (0, 1):
            found[number].append(
                side(
                    number, f"draw {draw}", [values[number].tolist()], later if kind.known else None
                )
            )
    cases, _ = match(*found, {}, ProfileRows({}))
    return method.judge([pair for case in cases for pair in case.pairs()[0]])


def table(members: Sequence[Kind], draws: int, method: LogMedian) -> None:
    """Print one table: per kind and number of pairs."""
    print(
        f"\n| `{method.name}`"
        + " | "
        + " | ".join(f"{pairs} pairs" for pairs in PAIRS)
        + " |\n|---|"
        + "---|" * len(PAIRS)
    )
    for kind in members:
        cells = []
        for pairs in PAIRS:
            same, moved = (judged(kind, pairs, effect, draws, method) for effect in (0.0, 0.05))
            shares = [
                fmean(change.word in CALLED for change in changes) for changes in (same, moved)
            ]
            inside = [
                fmean(covers(change, effect) for change in changes)
                for changes, effect in ((same, 0.0), (moved, 0.05))
            ]
            cells.append(f"{100 * shares[0]:.1f} / {100 * shares[1]:.0f} / {100 * min(inside):.1f}")
        print(f"| {kind.name} | " + " | ".join(cells) + " |", flush=True)


def covers(change: Change, effect: float) -> bool:
    """Whether the interval holds the effect; one without bounds holds all."""
    return (change.low is None or change.low <= effect) and (
        change.high is None or effect <= change.high
    )


def suite(runs: int, method: str) -> None:
    """Print what is found of a suite of forks, by Welch's test alone and by the verdict."""
    print(
        f"\n| `{method}`, {FORKS} forks against {FORKS} | false alarms | +5 % found | +10 % found"
        " |\n|---|---|---|---|"
    )
    rows: dict[str, list[str]] = {}
    for effect in (0.0, 0.05, 0.1):
        rng, shares = (
            np.random.default_rng(2),
            {name: list[float]() for name in ("Welch alone", "apart", "in turns")},
        )
        for _ in range(runs):
            logs = np.median(forks(rng, BENCHMARKS, FORKS), axis=3)
            logs[1] += np.log1p(effect)
            shares["Welch alone"].append(
                float((difference.welch(logs[0], logs[1]).p <= 0.01).mean())
            )
            later = balanced(rng, FORKS)
            for name in ("apart", "in turns"):
                old, new = (
                    side(k, "x", np.exp(logs[k]).tolist(), later, paired=name == "in turns")
                    for k in (0, 1)
                )
                history = None if name == "in turns" else steady([new])
                words = [
                    change.word
                    for change in compare([old], [new], method=method, history=history).changes
                ]
                shares[name].append(fmean(word in CALLED for word in words))
        for name, found in shares.items():
            rows.setdefault(name, []).append(f"{100 * fmean(found):.2f} %")
    for name, cells in rows.items():
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--method", default="log-median", choices=("log-median", "student"))
    parser.add_argument("--table", action="append", choices=("noise", "place", "forks"))
    given = parser.parse_args()
    method = StudentAlone() if given.method == "student" else Alone()
    chosen = given.table or ["noise", "place", "forks"]
    print("False alarms / +5 % found / least coverage at 0 and +5 %, all in percent.")
    if "noise" in chosen:
        table(list(kinds()), given.draws, method)
    if "place" in chosen:
        table(list(placed()), given.draws, method)
    if "forks" in chosen:
        suite(max(1, given.draws // 25), given.method)


if __name__ == "__main__":
    main()
