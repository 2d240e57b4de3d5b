"""Models of means per size of which a few are far off: against the curve that the others were made
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from cases import each
from numpy.typing import NDArray

from perfvcs.statistics.regression.callcurves import course
from perfvcs.statistics.regression.choice import choose
from perfvcs.statistics.regression.condensed import level
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import MODELS
from perfvcs.statistics.regression.robust import described

Floats = NDArray[np.float64]
SIZES = np.linspace(25, 500, 20)
CURVES: dict[str, Callable[[Floats], Floats]] = {
    "constant": lambda x: 100 + 0 * x,
    "logarithmic": lambda x: 20 + 30 * np.log(x),
    "linear": lambda x: 100 + 2 * x,
    "linearithmic": lambda x: 50 + 0.5 * x * np.log(x),
    "quadratic": lambda x: 200 + 0.02 * x**2,
    "cubic": lambda x: 300 + 1e-4 * x**3,
    "power": lambda x: 5 * x**1.5,
    "exponential": lambda x: 60 * 1.012**x,
}


def many(
    curve: str, x: Floats = SIZES, groups: int = 20, noise: float = 0.03
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    random = np.random.default_rng([list(CURVES).index(curve), len(x)])
    every = np.tile(x, groups)
    return (
        every,
        CURVES[curve](every) * np.exp(noise * random.standard_normal(len(every))),
        np.repeat(np.arange(groups), len(x)),
    )


def test_without_anything_far_off_it_is_the_choice_among_all() -> None:
    for curve in CURVES:
        x, y, group = many(curve)
        found, far = described(x, y, np.full(len(x), 10.0), group)
        expected = choose(fit(x, y, group, 10 / level(x, y, group) ** 2, models=MODELS))
        assert not far.any()
        np.testing.assert_array_equal(found.index, expected.index)
        np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-12)


@each("curve", CURVES)
@each("place", [0, 7, 19], ids=["smallest", "middle", "largest"])
@each("times", [3, 1000])
def test_one_size_does_not_rule(curve: str, place: int, times: float) -> None:
    x, y, group = many(curve)
    y[place::20] *= times
    found, far = described(x, y, np.ones(len(x)), group)
    counts = Counter(found.model(number) for number in range(20))
    assert counts[curve] >= 18, counts
    assert far.reshape(20, 20).any(axis=0).nonzero()[0].tolist() == [place]


def test_a_straight_line_with_one_pause_was_a_cube() -> None:
    x, y, group = many("linear")
    y[19::20] *= 20
    without = choose(fit(x, y, group, 1 / level(x, y, group) ** 2, models=MODELS))
    assert Counter(without.model(number) for number in range(20))["linear"] == 0
    found, _ = described(x, y, np.ones(len(x)), group)
    assert found.predict(500.0, np.arange(20)) == pytest.approx(1100, rel=0.1)


@pytest.mark.parametrize("curve", ["logarithmic", "linear", "quadratic"])
def test_a_few_of_many_sizes_do_not_rule(curve: str) -> None:
    x, y, group = many(curve, np.linspace(5, 500, 100))
    y.reshape(20, 100)[:, 60:63] *= 50
    y.reshape(20, 100)[:, 5] *= 7
    found, far = described(x, y, np.ones(len(x)), group)
    assert Counter(found.model(number) for number in range(20))[curve] >= 19
    assert far.reshape(20, 100).all(axis=0).nonzero()[0].tolist() == [5, 60, 61, 62]


def test_what_happens_often_is_no_accident() -> None:
    x, y, group = many("linear")
    y.reshape(20, 20)[:, ::4] *= 3
    _, far = described(x, y, np.ones(len(x)), group)
    assert not far.any()


def test_few_sizes_are_all_kept() -> None:
    x, y, group = many("linear", SIZES[:7])
    y[6::7] *= 100
    assert not described(x, y, np.ones(len(x)), group)[1].any()


def test_a_steep_curve_is_not_far_off_itself() -> None:
    x = np.arange(4.0, 16)
    for y in (1.618**x, 100 + x**3, 1000 + 2.0**x, x**0.5):
        assert not described(x, y, np.ones(len(x)))[1].any()


def test_sizes_and_values_of_zero_and_sizes_twice_are_not_judged() -> None:
    far = np.append(np.ones(19), 1000.0)
    x = np.arange(1.0, 21)
    assert described(x, far, np.ones(20))[1].tolist() == [False] * 19 + [True]
    assert not described(x - 1, far, np.ones(20))[1].any()
    assert not described(x, far - 1, np.ones(20))[1].any()
    assert not described(np.ceil(x / 2), far, np.ones(20))[1].any()


def test_a_group_is_judged_as_if_it_were_alone() -> None:
    x, y, group = many("quadratic", groups=3)
    y[10] *= 30
    y[59] *= 30
    both, far = described(x, y, np.ones(60), group, groups=4)
    for number in range(3):
        here = group == number
        one, alone = described(x[here], y[here], np.ones(20))
        np.testing.assert_array_equal(far[here], alone)
        np.testing.assert_allclose(both.coefficients[number], one.coefficients[0], rtol=1e-12)
    assert both.model(3) is None
    mixed = np.random.default_rng(1).permutation(60)
    again, again_far = described(x[mixed], y[mixed], np.ones(60), group[mixed], groups=4)
    np.testing.assert_array_equal(again_far, far[mixed])
    np.testing.assert_allclose(again.coefficients, both.coefficients, rtol=1e-9)


def test_no_rows_are_no_models() -> None:
    found, far = described([], [], [], groups=2)
    assert [found.model(0), found.order(1), len(far)] == [None, None, 0]


def test_a_pause_at_the_same_size_of_every_execution_does_not_rule_a_course() -> None:
    size, execution = np.tile(np.arange(10.0, 310, 10), 2), np.repeat(np.arange(2), 30)
    random = np.random.default_rng(4)
    value = (100 + 2 * size) * np.exp(0.03 * random.standard_normal(60))
    value[size == 290] += 20_000  # the collector's pause comes with the same allocation each time
    found = course(size, value, execution)
    assert found.choice.order() == "O(n)"
    assert found.mean[28] > 20_000, "it is drawn all the same"
