"""Models of a value against a size: against statsmodels and scipy, on bad input, and the choice
among them.
"""

from __future__ import annotations

from collections import Counter
from math import inf

import numpy as np
import pytest
import statsmodels.api as sm
from cases import each
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from perfvcs.statistics.regression.choice import choose
from perfvcs.statistics.regression.condensed import level
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import (
    FULL_QUADRATIC,
    LINEARISED,
    MODELS,
    ORDERS,
    SHAPED,
    evaluate,
    growth,
    order,
    rank,
    transform,
)

STRAIGHT = [model for model in MODELS if model not in SHAPED]
CURVES = {
    "constant": lambda x: 100 + 0 * x,
    "logarithmic": lambda x: 100 + 50 * np.log(x),
    "linear": lambda x: 500 + 3 * x,
    "linearithmic": lambda x: 50 + 0.3 * x * np.log(x),
    "quadratic": lambda x: 1e4 + x**2,
    "cubic": lambda x: 1e6 + x**3,
    "power": lambda x: 7 * x**1.5,
    "exponential": lambda x: 5 * 1.01**x,
}


def noisy(
    curve: str, n: int, noise: float, seed: int = 1, groups: int = 1
) -> tuple[NDArray[np.float64], ...]:
    """Sizes, values and group numbers, with multiplicative noise."""
    x = np.tile(np.linspace(10, 1000, n), groups)
    y = CURVES[curve](x) * (1 + noise * np.random.default_rng(seed).standard_normal(len(x)))
    return x, y, np.repeat(np.arange(groups), n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [3, 10, 1000, 100_000])
def test_straight_models_are_statsmodels_least_squares(n: int, weighted: bool) -> None:
    random = np.random.default_rng(n)
    x = random.uniform(1, 1000, n)
    y = (50 + 3 * x) * np.exp(0.05 * random.standard_normal(n))
    weights = random.uniform(0.5, 2, n) if weighted else np.ones(n)
    found = fit(x, y, weights=weights if weighted else None)
    for model in STRAIGHT:
        design = sm.add_constant(transform(model, x)) if model != "constant" else np.ones((n, 1))
        known, ours = sm.WLS(y, design, weights=weights).fit(), found[model]
        count = design.shape[1]
        assert ours.coefficients[0, :count] == pytest.approx(known.params, rel=1e-9)
        assert ours.errors[0, :count] == pytest.approx(known.bse, rel=1e-9)
        assert ours.r2[0] == pytest.approx(known.rsquared, rel=1e-9, abs=1e-12)
        assert ours.adjusted_r2[0] == pytest.approx(known.rsquared_adj, rel=1e-9, abs=1e-12)
        assert ours.variance[0] == pytest.approx(known.scale, rel=1e-9)
        assert ours.df[0] == n - count
        if n > 4:
            k = count + 1
            expected = n * np.log(known.ssr / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1)
            assert ours.aicc[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [3, 10, 1000, 100_000])
def test_linearised_models_are_statsmodels_on_the_logarithms(n: int, weighted: bool) -> None:
    random = np.random.default_rng(n)
    x = random.uniform(1, 50, n)
    y = 3 * x**1.4 * np.exp(0.05 * random.standard_normal(n))
    weights = random.uniform(0.5, 2, n) if weighted else np.ones(n)
    found = fit(x, y, weights=weights if weighted else None, models=LINEARISED)
    for model, u in (("linearised power", np.log(x)), ("linearised exponential", x)):
        known, ours = sm.WLS(np.log(y), sm.add_constant(u), weights=weights).fit(), found[model]
        shape = known.params[1] if "power" in model else np.exp(known.params[1])
        assert ours.coefficients[0] == pytest.approx([np.exp(known.params[0]), shape], rel=1e-9)
        slope = known.bse[1] if "power" in model else known.bse[1] * shape
        assert ours.errors[0] == pytest.approx(
            [np.exp(known.params[0]) * known.bse[0], slope], rel=1e-9
        )
        curve, mean = np.exp(known.fittedvalues), np.average(y, weights=weights)
        share = 1 - np.sum(weights * (y - curve) ** 2) / np.sum(weights * (y - mean) ** 2)
        assert ours.r2[0] == pytest.approx(share, rel=1e-9)  # on the original scale
        assert ours.log_r2[0] == pytest.approx(known.rsquared, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "away"), [(4, 0.0), (10, 0.0), (1000, 0.0), (1000, 1e6)])
def test_a_quadratic_with_all_its_terms_is_statsmodels_least_squares(
    n: int, away: float, weighted: bool
) -> None:
    random = np.random.default_rng(n)
    u = random.uniform(1, 1000, n)
    y = (50 - 3 * u + 0.02 * u * u) * np.exp(0.05 * random.standard_normal(n))
    weights = random.uniform(0.5, 2, n) if weighted else np.ones(n)
    ours = fit(
        np.tile(u + away, 2),
        np.tile(y, 2),
        np.repeat([0, 1], n),
        weights=np.tile(weights, 2),
        models=[FULL_QUADRATIC],
    )[FULL_QUADRATIC]
    known = sm.WLS(y, sm.add_constant(np.stack([u, u**2], axis=1)), weights=weights).fit()
    for group in (0, 1):
        assert ours.coefficients[group, 2] == pytest.approx(known.params[2], rel=1e-9)
        assert ours.errors[group, 2] == pytest.approx(known.bse[2], rel=1e-9)
        assert ours.r2[group] == pytest.approx(known.rsquared, rel=1e-9)
        assert ours.predict(u[:4] + away, group) == pytest.approx(
            known.fittedvalues[:4], rel=1e-6, abs=1e-2
        )
        if not away:
            assert ours.coefficients[group] == pytest.approx(known.params, rel=1e-8)
            assert ours.errors[group] == pytest.approx(known.bse, rel=1e-8)
            assert ours.adjusted_r2[group] == pytest.approx(known.rsquared_adj, rel=1e-9)
    assert ours.df.tolist() == [n - 3] * 2


def test_a_quadratic_with_all_its_terms_wants_three_sizes_and_is_never_chosen() -> None:
    two = fit([5.0, 5, 9, 9, 9], [1.0, 2, 3, 4, 5], models=[FULL_QUADRATIC])[FULL_QUADRATIC]
    near = fit([1e9, 1e9 + 1, 1e9 + 1, 1e9], [1.0, 2, 3, 4], models=[FULL_QUADRATIC])[
        FULL_QUADRATIC
    ]
    assert not two.known.any() and not near.known.any()
    for start in (0.1, 7.0, 1e9):
        for sizes in ([start], [start, start + 1]):
            # their mean is rounded in other ways, by processors in other ways again
            for n in (5, 133, 134, 1000):
                x, y = (
                    np.resize(sizes, n),
                    3e-6 * np.exp(0.05 * np.random.default_rng(n).standard_normal(n)),
                )
                assert not fit(x, y, models=[FULL_QUADRATIC])[FULL_QUADRATIC].known.any()
    x, y, group = noisy("quadratic", 80, 0.05, groups=5)
    with_it, without = (
        choose(fit(x, y - 20 * x, group, models=(*MODELS, FULL_QUADRATIC))),
        choose(fit(x, y - 20 * x, group, models=MODELS)),
    )
    assert with_it.index.tolist() == without.index.tolist()


@pytest.mark.parametrize("model", ["power", "exponential"])
def test_curves_of_free_shape_are_scipys_least_squares(model: str) -> None:
    x, y, _ = noisy(model, 60, 0.1, seed=3)
    sigma = CURVES[model](x)
    for weights, spread in ((None, None), (1 / sigma**2, sigma)):
        ours = fit(x, y, weights=weights)[model]
        known, covariance = curve_fit(
            lambda x, a, b: evaluate(model, x, a, b),
            x,
            y,
            p0=ours.coefficients[0] * 1.001,
            sigma=spread,
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
        )
        assert ours.coefficients[0] == pytest.approx(known, rel=1e-6)
        assert ours.errors[0] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-4)


def test_a_free_shape_fits_the_original_scale_better_than_its_linearised_form() -> None:
    x, y, group = noisy("linear", 80, 0.05, groups=5)
    found = fit(x, y, group)
    for model in ("power", "exponential"):
        assert (found[model].r2 >= found[f"linearised {model}"].r2).all()
        assert (found[model].aicc <= found[f"linearised {model}"].aicc).all()


def test_a_free_shape_needs_no_positive_values() -> None:
    x = np.linspace(1, 30, 40)
    for sign in (1, -1):
        values = sign * (0.5 * x**2.2) + 3 * np.cos(40 * x)
        found = fit(x, values)
        assert np.isnan(found["linearised power"].coefficients).all()
        assert found["power"].coefficients[0] == pytest.approx([sign * 0.5, 2.2], rel=0.05)
    falling = fit(x, 100 * 0.8**x - 0.001)["exponential"]
    assert falling.coefficients[0] == pytest.approx([100, 0.8], rel=1e-3)


def test_many_groups_are_fitted_as_each_alone() -> None:
    random = np.random.default_rng(4)
    group = random.integers(0, 40, 5000)
    x, weights = random.uniform(1, 100, 5000), random.uniform(0.1, 3, 5000)
    y = (group + 1) * x ** (0.5 + group / 20) + random.standard_normal(5000)
    found = fit(x, y, group, weights, groups=42)
    for number in (0, 17, 39):
        here = group == number
        alone = fit(x[here], y[here], weights=weights[here])
        for model, ours in found.items():
            assert ours.coefficients[number] == pytest.approx(
                alone[model].coefficients[0], rel=1e-7, nan_ok=True
            ), model
    for ours in found.values():
        assert ours.n[40:].tolist() == [0, 0]
        assert not ours.known[40:].any()
    assert fit(x, y, group * 1700, weights)["linear"].coefficients[17 * 1700] == pytest.approx(
        found["linear"].coefficients[17]
    )


def test_large_sizes_far_from_zero_lose_nothing() -> None:
    x = 1e9 + np.arange(100.0)
    found = fit(x, 5 + 2 * (x - 1e9))["linear"]
    assert found.coefficients[0, 1] == pytest.approx(2, rel=1e-12)
    assert found.predict(1e9 + 50) == pytest.approx(105, rel=1e-9)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_fewer_than_three_rows_have_no_curve(n: int) -> None:
    found = fit([1.0, 2.0][:n], [5.0, 7.0][:n], groups=1)
    assert [model for model in MODELS if found[model].known[0]] == (["constant"] if n else [])
    assert found["constant"].coefficients[0, 0] == pytest.approx([np.nan, 5, 6][n], nan_ok=True)
    assert np.isnan(found["constant"].variance[0]) == (n < 2)
    assert choose(found).model() == ("constant" if n else None)


def test_one_size_has_no_curve() -> None:
    found = fit([8.0] * 5, [1.0, 2, 3, 4, 5])
    assert [model for model in found if found[model].known[0]] == ["constant"]
    assert choose(found).order() == "O(1)"


def test_sizes_of_zero_and_below_leave_the_logarithms_unknown() -> None:
    x, y = np.arange(20.0), 5 + 2 * np.arange(20.0)
    unknown = {model for model, found in fit(x, y).items() if not found.known[0]}
    assert unknown == {"logarithmic", "power", "linearised power"}
    unknown = {model for model, found in fit(x - 1, y).items() if not found.known[0]}
    assert unknown == {"logarithmic", "linearithmic", "power", "linearised power"}
    assert choose(fit(x, y)).model() == "linear"


def test_values_of_zero_and_below_leave_the_linearised_forms_unknown() -> None:
    for bad in (0.0, -3.0):
        found = fit([1.0, 2, 3, 4, 5], [bad, 2.0, 4.0, 8.0, 16.0])
        assert {model for model in found if not found[model].known[0]} == set(LINEARISED)


def test_what_a_float_cannot_hold_is_unknown() -> None:
    x = np.array([1e110, 2e110, 3e110, 4e110, 5e110])
    found = fit(x, [1.0, 2, 3, 4, 5])
    assert not found["cubic"].known[0]
    assert found["linear"].known[0]
    steep = fit(np.array([2000.0, 2001, 2002, 2003]), 2.0 ** np.array([0.0, 1, 2, 3]))
    assert not steep["exponential"].known[0]  # b0 would be 2^-2000
    curve = fit([1.0, 2, 3, 4], [2.0, 4, 8, 16])["exponential"]
    assert curve.predict([10, 1e6]).tolist() == pytest.approx([1024, inf])
    assert curve.predict_variance(1e6) >= 0 or np.isnan(curve.predict_variance(1e6))


def test_rows_that_are_not_finite_or_weigh_nothing_are_left_out() -> None:
    x = [1.0, 2, np.nan, 4, 5, 6, 7, 8]
    y = [3.0, 5, 7, np.inf, 11, 13, 99, 99]
    found = fit(x, y, weights=[1, 1, 1, 1, 1, 1, 0, np.nan])["linear"]
    assert found.coefficients[0] == pytest.approx([1, 2])
    assert (found.n[0], found.low[0], found.high[0]) == (4, 1, 6)


def test_a_perfect_fit_has_no_variance_and_equal_values_no_r2() -> None:
    exact = fit([1.0, 2, 3, 4, 5, 6], [0.1, 0.3, 0.5, 0.7, 0.9, 1.1])
    assert exact["linear"].r2[0] == 1
    assert exact["linear"].variance[0] == 0
    assert exact["linear"].aicc[0] == -inf
    assert choose(exact).model() == "linear"
    flat = fit([1.0, 2, 3, 4, 5, 6], [0.1] * 6)
    assert {found.r2[0] for found in flat.values()} == {0}
    assert choose(flat).model() == choose(flat, "r2").model() == "constant"
    nothing = fit([1.0, 2, 3, 4, 5, 6], [0.0] * 6)
    assert choose(nothing).model() == "constant"
    assert not nothing["power"].known[0]


def test_columns_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(ValueError, match="equal length"):
        fit([1.0, 2], [1.0])
    with pytest.raises(ValueError, match="equal length"):
        fit([1.0, 2], [1.0, 2], weights=[1.0])
    with pytest.raises(ValueError, match="numbered from 0"):
        fit([1.0, 2], [1.0, 2], [0, -1])
    with pytest.raises(ValueError, match="no model cubist; there are constant"):
        fit([1.0], [1.0], models=["cubist"])


@pytest.mark.parametrize("model", ["logarithmic", "linear", "quadratic"])
def test_the_variance_of_a_prediction_is_statsmodels(model: str) -> None:
    x, y, _ = noisy(model, 50, 0.05)
    known = sm.OLS(y, sm.add_constant(transform(model, x))).fit()
    at = np.array([5.0, 500.0, 3000.0])
    expected = known.get_prediction(sm.add_constant(transform(model, at)))
    found = fit(x, y)[model]
    assert found.predict(at) == pytest.approx(expected.predicted_mean)
    assert found.predict_variance(at) == pytest.approx(expected.se_mean**2)
    assert fit(x, y)["constant"].predict_variance(at) == pytest.approx([np.var(y, ddof=1) / 50] * 3)


@pytest.mark.parametrize("model", SHAPED)
def test_the_variance_of_a_prediction_of_free_shape_follows_the_gradient(model: str) -> None:
    x, y, _ = noisy(model.removeprefix("linearised "), 50, 0.05)
    scale = np.log if model in LINEARISED else np.asarray
    plain = model.removeprefix("linearised ")
    start = fit(x, y)[model].coefficients[0]
    _, covariance = curve_fit(
        lambda x, a, b: scale(evaluate(plain, x, a, b)), x, scale(y), p0=start
    )
    at, (a, b) = 400.0, start
    gradient = [
        evaluate(plain, at, 1, b),
        a * at**b * np.log(at) if plain == "power" else a * at * b ** (at - 1),
    ]
    assert fit(x, y)[model].predict_variance(at) == pytest.approx(
        gradient @ covariance @ gradient, rel=1e-3
    )


@each("curve", CURVES)
@each("noise n", [(0.01, 20), (0.05, 100), (0.1, 500)])
def test_the_right_model_is_chosen_under_weights_of_the_level(
    curve: str, noise: float, n: int
) -> None:
    x, y, group = noisy(curve, n, noise, seed=7, groups=50)
    found = choose(fit(x, y, group, 1 / level(x, y, group) ** 2))
    counts = Counter(found.model(number) for number in range(50))
    assert counts[curve] >= 49, counts
    assert found.predict(300.0, np.arange(50)) == pytest.approx(CURVES[curve](300.0), rel=3 * noise)
    assert (found.predict_variance(300.0, np.arange(50)) > 0).all()


def test_flat_values_are_constant() -> None:
    x, y, group = noisy("constant", 50, 0.1, seed=8, groups=2000)
    found = choose(fit(x, y, group))
    assert (found.index == 0).mean() >= 0.995
    assert np.mean(found.p < 0.001) < 0.005
    # the published rule never stays flat
    assert (choose(fit(x, y, group), "r2").index == 0).mean() < 0.01


def test_a_curve_too_shallow_to_matter_is_constant() -> None:
    x = np.arange(1.0, 101)
    shallow = fit(x, 1000 + 0.05 * x)
    assert choose(shallow).model() == "constant"
    assert choose(shallow, least=0.001).model() == "linear"


def test_a_straight_line_through_zero_is_not_called_a_power() -> None:
    random = np.random.default_rng(9)
    x = np.tile(np.linspace(10, 1000, 100), 100)
    y, group = 3 * x * (1 + 0.05 * random.standard_normal(len(x))), np.repeat(np.arange(100), 100)
    fits = fit(x, y, group, 1 / level(x, y, group) ** 2)
    assert np.mean(choose(fits).index == MODELS.index("linear")) >= 0.98
    assert np.mean(choose(fits, margin=0, gain=0).index == MODELS.index("linear")) < 0.7


def test_a_square_that_caches_bend_a_little_is_not_called_a_power() -> None:
    random = np.random.default_rng(10)
    x = np.linspace(20, 400, 60)
    y = x**1.98 * (1 + 0.01 * random.standard_normal(len(x)))
    fits = fit(x, y, np.zeros(60, dtype=int), 1 / level(x, y, np.zeros(60, dtype=int)) ** 2)
    assert choose(fits).model() == "quadratic"
    assert choose(fits, gain=0).model() == "power"


def test_a_power_that_no_fixed_curve_comes_near_is_called_one() -> None:
    random = np.random.default_rng(11)
    x = np.linspace(10, 1000, 60)
    assert choose(fit(x, x**1.5 * (1 + 0.03 * random.standard_normal(60)))).model() == "power"
    assert choose(fit(x, x**1.25)).model() == "power", (
        "little more is explained, but nothing is left"
    )


@pytest.mark.parametrize(
    ("exponent", "said"), [(0.33, "logarithmic"), (1.88, "quadratic"), (2.87, "cubic")]
)
def test_a_power_near_a_curve_of_fixed_shape_is_that_curve(exponent: float, said: str) -> None:
    random = np.random.default_rng(12)
    x = np.tile(np.linspace(20, 400, 30), 20)
    y, group = (
        x**exponent * (1 + 0.02 * random.standard_normal(len(x))),
        np.repeat(np.arange(20), 30),
    )
    fits = fit(x, y, group, 1 / level(x, y, group) ** 2)
    assert (choose(fits).index == MODELS.index(said)).mean() >= 0.9
    assert (choose(fits, gain=0).index == MODELS.index("power")).mean() >= 0.5


@pytest.mark.parametrize("exponent", [0.5, 1.5, 2.5])
def test_a_power_between_them_is_a_power(exponent: float) -> None:
    random = np.random.default_rng(13)
    x = 2.0 ** np.arange(4, 13)
    y = x**exponent * (1 + 0.03 * random.standard_normal(9))
    found = choose(fit(x, y, weights=1 / level(x, y) ** 2))
    assert found.model() == "power"
    assert found.coefficients[0, 1] == pytest.approx(exponent, abs=0.03)


def test_a_logarithm_that_hardly_rises_is_no_order_of_growth() -> None:
    x = 2.0 ** np.arange(4, 13)
    slow, fast = choose(fit(x, 100 + 6 * np.log(x))), choose(fit(x, 100 + 20 * np.log(x)))
    assert [slow.model(), slow.order(), slow.order(shape=True)] == ["logarithmic", "O(1)", "O(1)"]
    assert [fast.model(), fast.order()] == ["logarithmic", "O(log n)"]
    assert [slow.grows.tolist(), fast.grows.tolist()] == [[False], [True]]
    assert slow.predict(1000.0) == pytest.approx(100 + 6 * np.log(1000)), (
        "the curve is there all the same"
    )


def test_growth_by_little_has_to_be_unlike_a_logarithm_beyond_doubt() -> None:
    random = np.random.default_rng(14)
    x = np.linspace(10, 500, 50)
    clear = choose(fit(x, 1000 + x))
    assert [clear.model(), clear.order()] == ["linear", "O(n)"]
    noisy = choose(fit(x, (1000 + 0.3 * x) * (1 + 0.03 * random.standard_normal(50))))
    assert [noisy.model(), noisy.order()] == ["linear", "O(1)"]
    assert choose(fit(x, 1000 + x, models=["constant", "linear"])).order() == "O(1)", (
        "nothing to compare with"
    )


def test_a_curve_that_falls_is_of_no_order() -> None:
    x = np.arange(1.0, 30)
    falling = choose(fit(x, 500 / x))
    assert [falling.model(), falling.order(shape=True)] == ["power", "O(1)"]
    assert choose(fit(x, 500 * 0.8**x)).order() == "O(1)"


def test_a_choice_among_some_models_only() -> None:
    x, y, _ = noisy("linear", 30, 0.01)
    assert choose(fit(x, y, models=["linear", "quadratic"])).model() == "linear"
    assert choose(fit(x, y, models=["constant"])).model() == "constant"
    assert choose(fit(x, y, models=["constant"])).p.tolist() == pytest.approx([np.nan], nan_ok=True)
    nothing = choose(fit([], [], groups=2))
    assert [nothing.model(0), nothing.order(1)] == [None, None]
    assert np.isnan(nothing.predict(5.0, [0, 1])).all()


def test_orders_of_growth() -> None:
    assert [ORDERS[model] for model in MODELS] == [
        "O(1)",
        "O(log n)",
        "O(n)",
        "O(n log n)",
        "O(n^2)",
        "O(n^3)",
        "O(n^b)",
        "O(b^n)",
    ]
    assert [rank(model) for model in MODELS] == list(range(8))
    assert rank("linearised power") == rank("power")
    assert order("linearised power", 1.5234) == "O(n^1.52)"
    assert order("exponential", 2.0) == "O(2^n)"
    assert order("quadratic", 3.0) == "O(n^2)"
    x = np.linspace(1, 50, 60)
    assert choose(fit(x, 3 * x**0.5)).order(shape=True) == "O(n^0.5)"


def test_powers_and_exponentials_grow_as_their_shapes_say() -> None:
    rising = [
        growth("exponential", 0.5),
        growth("power", -1),
        growth("constant"),
        growth("logarithmic"),
        growth("power", 0.5),
        growth("linear"),
        growth("linearithmic"),
        growth("power", 1.5),
        growth("quadratic"),
        growth("cubic"),
        growth("power"),
        growth("exponential"),
    ]
    assert rising == sorted(rising)
    assert len(set(rising)) == len(rising)
    assert growth("exponential", 1.0) == growth("constant") == growth("power", 0.0)


def test_models_where_they_are_not_defined() -> None:
    assert transform("linearithmic", [0, 1]).tolist() == [0, 0]
    assert np.isnan(transform("logarithmic", [0.0, -1.0])).all()
    assert np.isnan(evaluate("power", 0.0, 1, 2))
    assert evaluate("exponential", [0, 3], -2, 2).tolist() == pytest.approx([-2, -16])


def test_a_level_follows_any_curve() -> None:
    x, y, group = noisy("quadratic", 200, 0.05, groups=3)
    mixed = np.random.default_rng(1).permutation(len(x))
    found = level(x[mixed], y[mixed], group[mixed])
    assert found == pytest.approx(CURVES["quadratic"](x[mixed]), rel=0.15)
    assert level([1, 2, 3], [0, 0, 0]).tolist() == [1, 1, 1]
    assert level([1, np.nan, 3], [-4, 5, 4]).tolist() == pytest.approx([4, np.nan, 4], nan_ok=True)
    assert level([], []).tolist() == []
