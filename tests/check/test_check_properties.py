"""Whatever is measured, ``compare`` has a word for it, without a warning or an error."""

from __future__ import annotations

from typing import Any

import pytest
from comparisons import profile, sound
from hypothesis import given, settings
from hypothesis import strategies as st

from perfvcs.check import compare
from perfvcs.profile import Metric

ANY = st.one_of(st.none(), st.floats(), st.integers(-3, 3).map(float), st.floats(0.9, 1.1))
POSITIVE = st.one_of(st.floats(1e-300, 1e300), st.floats(0.9, 1.1), st.sampled_from([1.0, 1.1]))
METRICS = st.builds(
    Metric,
    unit=st.sampled_from(["s", "B", "count", "µ"]),
    better=st.sampled_from(["lower", "higher"]),
    kind=st.sampled_from(["sampled", "deterministic"]),
)
ORDERS = st.sampled_from(["interleaved", "sequential"])
FLIPPED = {
    "degradation": "improvement",
    "improvement": "degradation",
    "new": "missing",
    "missing": "new",
}


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(
    st.lists(ANY, max_size=12),
    st.lists(ANY, max_size=12),
    METRICS,
    ORDERS,
    st.sampled_from(["auto", "log-median", "deterministic"]),
)
def test_every_measurement_has_a_word(
    old: list[Any], new: list[Any], metric: Metric, order: str, method: str
) -> None:
    sides = (profile(old, metric=metric, order=order), profile(new, 1, metric=metric, order=order))
    sound(compare([sides[0]], [sides[1]], method=method))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(POSITIVE, min_size=1, max_size=12),
    st.lists(POSITIVE, min_size=1, max_size=12),
    METRICS,
    ORDERS,
)
def test_swapping_the_sides_flips_the_word(
    old: list[float], new: list[float], metric: Metric, order: str
) -> None:
    there = compare(
        [profile(old, metric=metric, order=order)], [profile(new, 1, metric=metric, order=order)]
    ).changes
    back = compare(
        [profile(new, metric=metric, order=order)], [profile(old, 1, metric=metric, order=order)]
    ).changes
    assert [FLIPPED.get(change.word, change.word) for change in there] == [
        change.word for change in back
    ]
