"""Evidence for open-ended measuring: its expectation, its validity under optional stopping, and
e-BH.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

from perfvcs.statistics.multiplicity import t_mixture


def evidence_of(t: NDArray[np.float64], n: int, prior: float = 1.0) -> NDArray[np.float64]:
    """e of n pairs whose differences have these t, shape (groups,)."""
    gaps = np.arange(n) - (n - 1) / 2
    gaps = gaps / gaps.std(ddof=1) + t[:, None] / sqrt(n)
    return t_mixture(np.zeros(gaps.shape), gaps, prior=prior).e


@pytest.mark.parametrize(("n", "prior"), [(2, 1.0), (5, 1.0), (20, 0.3)])
def test_evidence_is_expected_to_be_one_without_a_difference(n: int, prior: float) -> None:
    u = (np.arange(20_000) + 0.5) / 20_000 * np.pi - np.pi / 2  # t = tan(u) tames the tails
    t = np.tan(u)
    weighted = evidence_of(t, n, prior) * stats.t.pdf(t, n - 1) / np.cos(u) ** 2
    assert weighted.mean() * np.pi == pytest.approx(1, rel=1e-3)


def test_evidence_is_the_likelihood_ratio_of_t_under_a_normal_effect_size() -> None:
    n, t = 8, 2.7
    mixed = integrate.quad(
        lambda d: stats.nct.pdf(t, n - 1, d * sqrt(n)) * stats.norm.pdf(d), -10, 10
    )[0]
    assert evidence_of(np.array([t]), n)[0] == pytest.approx(
        mixed / stats.t.pdf(t, n - 1), rel=1e-6
    )


def test_however_often_one_looks_few_comparisons_without_a_difference_reach_the_bound() -> None:
    gaps = np.random.default_rng(1).standard_normal((2000, 100))
    most, missed = np.zeros(2000), np.zeros(2000, dtype=bool)
    for n in range(2, 101):
        found = t_mixture(np.zeros((2000, n)), gaps[:, :n], confidence=0.95)
        most = np.maximum(most, found.e)
        missed |= (found.low > 0) | (found.high < 0)
    assert np.mean(most >= 20) <= 0.05
    np.testing.assert_array_equal(missed, most >= 20 * (1 - 1e-12))


def test_a_real_difference_is_found_and_inside_the_interval() -> None:
    gaps = np.random.default_rng(2).normal(1, 1, (200, 40))
    found = t_mixture(np.zeros((200, 40)), gaps)
    assert np.mean(found.e >= 100) > 0.95
    assert np.mean((found.low <= 1) & (found.high >= 1)) > 0.99


def test_evidence_of_one_pair_of_equal_pairs_and_of_missing_values() -> None:
    found = t_mixture([[1.0]], [[2.0]])
    assert (found.e[0], found.low[0], found.high[0]) == (1, -np.inf, np.inf)
    equal = t_mixture(np.ones((3, 4)), [[1.0] * 4, [2.0] * 4, [1.0, 2.0, 3.0, np.nan]])
    assert equal.e[:2] == pytest.approx([5**-0.5, 5**1.5])
    assert np.isnan(equal.e[2])
    assert equal.high[2] == np.inf
    many = t_mixture(np.ones((2, 20)), np.full((2, 20), 2.0))
    assert (many.low[0], many.high[0]) == (1, 1)
    assert t_mixture(np.ones((1, 3)), [[1.0, 2.0, 3.0]]).high[0] == np.inf
