"""Noise to try verdicts on.

A kind is a function that gives logarithms of measurements, shape (2 versions, blocks, measurements
in an execution); a block is an execution of each version, measured one after the other. ``samples``
turns them into seconds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Noise = Callable[[np.random.Generator, int, int], Array]


def lognormal(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Well-behaved: 3 % inside an execution, 2 % between executions."""
    return 0.03 * rng.standard_normal((2, blocks, inner)) + 0.02 * rng.standard_normal(
        (2, blocks, 1)
    )


def execution_effects(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Another 5 % between executions."""
    return lognormal(rng, blocks, inner) + 0.05 * rng.standard_normal((2, blocks, 1))


def bimodal(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Three of ten executions are 6 % slower."""
    return lognormal(rng, blocks, inner) + 0.06 * (rng.random((2, blocks, 1)) < 0.3)


def autocorrelation(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Every measurement remembers nine tenths of the last one's error."""
    walk: Array = 0.03 * rng.standard_normal((2, blocks, inner))
    for place in range(1, inner):
        walk[..., place] += 0.9 * walk[..., place - 1]
    return walk


def outliers(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """One measurement of 20 takes three times as long, one execution of 33 half as long again."""
    slow = np.log(3) * (rng.random((2, blocks, inner)) < 0.05) + np.log(1.5) * (
        rng.random((2, blocks, 1)) < 0.03
    )
    found: Array = lognormal(rng, blocks, inner) + slow
    return found


def bursts(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Every fourth execution is slowed down, by 10 % on average."""
    slow = rng.exponential(0.1, (2, blocks, 1)) * (rng.random((2, blocks, 1)) < 0.25)
    found: Array = lognormal(rng, blocks, inner) + slow
    return found


def drift(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """The machine becomes 22 % slower and wanders meanwhile; both executions of a block see the
    same.
    """
    trend = np.linspace(0, 0.2, blocks) + np.cumsum(0.02 * rng.standard_normal(blocks))
    return lognormal(rng, blocks, inner) + trend[None, :, None]


def drift_apart(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """The same drift through all executions of one version, then all of the other."""
    trend = np.linspace(0, 0.2, 2 * blocks) + np.cumsum(0.02 * rng.standard_normal(2 * blocks))
    return lognormal(rng, blocks, inner) + trend.reshape(2, blocks, 1)


def switching(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """The machine moves between two levels 13 % apart, after one execution of ten on average."""
    moves = rng.random(2 * blocks) < 0.1
    level = (np.cumsum(moves) + rng.integers(2)) % 2
    return lognormal(rng, blocks, inner) + np.log(1.13) * level.reshape(blocks, 2).T[:, :, None]


def poisson(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Counts of rare events, 400 an execution: all measurements of one are the same."""
    return np.repeat(np.log(np.maximum(rng.poisson(400, (2, blocks, 1)), 1) / 400), inner, axis=2)


def quiet(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """1 % between executions, and nothing else."""
    return np.repeat(0.01 * rng.standard_normal((2, blocks, 1)), inner, axis=2)


NOISES: tuple[Noise, ...] = (
    lognormal,
    execution_effects,
    bimodal,
    autocorrelation,
    outliers,
    bursts,
    drift,
)
SECONDS = 0.01


def samples(
    rng: np.random.Generator, noise: Noise, blocks: int, effect: float, inner: int = 10
) -> Array:
    """Seconds per measurement, shape (2, blocks, inner); the second version takes ``effect``
    more.
    """
    found: Array = np.exp(noise(rng, blocks, inner)) * SECONDS
    found[1] *= 1 + effect
    return found


def coin(rng: np.random.Generator, blocks: int) -> Flags:
    """In which blocks the second version comes later, each by a coin."""
    return rng.random(blocks) < 0.5


def balanced(rng: np.random.Generator, blocks: int) -> Flags:
    """The same with both orders in each two blocks, the first of them by a coin."""
    first = rng.random((blocks + 1) // 2) < 0.5
    return np.stack([first, ~first], axis=1).ravel()[:blocks]


def second_slower(seconds: Array, later: Flags, share: float) -> Array:
    """Seconds (2, blocks, measurements) with the execution that comes later in its block slower by
    a ``share``.
    """
    found = seconds.copy()
    found[1, later] *= 1 + share
    found[0, ~later] *= 1 + share
    return found


def ticks(seconds: Array, tick: float) -> Array:
    """What a clock of ``tick`` seconds reads, which it begins to count anywhere in a tick."""
    found: Array = np.round(seconds / tick) * tick
    return found


def forks(rng: np.random.Generator, benchmarks: int, count: int, inner: int = 20) -> Array:
    """Logarithms of a suite like those of JMH, shape (2, benchmarks, forks, measurements).

    Forks of a benchmark differ by .5 to 20 %, evenly on a logarithmic scale and with the tails of t
    with 4 degrees of freedom; measurements inside differ by half as much, each remembering .7 of
    the last one's error.
    """
    spread = np.exp(rng.uniform(np.log(0.005), np.log(0.2), (1, benchmarks, 1, 1)))
    inside: Array = 0.5 * rng.standard_normal((2, benchmarks, count, inner))
    for place in range(1, inner):
        inside[..., place] += 0.7 * inside[..., place - 1]
    return spread * (rng.standard_t(4, (2, benchmarks, count, 1)) / np.sqrt(2) + inside)
