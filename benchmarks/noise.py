"""Noise to try verdicts on: kinds that are made up, and what was recorded on a machine.

A kind is a function that gives logarithms of measurements, shape (2 versions, blocks, measurements in an execution); a block is an
execution of each version, measured one after the other. ``samples`` turns them into seconds.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Noise = Callable[[np.random.Generator, int, int], Array]
Recorded = dict[tuple[str, str, str, str], Array]  # design, bench, version, metric -> seconds (blocks, measurements)

TRUE = {"B0": 0.0, "B2": 0.02, "B5": 0.05}  # what the recorded versions do more than A
METRICS = ("wall", "cpu")


def lognormal(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Well-behaved: 3 % inside an execution, 2 % between executions."""
    return 0.03 * rng.standard_normal((2, blocks, inner)) + 0.02 * rng.standard_normal((2, blocks, 1))


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
    slow = np.log(3) * (rng.random((2, blocks, inner)) < 0.05) + np.log(1.5) * (rng.random((2, blocks, 1)) < 0.03)
    found: Array = lognormal(rng, blocks, inner) + slow
    return found


def bursts(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """Every fourth execution is slowed down, by 10 % on average."""
    slow = rng.exponential(0.1, (2, blocks, 1)) * (rng.random((2, blocks, 1)) < 0.25)
    found: Array = lognormal(rng, blocks, inner) + slow
    return found


def drift(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """The machine becomes 22 % slower and wanders meanwhile; both executions of a block see the same."""
    trend = np.linspace(0, 0.2, blocks) + np.cumsum(0.02 * rng.standard_normal(blocks))
    return lognormal(rng, blocks, inner) + trend[None, :, None]


def drift_apart(rng: np.random.Generator, blocks: int, inner: int) -> Array:
    """The same drift through all executions of one version, then all of the other."""
    trend = np.linspace(0, 0.2, 2 * blocks) + np.cumsum(0.02 * rng.standard_normal(2 * blocks))
    return lognormal(rng, blocks, inner) + trend.reshape(2, blocks, 1)


NOISES: tuple[Noise, ...] = (lognormal, execution_effects, bimodal, autocorrelation, outliers, bursts, drift)
SECONDS = 0.01


def samples(rng: np.random.Generator, noise: Noise, blocks: int, effect: float, inner: int = 10) -> Array:
    """Seconds per measurement, shape (2, blocks, inner); the second version takes ``effect`` more."""
    found: Array = np.exp(noise(rng, blocks, inner)) * SECONDS
    found[1] *= 1 + effect
    return found


def read(path: Path) -> Recorded:
    """What was recorded, the blocks in their order; ``design`` is ``inter`` (in turns) or ``seq`` (one version after the other).

    The file has one execution a line: design, bench, ver (A and B0 do the same work, B2 2 % more, B5 5 %), block, t, and per metric a
    list of measurements.
    """
    rows: dict[tuple[str, str, str, str], dict[tuple[int, float], list[float]]] = defaultdict(dict)
    with path.open() as lines:
        for line in lines:
            row = json.loads(line)
            for metric in METRICS:
                rows[row["design"], row["bench"], row["ver"], metric][row["block"], row["t"]] = row[metric]
    return {key: np.array([executions[when] for when in sorted(executions)]) for key, executions in rows.items()}


def benches(recorded: Recorded) -> list[str]:
    """The names of what was recorded."""
    return sorted({bench for _, bench, _, _ in recorded})
