"""The coefficients of `regression` beside those of statsmodels.

``regression_exact``: all linear and linearised models at group sizes from 3 to 100,000, on the same
transformed columns. Differences of r2 are relative to the larger of r2 and .001.

``regression_published``: synthetic profiles in Perun's own format (curves of every kind, 6 to 500 sizes,
linear and logarithmic, noise of 1 and 10 %, each with and without points at 0) are read by our reader
and fitted by ``Regression(fit="calls", undefined="drop")``. The same points are fitted on their own by
statsmodels as Stupinsky 2018, 3.2, has it: least squares of constant, linear, logarithmic, and a
quadratic with all its terms; straight lines through logarithms of power and exponential, with their r2
in log space; points for which a model has no logarithm are passed over. A number agrees where it is
within 1e-6 of statsmodels', relative to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from perfvcs.formats.perun import Perun
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile.fittedmodels import RegressionEntry
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import LINEARISED, MODELS, transform

from .figures import Row
from .made import Array
from .registry import benchmark

SIZES = (3, 4, 5, 10, 30, 100, 1000, 10_000, 100_000)
STRAIGHT = tuple(model for model in MODELS if model not in ("power", "exponential")) + LINEARISED
CLOSE = 1e-6
CURVES: dict[str, Callable[[Array], Array]] = {
    "constant": lambda n: 40 + 0 * n,
    "logarithmic": lambda n: 5 + 30 * np.log(n + 1),
    "linear": lambda n: 20 + 0.5 * n,
    "quadratic": lambda n: 20 + 0.3 * n + 0.002 * n**2,
    "power": lambda n: 2 * (n + 1) ** 1.4,
    "exponential": lambda n: 10 * 1.004**n,
}
GRIDS = {
    "6 sizes": np.linspace(10, 500, 6),
    "30 logarithmic": np.geomspace(1, 1000, 30).round(),
    "100 sizes": np.linspace(1, 1000, 100).round(),
    "500 sizes": np.arange(1.0, 501),
}
# ours -> what is published of it: the transformed size, whether of the logarithm of the value
PUBLISHED: dict[str, tuple[Callable[[Array], Array] | None, bool]] = {
    "constant": (None, False),
    "linear": (lambda n: n, False),
    "logarithmic": (np.log, False),
    "full-quadratic": (lambda n: np.stack([n, n**2], axis=1), False),
    "linearised power": (np.log, True),
    "linearised exponential": (lambda n: n, True),
}


def profiles() -> Iterator[tuple[str, Array, Array]]:
    """Name, sizes and values of each profile."""
    random = np.random.default_rng(20180501)
    for curve, (grid, n), noise, zeros in product(CURVES, GRIDS.items(), (0.01, 0.1), (0, 1)):
        x = np.append(n, [0.0, n[1]][: 2 * zeros])
        y = CURVES[curve](x) * np.exp(noise * random.standard_normal(len(x)))
        if zeros:
            y[-1] = 0.0
        yield f"{curve}, {grid}, {noise}, {'with' if zeros else 'without'} points at 0", x, y


def published(model: str, x: Array, y: Array) -> list[float]:
    """Coefficients and r2 by statsmodels, in the form in which they are published."""
    import statsmodels.api as sm

    shape, logarithm = PUBLISHED[model]
    with np.errstate(all="ignore"):
        columns = (
            np.ones((len(x), 1)) if shape is None else sm.add_constant(shape(x), has_constant="add")
        )
        values = np.log(y) if logarithm else y
    kept = np.isfinite(columns).all(axis=1) & np.isfinite(values)
    done = sm.OLS(values[kept], columns[kept]).fit()
    found = done.params.tolist()
    if logarithm:
        found = [np.exp(found[0]), np.exp(found[1]) if "exponential" in model else found[1]]
    return [*found, done.rsquared if shape is not None else 0.0]


def document(x: Array, y: Array) -> bytes:
    """A profile of Perun; amounts are texts in every other row."""
    rows = [
        {
            "amount": repr(value) if row % 2 else value,
            "structure-unit-size": size,
            "uid": "f",
            "type": "mixed",
            "subtype": "time delta",
        }
        for row, (size, value) in enumerate(zip(x.tolist(), y.tolist(), strict=True))
    ]
    return json.dumps(
        {"header": {"type": "mixed", "cmd": "f", "params": ""}, "global": {"resources": rows}}
    ).encode()


def expected(model: str, x: Array, y: Array) -> tuple[list[float], float]:
    """Coefficients and r2 of statsmodels, those of a linearised form on the original scale."""
    import statsmodels.api as sm

    design = np.ones((len(x), 1)) if model == "constant" else sm.add_constant(transform(model, x))
    done = sm.OLS(np.log(y) if model in LINEARISED else y, design).fit()
    if model not in LINEARISED:
        return done.params.tolist(), done.rsquared
    shape = done.params[1] if "power" in model else np.exp(done.params[1])
    away = y - np.exp(done.fittedvalues)
    return [np.exp(done.params[0]), shape], 1 - (away**2).sum() / ((y - y.mean()) ** 2).sum()


@benchmark("curves", quick={}, needs=("statsmodels",))
def regression_exact(*, seed: int = 2) -> Iterator[Row]:
    """What are the largest relative differences from statsmodels?"""
    random = np.random.default_rng(seed)
    for model in STRAIGHT:
        coefficient = share = 0.0
        for count in SIZES:
            x = random.uniform(1, 100, count)
            y = (5 + 3 * x) * np.exp(0.1 * random.standard_normal(count))
            found, (coefficients, r2) = fit(x, y, models=[model])[model], expected(model, x, y)
            for mine, theirs in zip(found.coefficients[0], coefficients, strict=False):
                coefficient = max(coefficient, abs(mine - theirs) / abs(theirs))
            share = max(share, abs(found.r2[0] - r2) / max(abs(r2), 1e-3))
        yield {"model": model, "coefficients": f"{coefficient:.0e}", "r2": f"{share:.0e}"}


def numbers(entry: RegressionEntry | None) -> list[float | None]:
    """What is stored of a model, in the published form."""
    if entry is None:
        return []
    r2 = entry.log_r2 if (entry.model or "").startswith("linearised") else entry.r2
    return [*entry.coefficients, r2 or None]


@benchmark("curves", quick={}, needs=("statsmodels",))
def regression_published() -> Iterator[Row]:
    """Has `regression` the coefficients and r2 that Perun publishes?"""
    agree: Counter[str] = Counter()
    all_: Counter[str] = Counter()
    for _, x, y in profiles():
        profile = Perun().decode(document(x, y))
        entries = {
            one.model: one
            for one in Regression(fit="calls", undefined="drop").apply(profile).models
            if isinstance(one, RegressionEntry)
        }
        for model in PUBLISHED:
            wanted = published(model, x, y)
            mine = numbers(entries.get(model)) or [None] * len(wanted)
            all_[model] += len(wanted)
            agree[model] += sum(
                one is not None and abs(one - other) <= CLOSE * abs(other) + 1e-12
                for one, other in zip(mine, wanted, strict=True)
            )
    for model in PUBLISHED:
        yield {"model": model, "published": all_[model], "the same": agree[model]}
    yield {"model": "all", "published": all_.total(), "the same": agree.total()}
