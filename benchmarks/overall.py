"""How often the interval of a job's overall effect holds the truth, by simulation, beside two other
ways to combine units.
Units take from microseconds to milliseconds (lognormal, sigma 2). Each pair of executions shifts
all of its units by a common noise of 2 or 5 %, and each unit by its own of 2 to 50 %; in some cases
an execution now and then is slow as a whole, or a unit has a spike. Units do not change, all change
by 3 %, each by something else (3 % on average, standard deviation 5 %), or 2 % of them take half as
long again. For each case: how often the interval of 99 % holds the truth, and half of its
width in percent:

- together: what perf does, all units of an execution as one (statistics/sessions.py), judged over
  the pairs; of the change of the total;
- random effects: the units' effects by DerSimonian and Laird with Hartung and Knapp's interval; of
  the mean logarithm;
- mean of ratios: the units' mean ratio with Student's interval over the units; of the mean ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from perfvcs.statistics.huber import BEND
from perfvcs.statistics.huber import paired as robust
from perfvcs.statistics.sessions import together

from .figures import Row, percent
from .registry import benchmark

Array = NDArray[np.float64]
CONFIDENCE = 0.99
WAYS = ("together", "random effects", "mean of ratios")
SHARED = (0.02, 0.05)
EFFECTS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "none": lambda _, units: np.zeros(units),
    "all by 3 %": lambda _, units: np.full(units, np.log(1.03)),
    "3 +/- 5 %": lambda rng, units: rng.normal(0.03, 0.05, units),
    "2 % by half": lambda rng, units: np.where(rng.random(units) < 0.02, np.log(1.5), 0.0),
}
ODD = ("", "slow executions", "spikes")


class Interval(NamedTuple):
    """An interval and the truth that it is to hold, on the scale of logarithms."""

    low: float
    high: float
    truth: float


def sides(
    rng: np.random.Generator, effect: Array, pairs: int, shared: float, odd: str
) -> tuple[Array, Array, Array]:
    """The units' true times, and the measured ones of baseline and target, of shape (units,
    pairs).
    """
    units = len(effect)
    time = np.exp(rng.normal(-9, 2, units))
    own = np.exp(rng.uniform(np.log(0.02), np.log(0.5), (units, 1)))
    measured = []
    for moved in (np.zeros(units), effect):
        noise = shared / np.sqrt(2) * rng.normal(size=pairs) + own / np.sqrt(2) * rng.normal(
            size=(units, pairs)
        )
        if odd == "slow executions":
            noise = noise + np.where(rng.random(pairs) < 0.1, rng.exponential(0.2, pairs), 0.0)
        if odd == "spikes":
            noise = noise + np.where(
                rng.random((units, pairs)) < 0.01, rng.exponential(1.0, (units, pairs)), 0.0
            )
        measured.append(time[:, None] * np.exp(moved[:, None] + noise))
    return time, measured[0], measured[1]


def one(
    rng: np.random.Generator, units: int, pairs: int, effect: str, shared: float, odd: str
) -> list[Interval]:
    """The three intervals of one draw."""
    moved = EFFECTS[effect](rng, units)
    time, before, after = sides(rng, moved, pairs, shared, odd)
    total = together(before, after)
    shift = robust(
        np.log(total.baseline)[None], np.log(total.target)[None], CONFIDENCE, BEND
    ).difference
    gaps = np.log(after) - np.log(before)
    found, variance = gaps.mean(axis=1), gaps.var(axis=1, ddof=1) / pairs
    ratio = np.exp(found)
    half = stats.t.ppf((1 + CONFIDENCE) / 2, units - 1) * ratio.std(ddof=1) / np.sqrt(units)
    return [
        Interval(
            float(shift.low[0]),
            float(shift.high[0]),
            float(np.log((time * np.exp(moved)).sum() / time.sum())),
        ),
        Interval(*hartung_knapp(found, variance), float(moved.mean())),
        Interval(
            float(np.log(max(ratio.mean() - half, 1e-9))),
            float(np.log(ratio.mean() + half)),
            float(np.log(np.exp(moved).mean())),
        ),
    ]


def hartung_knapp(effect: Array, variance: Array) -> tuple[float, float]:
    """The interval of the mean effect; sources: DerSimonian and Laird 1986, Hartung and Knapp
    2001.
    """
    weight = 1 / variance
    common = (weight * effect).sum() / weight.sum()
    excess = (weight * (effect - common) ** 2).sum() - (len(effect) - 1)
    between = max(0.0, excess / (weight.sum() - (weight**2).sum() / weight.sum()))
    weight = 1 / (variance + between)
    mean = (weight * effect).sum() / weight.sum()
    error = np.sqrt((weight * (effect - mean) ** 2).sum() / weight.sum() / (len(effect) - 1))
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(effect) - 1) * error
    return float(mean - half), float(mean + half)


@benchmark("pairs", quick={"draws": 3})
def overall(
    *, draws: int = 2000, units: int = 200, pairs: int = 10, seed: int = 1
) -> Iterator[Row]:
    """How often does the interval of a job's overall effect hold the truth?"""
    rng = np.random.default_rng(seed)
    for effect in EFFECTS:
        for shared, odd in ((SHARED[0], ODD[0]), *((SHARED[1], kind) for kind in ODD)):
            drawn = [one(rng, units, pairs, effect, shared, odd) for _ in range(draws)]
            row: Row = {"units change": effect, "shared noise, %": 100 * shared, "odd": odd or "no"}
            for way, intervals in zip(WAYS, zip(*drawn, strict=True), strict=True):
                held = sum(found.low <= found.truth <= found.high for found in intervals)
                widths = [np.expm1((found.high - found.low) / 2) for found in intervals]
                row |= {f"{way}, %": percent(held, draws), "± " + way: 100 * np.mean(widths)}
            yield row
