"""The postprocessors that draw curves without a model: against closed forms, numpy and statsmodels,
and on rows that make no curve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import sample_profile

from perfvcs import plugins
from perfvcs.errors import UsageError
from perfvcs.postprocessors import kernel_regression
from perfvcs.postprocessors.kernel_regression import KernelRegression
from perfvcs.postprocessors.lowess import Lowess
from perfvcs.postprocessors.moving_average import MovingAverage
from perfvcs.postprocessors.regressogram import Regressogram
from perfvcs.profile import REPEATED, Metric, Profile, Resources
from perfvcs.profile.decoding import decode
from perfvcs.profile.fittedmodels import LowessEntry, as_written

SMOOTHERS = [
    Regressogram(),
    Regressogram(buckets="auto", statistic="median"),
    MovingAverage(),
    MovingAverage(kind="median"),
    MovingAverage(kind="exponential"),
    KernelRegression(),
    KernelRegression(mode="user", bandwidth=3.0, estimate="lc"),
    Lowess(),
    Lowess(share=0.2, robust=0),
]


def timed(
    x: Sequence[Any], y: Sequence[Any], units: Sequence[int] | None = None, **columns: Any
) -> Profile:
    """A profile with the durations ``y`` at the sizes ``x`` of the units ``f0``, ``f1``, ..."""
    codes = list(units or [0] * len(x))
    resources = Resources(
        names=[f"f{code}" for code in range(max(codes, default=0) + 1)],
        uid=codes,
        execution=[0] * len(codes),
        size=list(x),
        metrics={"duration": list(y)},
        **columns,
    )
    return sample_profile(resources=resources, metrics={"duration": Metric("s")})


def curve(
    seed: int = 1, rows: int = 300, sizes: int = 60, noise: float = 0.1
) -> tuple[list[float], list[float]]:
    """Rising durations with noise."""
    rng = np.random.default_rng(seed)
    x = rng.integers(1, sizes + 1, rows).astype(float)
    return x.tolist(), ((50 + x * np.log(x)) * np.exp(noise * rng.standard_normal(rows))).tolist()


def points(profile: Profile, place: int = 0) -> tuple[Any, Any]:
    x, y = profile.models[place].points
    return np.array(x), np.array(y)


def test_a_mean_over_the_window_is_a_convolution() -> None:
    x, y = np.arange(1.0, 31), np.random.default_rng(1).random(30)
    found = MovingAverage(window=5).apply(timed(x.tolist(), y.tolist()))
    assert points(found)[0] == pytest.approx(x)
    assert points(found)[1][2:-2] == pytest.approx(np.convolve(y, np.full(5, 0.2), mode="valid"))
    assert points(found)[1][0] == pytest.approx(y[:3].mean())
    assert found.models[0].window == 5


def test_a_median_passes_over_an_outlier() -> None:
    y = [1.0, 2.0, 300.0, 4.0, 5.0, 6.0, 7.0]
    found = MovingAverage(kind="median", window=3).apply(timed(list(range(1, 8)), y))
    assert points(found)[1].tolist() == [1.5, 2.0, 4.0, 5.0, 5.0, 6.0, 6.5]


def test_rows_of_one_size_are_never_separated() -> None:
    found = MovingAverage(window=1).apply(timed([1, 1, 1, 2, 3], [1.0, 2.0, 6.0, 5.0, 7.0]))
    assert points(found)[1].tolist() == [3.0, 5.0, 7.0]
    wider = MovingAverage(window=3).apply(timed([1, 1, 2, 3], [2.0, 4.0, 6.0, 20.0]))
    assert points(wider)[1].tolist() == pytest.approx([4.0, 8.0, 13.0])


@pytest.mark.parametrize(
    ("option", "alpha"), [("alpha", 0.3), ("com", 7 / 3), ("span", 17 / 3), ("halflife", 1.943358)]
)
def test_an_exponential_average_weighs_what_is_before(option: str, alpha: float) -> None:
    y = np.random.default_rng(2).random(40)
    found = MovingAverage(kind="exponential", **{option: alpha}).apply(
        timed(list(range(40)), y.tolist())
    )
    weights = 0.7 ** np.arange(40)
    expected = [
        (weights[: n + 1][::-1] * y[: n + 1]).sum() / weights[: n + 1].sum() for n in range(40)
    ]
    assert points(found)[1] == pytest.approx(np.array(expected), rel=1e-6)
    assert found.models[0].alpha == pytest.approx(0.3, rel=1e-6)


def test_an_exponential_average_begins_anew_in_each_unit() -> None:
    found = MovingAverage(kind="exponential", alpha=0.5).apply(
        timed([1, 2, 1, 2], [1.0, 4.0, 10.0, 40.0], [0, 0, 1, 1])
    )
    assert points(found, 0)[1] == pytest.approx([1.0, 3.0])
    assert points(found, 1)[1] == pytest.approx([10.0, 30.0])


def left_out(x: Any, y: Any, window: int) -> float:
    """The squared error at rows that are left out one by one, by the definition."""
    total = 0.0
    for place in range(len(x)):
        low, high = max(0, place - window // 2), min(len(x), place + window // 2 + 1)
        others = [y[other] for other in range(low, high) if other != place]
        total += (y[place] - np.mean(others)) ** 2
    return total


def test_the_window_is_the_one_that_predicts_best() -> None:
    x = np.arange(120.0)
    y = np.sin(x / 12) + 0.3 * np.random.default_rng(3).standard_normal(120)
    chosen = MovingAverage().apply(timed(x.tolist(), y.tolist())).models[0].window
    tried = [3, 5, 8, 12, 20, 31, 50, 81, 120]
    assert chosen == min(tried, key=lambda window: left_out(x, y, window))
    assert 5 < chosen < 50


def test_a_noisier_curve_has_a_wider_window_and_a_smaller_alpha() -> None:
    x = np.arange(300.0)
    noise = np.random.default_rng(4).standard_normal(300)
    both = timed([*x, *x], [*(x + 0.1 * noise), *(x + 100 * noise)], [0] * 300 + [1] * 300)
    quiet, loud = MovingAverage().apply(both).models
    assert quiet.window < loud.window
    quiet, loud = MovingAverage(kind="exponential").apply(both).models
    assert quiet.alpha > loud.alpha


@pytest.mark.parametrize(
    "rule", ["auto", "doane", "fd", "rice", "scott", "sqrt", "stone", "sturges"]
)
def test_buckets_are_those_of_numpys_rules(rule: str) -> None:
    rng = np.random.default_rng(5)
    parts = [rng.lognormal(3, 0.5, 400), rng.normal(100, 5, 50), np.arange(1.0, 8)]
    units = np.repeat([0, 1, 2], [len(part) for part in parts]).tolist()
    found = Regressogram(buckets=rule).apply(
        timed(np.concatenate(parts).tolist(), [1.0] * len(units), units)
    )
    expected = [len(np.histogram_bin_edges(part, rule)) - 1 for part in parts]
    assert [entry.buckets for entry in found.models] == expected


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_the_steps_are_the_statistic_of_their_bucket(statistic: str) -> None:
    x, y = (np.array(column) for column in curve())
    found = Regressogram(buckets=7, statistic=statistic).apply(timed(x.tolist(), y.tolist()))
    edges = np.linspace(x.min(), x.max(), 8)
    bucket = np.minimum(np.searchsorted(edges, x, side="right") - 1, 6)
    expected = np.array([getattr(np, statistic)(y[bucket == number]) for number in range(7)])
    assert points(found)[0] == pytest.approx((edges[1:] + edges[:-1]) / 2)
    assert points(found)[1] == pytest.approx(expected)
    r2 = 1 - ((y - expected[bucket]) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert found.models[0].r2 == pytest.approx(r2)


def test_a_far_size_does_not_make_millions_of_buckets() -> None:
    found = Regressogram(buckets="fd").apply(timed([*range(50), 10**12], [1.0] * 51))
    assert found.models[0].buckets == 200
    assert len(points(found)[0]) == 2


@pytest.mark.parametrize("estimate", ["ll", "lc"])
@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
def test_kernel_regression_is_that_of_statsmodels(estimate: str) -> None:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    x, y = curve(6, 80)
    found = KernelRegression(mode="user", bandwidth=4.0, estimate=estimate).apply(timed(x, y))
    expected, _ = KernelReg(y, x, "c", estimate, np.array([4.0])).fit(points(found)[0])
    assert points(found)[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("estimate", ["ll", "lc"])
@pytest.mark.parametrize("criterion", ["cv_ls", "aic"])
@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
def test_the_bandwidth_of_the_estimator_is_that_of_statsmodels(
    criterion: str, estimate: str
) -> None:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    rng = np.random.default_rng(7)
    x = np.linspace(1, 60, 40)
    y = np.sin(x / 6) + 0.2 * rng.standard_normal(40)
    profile = timed(x.tolist(), y.tolist())
    found = (
        KernelRegression(mode="estimator", criterion=criterion, estimate=estimate)
        .apply(profile)
        .models[0]
    )
    assert found.bandwidth_by == criterion
    with np.errstate(all="ignore"):  # where no other row is within reach
        expected = abs(KernelReg(y, x, "c", estimate, criterion).bw[0])
    assert found.bandwidth == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("estimate", ["ll", "lc"])
@pytest.mark.filterwarnings("ignore:After 0.17:FutureWarning")
def test_the_criteria_of_the_search_are_those_of_statsmodels(estimate: str) -> None:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    rng = np.random.default_rng(8)
    x, y = np.sort(rng.uniform(0, 10, 60)), rng.standard_normal(60)
    width = np.array([0.8])
    theirs = KernelReg(y, x, "c", estimate, width)
    expected = {
        "cv_ls": theirs.cv_loo(width, theirs.est[estimate])[0],
        "aic": theirs.aic_hurvich(width)[0],
    }
    ours = {
        criterion: kernel_regression._criterion(x, y, estimate, criterion)(width)
        for criterion in expected
    }
    assert ours == pytest.approx(expected, rel=1e-9)


def test_a_size_that_nothing_reaches_does_not_lead_the_search_astray() -> None:
    x = [*range(1, 41), 1e6]
    y = [float(size % 7) for size in range(41)]
    assert np.isfinite(KernelRegression(mode="estimator").apply(timed(x, y)).models[0].bandwidth)


def test_very_many_units_are_searched_in_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.linspace(1, 60, 200)
    profile = timed(x.tolist(), np.sin(x / 6).tolist())
    whole = KernelRegression(mode="estimator").apply(profile).models[0]
    monkeypatch.setattr(kernel_regression, "IN_ALL", 0)
    fewer = KernelRegression(mode="estimator").apply(profile).models[0]
    assert fewer.bandwidth != whole.bandwidth
    assert 0.1 < fewer.bandwidth / whole.bandwidth < 10


@pytest.mark.parametrize("rule", ["scott", "silverman"])
def test_the_bandwidth_of_the_rules_is_scipys(rule: str) -> None:
    from scipy.stats import gaussian_kde

    x, y = curve(8)
    found = KernelRegression(rule=rule).apply(timed(x, y)).models[0]
    expected = gaussian_kde(x, rule).factor * np.std(x, ddof=1)
    assert found.bandwidth == pytest.approx(expected)
    assert found.bandwidth_by == rule


@pytest.mark.parametrize("estimate", ["ll", "lc"])
def test_cells_of_many_sizes_change_little(estimate: str) -> None:
    rng = np.random.default_rng(9)
    x = np.sort(rng.uniform(0, 1000, 3000))
    y = 5 + np.sin(x / 100) + 0.1 * rng.standard_normal(3000)
    few = timed([*x, 1.0, 2.0], [*y, 1.0, 2.0], [0] * 3000 + [1, 1])
    found = KernelRegression(mode="user", bandwidth=20.0, estimate=estimate).apply(few)
    at, values = points(found)
    assert len(at) == 200
    weight = np.exp(-(((x - at[:, None]) / 20) ** 2) / 2)
    if estimate == "lc":
        expected = (weight * y).sum(axis=1) / weight.sum(axis=1)
    else:
        away = x - at[:, None]
        s0, s1, s2 = (np.sum(weight * away**power, axis=1) for power in range(3))
        t0, t1 = (np.sum(weight * away**power * y, axis=1) for power in range(2))
        expected = (s2 * t0 - s1 * t1) / (s0 * s2 - s1**2)
    assert values == pytest.approx(expected, abs=2e-3)
    assert points(found, 1)[0].tolist() == [1.0, 2.0]


def test_a_straight_line_stays_one() -> None:
    x = np.arange(1.0, 51)
    found = KernelRegression().apply(timed(x.tolist(), (3 + 2 * x).tolist()))
    assert points(found)[1] == pytest.approx(3 + 2 * x)
    assert found.models[0].r2 == pytest.approx(1)


@pytest.mark.parametrize("smoother", SMOOTHERS[2:], ids=repr)  # a regressogram is made of steps
def test_r2_is_that_of_the_curve_between_its_points(smoother: Any) -> None:
    x, y = (np.array(column) for column in curve(10, 2000, 900))
    found = smoother.apply(timed(x.tolist(), y.tolist()))
    rest = y - np.interp(x, *points(found))
    assert len(points(found)[0]) == 200
    assert found.models[0].sizes == len(np.unique(x))
    assert found.models[0].r2 == pytest.approx(1 - (rest**2).sum() / ((y - y.mean()) ** 2).sum())
    assert found.models[0].x == (x.min(), x.max())


values = st.floats(-1e3, 1e3).map(lambda value: round(value, 3))


@pytest.mark.parametrize("smoother", SMOOTHERS, ids=repr)
@settings(max_examples=25, deadline=None)
@given(
    data=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), values), min_size=1, max_size=30),
    seed=st.randoms(),
)
def test_neither_the_order_of_rows_nor_that_of_units_matters(
    smoother: Any, data: list[Any], seed: Any
) -> None:
    def found(rows: list[Any], names: dict[int, int]) -> dict[str, Any]:
        units, x, y = zip(*rows, strict=True)
        made = smoother.apply(timed(x, y, [names[unit] for unit in units]))
        assert decode(made.encode()).models == made.models
        back = {f"f{new}": f"f{old}" for old, new in names.items()}
        return {
            back[entry.uid]: as_written(msgspec.structs.replace(entry, uid=""))
            for entry in made.models
        }

    expected = found(data, {0: 0, 1: 1, 2: 2})
    mixed = list(data)
    seed.shuffle(mixed)
    again = found(mixed, {0: 2, 1: 0, 2: 1})
    assert again.keys() == expected.keys()
    for uid, entry in expected.items():
        assert list(again[uid].pop("points")) == [
            pytest.approx(column, rel=1e-9, abs=1e-9) for column in entry.pop("points")
        ]
        assert again[uid].pop("r2") == pytest.approx(entry.pop("r2"), abs=1e-6)
        assert again[uid] == entry


@each("smoother", [*SMOOTHERS, KernelRegression(mode="estimator")])
@each(
    "x y",
    [
        ([5.0], [2.0]),
        ([5.0] * 6, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.1] * 6),
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0] * 6),
        ([-3.0, -1.0, 0.0, 2.0, 5.0, 6.0], [-1.0, 0.0, 2.0, -4.0, 5.0, 8.0]),
        ([1.0, 2.0, 3.0, 1e300, 5.0, 6.0], [1e308, -1e308, 1.7e308, 1e-300, 0.0, 5e307]),
        ([1e-300, 2e-300, 3e-300, 5e-324, 4e-300, 7e-300], [5e-324, 1e-310, 0.0, 1e-320, 1.0, 2.0]),
        ([None, 1.0, 2.0, None, 3.0, float("nan")], [1.0, None, 2.0, 3.0, 5.0, 6.0]),
    ],
    ids=["one row", "one size", "one value", "zeros", "negative", "huge", "tiny", "missing"],
)
def test_rows_that_make_no_curve_are_reported_in_finite_numbers(
    smoother: Any, x: list[Any], y: list[Any]
) -> None:
    found = smoother.apply(timed(x, y))
    assert decode(found.encode()).models == found.models
    usable = np.isfinite(np.array(x, dtype=float)) & np.isfinite(np.array(y, dtype=float))
    assert found.models[0].rows == usable.sum()
    assert all(np.isfinite(column).all() for column in points(found))
    assert np.isfinite(found.models[0].r2)


def test_rows_that_do_not_count_are_left_out() -> None:
    x, y = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 900.0, 4.0]
    marked = timed(x, y, mark=[0, 0, REPEATED, 1])
    assert points(MovingAverage(window=1).apply(marked))[0].tolist() == [1.0, 2.0, 4.0]
    resources = replace(
        marked.resources,
        mark=None,
        metrics={"duration": y, "duration.outlier": [0.0, 0.0, 1.0, None]},
    )
    metrics = {"duration": Metric("s"), "duration.outlier": Metric("", "none")}
    outlying = msgspec.structs.replace(marked, resources=resources, metrics=metrics)
    assert points(MovingAverage(window=1).apply(outlying))[0].tolist() == [1.0, 2.0, 4.0]


def test_very_many_units_have_short_curves() -> None:
    units = np.repeat(np.arange(10_000), 20)
    found = MovingAverage(window=1).apply(
        timed(np.tile(np.arange(20.0), 10_000).tolist(), [1.0] * 200_000, units.tolist())
    )
    assert {len(entry.points[0]) for entry in found.models} == {16}
    assert {(entry.points[0][0], entry.points[0][-1]) for entry in found.models} == {(0.0, 19.0)}


def test_another_metric_can_be_x() -> None:
    profile = timed([1.0, 2.0], [5.0, 7.0])
    resources = replace(
        profile.resources, size=None, metrics={"duration": [5.0, 7.0], "bytes": [10.0, 30.0]}
    )
    profile = msgspec.structs.replace(
        profile, resources=resources, metrics={"duration": Metric("s"), "bytes": Metric("B")}
    )
    found = MovingAverage(window=1, by="bytes").apply(profile)
    assert [(entry.metric, entry.by, entry.x) for entry in found.models] == [
        ("duration", "bytes", (10.0, 30.0))
    ]
    with pytest.raises(UsageError, match="has no sizes"):
        MovingAverage().apply(profile)


def test_lowess_is_that_of_statsmodels() -> None:
    from statsmodels.nonparametric.smoothers_lowess import lowess

    x, y = curve(rows=200)
    at, values = points(Lowess(share=0.3, robust=2).apply(timed(x, y)))
    order = np.argsort(x, kind="stable")
    expected = lowess(np.array(y)[order], np.array(x)[order], frac=0.3, it=2, xvals=at)
    assert values == pytest.approx(expected, rel=1e-6)


def test_lowess_is_not_bent_by_outliers() -> None:
    x, y = curve(noise=0.01)
    spoilt = [value * 40 if place % 25 == 0 else value for place, value in enumerate(y)]
    clean, bent, robust = (
        points(smoother.apply(timed(x, values)))[1]
        for smoother, values in ((Lowess(), y), (Lowess(robust=0), spoilt), (Lowess(), spoilt))
    )
    assert np.abs(robust / clean - 1).max() < 0.02
    assert np.abs(bent / clean - 1).max() > 0.5


@pytest.mark.simulation
def test_the_band_of_lowess_holds_a_line_about_as_often_as_it_says() -> None:
    held = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        x = np.repeat(np.arange(1.0, 31), 8)
        y = 10 + x + rng.standard_normal(len(x))
        (entry,) = Lowess(confidence=0.9).apply(timed(x.tolist(), y.tolist())).models
        assert isinstance(entry, LowessEntry) and entry.band is not None
        held.append(
            np.mean(
                [
                    low <= 10 + size <= high
                    for size, low, high in zip(entry.points[0], *entry.band, strict=True)
                ]
            )
        )
    assert 0.8 < np.mean(held) < 0.96


def test_the_band_of_lowess_is_as_wide_as_executions_differ() -> None:
    rng = np.random.default_rng(1)
    execution = np.repeat(np.arange(10), 30)
    x = np.tile(np.arange(1.0, 31), 10)
    y = 100 + x + 5 * rng.standard_normal(10)[execution] + 0.1 * rng.standard_normal(300)
    profile = timed(x.tolist(), y.tolist())
    runs = msgspec.structs.replace(
        profile, resources=replace(profile.resources, execution=execution.tolist())
    )
    apart, alike = (Lowess().apply(one).models[0] for one in (runs, profile))
    assert (
        isinstance(apart, LowessEntry)
        and isinstance(alike, LowessEntry)
        and apart.band
        and alike.band
    )
    wide, narrow = (np.subtract(*one.band[::-1]) for one in (apart, alike) if one.band)
    assert (wide > 2 * narrow).all()


def test_very_many_units_have_no_band() -> None:
    x, units = np.tile([1.0, 2.0, 3.0], 101), np.repeat(np.arange(101), 3)
    found = Lowess().apply(timed(x.tolist(), (x + 1).tolist(), units.tolist()))
    assert len(found.models) == 101 and {
        one.band for one in found.models if isinstance(one, LowessEntry)
    } == {None}


@each(
    "name options message",
    [
        ("moving-average", {"kind": "men"}, "kind cannot be 'men'; did you mean `mean`"),
        (
            "moving-average",
            {"window": 0},
            "window is 0: give a whole number from 1 to 1e.09, such as 20",
        ),
        (
            "moving-average",
            {"kind": "exponential", "alpha": 0},
            "alpha is 0.0: give a number above 0, at most 1",
        ),
        ("moving-average", {"kind": "exponential", "alpha": 0.5, "span": 3}, "alpha and span"),
        ("moving-average", {"com": 2}, "belongs to kind"),
        ("moving-average", {"kind": "exponential", "window": 5}, "no window"),
        ("regressogram", {"buckets": "stoned"}, "did you mean `stone`"),
        ("regressogram", {"buckets": 1000}, "buckets is 1000: give a whole number from 1 to 200"),
        ("regressogram", {"statistic": "mode"}, "statistic cannot be 'mode'"),
        ("lowess", {"share": 0}, "share is 0.0: give a number above 0, at most 1, such as 0.5"),
        ("lowess", {"robust": 1.5}, "robust"),
        ("kernel-regression", {"mode": "user"}, "needs a bandwidth"),
        ("kernel-regression", {"bandwidth": 3}, 'needs mode = "user"'),
        (
            "kernel-regression",
            {"mode": "user", "bandwidth": -1},
            "bandwidth is -1.0: give a number above 0, such as 50",
        ),
        ("kernel-regression", {"rule": "scot"}, "did you mean `scott`"),
    ],
)
def test_an_option_that_cannot_be_is_named_with_its_place(
    name: str, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as found:
        plugins.build("postprocessors", name, options, "job `sort`")
    assert str(found.value).startswith("job `sort`: ")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("smoother", SMOOTHERS, ids=repr)
def test_sizes_without_a_value_make_no_curve(smoother: Any) -> None:
    assert smoother.apply(timed([1.0, 2.0], [None, None])).models == []
