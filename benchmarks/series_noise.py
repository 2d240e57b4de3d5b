"""Histories with known truth: plateaus, switching, spikes, drifts, changing spread, missing
commits, nearly equal points.

All values are natural logarithms, all generators take a numpy generator and nothing else that is
random. `DEVELOPMENT` is what the judge of a series was developed on; `HELD_OUT` has other noise,
other sizes and other dwell times; `WANDERING` has no level that stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int], Series]  # of a standard deviation of about 1


@dataclass(frozen=True)
class History:
    """``values`` (n,) with NaN where a commit was not measured; ``truth`` are the indices of the
    first values of new levels.
    """

    values: Series
    truth: list[int] = field(default_factory=list)
    sizes: list[float] = field(default_factory=list)  # of the steps, in logarithms
    noise: float = 0.01
    drifts: bool = False  # somewhere, so that the levels beside a step are not its ends


def normal(rng: np.random.Generator, n: int) -> Series:
    return rng.standard_normal(n)


def heavy(rng: np.random.Generator, n: int) -> Series:
    """Student's t with three degrees of freedom, of scale 1."""
    return rng.standard_t(3, n)


def skewed(rng: np.random.Generator, n: int) -> Series:
    """Mostly a little above the fastest, sometimes much: exponential."""
    return rng.exponential(1.0, n) - 1.0


def laplace(rng: np.random.Generator, n: int) -> Series:
    return rng.laplace(0.0, 0.5**0.5, n)


def gamma(rng: np.random.Generator, n: int) -> Series:
    return np.asarray((rng.gamma(3.0, 1.0, n) - 3.0) / 3.0**0.5)


def autoregressive(strength: float, shape: Noise = normal) -> Noise:
    """Each value like the one before: AR(1) of unit variance."""

    def made(rng: np.random.Generator, n: int) -> Series:
        values = shape(rng, n)
        for place in range(1, n):
            values[place] = strength * values[place - 1] + (1 - strength**2) ** 0.5 * values[place]
        return values

    return made


def wandering(rng: np.random.Generator, n: int) -> Series:
    """Normal noise about a slow random walk that is as large as the noise after 400 commits."""
    return rng.standard_normal(n) + np.cumsum(rng.standard_normal(n)) / 20


def walking(speed: float) -> Noise:
    """Normal noise about a random walk whose moves have a standard deviation of ``speed``."""

    def made(rng: np.random.Generator, n: int) -> Series:
        return rng.standard_normal(n) + np.cumsum(rng.standard_normal(n)) * speed

    return made


def returning(rng: np.random.Generator, n: int) -> Series:
    """Normal noise about a slow course of half its size that returns to 0 within some 50
    commits.
    """
    course = np.zeros(n)
    for place in range(1, n):
        course[place] = 0.98 * course[place - 1] + 0.1 * rng.standard_normal()
    return rng.standard_normal(n) + course


@dataclass(frozen=True)
class Recipe:
    """What a kind of history is made of.

    ``dwell`` is the range of the plateaus' lengths (log-uniform), ``size`` that of the steps in
    standard deviations of the noise, of which none is below ``smallest``. ``back`` is the chance
    that a step returns to the level before the last. ``spikes`` is the share of commits at which a
    spike of one to five commits begins, ``drift`` and ``spread`` the chances that the series drifts
    somewhere, or changes its spread. ``mixture`` is the chance that it switches between two levels
    from commit to commit.
    """

    noises: tuple[Noise, ...]
    dwell: tuple[float, float] = (40, 400)
    size: tuple[float, float] = (1.5, 12.0)
    smallest: float = 0.01
    scale: tuple[float, float] = (0.003, 0.04)
    back: float = 0.3
    spikes: float = 0.003
    drift: float = 0.1
    spread: float = 0.1
    mixture: float = 0.0
    missing: float = 0.1
    flat: float = 0.15

    def make(self, rng: np.random.Generator) -> History:
        """One history."""
        n, noise = int(rng.integers(190, 921)), _between(rng, *self.scale)
        shape = self.noises[int(rng.integers(len(self.noises)))]
        truth: list[int] = []
        levels = [0.0]
        if rng.random() >= self.flat:
            place = int(_between(rng, *self.dwell) * rng.uniform(0.5, 1))
            while place < n - 8:
                truth.append(place)
                place += int(_between(rng, *self.dwell))
        sizes = []
        for _ in truth:
            if len(levels) > 1 and rng.random() < self.back:
                levels.append(levels[-2])
            else:
                step = max(self.smallest, noise * _between(rng, *self.size)) * rng.choice(
                    [-1.0, 1.0]
                )
                levels.append(levels[-1] + (step if abs(levels[-1] + step) < 1 else -step))
            sizes.append(levels[-1] - levels[-2])
        level = np.repeat(levels, np.diff([0, *truth, n]))
        around = shape(rng, n)
        if rng.random() < self.spread:
            around[int(rng.integers(n // 4, 3 * n // 4)) :] *= rng.choice([0.4, 2.5])
        values = level + noise * around
        drifts = rng.random() < self.drift
        if drifts:
            length = int(rng.integers(80, 300))
            start = int(rng.integers(0, max(1, n - length)))
            values += (
                np.clip((np.arange(n) - start) / length, 0, 1)
                * noise
                * _between(rng, 3, 8)
                * rng.choice([-1, 1])
            )
        if rng.random() < self.mixture:
            values += np.where(
                rng.random(n) < rng.uniform(0.05, 0.45),
                noise * _between(rng, 5, 20) * rng.choice([-1, 1]),
                0.0,
            )
        for start in np.flatnonzero(rng.random(n) < self.spikes).tolist():
            values[start : start + int(rng.integers(1, 6))] += (
                noise * _between(rng, 4, 20) * rng.choice([-0.5, 1.0])
            )
        values[rng.random(n) < rng.uniform(0, 2 * self.missing)] = np.nan
        values[0] = level[0] if np.isnan(values[0]) else values[0]
        return History(values, truth, sizes, noise, drifts)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    """Log-uniform."""
    return float(np.exp(rng.uniform(log(low), log(high))))


PLAIN = (normal, heavy, skewed, autoregressive(0.3))
WANDERERS = (walking(0.03), walking(0.1), returning, heavy)
OTHER = (laplace, gamma, autoregressive(0.4, laplace), wandering)

DEVELOPMENT = {
    "plateaus": Recipe(PLAIN),
    "short plateaus": Recipe(PLAIN, dwell=(10, 80), size=(3, 12), back=0.8, flat=0.0),
    "spikes": Recipe(PLAIN, spikes=0.01),
    "drifts": Recipe(PLAIN, drift=1.0, dwell=(80, 400)),
    "changing spread": Recipe(PLAIN, spread=1.0),
    "mixture": Recipe(PLAIN, mixture=1.0, size=(4, 15), dwell=(80, 400)),
    "flat": Recipe(PLAIN, flat=1.0, drift=0.0),
}
HELD_OUT = {
    "plateaus": Recipe(
        OTHER, dwell=(25, 600), size=(2, 20), scale=(0.002, 0.06), missing=0.2, back=0.1
    ),
    "short plateaus": Recipe(
        OTHER, dwell=(12, 60), size=(4, 25), back=0.95, flat=0.0, spikes=0.005, drift=0.0
    ),
    "spikes": Recipe(OTHER, spikes=0.015, size=(2, 20)),
    "drifts": Recipe(OTHER, drift=1.0, dwell=(60, 500), size=(3, 9)),
    "changing spread": Recipe(OTHER, spread=1.0, size=(2, 20), missing=0.0),
    "mixture": Recipe(OTHER, mixture=1.0, size=(6, 20), dwell=(60, 600)),
    "flat": Recipe(OTHER, flat=1.0, drift=0.0, spikes=0.01),
}

WANDERING = {
    "plateaus": Recipe(WANDERERS),
    "short plateaus": Recipe(WANDERERS, dwell=(10, 80), size=(3, 12), back=0.8, flat=0.0),
    "flat": Recipe(WANDERERS, flat=1.0, drift=0.0),
}


def nearly_equal(rng: np.random.Generator, n: int) -> Series:
    """Points of a dashboard: quantised, heavy-tailed, often the same value again, now and then an
    outlier.
    """
    tick = _between(rng, 1e-4, 0.02)
    values = tick * _between(rng, 0.2, 2) * rng.standard_t(3, n)
    values += np.where(rng.random(n) < 0.01, np.abs(rng.standard_t(2, n)) * 0.05, 0.0)
    if rng.random() < 0.3:
        values += autoregressive(0.5)(rng, n) * tick / 2
    return log(1000.0) + np.round(values / tick) * tick


def switching(
    rng: np.random.Generator, n: int, dwell: float, gap: float, noise: float
) -> tuple[Series, list[int]]:
    """A series that moves between two levels after ``dwell`` commits on average (geometric), and
    where.
    """
    moves = np.flatnonzero(rng.random(n) < 1 / dwell)
    state = np.zeros(n)
    for place in moves[moves > 0].tolist():
        state[place:] = 1 - state[place:]
    return gap * state + noise * rng.standard_normal(n), moves[moves > 0].tolist()


def hosted(rng: np.random.Generator, n: int) -> Series:
    """A hosted machine: one of several processors each time, each with its own level and spread; no
    lasting change.
    """
    count = int(rng.integers(2, 5))
    levels = np.sort(rng.uniform(0, 0.5, count))
    shares = rng.dirichlet(np.full(count, 2.0))
    of = rng.choice(count, n, p=shares)
    return levels[of] + rng.uniform(0.005, 0.02, count)[of] * rng.standard_normal(n)
