"""The postprocessor `regression`: its entries, against statsmodels, and what it says of data that
no model fits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import sample_profile

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.postprocessors import regression
from perfvcs.postprocessors.regression import Regression
from perfvcs.profile import Job, Metric, Processed, Profile, Resources
from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import OpenEntry
from perfvcs.statistics.regression.condensed import level
from perfvcs.statistics.regression.fitting import fit
from perfvcs.statistics.regression.models import FITTED_MODELS, FULL_QUADRATIC, LINEARISED

FIELDS = {
    "postprocessor",
    "uid",
    "metric",
    "by",
    "fit",
    "strategy",
    "model",
    "order",
    "formula",
    "coefficients",
    "errors",
    "r2",
    "adjusted_r2",
    "aicc",
    "x",
    "rows",
    "best",
}


def sized(
    size: Sequence[float | None],
    value: Sequence[float | None],
    uid: Sequence[int] | None = None,
    names: Sequence[str] = ("f", "g"),
    mark: list[int] | None = None,
    **more: list[float | None],
) -> Profile:
    """A profile of calls with a duration; more columns as metrics without a direction."""
    rows = Resources(
        names=list(names),
        uid=list(uid or [0] * len(size)),
        execution=[0] * len(size),
        mark=mark,
        size=list(size),
        metrics={
            "duration": list(value),
            **{name.replace("_", "."): column for name, column in more.items()},
        },
    )
    metrics = {"duration": Metric("s")} | {
        name.replace("_", "."): Metric("", "none") for name in more
    }
    return sample_profile(resources=rows, metrics=metrics)


def noisy_line(count: int = 200, seed: int = 1) -> tuple[list[float], list[float]]:
    random = np.random.default_rng(seed)
    x = random.integers(1, 1000, count).astype(float)
    return x.tolist(), ((2e-6 + 3e-8 * x) * np.exp(0.05 * random.standard_normal(count))).tolist()


def entries(profile: Profile, **options: Any) -> list[dict[str, Any]]:
    """What a document says of single calls, unless means are asked for."""
    return json.loads(Regression(**{"fit": "calls", **options}).apply(profile).encode())["models"]


def best(profile: Profile, **options: Any) -> dict[str, Any]:
    [found] = [entry for entry in entries(profile, **options) if entry["best"]]
    return found


def test_an_entry_has_what_the_format_says() -> None:
    found = entries(sized(*noisy_line()))
    assert [entry["model"] for entry in found] == list(FITTED_MODELS)
    assert all(
        entry.keys() == FIELDS | ({"log_r2"} if entry["model"] in LINEARISED else set())
        for entry in found
    )
    assert [entry["model"] for entry in found if entry["best"]] == ["linear"]
    assert {
        "order": "O(n)",
        "formula": "b0 + b1 n",
        "rows": 200,
        "metric": "duration",
        "uid": "f",
        "by": "size",
    }.items() <= found[2].items()
    assert found[2]["x"] == [min(noisy_line()[0]), max(noisy_line()[0])]
    assert len(found[0]["coefficients"]) == len(found[0]["errors"]) == 1


@each("model", FITTED_MODELS)
def test_an_entry_has_the_numbers_of_the_fit(model: str) -> None:
    x, y = (np.array(column) for column in noisy_line())
    [entry] = [one for one in entries(sized(x.tolist(), y.tolist())) if one["model"] == model]
    curve = fit(x, y, models=[model])[model]
    used = len(entry["coefficients"])
    assert entry["coefficients"] == pytest.approx(curve.coefficients[0, :used], rel=1e-9)
    assert entry["errors"] == pytest.approx(curve.errors[0, :used], rel=1e-9)
    assert entry["r2"] == pytest.approx(curve.r2[0], rel=1e-9, abs=1e-12)
    assert entry["adjusted_r2"] == pytest.approx(curve.adjusted_r2[0], rel=1e-9, abs=1e-12)
    assert entry.get("log_r2", 0) == pytest.approx(np.nan_to_num(curve.log_r2[0]), rel=1e-9)


def test_units_and_metrics_are_fitted_apart() -> None:
    x, y = noisy_line(300)
    flat: list[float | None] = [5.0] * 300
    profile = sized(x, y, [0] * 100 + [1] * 200, memory=flat)
    found = entries(profile, of=("duration", "memory"), keep="best")
    assert [(entry["uid"], entry["metric"], entry["model"], entry["rows"]) for entry in found] == [
        ("f", "duration", "linear", 100),
        ("g", "duration", "linear", 200),
        ("f", "memory", "constant", 100),
        ("g", "memory", "constant", 200),
    ]
    # memory has no direction
    assert {entry["metric"] for entry in entries(profile)} == {"duration"}


def test_another_column_can_be_x() -> None:
    x, y = noisy_line()
    found = best(sized([None] * 200, y, steps=list(x)), by="steps")
    assert (found["by"], found["model"]) == ("steps", "linear")


def test_repeated_executions_and_outliers_are_left_out() -> None:
    x, y = noisy_line(100)
    expected = entries(sized(x, y))
    more_x: list[float | None] = [*x, 5.0, 6.0]
    more_y: list[float | None] = [*y, 1.0, 1.0]
    mark = [0] * 100 + [2, 1]
    outlier: list[float | None] = [*[0.0] * 101, 1.0]
    assert entries(sized(more_x, more_y, mark=mark, duration_outlier=outlier)) == expected
    assert entries(sized(more_x, more_y)) != expected


def test_rates_are_no_weights_unless_asked_for() -> None:
    x, y = noisy_line(100)
    rate: list[float | None] = [1.0 + place % 7 for place in range(100)]
    assert entries(sized(x, y, rate=rate)) == entries(sized(x, y))
    import statsmodels.api as sm

    [line] = entries(sized(x, y, rate=rate), models=("linear",), weights="rate")
    expected = sm.WLS(y, sm.add_constant(np.array(x)), np.array(rate)).fit()
    assert line["coefficients"] == pytest.approx(expected.params.tolist(), rel=1e-9)
    assert line["errors"] == pytest.approx(expected.bse.tolist(), rel=1e-9)


def test_steps_tell_when_the_choice_settled() -> None:
    found = best(sized(*noisy_line()), strategy="iterative", steps=4)
    assert [step["rows"] for step in found["steps"]] == [50, 100, 150, 200]
    assert {step["model"] for step in found["steps"]} == {"linear"}
    [guess] = entries(sized(*noisy_line()), strategy="initial-guess")
    assert guess["best"]
    assert "omitted" not in guess
    assert guess["steps"][0]["rows"] == 40


def test_intervals_have_their_own_ranges() -> None:
    found = [
        entry
        for entry in entries(sized(*noisy_line()), strategy="interval", steps=3)
        if entry["best"]
    ]
    assert len(found) == 3
    assert all(before["x"][1] < after["x"][0] for before, after in pairwise(found))
    assert sum(entry["rows"] for entry in found) == 200


# means of each size


def calls(seed: int = 3, per_size: int = 40, sizes: int = 50) -> tuple[list[float], list[float]]:
    """Calls of O(n) that take twice as long for every third, with a tail: what a machine with other
    work does.
    """
    random = np.random.default_rng(seed)
    x = np.repeat(np.arange(10.0, 10 * sizes + 10, 10), per_size)
    y = (
        (2e-6 + 3e-8 * x)
        * np.where(random.random(len(x)) < 1 / 3, 2, 1)
        * random.lognormal(0, 0.3, len(x))
    )
    return x.tolist(), np.where(random.random(len(x)) < 0.003, 200 * y, y).tolist()


def test_means_are_those_of_each_size_under_weights_of_their_level() -> None:
    import statsmodels.api as sm

    x, y = calls(per_size=1, sizes=25)  # too few to say which is an outlier
    x, y = [*x, *x], [*y, *[2 * value for value in y]]
    [line] = entries(sized(x, y), fit="means", strategy="interval", steps=1, models=("linear",))
    assert (line["fit"], line["rows"]) == ("means", 25)
    at, mean = np.array(x[:25]), 1.5 * np.array(y[:25])
    expected = sm.WLS(mean, sm.add_constant(at), 2 / level(at, mean) ** 2).fit()
    assert line["coefficients"] == pytest.approx(expected.params.tolist(), rel=1e-9)
    assert line["errors"] == pytest.approx(expected.bse.tolist(), rel=1e-9)


def test_means_name_the_order_where_single_calls_do_not() -> None:
    found = {
        fit: [best(sized(*calls(seed)), fit=fit)["model"] for seed in range(20)]
        for fit in ("means", "calls")
    }
    assert found["means"].count("linear") >= 18, found
    assert found["calls"].count("linear") <= 15


def test_a_pause_at_one_size_of_every_execution_is_left_out_of_the_means_and_said() -> None:
    x, y = noisy_line(60)
    slow = [value * (50.0 if size > 970 else 1.0) for size, value in zip(x, y, strict=True)]
    found = best(sized(x, slow), fit="means")
    assert (found["model"], found["order"]) == ("linear", "O(n)")
    assert found["far"] == len({size for size in x if size > 970}) > 0
    assert best(sized(x, slow), fit="calls")["model"] != "linear"
    assert "far" not in best(sized(x, y), fit="means")


def test_fewer_than_five_sizes_make_no_means() -> None:
    x, y = (
        [float(1 + place % 4) for place in range(40)],
        [float(1 + place % 4) + 0.01 * (place % 7) for place in range(40)],
    )
    both = entries(
        sized([*x, *range(1, 11)], [*y, *range(1, 11)], [0] * 40 + [1] * 10),
        models=("linear",),
        fit="means",
    )
    assert [(entry["uid"], entry["fit"], entry["rows"]) for entry in both] == [
        ("f", "calls", 40),
        ("g", "means", 10),
    ]


def test_the_first_calls_of_an_execution_are_no_part_of_the_means() -> None:
    x, y = noisy_line(100)
    rows = Resources(
        names=["f"],
        uid=[0] * 200,
        execution=[0] * 100 + [1] * 100,
        iteration=[*range(100), *range(100)],
        size=[*x, *x],
        metrics={
            "duration": [
                *[value * (9.0 if place < 10 else 1.0) for place, value in enumerate(y)] * 2
            ]
        },
    )
    profile = sample_profile(
        resources=rows,
        metrics={"duration": Metric("s")},
        job=Job(name="calls", collector="complexity", cmd="./calls"),
    )
    warm = sized([*x[10:], *x[10:]], [*y[10:], *y[10:]])
    assert entries(profile, fit="means") == entries(warm, fit="means")
    assert entries(profile, fit="calls") != entries(warm, fit="calls")


def test_growth_that_caches_may_have_made_is_no_order() -> None:
    size = [float(2**power) for power in range(4, 15) for _ in range(5)]
    slower = best(sized(size, [1e-7 + 5e-9 * math.log(n) for n in size]), fit="means")
    assert (slower["model"], slower["order"]) == ("logarithmic", "O(1)")
    assert (
        best(sized(size, [1e-8 + 5e-9 * math.log(n) for n in size]), fit="means")["order"]
        == "O(log n)"
    )


# what no model fits


def test_a_few_sizes_of_zero_are_left_out_for_models_that_begin_above() -> None:
    x, y = noisy_line(100)
    found = best(sized([0.0, *x], [1e-6, *y]))
    assert (found["zeros"], found["rows"]) == (1, 100)
    assert best(sized([0.0, *x], [1e-6, *y]), models=("constant", "linear"))["rows"] == 101


def test_many_zeros_stay_and_leave_out_the_models() -> None:
    x, y = noisy_line(100)
    found = best(sized([0.0] * 20 + x, [2e-6] * 20 + y))
    assert found["rows"] == 120
    assert found["omitted"] == dict.fromkeys(
        ("logarithmic", "power", "linearised power"), "a size is 0 or below"
    )


@pytest.mark.parametrize(
    ("x", "y", "omitted"),
    [
        (
            [-1.0, 1, 2, 3, 4, 5],
            [1.0, 2, 3, 4, 5, 7],
            {"logarithmic": "a size is 0 or below", "linearithmic": "a size is below 0"},
        ),
        (
            [1.0, 2, 3, 4, 5, 6],
            [-1.0, 2, 3, 4, 5, 7],
            {"linearised exponential": "a value is 0 or below"},
        ),
        (
            [3.0] * 6,
            [1.0, 2, 3, 4, 5, 7],
            {"linear": "all rows have one size", "power": "all rows have one size"},
        ),
        ([1.0, 2.0], [1.0, 2.0], {"linear": "2 rows: it needs three"}),
        ([1.0], [1.0], {"linear": "1 row: it needs three"}),
    ],
)
def test_models_that_cannot_be_fitted_are_named_with_the_reason(
    x: list[float], y: list[float], omitted: dict[str, str]
) -> None:
    found = best(sized(x, y))
    assert omitted.items() <= found["omitted"].items()
    assert "constant" not in found["omitted"]


def test_a_quadratic_with_all_terms_needs_four_rows_of_three_sizes() -> None:
    assert best(sized([1.0, 2, 3], [1.0, 2, 4]))["omitted"] == {
        FULL_QUADRATIC: "3 rows: it needs four"
    }
    assert best(sized([1.0, 2, 1, 2], [1.0, 2, 1.5, 2.5]))["omitted"][FULL_QUADRATIC].startswith(
        "it needs three sizes"
    )
    with pytest.raises(UsageError, match="name others beside it"):
        Regression(models=(FULL_QUADRATIC,))


@pytest.mark.parametrize("strategy", ["full", "interval", "bisection"])
def test_points_at_which_a_model_is_not_defined_can_be_dropped_from_it_alone(strategy: str) -> None:
    import statsmodels.api as sm

    x, y = (np.array(column) for column in noisy_line())
    x, y = np.append(x, [-1.0, 5.0, -2.0]), np.append(y, [2e-6, 0.0, 1e-6])
    profile = sized(x.tolist(), y.tolist())
    steps = {"strategy": strategy, "steps": 1, "undefined": "drop"}
    found = {
        entry["model"]: entry for entry in entries(profile, **steps) if entry["x"][1] == x.max()
    }
    plain = {entry["model"]: entry for entry in entries(profile, strategy=strategy, steps=1)}
    assert {name: entry.get("dropped", 0) for name, entry in found.items()} == {
        "constant": 0,
        "linear": 0,
        "quadratic": 0,
        "cubic": 0,
        "exponential": 0,
        FULL_QUADRATIC: 0,
        "linearithmic": 2,
        "logarithmic": 2,
        "power": 2,
        "linearised power": 3,
        "linearised exponential": 1,
    }
    assert set(found) - set(plain) == {
        "linearithmic",
        "logarithmic",
        "power",
        "linearised power",
        "linearised exponential",
    }
    assert all(entry.get("dropped", 0) + entry["rows"] == 203 for entry in found.values())
    assert all(found[name]["coefficients"] == plain[name]["coefficients"] for name in plain)
    assert [name for name, entry in found.items() if entry["best"]] == [
        name for name, entry in plain.items() if entry["best"]
    ]
    logarithmic = sm.OLS(y[x > 0], sm.add_constant(np.log(x[x > 0]))).fit()
    assert found["logarithmic"]["coefficients"] == pytest.approx(
        logarithmic.params.tolist(), rel=1e-9
    )
    assert found["logarithmic"]["r2"] == pytest.approx(logarithmic.rsquared, rel=1e-9)
    both = (x > 0) & (y > 0)
    power = sm.OLS(np.log(y[both]), sm.add_constant(np.log(x[both]))).fit()
    assert found["linearised power"]["coefficients"] == pytest.approx(
        [math.exp(power.params[0]), power.params[1]], rel=1e-9
    )
    assert found["linearised power"]["log_r2"] == pytest.approx(power.rsquared, rel=1e-9)
    assert found["linearised power"]["x"] == [x[both].min(), x[both].max()]


def test_means_too_are_dropped_and_what_too_few_rows_are_left_for_stays_omitted() -> None:
    x, y = [0.0, *map(float, range(1, 40))], [1.0 + 0.5 * size for size in range(40)]
    found = {entry["model"]: entry for entry in entries(sized(x, y), fit="means", undefined="drop")}
    assert found["logarithmic"]["dropped"] == 1
    assert found["linear"]["rows"] == 40
    assert "zeros" not in found["linear"]
    few = best(
        sized([0.0, 0, 1, 2], [1.0, 1, 2, 3]), undefined="drop", models=("linear", "logarithmic")
    )
    assert few["omitted"] == {"logarithmic": "a size is 0 or below"}


def test_a_unit_that_nothing_fits_says_so() -> None:
    [found] = entries(sized([3.0] * 4, [1.0, 2, 3, 4]), models=("linear",))
    assert found["model"] is None
    assert not found["best"]
    assert found["coefficients"] == []
    assert found["omitted"] == {"linear": "all rows have one size"}
    assert found["x"] == [3.0, 3.0]


def test_overflow_leaves_a_model_out() -> None:
    x = [1e200, 2e200, 3e200, 4e200]
    assert best(sized(x, [1.0, 2, 3, 4]))["omitted"]["cubic"] == "no finite curve fits"


@each("fit", ["means", "calls"])
@each("strategy", ["full", "iterative", "initial-guess", "interval", "bisection"])
@each("power", [-700, 700])
def test_values_whose_squares_no_float_holds_are_fitted_as_others(
    power: int, strategy: str, fit: str
) -> None:
    x, y = noisy_line()
    unit = 2.0**power
    plain = entries(sized(x, y), fit=fit, strategy=strategy)
    scaled = entries(sized(x, [unit * value for value in y]), fit=fit, strategy=strategy)
    assert [(each["model"], each["best"], each["order"]) for each in scaled] == [
        (each["model"], each["best"], each["order"]) for each in plain
    ]
    assert any(each["best"] for each in scaled)
    for one, other in zip(plain, scaled, strict=True):
        shaped = one["model"].removeprefix("linearised ") in ("power", "exponential")
        units = [unit, 1.0 if shaped else unit, unit]
        for column in ("coefficients", "errors"):
            wanted = [value * by for value, by in zip(one[column], units, strict=False)]
            assert other[column] == pytest.approx(wanted, rel=1e-6)
        assert other["r2"] == pytest.approx(one["r2"], abs=1e-9)
        shares = fit == "means" and strategy == "full"  # of the level: they have no unit
        assert other["aicc"] == pytest.approx(
            one["aicc"] + (0 if shares else 2 * one["rows"] * math.log(unit)), rel=1e-9
        )


def test_equal_values_are_a_constant_without_error() -> None:
    found = best(sized([1.0, 2, 3, 4, 5], [2.0] * 5))
    assert (found["model"], found["coefficients"], found["errors"], found["r2"], found["aicc"]) == (
        "constant",
        [2.0],
        [0.0],
        0.0,
        None,
    )


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.none()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.integers(-3, 50).map(float),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
            st.integers(0, 1),
        ),
        max_size=12,
    ),
    st.sampled_from(["full", "iterative", "initial-guess", "interval", "bisection"]),
    st.sampled_from(["means", "calls"]),
)
@settings(max_examples=120, deadline=None)
def test_whatever_the_rows_the_profile_can_be_written(
    rows: list[tuple[float | None, float | None, int]], strategy: Any, fit: Any
) -> None:
    x, y, uid = ([row[place] for row in [*rows, (1.0, 1.0, 0)]] for place in range(3))
    done = Regression(strategy=strategy, steps=3, fit=fit).apply(sized(x, y, uid))  # type: ignore[arg-type]
    assert decode(done.encode()) == done
    assert all(math.isfinite(number) for entry in done.models for number in entry.coefficients)


# as a member of its family


def test_a_second_time_replaces_the_first() -> None:
    other = OpenEntry({"postprocessor": "other", "uid": "f"})
    profile = sample_profile(
        resources=sized(*noisy_line()).resources, metrics={"duration": Metric("s")}, models=[other]
    )
    once = Regression(strategy="interval").apply(profile)
    again = Regression(models=("linear",)).apply(once)
    assert again.models[0] == other
    assert [entry.model for entry in again.models[1:]] == ["linear"]
    [done] = again.postprocessors
    assert done.name == "regression"
    assert done.params["models"] == ["linear"]
    assert Regression(**{**done.params, "models": ("linear",)}).apply(profile) == again


def test_rows_are_as_they_were() -> None:
    profile = sized(*noisy_line())
    document = profile.encode()
    assert Regression().apply(profile).resources == profile.resources
    assert profile.encode() == document


def test_it_is_built_from_a_configuration() -> None:
    options = {"models": ["linear", "power"], "strategy": "interval", "steps": 3}
    built = plugins.build("postprocessors", "regression", options, "here")
    assert built.fitted == ("linear", "power", "linearised power")
    assert Regression(models=["linear"]).fitted == ("linear",)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({"models": ()}, 'give "all"'),
        ({"models": ("linaer",)}, "did you mean `linear`"),
        ({"models": "linaer"}, "did you mean `linear`"),
        ({"fit": "mean"}, "did you mean `means`"),
        ({"steps": 0}, "from 1 to 1,000"),
        ({"steps": True}, "from 1 to 1,000"),
        ({"seed": -1}, "whole number from 0"),
        ({"seed": 2**64}, "whole number from 0"),
    ],
)
def test_a_wrong_option_names_the_cure(options: dict[str, Any], cure: str) -> None:
    with pytest.raises(UsageError, match=cure):
        Regression(**options)


@pytest.mark.parametrize(
    ("options", "cure"),
    [
        ({}, "has no sizes.*collector `complexity`"),
        ({"by": "durations"}, "did you mean `duration`"),
        ({"by": "empty"}, "no value of `empty`"),
        ({"by": "full", "weights": "empty"}, "no value of `empty`"),
        ({"of": ("duratoin",)}, "did you mean `duration`"),
        ({"by": "duration"}, "no metric with a better direction"),
    ],
)
def test_a_profile_without_what_is_needed_names_the_cure(
    options: dict[str, Any], cure: str
) -> None:
    nothing: list[float | None] = [None] * 3
    profile = sized(nothing, [1.0, 2, 3], empty=nothing, full=[1.0, 2.0, 3.0])
    with pytest.raises(UsageError, match=cure):
        Regression(**options).apply(profile)


def test_more_models_than_a_profile_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regression, "MOST_ENTRIES", 15)
    profile = sized(*noisy_line(), [0, 1] * 100)
    with pytest.raises(UsageError, match="keep=best"):
        Regression().apply(profile)
    assert len(entries(profile, keep="best")) == 2


def test_what_was_processed_names_all_parameters() -> None:
    [done] = Regression().apply(sized(*noisy_line())).postprocessors
    assert done == Processed(
        "regression",
        {
            "models": "all",
            "undefined": "omit",
            "fit": "means",
            "strategy": "full",
            "steps": 5,
            "seed": 1,
            "of": [],
            "by": "size",
            "weights": "",
            "choice": "aicc",
            "keep": "all",
        },
    )
