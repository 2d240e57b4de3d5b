"""What a series says about itself, judged as a whole."""

from __future__ import annotations

from math import log, nan

import numpy as np
import pytest
from numpy.typing import NDArray

from perfvcs.statistics.changepoints.judgement import judge, judge_all


def noisy(seed: int, *levels: tuple[int, float], spread: float = 0.01) -> NDArray[np.float64]:
    """Values about levels, each (how many, level)."""
    plain = np.concatenate([np.full(count, level) for count, level in levels])
    return plain + spread * np.random.default_rng(seed).standard_normal(len(plain))


def test_a_single_newest_value_far_away_is_a_change() -> None:
    values = noisy(1, (60, 0.0))
    values[-1] = log(100)
    newest = judge(values).newest
    assert newest is not None
    assert (newest.place, newest.word, newest.since, newest.withdrawn) == (59, "changed", 59, None)
    assert newest.low < newest.expected < newest.high < newest.value
    assert newest.effect == pytest.approx(log(100), abs=0.02)


def test_few_earlier_values_only_give_a_suspicion() -> None:
    values = noisy(1, (7, 0.0))
    values[-1] = log(100)
    newest = judge(values).newest
    assert newest is not None
    assert (newest.word, newest.support) == ("suspected", 6)


def test_a_step_settled_in_turns_is_a_step_however_short_the_series() -> None:
    (step,) = judge([0.0, 1.0], evidence=[1]).steps
    assert (step.place, step.first, step.last, step.word, step.detectors) == (1, 1, 1, "step", ("turns",))
    assert step.effect == 1.0


def test_a_step_that_is_settled_and_found_is_one() -> None:
    (step,) = judge(noisy(4, (60, 0.0), (60, 0.05), spread=0.02), evidence=[59]).steps
    assert step.place == step.first == step.last == 59
    assert step.detectors[-1] == "turns"
    assert len(step.detectors) > 1


def test_places_are_those_of_the_values_as_they_were_given() -> None:
    values = np.insert(noisy(3, (60, 0.0), (60, 0.1), spread=0.005), [0, 30, 100], nan)
    found = judge(values, evidence=[95])
    assert [step.place for step in found.steps] == [62, 95]
    assert found.newest is not None
    assert found.newest.place == 122


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 2.0], [nan] * 5, [0.1] * 40])
def test_series_that_say_nothing(values: list[float]) -> None:
    found = judge(values)
    assert (found.steps, found.switching, found.noisier) == ((), None, ())
    assert found.newest is None or found.newest.word == "usual"


def test_many_series_are_judged_as_each() -> None:
    series = [noisy(seed, (40, 0.0), (40, 0.1)) for seed in range(3)]
    assert judge_all(series, evidence=[[], [10], []]) == [judge(series[0]), judge(series[1], evidence=[10]), judge(series[2])]


def test_wrong_shapes_and_places_are_refused() -> None:
    with pytest.raises(ValueError, match="one variance per level"):
        judge([1.0, 2.0], variance=[1.0])
    with pytest.raises(ValueError, match="between two values"):
        judge([1.0, 2.0], evidence=[2])
