"""Verdicts on curves whose second execution of each pair is slower: a period effect is not a change
of the program.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats
from test_methods_curves import profile

from perfvcs.check import Change, compare
from perfvcs.profile import Turns
from perfvcs.statistics import huber, period
from perfvcs.statistics.period import hotelling

BALANCED = (True, False, False, True, True, False, False, True, False, True)
SIZES = np.linspace(50, 500, 10)


def check(
    later: Sequence[bool],
    *,
    change: float = 0.0,
    slower: float = 0.1,
    known: bool = True,
    seed: int = 1,
) -> Change:
    """A line over ten sizes with noise of 1 % in executions and values, the second execution of
    each block slower by ``slower``.
    """
    random, sides = np.random.default_rng(seed), []
    for version in (0, 1):
        noise = 0.01 * (
            random.standard_normal((len(later), 1))
            + random.standard_normal((len(later), len(SIZES)))
        )
        second = np.array(later) == bool(version)
        made = profile(
            1e-3 * SIZES * (1 + change * version) * np.exp(noise + slower * second[:, None]),
            SIZES,
            version,
        )
        turns = Turns(list(range(len(later))), second.astype(int).tolist(), [0] * len(later))
        sides.append(replace(made, turns=turns) if known else made)
    (found,) = compare(sides[:1], sides[1:], method="curves").changes
    return found


@pytest.mark.parametrize("change", [0.0, 0.05])
def test_a_known_period_effect_neither_makes_a_change_of_a_curve_nor_hides_one(
    change: float,
) -> None:
    found = check(BALANCED, change=change)
    assert (found.word == "degradation") == bool(change)
    assert found.low is not None and found.high is not None
    assert found.low <= change <= found.high
    assert found.high - found.low < 0.06


@pytest.mark.parametrize("known", [True, False])
def test_a_coin_that_fell_on_one_side_makes_no_change_of_a_curve(known: bool) -> None:
    later = [True] * 8 + [False] * 2
    assert {check(later, known=known, seed=seed).word for seed in range(4)} == {"inconclusive"}


@pytest.mark.parametrize("known", [True, False])
def test_of_five_pairs_a_changed_curve_needs_an_order_that_is_known(known: bool) -> None:
    words = [
        check(BALANCED[:5], change=0.15, slower=0.0, known=known, seed=seed) for seed in range(3)
    ]
    assert ("degradation" in {found.word for found in words}) == known
    assert all(
        "is not known" in found.reason for found in words if found.word == "suspected" and not known
    )
    assert check(BALANCED[:5], change=0.5, slower=0.0, known=known).word == "degradation"


@pytest.mark.parametrize("slower", [0.0, 0.1])
def test_curves_of_which_one_side_was_always_first_settle_nothing(slower: float) -> None:
    found = check([True] * 10, slower=slower)
    assert found.word == ("suspected" if slower else "inconclusive")
    assert "measured first in every pair" in found.reason
    assert found.bound is None


def test_several_columns_are_permuted_with_outliers_drawn_in_anew_for_each_pattern() -> None:
    random = np.random.default_rng(3)
    # eight pairs in one order, two in the other
    rare = np.where(np.arange(10) < 8, 1.0, -1.0)[:, None]
    gaps = 0.1 * rare * np.array([1.0, 0.0]) + 0.01 * random.standard_normal((40, 10, 2))
    shifts = [huber.paired(np.zeros((40, 10)), gaps[..., column]) for column in (0, 1)]
    drawn = np.stack([shift.widened for shift in shifts], axis=2)
    # what was drawn in looks like a change
    assert (hotelling(np.zeros_like(drawn), drawn, paired=True) <= 0.01).mean() > 0.9
    assert (huber.chance(gaps) > 0.01).all()
    shifted = 0.1 + 0.01 * random.standard_normal((5, 10, 2))
    assert huber.chance(shifted).tolist() == [2 / 2**10] * 5


def test_what_is_widened_has_the_standard_error_of_the_shift_without_the_period_effect() -> None:
    random = np.random.default_rng(4)
    later = np.array([BALANCED] * 20)
    first = random.standard_normal((20, 10))
    second = first + random.standard_normal((20, 10)) + 10 * later
    found = period.paired(first, second, later)
    assert found.removed.all()
    assert not found.lopsided.any()
    errors = found.widened.std(axis=1, ddof=1) / np.sqrt(10)
    np.testing.assert_allclose(found.widened.mean(axis=1), found.difference.estimate)
    np.testing.assert_allclose(errors, found.difference.error)
    t = found.difference.estimate / errors
    np.testing.assert_allclose(2 * stats.t.sf(np.abs(t), 8), found.difference.p, rtol=1e-6)
