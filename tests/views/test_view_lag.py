"""Each measurement against the next: dependence inside executions, clusters, and what runsequence
and distribution say of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, Legend
from bokeh.plotting import figure
from cases import each
from numpy.typing import NDArray
from pictures import labels
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.patterns import clusters
from perfvcs.pictures.sample import samples
from perfvcs.profile import REPEATED, Design, Profile, Resources
from perfvcs.reports.page import render
from perfvcs.views.distribution import Distribution
from perfvcs.views.lag import Lag
from perfvcs.views.runsequence import Runsequence


def profile(values: NDArray[np.float64], **columns: Any) -> Profile:
    """Seconds of the shape (executions, measurements)."""
    executions, inner = values.shape
    rows = Resources(
        ["sort"],
        [0] * values.size,
        np.repeat(np.arange(executions), inner).tolist(),
        iteration=np.tile(np.arange(inner), executions).tolist(),
        metrics={"wall": values.ravel().tolist()},
        **columns,
    )
    return sample_profile(resources=rows, design=Design(executions))


def noisy(
    executions: int = 10, inner: int = 100, seed: int = 1, spread: float = 0.01
) -> NDArray[np.float64]:
    return np.asarray(
        0.01 * np.exp(spread * np.random.default_rng(seed).normal(size=(executions, inner)))
    )


def dependent(phi: float, executions: int = 10, inner: int = 300) -> NDArray[np.float64]:
    """Values that remember the one before them."""
    noise = np.random.default_rng(3).normal(0, 0.01, (executions, inner))
    for number in range(1, inner):
        noise[:, number] += phi * noise[:, number - 1]
    return np.asarray(0.01 * np.exp(noise))


def twofold(
    executions: int = 10, inner: int = 100, share: float = 0.3, apart: float = 1.2
) -> NDArray[np.float64]:
    """Cache hits and misses."""
    return noisy(executions, inner) * np.where(
        np.random.default_rng(2).random((executions, inner)) < share, apart, 1.0
    )


def drawn(view: Any, *profiles: Profile) -> list[figure]:
    subject = Subject("x", profiles)
    assert pictures.refusal(view, subject) is None
    layout = pictures.rendered(view, subject)
    pictures.packed(layout)
    return list(layout.select({"type": figure}))


def pairs(plot: figure) -> list[tuple[float, float]]:
    found = [one.data for one in plot.select({"type": ColumnDataSource}) if "next" in one.data]
    return [
        pair for data in found for pair in zip(data["x"].tolist(), data["y"].tolist(), strict=True)
    ]


def title(plot: figure) -> str:
    """The title on one line, and the caption."""
    return pictures.said(plot)


def of(plots: list[figure], axis: str) -> figure:
    return next(plot for plot in plots if plot.yaxis[0].axis_label == axis)


def test_pairs_never_cross_from_one_execution_into_the_next() -> None:
    values = np.array([np.arange(12.0), 100 + np.arange(12.0)])
    plot = of(drawn(Lag(), profile(values)), "the next one")
    assert len(pairs(plot)) == 22 and all(after - before == 1 for before, after in pairs(plot))
    assert plot.xaxis[0].axis_label == "wall time minus the median of the execution (s)"


def test_one_execution_is_drawn_as_it_is() -> None:
    plot = of(drawn(Lag(), profile(noisy(1, 40))), "the next one")
    assert plot.xaxis[0].axis_label == "wall time (ms)" and all(
        9 < before < 11 for before, _ in pairs(plot)
    )


def test_the_coefficients_are_those_of_the_executions_and_their_bound_is_reported() -> None:
    values = dependent(0.6)
    plots = drawn(Lag(lags=3), profile(values))
    told = title(of(plots, "the next one"))
    rest = values - values.mean(axis=1, keepdims=True)
    expected = [
        float(np.mean((rest[:, lag:] * rest[:, : 300 - lag]).sum(axis=1) / (rest**2).sum(axis=1)))
        for lag in (1, 2, 3)
    ]
    assert (
        f"autocorrelation {', '.join(f'{one:+.2f}' for one in expected)}; independent: within ±0.04"
        in told
    )
    assert told.startswith("a measurement depends on those before it") and expected[0] > 0.5
    stems = of(plots, "coefficient")
    (data,) = (one.data for one in stems.select({"type": ColumnDataSource}) if "text" in one.data)
    assert data["y"] == pytest.approx(expected, rel=1e-5) and data["x"].tolist() == [1, 2, 3]
    assert "independent (95 %)" in labels(stems)


def test_what_is_independent_says_so() -> None:
    assert of(drawn(Lag(), profile(noisy())), "the next one").title.text.startswith(
        "no dependence on the measurement before"
    )


def test_executions_of_unequal_lengths_count_those_that_are_long_enough() -> None:
    values = noisy(1, 55).ravel()
    lengths = [30, 20, 5]
    rows = Resources(
        ["sort"],
        [0] * 55,
        np.repeat(np.arange(3), lengths).tolist(),
        iteration=[n for length in lengths for n in range(length)],
        metrics={"wall": values.tolist()},
    )
    plots = drawn(Lag(), sample_profile(resources=rows, design=Design(3)))
    assert f"within ±{1.96 / np.sqrt(50):.2f}" in title(of(plots, "the next one"))
    assert len(pairs(of(plots, "the next one"))) == 52


def test_equal_values_have_no_coefficient() -> None:
    (plot,) = drawn(Lag(), profile(np.full((3, 12), 0.01)))
    assert title(plot).startswith("equal values in every execution: no autocorrelation")


def test_repeated_executions_are_left_out() -> None:
    mark = [REPEATED if row < 20 else 0 for row in range(60)]
    assert len(pairs(of(drawn(Lag(), profile(noisy(3, 20), mark=mark)), "the next one"))) == 38


def test_many_pairs_are_thinned_with_a_note_and_far_ones_counted() -> None:
    values = noisy(4, 1000)
    values[0, 500] = 5.0
    plot = of(drawn(Lag(points=200), profile(values)), "the next one")
    assert 100 <= len(
        pairs(plot)
    ) <= 200 and "of 3,996 pairs drawn, including the extremes" in title(plot)
    assert "1 value beyond this axis" in title(plot) and plot.x_range.end < 1000


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (Subject("x"), "there are no measurements"),
        (
            Subject("x", [sample_profile()]),
            "it draws executions of at least 10 measurements, not samples over time",
        ),
        (
            Subject("x", [profile(noisy(3, 9))]),
            "it draws executions of at least 10 measurements, not samples over time",
        ),
        (
            Subject("x", [pictures.counted()]),
            "it draws executions of at least 10 measurements, not samples over time",
        ),
        (Subject("x", [profile(noisy())], [profile(noisy())]), "it draws one revision, not two"),
    ],
)
def test_what_does_not_fit_says_why(subject: Subject, reason: str) -> None:
    assert pictures.refusal(Lag(), subject) == reason


def test_an_option_out_of_range_is_refused() -> None:
    with pytest.raises(UsageError, match="view `lag`: lags: give a whole number of at least 1"):
        plugins.build("views", "lag", {"lags": 0}, "--set")


def test_a_page_draws_it_where_a_measurement_depends_on_the_one_before() -> None:
    walk = np.cumsum(noisy(3, 20) - noisy(3, 20).mean(), axis=1) + 10
    assert 'data-view="lag"' not in render(Subject("x", [profile(noisy(3, 20))]))
    html = render(Subject("x", [profile(walk)]))
    assert html.count('data-view="lag"') == 1 and "a measurement depends on those before it" in html


def test_clusters_are_reported_by_all_three_views_with_markers_of_their_own() -> None:
    two = profile(twofold())
    lag = of(drawn(Lag(), two), "the next one")
    order, heap = (drawn(view, two)[0] for view in (Runsequence(), Distribution()))
    for plot in (lag, order, heap):
        assert "2 clusters: 69.0 % about 9.988 ms, 31.0 % about 11.99 ms" in title(plot)
    assert labels(lag)[:2] == labels(order)[:2] == ["in cluster 1", "in cluster 2"]
    markers = [
        legend.items[number].renderers[0].glyph.marker
        for legend in lag.select({"type": Legend})
        for number in (0, 1)
    ]
    assert len(set(map(str, markers))) == 2
    assert "centres of clusters" in labels(heap)
    (centres,) = (
        one.data
        for one in heap.select({"type": ColumnDataSource})
        if "bottom" in one.data and "x" in one.data
    )
    assert centres["x"] == pytest.approx([10, 12], rel=0.01)


def test_the_run_sequence_hides_a_median_that_jumps_between_clusters() -> None:
    def running(found: figure) -> bool:
        items = [item for legend in found.select({"type": Legend}) for item in legend.items]
        return bool(
            next(item for item in items if item.label.value.startswith("running"))
            .renderers[0]
            .visible
        )

    assert running(drawn(Runsequence(), profile(noisy()))[0]) and not running(
        drawn(Runsequence(), profile(twofold()))[0]
    )


def test_bins_are_as_narrow_as_a_cluster_needs() -> None:
    (plot,) = drawn(Distribution(), profile(twofold()))
    (bins,) = (
        one.data
        for one in plot.select({"type": ColumnDataSource})
        if "top" in one.data and "left" in one.data
    )
    assert len(bins["top"]) > 20 and bins["top"].sum() == 1000


@each(
    "name values",
    [
        ("one heap", noisy()),
        ("a tail", 0.01 * (1 + 0.05 * np.random.default_rng(4).gamma(1, 1, (10, 100)))),
        (
            "executions that differ as a whole",
            noisy() * np.where(np.arange(10) < 3, 1.3, 1.0)[:, None],
        ),
        ("few values", twofold(4, 10)),
        (
            "less than a percent apart",
            noisy(spread=0.0005) * np.where(np.arange(100) % 2, 1.005, 1.0),
        ),
        ("two outliers", np.where(np.arange(1000) < 2, 3.0, 1.0).reshape(10, 100) * noisy()),
        ("a slope", 0.01 * np.exp(np.linspace(0, 0.3, 100) + np.log(noisy() / 0.01))),
        ("zeros", np.zeros((10, 20))),
        ("equal values", np.full((10, 20), 0.01)),
        ("values below zero", twofold() - 0.011),
    ],
)
def test_what_is_no_clusters_is_not_called_so(name: str, values: NDArray[np.float64]) -> None:
    (sample,) = samples([profile(values)])
    assert clusters(sample) is None, name


def test_three_clusters_are_three_and_every_value_is_in_one() -> None:
    random = np.random.default_rng(5)
    kinds = random.choice(3, (10, 100))
    values = noisy() * np.array([1.0, 1.2, 1.4])[kinds]
    (sample,) = samples([profile(values, mark=[REPEATED] * 100 + [0] * 900)])
    found = clusters(sample)
    assert found is not None and found.centres == pytest.approx([0.01, 0.012, 0.014], rel=0.01)
    assert (found.labels[:100] == -1).all() and (
        found.labels[100:] == kinds.ravel()[100:]
    ).mean() > 0.99
    assert found.text("s").startswith(
        "3 clusters: 33.3 % about 9.98 ms, "
    ) and found.shares.sum() == pytest.approx(1)


def test_independent_values_of_equal_spread_are_seldom_called_clusters() -> None:
    random = np.random.default_rng(6)
    called = 0
    for _ in range(100):
        (sample,) = samples(
            [
                profile(
                    0.01 * np.exp(random.normal(0, 0.01, (5, 1)) + random.normal(0, 0.01, (5, 20)))
                )
            ]
        )
        called += clusters(sample) is not None
    assert called <= 6
