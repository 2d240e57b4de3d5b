"""The kind of an error: named rightly on the grid of Stupinsky 2018, measured rightly, and nothing
where there is none.
"""

from __future__ import annotations

import numpy as np
import pytest
from cases import each

from perfvcs.statistics.regression.curveerrors import pair
from perfvcs.statistics.regression.kind import KINDS, PUBLISHED, kind
from perfvcs.statistics.regression.models import MODELS
from perfvcs.statistics.regression.robust import ScatterLaws

SIZES = np.arange(1.0, 501.0)
BASELINES = {
    "linear": lambda x: 100 + 2 * x,
    "quadratic": lambda x: 100 + 0.01 * x**2,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * 1.01**x,
}
SHARES = {
    "none": 0.0,
    "constant": 0.1,
    "linear": 0.1 * SIZES / 500,
    "quadratic": 0.1 * (SIZES / 500) ** 2,
}


def rights(noise: float, groups: int, family: tuple[str, ...] = PUBLISHED) -> dict[str, float]:
    """The share of right names by injected kind, averaged over the baselines."""
    random, found = np.random.default_rng(int(noise * 100)), dict.fromkeys(SHARES, 0.0)
    x, number = np.tile(SIZES, groups), np.repeat(np.arange(groups), 500)
    for curve in BASELINES.values():
        for name, share in SHARES.items():
            first, second = (1 + noise * random.standard_normal((2, groups, 500))) * curve(SIZES)
            second *= 1 + share * curve(500.0) / curve(SIZES)
            named = kind(x, first.ravel(), x, second.ravel(), number, number, family=family)
            found[name] += np.mean(named.index == KINDS.index(name)) / len(BASELINES)
    return found


@pytest.mark.simulation
@pytest.mark.parametrize(("noise", "bound"), [(0.01, 0.99), (0.05, 0.97), (0.1, 0.9)])
def test_the_grid_of_the_source_is_named_rightly(noise: float, bound: float) -> None:
    found = rights(noise, 100)
    assert np.mean(list(found.values())) >= bound, found
    assert found["none"] >= 0.99


GRIDS = {
    "5 sizes": np.linspace(100, 500, 5),
    "5 sizes, logarithmic": np.geomspace(1, 1e5, 5),
    "6 doublings": 10 * 2.0 ** np.arange(6),
    "16 doublings": 2.0 ** np.arange(16),
    "30 sizes, logarithmic": np.geomspace(1, 1e5, 30),
    "100 sizes": np.linspace(5, 500, 100),
    "100 sizes, logarithmic": np.geomspace(1, 1e5, 100),
}
STEEP = {
    "flat": lambda x: 100 + 0 * x,
    "linear": lambda x: 5 + 2 * x,
    "quadratic": lambda x: 1 + 0.01 * x**2,
    "logarithmic": lambda x: 50 + 100 * np.log(x),
    "power": lambda x: 3 * x**1.5,
    "exponential": lambda x: 50 * np.exp(5 * x / x.max()),
}


@pytest.mark.simulation
@each("grid", GRIDS)
@each("scatter", ["level", "root", "clock"])
def test_equal_curves_on_few_sizes_and_wide_ranges_are_equal(grid: str, scatter: str) -> None:
    sizes, groups, random, alarms = GRIDS[grid], 250, np.random.default_rng(12), []
    x, number = np.tile(sizes, groups), np.repeat(np.arange(groups), len(sizes))
    for curve in STEEP.values():
        level = np.tile(curve(sizes), groups)
        deviation = {
            "level": level,
            "root": np.sqrt(level * level.min()),
            "clock": level.min() + 0 * level,
        }[scatter]
        y1, y2 = level + 0.05 * deviation * random.standard_normal((2, len(x)))
        alarms.append(np.mean(kind(x, y1, x, y2, number, number).index != 0))
    # 1 % and a standard error and a half of 1,500
    assert np.mean(alarms) <= 0.012, dict(zip(STEEP, alarms, strict=True))
    assert max(alarms) <= 0.03


@pytest.mark.simulation
@pytest.mark.parametrize("count", [5, 6, 10])
def test_a_constant_error_on_few_sizes_is_a_constant(count: int) -> None:
    groups, random = 400, np.random.default_rng(13)
    for sizes in (np.linspace(500 / count, 500, count), 10 * 2.0 ** np.arange(count)):
        x, number = np.tile(sizes, groups), np.repeat(np.arange(groups), count)
        for curve in STEEP.values():
            level = np.tile(curve(sizes), groups)
            y1, y2 = (
                one * (1 + 0.01 * random.standard_normal(len(x)))
                for one in (level, level + 0.1 * level.max())
            )
            found = kind(x, y1, x, y2, number, number)
            assert np.mean(found.index == KINDS.index("constant")) >= 0.9


def test_few_steps_leave_several_laws_of_the_noise_and_many_leave_the_right_one() -> None:
    random = np.random.default_rng(14)
    for count, wide in ((6, False), (400, True)):
        x = np.linspace(10, 300, count)
        y1, y2 = x * (1 + 0.05 * random.standard_normal((2, count)))
        others = [
            weights for _, weights in ScatterLaws(pair(x, y1, x, y2)).others(np.ones(1, dtype=bool))
        ]
        ratios = [weights[0] / weights[-1] for weights in others]
        assert len(others) >= 1
        assert (min(ratios) > 100) if wide else (min(ratios) < 100), ratios


@pytest.mark.simulation
def test_with_every_kind_allowed_nothing_is_still_nothing() -> None:
    found = rights(0.05, 40, MODELS)
    assert found["none"] >= 0.98
    assert np.mean(list(found.values())) >= 0.93


def test_sizes_need_not_coincide() -> None:
    random, groups = np.random.default_rng(6), 60
    number = np.repeat(np.arange(groups), 500)
    x1, x2 = random.uniform(1, 500, (2, len(number)))
    for baseline in ("linear", "power"):
        curve = BASELINES[baseline]
        y1, y2 = (curve(x) * (1 + 0.02 * random.standard_normal(len(x))) for x in (x1, x2))
        assert np.mean(kind(x1, y1, x2, y2, number, number).index == 0) >= 0.96
        found = kind(x1, y1, x2, y2 + 0.1 * curve(500.0) * x2 / 500, number, number)
        assert np.mean(found.index == KINDS.index("linear")) >= 0.98


def test_pauses_of_the_machine_hide_no_error_and_make_none() -> None:
    random, groups = np.random.default_rng(10), 100
    x, number = np.tile(SIZES, groups), np.repeat(np.arange(groups), 500)
    pauses = np.where(random.random((2, len(x))) < 0.01, 10, 1)
    y1, y2 = (100 + 2 * x) * np.exp(0.05 * random.standard_normal((2, len(x)))) * pauses
    assert np.mean(kind(x, y1, x, y2, number, number).index == 0) >= 0.98
    found = kind(x, y1, x, y2 + 0.2 * x, number, number)
    assert np.mean(found.index == KINDS.index("linear")) >= 0.95
    assert np.median(found.coefficient) == pytest.approx(0.2, rel=0.05)


def test_noise_of_two_modes_is_no_error() -> None:
    random, groups = np.random.default_rng(11), 200
    x, number = np.tile(SIZES, groups), np.repeat(np.arange(groups), 500)
    modes = np.where(random.random((2, len(x))) < 0.3, 1.5, 1)
    y1, y2 = (100 + 2 * x) * np.exp(0.02 * random.standard_normal((2, len(x)))) * modes
    assert np.mean(kind(x, y1, x, y2, number, number).index == 0) >= 0.98


def test_the_coefficient_and_its_interval() -> None:
    random, groups = np.random.default_rng(7), 400
    x, number = np.tile(SIZES, groups), np.repeat(np.arange(groups), 500)
    y1, y2 = ((100 + 2 * x) * (1 + 0.05 * random.standard_normal(len(x))) for _ in range(2))
    found = kind(x, y1, x, y2 + 0.5 * x, number, number, family=("linear",))
    assert found.coefficient == pytest.approx(0.5, rel=0.3)
    assert np.mean((found.low <= 0.5) & (found.high >= 0.5)) >= 0.97
    assert (found.n == 500).all()
    assert (found.p < 1e-6).all()


@pytest.mark.parametrize(
    ("name", "error", "coefficient", "shape"),
    [
        ("constant", lambda x: 7.0 + 0 * x, 7, np.nan),
        ("logarithmic", lambda x: 4 * np.log(x), 4, np.nan),
        ("linear", lambda x: -0.3 * x, -0.3, np.nan),
        ("linearithmic", lambda x: 5 + 0.2 * x * np.log(x), 0.2, np.nan),
        ("quadratic", lambda x: 20 + 0.01 * x**2, 0.01, np.nan),
        ("cubic", lambda x: 1e-4 * x**3, 1e-4, np.nan),
        ("power", lambda x: 0.5 * x**1.5, 0.5, 1.5),
        ("exponential", lambda x: 2 * 1.02**x, 2, 1.02),
    ],
)
def test_every_kind_is_found_among_all(name: str, error, coefficient: float, shape: float) -> None:
    x = SIZES
    y1, y2 = 100 + 0.05 * np.random.default_rng(8).standard_normal((2, len(x)))
    found = kind(x, y1, x, y2 + error(x), family=MODELS)
    assert found.name() == name
    assert found.coefficient[0] == pytest.approx(coefficient, rel=0.02)
    assert found.low[0] <= coefficient <= found.high[0]
    assert found.shape[0] == pytest.approx(shape, rel=0.01, nan_ok=True)
    assert found.predict([10.0, 300.0]) == pytest.approx(
        error(np.array([10.0, 300.0])), abs=0.1, rel=0.01
    )


def test_a_linear_error_that_a_cache_bends_a_little_is_linear_and_n_log_n_is_not() -> None:
    x, random = np.arange(10.0, 101.0), np.random.default_rng(4)
    base = 2000 + 350 * np.log(x)
    scatter = 1 + 0.004 * random.standard_normal((2, len(x)))
    steep = 40 * x * np.log(x)
    bent = 0.4 * np.polyval(np.polyfit(x, steep, 1), x) + 0.6 * steep
    family = ("constant", "logarithmic", "linear", "linearithmic", "quadratic")
    names = [
        kind(
            x,
            base * scatter[0],
            x,
            (base + error) * scatter[1],
            family=family,
            doubted=("logarithmic", "linearithmic"),
        ).name()
        for error in (bent, steep)
    ]
    assert names == ["linear", "linearithmic"]


def test_an_exact_error_and_none_at_all() -> None:
    x = np.arange(1.0, 11)
    same = kind(x, 3 * x, x, 3 * x)
    assert (same.name(), same.p[0], same.predict(5.0)) == ("none", 1, 0)
    assert np.isnan(same.coefficient[0])
    exact = kind(x, 3 * x, x, 3 * x + 2)
    assert (exact.name(), exact.coefficient[0], exact.p[0]) == ("constant", 2, 0)
    assert (exact.low[0], exact.high[0]) == (2, 2)


def test_where_nothing_can_be_said() -> None:
    few = kind([1.0, 2], [1.0, 2], [1.0, 2], [5.0, 9])
    assert few.name() is None
    assert np.isnan(few.p[0])
    assert np.isnan(few.predict([1.0])).all()
    assert kind([], [], [], [], groups=1).name() is None
    bad = kind([1.0, 2, 3, np.nan], [1.0, 2, np.nan, 4], [1.0, 2, 3, 4], [1.0, 2, 3, 4])
    assert bad.name() is None
    one_sided = kind([1.0, 2, 3], [1.0, 2, 3], [], [], groups=1)
    assert one_sided.name() is None


def test_logarithms_are_left_out_at_size_zero() -> None:
    x = np.arange(0.0, 40)
    found = kind(x, 10 + 0 * x, x, 10 + 2 * x + 0.01 * np.sin(9 * x), family=MODELS)
    assert found.name() == "linear"
    assert kind(x, 10 + 0 * x, x, 10 + 2 * x, family=("logarithmic",)).name() == "none"


def test_unknown_kinds_and_uneven_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="no kind of error round"):
        kind([1.0], [1.0], [1.0], [1.0], family=["round"])
    with pytest.raises(ValueError, match="no kind of error"):
        kind([1.0], [1.0], [1.0], [1.0], family=[])
    with pytest.raises(ValueError, match="equal length"):
        kind([1.0], [1.0, 2], [1.0], [1.0])


def test_sizes_in_common_are_paired_and_the_others_left_out() -> None:
    found = pair(
        [3.0, 1, 1, 2, 4, 5],
        [30.0, 10, 12, 20, 40, 50],
        [1.0, 2, 3, 4, 5, 9],
        [11.5, 22, 33, 44, 55, 99],
    )
    assert found.x.tolist() == [1, 2, 3, 4, 5]
    assert found.difference == pytest.approx([0.5, 2, 3, 4, 5])
    assert found.counts.tolist() == [[2, 1], [1, 1], [1, 1], [1, 1], [1, 1]]
    assert found.baseline.tolist() == [11, 20, 30, 40, 50]
    assert found.target.tolist() == [11.5, 22, 33, 44, 55]


def test_sizes_apart_are_compared_along_the_common_curve() -> None:
    x1, x2 = np.arange(1.0, 101), np.arange(1.5, 101)
    found = pair(x1, 5 + 3 * x1, x2, 5 + 3 * x2)
    assert len(found.x) == 25
    assert found.difference == pytest.approx(np.zeros(25), abs=1e-9)
    # no model is near: straight lines between the means
    stepped = pair(x1, np.floor(x1 / 50), x2, np.floor(x2 / 50))
    assert np.abs(stepped.difference).max() < 0.2


def test_a_single_range_of_sizes_is_compared_as_it_is() -> None:
    found = pair([1.0, 2], [10.0, 12], [1.5, 2.5], [11.0, 13])
    assert len(found.x) == 1
    assert found.counts.tolist() == [[2, 2]]


@pytest.mark.parametrize(("power", "ratio"), [(0.0, 1), (0.5, 30), (1.0, 900)])
def test_weights_follow_how_the_noise_grows_with_the_level(power: float, ratio: float) -> None:
    x, random = np.linspace(10, 300, 400), np.random.default_rng(9)
    y1, y2 = x + 0.05 * x**power * random.standard_normal((2, len(x)))
    weights = ScatterLaws(pair(x, y1, x, y2)).weights
    assert weights[0] / weights[-1] == pytest.approx(ratio, rel=0.15)
