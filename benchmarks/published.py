"""Whether `regression` has the coefficients and r2 that Perun publishes: ``python
benchmarks/published.py``.

Synthetic profiles in Perun's own format (curves of every kind, 6 to 500 sizes, linear and
logarithmic, noise of 1 and 10 %, each with and without points at 0) are read by our reader and
fitted by ``Regression(fit="calls", undefined="drop")``. The same points are fitted on their own by
statsmodels as Stupinsky 2018, 3.2, has it: least squares of constant, linear, logarithmic, and a
quadratic with all its terms; straight lines through logarithms of power and exponential, with their
r2 in log space; points for which a model has no logarithm are passed over. A number agrees where it
is within 1e-6 of statsmodels', relative to it. "Before" is the same without what was added: the
quadratic with all its terms, r2 in log space, and ``undefined="drop"``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import statsmodels.api as sm
from numpy.typing import NDArray

from perfvcs.formats.perun import Perun
from perfvcs.postprocessors.regression import Regression

Floats = NDArray[np.float64]
CLOSE = 1e-6
CURVES: dict[str, Callable[[Floats], Floats]] = {
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
MODELS: dict[str, tuple[Callable[[Floats], Floats] | None, bool]] = {
    "constant": (None, False),
    "linear": (lambda n: n, False),
    "logarithmic": (np.log, False),
    "full-quadratic": (lambda n: np.stack([n, n**2], axis=1), False),
    "linearised power": (np.log, True),
    "linearised exponential": (lambda n: n, True),
}


def profiles() -> Iterator[tuple[str, Floats, Floats]]:
    """Name, sizes and values of each profile."""
    random = np.random.default_rng(20180501)
    for curve, (grid, n), noise, zeros in product(CURVES, GRIDS.items(), (0.01, 0.1), (0, 1)):
        x = np.append(n, [0.0, n[1]][: 2 * zeros])
        y = CURVES[curve](x) * np.exp(noise * random.standard_normal(len(x)))
        if zeros:
            y[-1] = 0.0
        yield f"{curve}, {grid}, {noise}, {'with' if zeros else 'without'} points at 0", x, y


def published(model: str, x: Floats, y: Floats) -> list[float]:
    """Coefficients and r2 by statsmodels, in the form in which they are published."""
    shape, logarithm = MODELS[model]
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


def document(x: Floats, y: Floats) -> bytes:
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


def numbers(entry: dict[str, Any] | None, *, before: bool) -> list[float | None]:
    """What is stored of a model, in the published form."""
    if entry is None:
        return []
    logarithm = entry.model.startswith("linearised")
    return [*entry.coefficients, entry.log_r2 if logarithm and not before else entry.r2]


def main() -> None:
    counts: dict[str, Counter[str]] = {model: Counter() for model in MODELS}
    for _, x, y in profiles():
        profile = Perun().decode(document(x, y))
        for when, options in (("before", {}), ("now", {"undefined": "drop"})):
            entries = {
                one.model: one for one in Regression(fit="calls", **options).apply(profile).models
            }  # type: ignore[arg-type]
            for model in MODELS:
                entry = (
                    None if when == "before" and model == "full-quadratic" else entries.get(model)
                )
                wanted = published(model, x, y)
                mine = numbers(entry, before=when == "before") or [None] * len(wanted)
                pairs = zip(mine, wanted, strict=True)
                close = [
                    one is not None and abs(one - other) <= CLOSE * abs(other) + 1e-12
                    for one, other in pairs
                ]
                counts[model][when] += sum(close)
        for model in MODELS:
            counts[model]["all"] += len(published(model, x, y))
    print(f"{'model':24}{'published':>10}{'before':>10}{'now':>10}")
    for model, found in counts.items():
        print(f"{model:24}{found['all']:>10}{found['before']:>10}{found['now']:>10}")
    whole = sum(counts.values(), Counter())
    print(f"{'all':24}{whole['all']:>10}{whole['before']:>10}{whole['now']:>10}")


if __name__ == "__main__":
    main()
