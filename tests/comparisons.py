"""Two sides made in memory, and the verdict on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from samples import WALL, sample_profile

from perfvcs.check import Change, compare
from perfvcs.profile import Collected, Design, Metric, Profile, Resources

OLD, NEW = "1" * 40, "2" * 40
RNG = np.random.default_rng(7)
NOISE = RNG.normal(0, 0.01, (2, 10))
STEADY = 0.0131 * np.exp(NOISE)


def profile(
    values: Sequence[float | None] | dict[str, Sequence[float | None]],
    side: int = 0,
    *,
    session: str = "s1",
    order: str = "interleaved",
    metric: Metric = WALL,
    **overrides: Any,
) -> Profile:
    """One side of a session; a dictionary gives the values of several units."""
    columns = values if isinstance(values, dict) else {"sort": values}
    rows = Resources(
        names=list(columns),
        uid=[place for place, column in enumerate(columns.values()) for _ in column],
        execution=[execution for column in columns.values() for execution in range(len(column))],
        metrics={"wall": [value for column in columns.values() for value in column]},
    )
    design = Design(executions=10, order=order, version=side, versions=[OLD, NEW])  # type: ignore[arg-type]
    started = f"2026-11-20T09:3{side}:00Z"
    fields = {
        "commit": (OLD, NEW)[side],
        "design": design,
        "collected": Collected(session, started, started, "test"),
        "resources": rows,
    }
    return sample_profile(**(fields | {"metrics": {"wall": metric}} | overrides))


def verdict(old: Any, new: Any, **options: Any) -> Change:
    """The only change between two columns measured in turns, or two profiles."""
    sides = (
        old if isinstance(old, Profile) else profile(old),
        new if isinstance(new, Profile) else profile(new, 1),
    )
    (change,) = compare([sides[0]], [sides[1]], **options).changes
    return change
