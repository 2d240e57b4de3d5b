"""Steps in synthetic series.

Flat series must stay silent whatever their noise, steps must be found, in the middle and shortly before
the end, and ramps have no step. `steps` is how many were reported per series, `alarmed` the share of
series with any, `found` the share of series in which the step was reported within two commits. Mixed: several steps per series, of 2 to 20 %, in noise of .5 to
3 % (normal, heavy-tailed, dependent, with bursts); a step counts as found within two commits, each
report once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from perfvcs.statistics.changepoints.judgement import steps
from perfvcs.statistics.changepoints.steps import ChangePoint

from .figures import Row, percent
from .registry import benchmark
from .series_noise import Noise, Series, autoregressive, heavy, normal

NEAR = 2  # commits that a report may be away from the truth
NOISE = 0.02
GAP = 15  # commits between two steps of a mixed series, at least


def bursts(rng: np.random.Generator, n: int) -> Series:
    """Normal noise; in each fifty values one or two in a row are ten standard deviations off."""
    values = rng.standard_normal(n)
    for start in range(0, n - 49, 50):
        place = start + int(rng.integers(45))
        values[place : place + int(rng.integers(1, 3))] += rng.choice([-10.0, 10.0])
    return values


@dataclass(frozen=True)
class Case:
    """One kind of series: its noise, and what is added to it; ``truth`` is where."""

    name: str
    shape: Noise
    n: int
    added: Series | float = 0.0
    truth: int | None = None


def stepped(n: int, place: int, size: float) -> Series:
    return np.where(np.arange(n) < place, 0.0, log(1 + size))


def cases() -> Iterator[Case]:
    yield Case("flat, normal", normal, 1000)
    yield Case("flat, t3", heavy, 1000)
    yield Case("flat, AR(1) .3", autoregressive(0.3), 1000)
    yield Case("flat, AR(1) .6", autoregressive(0.6), 1000)
    yield Case("flat, bursts", bursts, 1000)
    slope = np.clip((np.arange(400) - 150) / 100, 0, 1) * log(1.2)
    yield Case("ramp +20 % over 100", normal, 400, slope)
    yield Case("ramp +10 % over 400", normal, 400, np.linspace(0, log(1.1), 400))
    for size in (0.02, 0.05, 0.1):
        yield Case(f"+{size:.0%} in the middle", normal, 400, stepped(400, 200, size), 200)
        yield Case(f"+{size:.0%} 10 before the end", normal, 400, stepped(400, 390, size), 390)
    yield Case("+5% 10 before, n=100", normal, 100, stepped(100, 90, 0.05), 90)
    yield Case("+5% 10 before, n=1000", normal, 1000, stepped(1000, 990, 0.05), 990)
    yield Case("+5% 10 before, t3", heavy, 400, stepped(400, 390, 0.05), 390)
    yield Case("+5% 5 before the end", normal, 400, stepped(400, 395, 0.05), 395)


def hit(case: Case, found: list[ChangePoint]) -> bool:
    assert case.truth
    return any(near(step, case.truth) for step in found)


def near(step: ChangePoint, place: int) -> bool:
    """Whether a report is right about a place: within two commits, or in the range that it gives."""
    return step.first <= place <= step.last or abs(step.place - place) <= NEAR


@benchmark("histories", quick={"runs": 2})
def histories(*, runs: int = 200, seed: int = 1) -> Iterator[Row]:
    """How well does `perf history` find steps in synthetic series?"""
    for number, case in enumerate(cases()):
        rng = np.random.default_rng([seed, number])
        reports = [steps(NOISE * case.shape(rng, case.n) + case.added) for _ in range(runs)]
        row: Row = {"series": case.name, "n": case.n}
        row["steps"] = round(sum(map(len, reports)) / runs, 3)
        alarmed = percent(sum(map(bool, reports)), runs) if case.truth is None else ""
        hits = percent(sum(hit(case, found) for found in reports), runs) if case.truth else ""
        yield row | {"alarmed, %": alarmed, "found, %": hits}


@dataclass(frozen=True)
class Mixed:
    """A series with several steps: their places and sizes (logarithms), and its noise."""

    values: Series
    places: list[int]
    sizes: list[float]
    noise: float


def mixed(rng: np.random.Generator) -> Mixed:
    """One series, drawn."""
    shapes: list[Noise] = [normal, heavy, autoregressive(0.3), bursts]
    n, noise = int(rng.integers(150, 600)), float(np.exp(rng.uniform(log(0.005), log(0.03))))
    places: list[int] = []
    for place in sorted(rng.integers(10, n - 10, int(rng.integers(0, 7))).tolist()):
        if not places or place - places[-1] >= GAP:
            places.append(place)
    amounts = np.exp(rng.uniform(log(0.02), log(0.2), len(places)))
    sizes = (amounts * rng.choice([-1, 1], len(places))).tolist()
    values = noise * shapes[int(rng.integers(len(shapes)))](rng, n)
    for place, size in zip(places, sizes, strict=True):
        values[place:] += size
    return Mixed(values, places, sizes, noise)


@benchmark("histories", quick={"runs": 5})
def histories_mixed(*, runs: int = 200, seed: int = 1) -> Iterator[Row]:
    """Precision and recall over series with several steps."""
    rng = np.random.default_rng([seed, 999])
    right = reported = true = large = large_right = 0
    for _ in range(runs):
        series = mixed(rng)
        found = steps(series.values)
        left = {step.place: step for step in found}
        for place, size in zip(series.places, series.sizes, strict=True):
            close = [other for other in left if near(left[other], place)]
            if close:
                del left[min(close, key=lambda other: abs(other - place))]
                right += 1
            if abs(size) >= 2 * series.noise:
                large += 1
                large_right += bool(close)
        reported += len(found)
        true += len(series.places)
    precision, recall = right / max(1, reported), right / true
    yield {
        "series": runs,
        "steps": true,
        "precision": f"{precision:.3f}",
        "recall": f"{recall:.3f}",
        "F1": f"{2 * precision * recall / (precision + recall):.3f}",
        "recall of at least 2 s": f"{large_right / large:.3f}",
    }
