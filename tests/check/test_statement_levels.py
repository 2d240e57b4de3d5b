"""The two levels beside an effect: their ratio is the effect, whatever outliers and rules did to
it.
"""

from __future__ import annotations

import math
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import interleaved
from test_methods_curves import FEW, noisy, report

from perfvcs.check import compare
from perfvcs.check.statement import levels
from perfvcs.text.quantity import step

POSITIVE = st.floats(1e-9, 1e9)


@given(POSITIVE, POSITIVE, st.floats(-0.99, 1e6))
def test_the_ratio_of_the_levels_is_the_effect_and_their_middle_that_of_the_centres(
    before: float, after: float, effect: float
) -> None:
    old, new = levels((before, after), effect)
    assert new / old == pytest.approx(1 + effect)
    assert math.sqrt(old) * math.sqrt(new) == pytest.approx(math.sqrt(before) * math.sqrt(after))


@pytest.mark.parametrize(
    ("centres", "effect", "shift"),
    [
        ((3.0, 3.3), 3.3 / 3 - 1, None),
        ((0.0, 5.0), None, None),
        ((1.0, 2.0), -1.0, None),
        ((0.0, 2.0), 0.5, None),
        ((1.0, 2.0), None, inf),
    ],
)
def test_levels_that_agree_or_have_no_ratio_stay(
    centres: tuple[float, float], effect: float | None, shift: float | None
) -> None:
    assert levels(centres, effect, shift) == centres


def test_a_shift_is_the_difference_of_the_levels() -> None:
    assert levels((-2.0, 1.0), None, 2.5) == (-2.0, 0.5)
    assert levels((2.0, 1.0), -0.25, -0.5) == (2.0, 1.5)


def test_outliers_do_not_turn_the_levels_against_the_effect() -> None:
    random = np.random.default_rng(2)
    # what both sides of a pair share makes their medians noisy
    rounds = 0.07 * random.lognormal(0, 0.3, 12)
    old, new = (
        rounds * random.lognormal(0, 0.002, 12),
        1.06 * rounds * random.lognormal(0, 0.002, 12),
    )
    old[:2] *= 3
    (change,) = [
        one
        for one in compare(
            *([side] for side in interleaved(["1" * 40, "2" * 40], [old.tolist(), new.tolist()]))
        ).changes
        if one.metric == "wall"
    ]
    assert change.word == "degradation"
    assert change.baseline is not None and change.target is not None and change.effect is not None
    assert change.target / change.baseline == pytest.approx(1 + change.effect)
    assert change.shift == pytest.approx(change.target - change.baseline)
    first, second = (
        float(part.strip("ms "))
        for part in step(change.baseline, change.target, change.unit).split("->")
    )
    assert second / first == pytest.approx(1 + change.effect, abs=1e-3)


@pytest.mark.parametrize(
    "method",
    ["relative-error", "absolute-error", "integral", "linear-difference", "average-amount"],
)
def test_a_published_rule_shows_levels_of_its_own_effect(method: str) -> None:
    curve = 1e-3 * FEW
    slower = noisy(curve, 2) * np.linspace(1.0, 2.0, len(FEW))
    (change,) = report(noisy(curve, 1), slower, FEW, method=method).changes
    assert change.baseline is not None and change.target is not None
    assert change.effect is not None
    assert change.target / change.baseline == pytest.approx(1 + change.effect)
    assert change.shift == pytest.approx(change.target - change.baseline)
