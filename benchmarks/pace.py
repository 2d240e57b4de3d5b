"""Verdicts at one pace of the machine.

Revisions of a program, and of five functions of O(log n) with 400 calls, in ten and fifteen
executions a side. In half of the executions a neighbour on the core makes all 1.5 times as slow, and
they differ by 2 % otherwise. Of programs there are five times as many draws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from perfvcs.check import compare
from perfvcs.profile import Job, Metric, Profile, Resources

from .figures import Row, percent
from .made import CHANGED, side
from .registry import benchmark

FUNCTIONS, CALLS = 5, 400
# how much slower the fixed work is, and the exponent by which a function follows
SLOW, SLOPE = 1.6, 0.85


def simulated(
    random: np.random.Generator,
    version: int,
    factor: float,
    executions: int,
    *,
    calls: int,
    pace: bool,
) -> Profile:
    """One side: a program, or where there are ``calls`` functions."""
    shape = (FUNCTIONS, executions, calls) if calls else (1, executions, 1)
    slow = np.where(random.permuted(np.arange(executions)) < executions // 2, 1.0, SLOW)[
        None, :, None
    ]
    value = (
        factor
        * slow**SLOPE
        * np.exp(0.02 * random.standard_normal((shape[0], executions, 1)))
        * np.ones(shape)
    )
    size = random.integers(1, 10_001, shape).astype(float)
    if calls:
        value *= (6e-8 + 2.5e-8 * np.log(size)) * np.exp(
            0.12 * np.abs(random.standard_normal(shape))
        )
    metrics: dict[str, Any] = {"duration": value.ravel().tolist()}
    about = {"duration": Metric("s")}
    if pace:
        metrics["pace"] = (
            (1.7e-6 * slow * np.exp(0.02 * random.standard_normal(shape))).ravel().tolist()
        )
        about["pace"] = Metric("s", "none")
    number, execution, call = (part.ravel().tolist() for part in np.indices(shape))
    names = [f"f{one}" for one in range(shape[0])]
    sizes = size.ravel().tolist() if calls else None
    rows = Resources(names, number, execution, iteration=call, size=sizes, metrics=metrics)
    job = Job("list", "complexity" if calls else "time", "./list", engine="fentry/1")
    return side(version, rows, executions, metrics=about, job=job)


@benchmark("pairs", quick={"draws": 1})
def pace(*, draws: int = 100) -> Iterator[Row]:
    """Are changes found though other programs slow every second execution, without and with the pace?"""
    for calls, executions, factor, known in product(
        (0, CALLS), (10, 15), (1.0, 1.02, 1.05, 1.1), (False, True)
    ):
        words: Counter[str] = Counter()
        for draw in range(draws if calls else FUNCTIONS * draws):
            random = np.random.default_rng([draw, round(100 * factor)])
            old, new = (
                simulated(random, version, change, executions, calls=calls, pace=known)
                for version, change in enumerate((1.0, factor))
            )
            delta = 0.05 if calls else 0.01
            words.update(change.word for change in compare([old], [new], delta=delta).changes)
        changed = sum(words.pop(word, 0) for word in CHANGED)
        total = changed + words.total()
        yield {
            "what": "functions" if calls else "programs",
            "executions": executions,
            "slower by, %": 100 * factor - 100,
            "pace": "with" if known else "without",
            "changed, %": percent(changed, total),
            "same, %": percent(words["same"], total),
            "suspected, %": percent(words["suspected"], total),
            "open, %": percent(words["inconclusive"], total),
        }
