"""Two sides made in memory, and the verdict on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from samples import WALL, sample_profile

from perfvcs.check import VERDICT_WORDS, Change, Report, compare
from perfvcs.check.bounds import within
from perfvcs.check.markdown import decode, encode, markdown
from perfvcs.check.screen import screen
from perfvcs.check.text import text
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


def sound(report: Report) -> Report:
    """The report, which has only words that there are, finite numbers, and can be written in every
    form.
    """
    for change in report.changes:
        assert change.word in VERDICT_WORDS
        assert all(
            math.isfinite(value)
            for value in msgspec.structs.astuple(change)
            if isinstance(value, float)
        )
        assert change.low is None or change.high is None or change.low <= change.high
        assert not change.gate or change.word == "degradation"
        if change.word == "inconclusive":  # within what bound, or why there is none
            assert (
                within(change.bound) in change.reason if change.bound is not None else change.reason
            )
            assert change.bound is not None or "interval reaches" not in change.reason
    assert decode(encode(report)) == report
    assert text(report)
    assert len(screen(report).splitlines()) <= 24
    assert markdown(report)
    return report
