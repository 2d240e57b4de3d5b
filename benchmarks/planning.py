"""Plans: the power of `perf check` with as many executions as `perf plan` says.

Noise is known exactly, or the plan is made as in life, from one small session of 5, 10 or 20
executions: then the power is the average over the sessions, beside the numbers planned (median, and
10 % and 90 % of them). The power should be 80 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import sqrt
from statistics import fmean

import numpy as np

from perfvcs.check import compare
from perfvcs.plan.design import PlanRule, needed
from perfvcs.plan.variation import spreads
from perfvcs.profile.summary import Measured

from .figures import Row
from .made import Array, Flags, measured
from .noise import balanced
from .registry import benchmark

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


def alone(wall: Array) -> Measured:
    """A profile of these executions of one version."""
    return measured(0, {"wall": wall.tolist()}, apart=True)


def turns(version: int, wall: Array, later: Flags | None = None) -> Measured:
    """The same of one of two versions in turns, with the order where it is known."""
    return measured(version, {"wall": wall.tolist()}, later=later)


def planned(profiles: Sequence[Measured], effect: float) -> int:
    """The executions that the plan asks for."""
    (spread,) = spreads(profiles)
    return needed(spread, effect, PlanRule().below(effect))[0] or WIDEST


def found(old: Array, new: Array, effect: float, rng: np.random.Generator) -> bool:
    """Whether a check of pairs, in a balanced order that it knows, calls the second side worse."""
    delta, later = PlanRule().below(effect).delta, balanced(rng, len(old))
    report = compare([turns(0, old, later)], [turns(1, new, later)], delta=delta)
    return report.changes[0].word == "degradation"


def drawn(rng: np.random.Generator, noise: Noise, count: int, effect: float) -> bool:
    """Whether a check of so many drawn executions finds the effect."""
    old, new = np.exp(noise(rng, count)), np.exp(noise(rng, count)) * (1 + effect)
    return found(old, new, effect, rng)


def quantiles(counts: list[int]) -> str:
    """The median of what is planned, with 10 % and 90 %."""
    low, middle, high = np.quantile(counts, (0.1, 0.5, 0.9))
    return f"{middle:.0f} ({low:.0f}-{high:.0f})"


@benchmark("planning", quick={"draws": 2})
def planning_known(*, draws: int = 400, seed: int = 1) -> Iterator[Row]:
    """Does a check as large as planned find the change, where the noise is known?"""
    for noise in NOISES:
        rng = np.random.default_rng(seed)
        whole = [alone(np.exp(noise(rng, MANY)))]
        row: Row = {"noise": noise.__name__}
        for effect in EFFECTS:
            count = planned(whole, effect)
            share = fmean(drawn(rng, noise, count, effect) for _ in range(draws))
            row[f"+{effect:.0%}"] = f"{share:.0%} with {count}"
        yield row


@benchmark("planning", quick={"draws": 1})
def planning_estimated(*, draws: int = 400, seed: int = 2) -> Iterator[Row]:
    """The same where the plan is made from a small session."""
    for noise, size in product(NOISES, (5, 10, 20)):
        rng = np.random.default_rng(seed)
        row: Row = {"noise": noise.__name__, "planned from": size}
        for effect in EFFECTS[1:]:
            counts, seen = [], []
            for _ in range(draws):
                count = min(planned([alone(np.exp(noise(rng, size)))], effect), WIDEST)
                counts.append(count)
                seen.append(drawn(rng, noise, count, effect))
            row[f"+{effect:.0%}"] = f"{fmean(seen):.0%} with {quantiles(counts)}"
        yield row
