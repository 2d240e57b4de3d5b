"""Kinds of injected errors, on the grid of Stupinsky 2018, chapter 6, and past it.

Five baseline curves over 500 sizes; injected nothing, a constant, a linear or a quadratic error of
10 % of the curve at its right end; multiplicative noise of 1, 5 and 10 % on both sides, independent.
``every`` lets all eight kinds compete, ``apart`` measures the two sides at different sizes, ``offset``
lets the linear and the quadratic error begin at 3 % where the curve does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

import numpy as np

from perfvcs.statistics.regression.kind import KINDS, PUBLISHED, kind
from perfvcs.statistics.regression.models import MODELS

from .figures import Row, percent
from .registry import benchmark

SIZES = np.arange(1.0, 501.0)
BASELINES = {
    "linear": lambda x: 100 + 2 * x,
    "quadratic": lambda x: 100 + 0.01 * x**2,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * 1.01**x,
}
ERRORS = {
    "none": lambda x: 0 * x,
    "constant": lambda x: 0.1 + 0 * x,
    "linear": lambda x: 0.1 * x / SIZES[-1],
    "quadratic": lambda x: 0.1 * (x / SIZES[-1]) ** 2,
}
NOISES = (0.01, 0.05, 0.1)


def named(
    baseline: str,
    error: str,
    noise: float,
    repetitions: int,
    family: tuple[str, ...],
    apart: bool,
    offset: float,
) -> Counter[str | None]:
    """What the error is called, and how often."""
    seed = [list(BASELINES).index(baseline), list(ERRORS).index(error), int(noise * 100)]
    random = np.random.default_rng(seed)
    number = np.repeat(np.arange(repetitions), len(SIZES))
    x1 = x2 = np.tile(SIZES, repetitions)
    if apart:
        x1, x2 = random.uniform(1, SIZES[-1], (2, len(number)))
    begin = offset if error in ("linear", "quadratic") else 0.0
    curve, end = BASELINES[baseline], BASELINES[baseline](SIZES[-1])
    y1 = curve(x1) * (1 + noise * random.standard_normal(len(number)))
    y2 = (curve(x2) + end * (begin + (1 - begin / 0.1) * ERRORS[error](x2))) * (
        1 + noise * random.standard_normal(len(number))
    )
    found = kind(x1, y1, x2, y2, number, number, family=family)
    return Counter(KINDS[place] for place in found.index.tolist())


@benchmark("curves", quick={"repetitions": 5})
def error_kinds(
    *, repetitions: int = 200, every: bool = False, apart: bool = False, offset: bool = False
) -> Iterator[Row]:
    """How often is the kind of an injected error named rightly, in percent?"""
    family = MODELS if every else PUBLISHED
    begin = 0.03 if offset else 0.0
    for noise in NOISES:
        rows = []
        for baseline in BASELINES:
            row: Row = {"noise, %": round(100 * noise), "baseline": baseline}
            mistakes = []
            for error in ERRORS:
                counts = named(baseline, error, noise, repetitions, family, apart, begin)
                row[error] = percent(counts.pop(error, 0), repetitions)
                mistakes += [f"{error}: {count} {name}" for name, count in counts.most_common(2)]
            rows.append(row)
            yield row | {"mistaken for": ", ".join(mistakes)}
        means = {error: fmean(row[error] for row in rows) for error in ERRORS}
        all_kinds = f"all kinds {fmean(means.values()):.1f} %"
        yield {
            "noise, %": round(100 * noise),
            "baseline": "mean",
            **means,
            "mistaken for": all_kinds,
        }
