"""The default verdict of two versions, per kind of noise and number of pairs.

Reports have 300 benchmarks in one program: each differs between executions by .3 to 3 %, and 5 % of
its executions are 20 % slower. In some, an execution is slower as a whole, or the machine wanders
from block to block.

Kinds of noise.py come in turns with a balanced order that is known, or the second execution of a block
is slower by 5 to 20 %, with noise of 1 % or outliers, the order by a coin or balanced, known or not.
The suite is one of 586 benchmarks like those of JMH, five forks against five, in one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import ClassVar

import msgspec
import numpy as np

from perfvcs.check import Change, EarlierSessions, Unit, compare
from perfvcs.check.matching import match
from perfvcs.check.methods.log_median import LogMedian
from perfvcs.check.rows import ProfileRows
from perfvcs.check.samples.estimate import Estimate
from perfvcs.check.samples.scale import Scaled
from perfvcs.profile.summary import Measured
from perfvcs.statistics import difference

from .figures import Row
from .made import CHANGED, DRAWN, measured
from .noise import (
    NOISES,
    Array,
    Flags,
    Noise,
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
from .registry import benchmark

PAIRS = (5, 8, 10, 15, 30)
PLACES = (0.05, 0.1, 0.2)
BENCHMARKS, FORKS = 586, 5
REPORTED = (5, 6, 10)  # pairs
OUTLIERS = 0.05  # of the executions of each benchmark

# pairs, effect: medians (2, pairs) and who came later
Draw = Callable[[np.random.Generator, int, float], tuple[Array, Flags]]
Order = Callable[[np.random.Generator, int], Flags]


@dataclass(frozen=True)
class Kind:
    """A kind of data; ``known``: whether the verdict is given the order."""

    name: str
    draw: Draw
    known: bool = True


def noisy(noise: Noise, rng: np.random.Generator, pairs: int, effect: float) -> tuple[Array, Flags]:
    """Noise in turns."""
    return np.median(samples(rng, noise, pairs, effect), axis=2), balanced(rng, pairs)


def coarse(rng: np.random.Generator, pairs: int, effect: float) -> tuple[Array, Flags]:
    """The same, read by a clock of 1 %."""
    seconds = ticks(samples(rng, NOISES[0], pairs, effect), 1e-4)
    return np.median(seconds, axis=2), balanced(rng, pairs)


def placed(
    noise: Noise, order: Order, share: float, rng: np.random.Generator, pairs: int, effect: float
) -> tuple[Array, Flags]:
    """The second execution of a block is slower."""
    later = order(rng, pairs)
    seconds = second_slower(samples(rng, noise, pairs, effect), later, share)
    return np.median(seconds, axis=2), later


def kinds_of_noise() -> Iterator[Kind]:
    for noise in (*NOISES, switching, poisson):
        yield Kind(noise.__name__.replace("_", " "), partial(noisy, noise))
    yield Kind("ticks of 1 %", coarse)


def kinds_of_places() -> Iterator[Kind]:
    for noise, name in ((quiet, "1 %"), (outliers, "outliers")):
        for order, known in ((coin, False), (coin, True), (balanced, False), (balanced, True)):
            for share in PLACES:
                said = "known" if known else "unknown"
                label = f"{name}, {order.__name__}, {said}, second +{100 * share:g} %"
                yield Kind(label, partial(placed, noise, order, share), known)


@dataclass(frozen=True)
class Alone(LogMedian):
    """The default rule with every comparison a run of its own, so that none raises what another
    needs.
    """

    def _judge(self, scaled: Scaled, result: Estimate, q: float, finding: str) -> Change:  # noqa: ARG002
        return super()._judge(scaled, result, result.p, finding)


@dataclass(frozen=True)
class StudentAlone(Alone):
    """The same with nothing drawn in."""

    robust: ClassVar[bool] = False


METHODS: dict[str, type[Alone]] = {"log-median": Alone, "student": StudentAlone}


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
    base = measured(number, {"wall": columns[0]}, job=name, apart=not paired, later=later)
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


def _table(members: Iterable[Kind], draws: int, method: str) -> Iterator[Row]:
    """Of each kind and number of pairs: false alarms / +5 % found / the least coverage, in percent."""
    rule = METHODS[method]()
    for kind in members:
        row: Row = {"kind": kind.name}
        for pairs in PAIRS:
            same, moved = (judged(kind, pairs, effect, draws, rule) for effect in (0.0, 0.05))
            alarms, found = (
                100 * fmean(change.word in CHANGED for change in changes)
                for changes in (same, moved)
            )
            held = min(
                fmean(covers(change, effect) for change in changes)
                for changes, effect in ((same, 0.0), (moved, 0.05))
            )
            row[f"{pairs} pairs"] = f"{alarms:.1f} / {found:.0f} / {100 * held:.1f}"
        yield row


@benchmark("pairs", quick={"draws": 3})
def pairs_noise(*, draws: int = 500, method: str = "log-median") -> Iterator[Row]:
    """By kind of noise: false alarms / +5 % found / least coverage at 0 and +5 %, in percent."""
    yield from _table(kinds_of_noise(), draws, method)


@benchmark("pairs", quick={"draws": 3})
def pairs_place(*, draws: int = 500, method: str = "log-median") -> Iterator[Row]:
    """The same where the second execution of a block is slower."""
    yield from _table(kinds_of_places(), draws, method)


def covers(change: Change, effect: float) -> bool:
    """Whether the interval holds the effect; one without bounds holds all."""
    above = change.low is None or change.low <= effect
    below = change.high is None or effect <= change.high
    return above and below


@benchmark("pairs", quick={"runs": 1})
def pairs_forks(*, runs: int = 20, method: str = "log-median", seed: int = 2) -> Iterator[Row]:
    """What is found of a suite of forks, by Welch's test alone and by the verdict?"""
    rows: dict[str, Row] = {}
    for effect in (0.0, 0.05, 0.1):
        rng = np.random.default_rng(seed)
        shares: dict[str, list[float]] = {"Welch alone": [], "apart": [], "in turns": []}
        for _ in range(runs):
            logs = np.median(forks(rng, BENCHMARKS, FORKS), axis=3)
            logs[1] += np.log1p(effect)
            welch = difference.welch(logs[0], logs[1])
            shares["Welch alone"].append(float((welch.p <= 0.01).mean()))
            later = balanced(rng, FORKS)
            for name in ("apart", "in turns"):
                shares[name].append(_called(logs, later, method, paired=name == "in turns"))
        heading = f"+{effect:.0%} found, %" if effect else "false alarms, %"
        for name, found in shares.items():
            rows.setdefault(name, {"way": name})[heading] = 100 * fmean(found)
    yield from rows.values()


def _steady(side: Sequence[Measured]) -> dict[Unit, EarlierSessions]:
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


def _called(logs: Array, later: Flags, method: str, *, paired: bool) -> float:
    """The share of benchmarks that is called changed."""
    old, new = (side(k, "x", np.exp(logs[k]).tolist(), later, paired=paired) for k in (0, 1))
    history = None if paired else _steady([new])
    changes = compare([old], [new], method=method, history=history).changes
    return fmean(change.word in CHANGED for change in changes)


@dataclass(frozen=True)
class Disturbed:
    """What happens to whole executions of a report, beside outliers of each benchmark."""

    name: str
    slow: bool = False  # one execution, by a fifth
    wander: float = 0.0  # from block to block, standard deviation

    def draw(self, rng: np.random.Generator, pairs: int, benchmarks: int) -> Array:
        """Logarithms (2, benchmarks, pairs) of equal versions."""
        spread = np.exp(rng.uniform(np.log(0.003), np.log(0.03), (1, benchmarks, 1)))
        values: Array = spread * rng.standard_normal((2, benchmarks, pairs))
        values += np.where(
            rng.random(values.shape) < OUTLIERS, rng.normal(0.2, 0.005, values.shape), 0.0
        )
        if self.slow:
            values[rng.integers(2), :, rng.integers(pairs)] += 0.2
        moved: Array = values + self.wander * rng.standard_normal(pairs)
        return moved


DISTURBED = (
    Disturbed("outliers"),
    Disturbed("and one slow execution", slow=True),
    Disturbed("and blocks 10 % apart", wander=0.1),
    Disturbed("and both", slow=True, wander=0.1),
)


@benchmark("pairs", quick={"reports": 2, "benchmarks": 30})
def pairs_reports(*, reports: int = 100, benchmarks: int = 300, seed: int = 3) -> Iterator[Row]:
    """How many reports on equal versions have a false word, and how many words have the worst?"""
    for disturbed in DISTURBED:
        for pairs in REPORTED:
            rng = np.random.default_rng(seed)
            words = [
                _false_words(disturbed.draw(rng, pairs, benchmarks), balanced(rng, pairs))
                for _ in range(reports)
            ]
            yield {
                "disturbed by": disturbed.name,
                "pairs": pairs,
                "reports with a false word, %": 100 * fmean(count > 0 for count in words),
                "false words": sum(words),
                "most in one": max(words),
            }


def _false_words(logs: Array, later: Flags) -> int:
    """How many benchmarks of a report are called changed."""
    old, new = (side(number, "x", np.exp(logs[number]).tolist(), later) for number in (0, 1))
    return sum(change.word in CHANGED for change in compare([old], [new]).changes)
