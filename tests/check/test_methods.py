"""The contract of all methods of comparison: whatever is measured they have a word for it, and what
is plain they see.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
from cases import each
from comparisons import profile, sound
from numpy.typing import NDArray
from test_check_builds import built

from perfvcs.check import VERDICT_WORDS, compare
from perfvcs.check.method import Method, load, names
from perfvcs.profile import Metric, Profile, Resources

EVERY = names()
SIZES = (10, 20, 40, 80, 160, 320)
CHANGED = ("degradation", "improvement", "suspected")
STATISTICAL = (
    "bootstrap-ratio",
    "ci-overlap",
    "clusters",
    "kruskal",
    "ks",
    "log-median",
    "mann-whitney",
    "permutation",
    "signed-rank",
    "t-test",
    "visual",
)
SAMPLED = (*STATISTICAL, "auto", "deterministic")
FITTED = (
    "absolute-error",
    "auto",
    "average-amount",
    "curves",
    "integral",
    "linear-difference",
    "local-statistics",
    "polynomial-difference",
    "relative-error",
)


def tight(seed: int = 1, count: int = 10) -> NDArray[np.float64]:
    found: NDArray[np.float64] = 0.01 * np.exp(
        np.random.default_rng(seed).normal(0, 0.001, (2, count))
    )
    return found


def session(order: str) -> str:
    """The session of the target: the baseline's where they took turns."""
    return "s1" if order == "interleaved" else "s2"


def sized(
    values: NDArray[np.float64], side: int = 0, sizes: tuple[float, ...] = SIZES, **overrides: Any
) -> Profile:
    """One side whose value is that of its execution times the size."""
    rows = Resources(
        names=["insert"],
        uid=[0] * len(values) * len(sizes),
        size=[size for _ in values for size in sizes],
        execution=[execution for execution in range(len(values)) for _ in sizes],
        metrics={"wall": [float(value) * size for value in values for size in sizes]},
    )
    return profile([], side, resources=rows, **overrides)


def counters(seed: int, side: int = 0, count: int = 30) -> Profile:
    """One side of five counters over time, none of which is good or bad by itself."""
    rng = np.random.default_rng(seed)
    load_ = rng.normal(100, 10, count)
    columns = {
        f"counter{number}": (load_ * (number + 1) + rng.normal(0, 1, count)).tolist()
        for number in range(5)
    }
    rows = Resources(
        names=["system"],
        uid=[0] * count,
        execution=[0] * count,
        iteration=list(range(count)),
        metrics=columns,
    )
    about = {name: Metric("count", better="none") for name in columns}
    return profile([], side, resources=rows, metrics=about)


BAD: dict[str, tuple[list[Any], list[Any]]] = {
    "one execution": ([1.0], [1.1]),
    "one execution on one side": ([1.0], [1.1, 1.2, 1.0]),
    "two executions": ([1.0, 1.1], [2.0, 2.1]),
    "equal values": ([1.5] * 10, [1.5] * 10),
    "equal values that round": ([0.1] * 10, [0.1] * 7),
    "equal values on each side": ([1.0] * 6, [2.0] * 6),
    "all zero": ([0.0] * 6, [0.0] * 6),
    "zero before": ([0.0] * 6, [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]),
    "some zeros": ([0.0, 1.0, 2.0, 1.0, 0.0, 1.5], [1.0, 0.0, 2.0, 3.0, 1.0, 0.0]),
    "negative": ([-1.0, -2.0, -1.5, -1.0, -1.2], [-2.0, -2.5, -2.0, -3.0, -2.2]),
    "mean of zero": ([-1.0, 1.0, -1.0, 1.0, 1e-16, -1e-16], [1.0, 2.0, 3.0, 1.0, 2.0, 1.0]),
    "both signs": ([-1.0, 2.0, 3.0, 4.0, -1.0], [1.0, -2.0, 3.0, 5.0, 1.0]),
    "huge": (
        [1e300, 1.1e300, 1.2e300, 1e300, 1.3e300],
        [1.7e308, 1.7e308, 1.6e308, 1.7e308, 1.7e308],
    ),
    "tiny": (
        [1e-300, 1.1e-300, 1.2e-300, 1e-300, 1.3e-300],
        [5e-324, 1e-310, 2e-300, 3e-300, 2e-300],
    ),
    "from tiny to huge": (
        [1e-300, 2e-300, 1e-300, 1e-300, 2e-300],
        [1e300, 2e300, 1e300, 1e300, 2e300],
    ),
    "from huge to tiny": (
        [1e300, 2e300, 1e300, 1e300, 2e300],
        [1e-300, 2e-300, 1e-300, 1e-300, 2e-300],
    ),
    "one outlier": ([1.0] * 9 + [1e9], [1.0] * 10),
    "nothing before": ([], [1.0, 2.0]),
    "nothing at all": ([], []),
    "no values": ([None] * 5, [1.0, 2.0, 1.0, 2.0, 1.0]),
    "some values": ([None, 1.0, None, 2.0, 1.0, 1.1], [1.0, None, 1.0, 2.0, None, 1.2]),
    "not a number": (
        [math.nan, 1.0, 2.0, 1.0, 1.5, 1.2],
        [math.inf, 1.0, 1.0, 2.0, -math.inf, 1.1],
    ),
}


@pytest.mark.slow
@each("case", BAD)
@pytest.mark.parametrize("method", EVERY)
def test_bad_input_has_a_word(method: str, case: str) -> None:
    old, new = BAD[case]
    designs: Any = product(
        ("lower", "higher"), ("sampled", "deterministic"), ("interleaved", "sequential")
    )
    for better, kind, order in designs:
        metric = Metric("s", better=better, kind=kind)
        first = profile(old, metric=metric, order=order)
        second = profile(new, 1, metric=metric, order=order, session=session(order))
        words = {change.word for change in sound(compare([first], [second], method=method)).changes}
        if method in STATISTICAL:
            if case.startswith("one execution"):
                assert words == {"inconclusive"}
            if case in ("equal values", "all zero") and (
                order == "interleaved" or method not in ("log-median", "signed-rank")
            ):
                # equal readings of a clock show nothing
                assert words == {"same" if kind == "deterministic" else "inconclusive"}
        if case.startswith("nothing") or case == "no values":
            assert words <= {"new", "inconclusive"}


@each("order", ["interleaved", "sequential"])
@pytest.mark.parametrize("method", EVERY)
def test_builds_have_a_word(method: str, order: str) -> None:
    rng = np.random.default_rng(3)
    for old, new in (((2, 1), (2, 3)), ((1, 4), (5, 2)), ((6, 5), (6, 5)), ((5, 1), (3, 2))):
        sides = [0.01 * np.exp(rng.normal(0, 0.01, shape)) for shape in (old, new)]
        sound(
            compare(
                [built(sides[0], order=order)],
                [built(sides[1], 1, order=order, session=session(order))],
                method=method,
            )
        )
    equal = np.full((5, 3), 0.1)
    report = sound(
        compare([built(equal, order=order)], [built(equal, 1, order=order)], method=method)
    )
    assert {change.word for change in report.changes} <= {"same", "inconclusive"}


@each("order", ["interleaved", "sequential"])
@pytest.mark.parametrize("method", EVERY)
def test_sizes_that_do_not_match_have_a_word(method: str, order: str) -> None:
    values = tight()
    many = tuple(float(size) for size in range(1, 60))
    for old, new in (
        (SIZES, SIZES),
        (SIZES, SIZES[2:]),
        (SIZES[:2], SIZES[3:]),
        (SIZES[:1], SIZES[:1]),
        (many, many),
        (many, SIZES),
    ):
        sides = (
            sized(values[0], 0, old, order=order),
            sized(values[1], 1, new, order=order, session=session(order)),
        )
        sound(compare([sides[0]], [sides[1]], method=method))


@pytest.mark.parametrize("method", EVERY)
def test_metrics_and_units_that_do_not_match_have_the_usual_word(method: str) -> None:
    values = tight()
    both = (
        profile({"kept": values[0].tolist(), "gone": values[0].tolist()}),
        profile({"kept": values[1].tolist(), "fresh": values[1].tolist()}, 1),
    )
    words = {
        change.uid: change.word
        for change in sound(compare([both[0]], [both[1]], method=method)).changes
    }
    assert (words["gone"], words["fresh"]) == ("missing", "new")
    units = profile(values[0].tolist()), profile(values[1].tolist(), 1, metric=Metric("B"))
    (change,) = sound(compare([units[0]], [units[1]], method=method)).changes
    assert change.word == "not comparable"
    assert sound(compare([], [units[1]], method=method)).counts == {"new": 1}
    assert sound(compare([units[0]], [], method=method)).counts == {"missing": 1}
    assert sound(compare([], [], method=method)).changes == []


@pytest.mark.parametrize("method", EVERY)
def test_counters_are_for_those_that_know_them(method: str) -> None:
    report = sound(compare([counters(1)], [counters(2, 1)], method=method))
    assert {change.word for change in report.changes} <= set(VERDICT_WORDS) - {"improvement"}


@each("better", ["lower", "higher"])
@pytest.mark.parametrize("method", EVERY)
@each("make", [lambda values, side, **options: profile(values.tolist(), side, **options), sized])
def test_a_doubling_is_seen_in_the_right_direction(
    method: str, better: Any, make: Callable[..., Profile]
) -> None:
    values = tight()
    metric = Metric("s", better=better)
    old, new = make(values[0], 0, metric=metric), make(2.1 * values[1], 1, metric=metric)
    up = sound(compare([old], [new], method=method)).changes
    down = sound(
        compare(
            [make(2.1 * values[0], 0, metric=metric)],
            [make(values[1], 1, metric=metric)],
            method=method,
        )
    ).changes
    worse, well = (
        ("degradation", "improvement") if better == "lower" else ("improvement", "degradation")
    )
    assert {change.word for change in up} <= {worse, "suspected", "inconclusive", "same"}
    assert {change.word for change in down} <= {well, "suspected", "inconclusive", "same"}
    for change in [*up, *down]:
        if change.word in CHANGED and change.effect is not None:
            assert (change.effect > 0) == (change in up)
    if method in (FITTED if make is sized else SAMPLED):
        assert {change.word for change in up} == {worse}
        assert {change.word for change in down} == {well}


def test_a_method_is_a_frozen_dataclass_with_a_documented_rule() -> None:
    for name in EVERY:
        method = load(name)
        assert issubclass(method, Method)
        assert len(method.__doc__ or "") > 60
        with pytest.raises(AttributeError):
            method().delta = 1  # type: ignore[misc]
        assert method(0.02, 0.95, 0.05) == method(delta=0.02, confidence=0.95, alpha=0.05)
        assert method().compare([]) == []
