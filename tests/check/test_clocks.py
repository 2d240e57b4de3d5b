"""Readings of coarse clocks, values of 0 and below: what may be said of them, and what not."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest
from cases import each
from comparisons import profile, verdict
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from perfvcs.check import compare
from perfvcs.check.bounds import within
from perfvcs.check.markdown import markdown
from perfvcs.check.stopping import interim
from perfvcs.check.text import text
from perfvcs.profile import Metric
from perfvcs.statistics.runs import step

BYTES, COUNT, DEGREES = Metric("B"), Metric(""), Metric("K")


def read(
    centre: float, tick: float, count: int = 10, seed: int = 1, spread: float = 0.02
) -> list[float]:
    """What a clock shows that ticks so often."""
    values = centre * np.exp(np.random.default_rng(seed).normal(0, spread, count))
    found: list[float] = (np.floor(values / tick) * tick).tolist()
    return found


@each(
    "values expected",
    [
        ([0.003, 0.004, 0.003], 0.001),
        ([3.0, 3.5, 4.0], 0.5),
        ([1 / 60, 3 / 60, 2 / 60], 1 / 60),
        ([0.0, 0.0], inf),
        ([7.0], inf),
        ([0.0, 0.01], 0.01),
        ([-1.0, 2.5], 0.5),
        ([0.1 + 0.2, 0.3, 0.6], 0.3),
        ([1e308, 5e307], 5e307),
        ([5e-324, 1e-323], 5e-324),
        ([-0.0, 0.0], inf),
        ([0.0131, 0.0134, 0.0129], 1e-4),
        ([0.0131, 0.0131 * 2**0.5], 0.0),
        ([3.0000001e9, 3.1e9, 2**70 * 1.0], 0.0),
    ],
)
def test_a_step_is_found_in_the_values(values: list[float], expected: float) -> None:
    assert step(values) == pytest.approx(expected, rel=1e-6)


@given(
    st.lists(st.integers(0, 400), min_size=3, max_size=20, unique=True),
    st.sampled_from([1e-3, 1 / 60, 0.015625, 1e-9, 4e7]),
)
def test_a_step_divides_every_value_whatever_its_unit(counts: list[int], tick: float) -> None:
    found = step([count * tick for count in counts])
    assert found == pytest.approx(np.gcd.reduce(counts) * tick, rel=1e-4, abs=0)


@each(
    "method",
    [
        "log-median",
        "student",
        "t-test",
        "mann-whitney",
        "permutation",
        "clusters",
        "bootstrap-ratio",
    ],
)
@each("effect", [0.0, 0.2])
def test_a_clock_that_is_too_coarse_never_says_same(method: str, effect: float) -> None:
    for seed in range(10):
        change = verdict(
            read(0.0032, 0.001, seed=seed),
            read(0.0032 * (1 + effect), 0.001, seed=seed + 100),
            method=method,
        )
        assert change.word != "same", (seed, change)


def test_the_reason_names_clock_and_delta() -> None:
    change = verdict(read(0.0038, 0.001), read(0.0038, 0.001, seed=2), method="student")
    assert (change.word, change.reason) == (
        "inconclusive",
        f"a clock of 1 ms cannot show 1 %; {within(change.bound or 0)}",
    ) or "readings" in change.reason
    change = verdict([0.003, 0.004] * 5, [0.004, 0.003] * 5)
    assert change.reason == f"a clock of 1 ms cannot show 1 %; {within(change.bound or 0)}"
    assert verdict([0.003, 0.004] * 5, [0.004, 0.003] * 5, delta=2.0).word == "same"


def test_readings_that_are_all_equal_are_not_evidence_unless_they_are_declared_exact() -> None:
    for value in (0.0, 0.003, 0.0131234):
        change = verdict([value] * 10, [value] * 10)
        assert (change.word, change.coarse) == ("inconclusive", True)
        assert change.reason.startswith("all readings are equal")
        exact = Metric("s", kind="deterministic")
        assert (
            verdict(
                profile([value] * 10, metric=exact), profile([value] * 10, 1, metric=exact)
            ).word
            == "same"
        )
        assert (
            verdict(
                profile([value] * 10, metric=BYTES), profile([value] * 10, 1, metric=BYTES)
            ).word
            == "same"
        )


def test_measuring_does_not_go_on_with_a_clock_that_shows_nothing() -> None:
    sides = [profile([0.003, 0.004] * 5)], [profile([0.004, 0.003] * 5, 1)]
    assert interim(*sides, pairs=10).pairs is None


def test_a_change_much_larger_than_a_tick_is_one() -> None:
    change = verdict(read(0.0032, 0.001), read(0.0096, 0.001, seed=3))
    assert (change.word, change.gate) == ("degradation", True)
    # one tick apart without any noise: slower for sure, by how much is undecided
    one = verdict([0.003] * 10, [0.004] * 10)
    assert (one.word, one.gate) == ("degradation", False)
    assert one.low == pytest.approx(0, abs=1e-9)
    small = verdict(
        [0.003, 0.003, 0.003, 0.004, 0.003] * 2, [0.003, 0.004, 0.004, 0.004, 0.004] * 2
    )
    assert small.word == "inconclusive"


def test_an_interval_is_wider_by_what_the_clock_rounds_away() -> None:
    fine = read(0.0131, 1e-9, spread=0.01), read(0.0131, 1e-9, seed=2, spread=0.01)
    coarse: Any = [np.floor(np.array(side) / 1e-5) * 1e-5 for side in fine]
    sharp, rounded = verdict(*fine), verdict(*(side.tolist() for side in coarse))
    assert (rounded.high or 0) - (rounded.low or 0) > (sharp.high or 0) - (sharp.low or 0) + 1e-3


def test_rates_of_a_coarse_clock_are_coarse() -> None:
    rate = Metric("op/s", "higher")
    times = [0.003, 0.004, 0.005, 0.004, 0.003] * 2
    change = verdict(
        profile([1 / one for one in times], metric=rate),
        profile([1 / one for one in times[::-1]], 1, metric=rate),
    )
    assert change.reason.startswith("steps of ")


def test_counts_in_whole_numbers_have_no_clock() -> None:
    change = verdict(
        profile([300.0, 301, 300, 301, 300] * 2, metric=COUNT),
        profile([301.0, 300, 300, 301, 300] * 2, 1, metric=COUNT),
    )
    assert (change.word, change.reason) == ("same", "")


def test_a_metric_that_comes_from_nothing_is_a_degradation_in_its_own_unit() -> None:
    change = verdict(profile([0.0] * 10, metric=BYTES), profile([1e6] * 10, 1, metric=BYTES))
    assert (change.word, change.gate, change.effect, change.shift) == (
        "degradation",
        True,
        None,
        1e6,
    )
    back = verdict(profile([1e6] * 10, metric=BYTES), profile([0.0] * 10, 1, metric=BYTES))
    assert (back.word, back.shift) == ("improvement", -1e6)
    report = compare([profile([0.0] * 10, metric=BYTES)], [profile([1e6] * 10, 1, metric=BYTES)])
    assert "+1 MB [+1, +1]" in text(report)
    assert "+1 MB \\[+1, +1\\]" in markdown(report)


@pytest.mark.parametrize("centre", [-40.0, 0.0, 0.3])
def test_values_on_both_sides_of_zero_are_judged_by_students_test_of_the_values(
    centre: float,
) -> None:
    rng = np.random.default_rng(4)
    old, new = rng.normal(centre, 1, 12), rng.normal(centre + 3, 1, 12)
    change = verdict(
        profile(old.tolist(), metric=DEGREES),
        profile(new.tolist(), 1, metric=DEGREES),
        method="student",
    )
    expected = stats.ttest_rel(new, old)
    bounds = expected.confidence_interval(0.99)
    assert (change.word, change.effect) == ("degradation", None)
    assert change.p == pytest.approx(expected.pvalue)
    assert (change.shift, change.shift_low, change.shift_high) == tuple(
        map(pytest.approx, ((new - old).mean(), *bounds))
    )


def test_delta_is_a_share_of_the_larger_side_where_there_is_no_ratio() -> None:
    old = [-100.0, -100.4, -99.8, -100.1, -99.9, -100.2] * 2
    small, large = (
        profile([value + shift for value in old], 1, metric=DEGREES) for shift in (0.4, 2.0)
    )
    assert verdict(profile(old, metric=DEGREES), small).word == "same"
    assert verdict(profile(old, metric=DEGREES), large).word == "degradation"


@each("value", [-0.0, 5e-324, 1.7e308, -1.7e308, 2.0**70])
@each("unit", ["s", "B"])
def test_extreme_values_have_a_verdict(value: float, unit: str) -> None:
    metric = Metric(unit)
    change = verdict(
        profile([value] * 6, metric=metric),
        profile([0.0, 1.0, 2.0, 0.5, 1.0, 3.0], 1, metric=metric),
    )
    assert change.word in ("degradation", "improvement", "inconclusive", "suspected")


def test_an_exact_metric_below_zero_has_its_own_repeatability() -> None:
    exact = Metric("", kind="deterministic")
    near = verdict(profile([-1000.0] * 3, metric=exact), profile([-1000.1] * 3, 1, metric=exact))
    far = verdict(profile([-1000.0] * 3, metric=exact), profile([-990.0] * 3, 1, metric=exact))
    assert (near.word, far.word) == ("same", "degradation")
