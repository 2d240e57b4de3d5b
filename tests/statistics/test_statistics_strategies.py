"""Strategies of fitting: what each fits, and that all of them treat every group alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cases import each
from numpy.typing import NDArray

from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import LINEARISED, MODELS
from perfvcs.statistics.regression.strategies import (
    LEAST_SAMPLE,
    FittedPieces,
    ModelPoints,
    Strategy,
    run,
)

ALL = MODELS + LINEARISED
STRATEGIES: tuple[Strategy, ...] = ("full", "iterative", "initial-guess", "interval", "bisection")


def points(*curves: NDArray[np.float64], noise: float = 0.02, seed: int = 1) -> ModelPoints:
    """A group per curve over the sizes 1 to its length, with relative noise."""
    random = np.random.default_rng(seed)
    x = np.concatenate([np.arange(1.0, len(curve) + 1) for curve in curves])
    y = np.concatenate(curves) * np.exp(noise * random.standard_normal(len(x)))
    group = np.repeat(np.arange(len(curves)), [len(curve) for curve in curves])
    order = random.permutation(len(x))
    return ModelPoints(x[order], y[order], group[order], len(curves))


SIZES = np.arange(1.0, 401)
LINE, LOGARITHM, SQUARE, FLAT = (
    5 + 3 * SIZES,
    20 + 4 * np.log(SIZES),
    5 + 0.01 * SIZES**2,
    np.full(400, 7.0),
)
# two pieces that no single model describes
BENT = np.where(SIZES <= 200, 50.0, 50 + 2 * (SIZES - 200))


def models(found: FittedPieces) -> list[str | None]:
    return [found.choice.model(piece) for piece in range(len(found.owner))]


@pytest.mark.parametrize("strategy", ["full", "iterative", "initial-guess"])
def test_strategies_over_the_whole_range_find_each_groups_model(strategy: Strategy) -> None:
    found = run(strategy, points(LINE, LOGARITHM, SQUARE, FLAT), ALL, "aicc", 5, 1)
    assert models(found) == ["linear", "logarithmic", "quadratic", "constant"]
    assert found.owner.tolist() == [0, 1, 2, 3]


def test_full_is_the_fit_of_all_rows() -> None:
    data = points(LINE, SQUARE)
    found = run("full", data, ALL, "aicc", 5, 1)
    expected = fit(data.x, data.y, data.group)
    for model in ALL:
        np.testing.assert_array_equal(found.fits[model].coefficients, expected[model].coefficients)


def test_iterative_ends_with_all_rows_and_tells_what_was_best_on_the_way() -> None:
    found = run("iterative", points(LINE, FLAT[:10]), ALL, "aicc", 4, 1)
    assert [step.rows.tolist() for step in found.steps] == [[100, 3], [200, 5], [300, 8], [400, 10]]
    assert [step.choice.model(0) for step in found.steps] == ["linear"] * 4
    np.testing.assert_array_equal(
        found.fits["linear"].coefficients,
        run("full", points(LINE, FLAT[:10]), ALL, "aicc", 1, 1).fits["linear"].coefficients,
    )


def test_an_initial_guess_fits_one_model_to_all_rows() -> None:
    data = points(LINE, SQUARE)
    found = run("initial-guess", data, ALL, "aicc", 10, 1)
    assert found.steps[0].rows.tolist() == [40, 40]
    whole = fit(data.x, data.y, data.group)
    np.testing.assert_allclose(
        found.fits["linear"].coefficients[0], whole["linear"].coefficients[0], rtol=1e-12
    )
    np.testing.assert_allclose(
        found.choice.coefficients[1], whole["quadratic"].coefficients[1], rtol=1e-12
    )
    assert found.fits["linear"].known.tolist() == [True, False]
    assert found.fits["quadratic"].known.tolist() == [False, True]


def test_a_guess_takes_all_rows_of_a_small_group() -> None:
    found = run("initial-guess", points(LINE[:LEAST_SAMPLE]), ALL, "aicc", 10, 1)
    assert found.steps[0].rows.tolist() == [LEAST_SAMPLE]


def test_intervals_are_fitted_apart() -> None:
    data = points(BENT, LINE[:40])
    found = run("interval", data, ["constant", "linear"], "aicc", 4, 1)
    assert found.owner.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]
    assert models(found)[:4] == ["constant", "constant", "linear", "linear"]
    low, high = found.fits["linear"].low, found.fits["linear"].high
    assert low[:4].tolist() == [1, 101, 201, 301]
    assert high[3] == 400
    part = (data.group == 0) & (data.x >= 301)
    expected = fit(data.x[part], data.y[part], models=["linear"])["linear"].coefficients[0]
    np.testing.assert_allclose(found.fits["linear"].coefficients[3], expected, rtol=1e-12)


def test_bisection_halves_what_no_single_model_describes() -> None:
    found = run("bisection", points(BENT, LINE, FLAT), ["constant", "linear"], "aicc", 5, 1)
    assert found.owner.tolist() == [0, 0, 1, 2]
    assert models(found) == ["constant", "linear", "linear", "constant"]
    assert found.fits["linear"].high[0] == 200
    assert found.fits["linear"].low[1] == 201


def test_bisection_halves_again_while_that_helps() -> None:
    steps = np.repeat([10.0, 20.0, 40.0, 80.0], 100)
    found = run("bisection", points(steps, noise=0.01), ["constant"], "aicc", 5, 1)
    assert found.fits["constant"].n.tolist() == [100, 100, 100, 100]
    np.testing.assert_allclose(found.choice.coefficients[:, 0], [10, 20, 40, 80], rtol=0.01)
    assert len(run("bisection", points(steps, noise=0.01), ["constant"], "aicc", 1, 1).owner) == 2


def test_bisection_by_r2_needs_a_higher_one_in_both_halves() -> None:
    # up and down again: a line describes each half and nothing of the whole
    wave = np.concatenate([SIZES, 400 - SIZES + 1])
    found = run("bisection", points(wave, LINE), ["constant", "linear"], "r2", 1, 1)
    assert found.owner.tolist() == [0, 0, 1]


def test_values_without_noise_are_not_halved_for_their_rounding() -> None:
    assert run("bisection", points(LINE / 3, noise=0.0), ALL, "aicc", 5, 1).owner.tolist() == [0]


def test_halves_of_few_sizes_or_near_the_whole_are_not_cut_off() -> None:
    several = np.repeat(np.arange(1.0, 201), 10)
    data = ModelPoints(
        several, 100 + several + 30 * np.log(several), np.zeros(2000, dtype=np.intp), 1
    )
    assert 1 < len(run("bisection", data, ALL, "aicc", 30, 1).owner) <= 4
    by_r2 = run("bisection", data, ALL, "r2", 30, 1).fits["linear"].n
    assert len(by_r2) > 3
    assert by_r2.min() >= 10 * 8
    nearly = replace(data, y=several + several**2)
    assert len(run("bisection", nearly, ALL, "aicc", 30, 1).owner) == 1


# which rows the others draw depends on all groups
@pytest.mark.parametrize("strategy", ["full", "interval", "bisection"])
def test_a_group_is_fitted_as_if_it_were_alone(strategy: Strategy) -> None:
    both, alone = points(BENT, SQUARE), points(BENT, SQUARE)
    alone = alone.of(alone.group == 1)
    found, expected = (
        run(strategy, both, ALL, "aicc", 4, 1),
        run(strategy, alone, ALL, "aicc", 4, 1),
    )
    mine = found.owner == 1
    for model in ALL:
        np.testing.assert_allclose(
            found.fits[model].coefficients[mine],
            expected.fits[model].coefficients[expected.owner == 1],
            rtol=1e-12,
        )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_seed_gives_the_same_result(strategy: Strategy) -> None:
    first, second = (run(strategy, points(LINE, BENT), ALL, "aicc", 3, 7) for _ in range(2))
    np.testing.assert_array_equal(first.choice.coefficients, second.choice.coefficients)


@each("strategy", STRATEGIES)
@each("rule", ["aicc", "r2"])
def test_groups_without_rows_are_nothing(strategy: Strategy, rule: str) -> None:
    nothing = np.zeros(0)
    empty = ModelPoints(nothing, nothing, np.zeros(0, dtype=np.intp), 2)
    found = run(strategy, empty, ALL, rule, 3, 1)  # type: ignore[arg-type]
    assert all(model is None for model in models(found))
    one = ModelPoints(np.ones(1), np.ones(1), np.ones(1, dtype=np.intp), 2)
    found = run(strategy, one, ALL, rule, 3, 1)  # type: ignore[arg-type]
    assert found.choice.model(int(np.flatnonzero(found.owner == 1)[0])) == "constant"


def test_weights_are_those_of_the_squares() -> None:
    data = points(LINE, BENT)
    weighted = ModelPoints(data.x, data.y, data.group, 2, 1 / data.y**2)
    whole = run("full", weighted, ALL, "aicc", 3, 1)
    expected = fit(data.x, data.y, data.group, 1 / data.y**2)
    np.testing.assert_array_equal(
        whole.fits["linear"].coefficients, expected["linear"].coefficients
    )
    assert run("bisection", weighted, ["constant", "linear"], "aicc", 3, 1).owner.tolist() == [
        0,
        1,
        1,
    ]
