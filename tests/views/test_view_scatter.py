"""The picture of one revision over sizes: its rows, all models, what the best one leaves, what
postprocessors left, and a terminal's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, GlyphRenderer, Legend, LogScale, TabPanel
from bokeh.plotting import figure
from samples import sample_profile
from test_view_curves import LOG, SIZES, Array, durations, labels, panels, recorded

from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.curvesides import growth, interval, judged, replicates, sides_of
from perfvcs.pictures.modelled import Residuals, stored
from perfvcs.postprocessors.clusterizer import Clusterizer
from perfvcs.postprocessors.kernel_regression import KernelRegression
from perfvcs.postprocessors.lowess import Lowess
from perfvcs.postprocessors.moving_average import MovingAverage
from perfvcs.postprocessors.outliers import Outliers
from perfvcs.postprocessors.regression import Regression
from perfvcs.postprocessors.regressogram import Regressogram
from perfvcs.profile import REPEATED, Environment, Job, Profile
from perfvcs.profile.fittedmodels import read as read_entries
from perfvcs.reports.page import render
from perfvcs.views.curves import Curves
from perfvcs.views.scatter import TEXTS, Scatter

pytestmark = pytest.mark.slow


def one(curve: Callable[[Array], Array] = LOG, sizes: Array = SIZES, **options: Any) -> Subject:
    return Subject("one", [recorded({"search": curve}, sizes, **options)])


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures of all tabs in their order, after bokeh has accepted them."""
    assert pictures.refusal(Scatter(), subject) is None
    layout = pictures.rendered(Scatter(**options), subject)
    pictures.packed(layout)
    children = [
        panel.child
        for panel in sorted(layout.select({"type": TabPanel}), key=lambda panel: panel.id)
    ]
    return [
        plot
        for child in children
        for plot in ([child] if isinstance(child, figure) else child.children)
    ]


def data(plot: figure, column: str) -> list[Any]:
    return [one.data for one in plot.select({"type": ColumnDataSource}) if column in one.data]


def lines(plot: figure) -> dict[str, GlyphRenderer[Any]]:
    """What a click on the legend hides, by its text."""
    return {
        item.label.value: item.renderers[0]
        for legend in plot.select({"type": Legend})
        for item in legend.items
    }


def test_every_model_is_there_and_the_best_is_marked_drawn_and_written_out() -> None:
    above, below, *_ = drawn(one())
    models = {text: line.visible for text, line in lines(above).items() if " r² " in text}
    assert next(iter(models)) == "▸ logarithmic r² 1.00" and len(models) == 8
    assert list(models.values()) == [True] + [False] * 7
    assert " ns ln n, O(log n), r² 0.99" in pictures.said(above)
    # the axis does not begin at zero
    assert "means 135.8 ns to 203.3 ns, +49.6 %" in pictures.said(above)
    assert above.y_range.only_visible and below.x_range is above.x_range


def test_rows_are_drawn_one_by_one_with_what_they_are() -> None:
    above, *_ = drawn(one())
    (rows,) = data(above, "iteration")
    assert len(rows["x"]) == 5 * 280, "the first twenty of each execution are cold"
    assert "100 rows left out: first calls, or repeated" in pictures.said(
        above
    ) and "5 executions, 1,400 rows" in pictures.said(above)
    assert {int(execution) for execution in rows["execution"]} == {1, 2, 3, 4, 5}
    assert "means, quartiles" in labels(above)


def test_many_rows_are_thinned_with_a_note_and_keep_their_extremes() -> None:
    above, below, *_ = drawn(one(sizes=np.arange(1.0, 3001)), points=200)
    (rows,) = data(above, "iteration")
    assert 100 <= len(rows["x"]) <= 200 and f"{len(rows['x']):,} drawn" in pictures.said(above)
    assert len(data(below, "value")[0]["x"]) == len(rows["x"])


def test_a_row_a_thousand_times_too_large_does_not_flatten_the_others() -> None:
    subject = one()
    values = subject.target[0].resources.metrics["duration"]
    values[700] = 1e-4
    linear = drawn(subject)[2]
    assert "1 row beyond this axis" in pictures.said(linear)
    assert lines(linear)["rows"] not in linear.y_range.renderers
    assert lines(linear)["means, quartiles"] in linear.y_range.renderers


def test_the_interval_is_that_of_the_executions_curves() -> None:
    subject = one(executions=6)
    sample = durations(subject.target[0])
    (side,) = sides_of(None, sample)
    fits = replicates(sample, side)
    assert fits is not None
    x = np.array([50.0, 200.0])
    found = interval(fits, x)
    assert found is not None
    size, values, execution = judged(sample)
    curves = []
    for number in range(6):
        mine = execution == number
        level = values[mine]  # close to the weights that the fit takes: 1 / level^2
        design = np.stack([np.ones(mine.sum()), np.log(size[mine])], axis=1) / level[:, None]
        b0, b1 = np.linalg.lstsq(design, np.ones(mine.sum()), rcond=None)[0]
        curves.append(b0 + b1 * np.log(x))
    logs = np.log(curves)
    half = 4.032142983557536 * logs.std(axis=0, ddof=1) / np.sqrt(6)  # R: qt(.995, 5)
    assert found[0] == pytest.approx(np.exp(logs.mean(axis=0) - half), rel=2e-3)
    assert found[1] == pytest.approx(np.exp(logs.mean(axis=0) + half), rel=2e-3)
    assert "99 % interval" in labels(drawn(subject)[0])


def test_one_execution_has_no_interval_and_says_so() -> None:
    above, *_ = drawn(one(executions=1))
    assert "1 execution, no interval" in pictures.said(above)
    assert "99 % interval" not in labels(above) and "means, quartiles" not in labels(above)


def test_values_below_zero_have_an_interval_without_logarithms() -> None:
    # below zero: no logarithms
    profile = recorded({"f": lambda n: -1e-8 - 1e-9 * n}, np.arange(30.0, 60))
    sample = durations(profile)
    (side,) = sides_of(None, sample)
    fits = replicates(sample, side)
    assert fits is not None
    low, high = interval(fits, np.array([40.0])) or ([1.0], [0.0])
    assert low[0] < high[0] < 0 and low[0] == pytest.approx(-5e-8, rel=0.02)
    alone = msgspec.structs.replace(profile)
    alone.resources.execution = [0] * len(alone.resources)
    assert replicates(durations(alone), side) is None


def test_residuals_tell_how_many_rows_are_far() -> None:
    size = np.repeat(np.arange(1.0, 101), 10)
    random = np.random.default_rng(2)
    curve = 1e-6 * size
    values = curve * (1 + 0.02 * random.normal(size=1000))
    values[:20] *= 1.5
    found = Residuals(size, values, curve, "s")
    assert found.relative and found.limit == pytest.approx(0.06, rel=0.1)
    assert found.outside == pytest.approx(0.02, abs=0.005)
    assert found.summary().endswith("% of 1,000 rows beyond ±" + f"{100 * found.limit:.1f} %")
    at, middle = found.medians
    assert len(at) == 24 and middle[0] > 0.1 and abs(middle[5]) < 0.02


def test_residuals_of_a_curve_that_touches_zero_have_the_metrics_unit() -> None:
    found = Residuals(
        np.arange(3.0), np.array([1e-3, 2e-3, 2.5e-3]), np.array([0.0, 1e-3, 2e-3]), "s"
    )
    assert not found.relative and found.text(1e-3) == "1 ms"
    exact = Residuals(np.arange(3.0), np.ones(3), np.ones(3), "s")
    assert (
        exact.limit == 0 and exact.outside == 0 and exact.summary() == "0 % of 3 rows beyond ±0 %"
    )


def test_residuals_are_drawn_below_with_the_medians_along_the_sizes() -> None:
    subject = one(lambda n: 1e-7 + 0 * n)
    subject.target[0].resources.metrics["duration"][700] = 1e-4
    _, below, *_ = drawn(subject)
    assert (
        below.title.text == "residuals of the best model"
        and "1 further than this axis reaches" in pictures.said(below)
    )
    assert (
        labels(below) == ["rows", "medians", "±3 robust s. d."]
        and below.yaxis[0].axis_label == "value minus model (%)"
    )


def test_wide_sizes_begin_on_logarithmic_axes_and_narrow_ones_on_linear() -> None:
    for sizes, first in (
        (np.arange(1.0, 1001), "logarithmic axes"),
        (np.arange(50.0, 100), "linear axes"),
    ):
        tabs = pictures.rendered(Scatter(), one(sizes=sizes))
        assert tabs.tabs[0].title == first and set(panels(tabs)) == {
            "logarithmic axes",
            "linear axes",
        }
        assert {isinstance(plot.y_scale, LogScale) for plot in tabs.select({"type": figure})} == {
            True,
            False,
        }
    assert len(panels(pictures.rendered(Scatter(both=False), one()))) == 1


def test_sizes_below_one_and_values_of_zero_have_linear_axes_only() -> None:
    subject = one(lambda n: 0 * n, np.arange(-20.0, 20))
    assert panels(pictures.rendered(Scatter(), subject)) == ["linear axes"]
    assert len(drawn(subject)) == 2


def test_size_zero_is_left_out_of_logarithmic_axes() -> None:
    log, _, linear, _ = drawn(one(sizes=np.arange(59.0, -1, -1)))
    points = [min(data(plot, "median")[0]["x"]) for plot in (log, linear)]
    assert points[0] > 0 and points[1] == 0


def test_thousands_of_sizes_are_put_together() -> None:
    above, *_ = drawn(one(sizes=np.arange(1.0, 5001)))
    (means,) = data(above, "median")
    assert 50 <= len(means["x"]) <= 500 and sum(means["count"]) == 5 * 4980
    bounded, *_ = drawn(one(sizes=np.arange(1.0, 5001)), points=40)
    assert len(data(bounded, "median")[0]["x"]) <= 40


def test_executions_that_were_repeated_are_left_out() -> None:
    subject = one(sizes=np.arange(1.0, 21))
    rows = subject.target[0].resources
    rows.mark = [REPEATED if execution == 0 else 0 for execution in rows.execution]
    assert set(data(drawn(subject)[0], "median")[0]["count"]) == {4}
    rows.mark = [REPEATED] * len(rows)
    assert drawn(subject)  # better than nothing


@pytest.mark.parametrize("curve", ["power", "exponential"])
def test_the_equation_of_a_curve_of_free_shape(curve: str) -> None:
    shapes: dict[str, Callable[[Array], Array]] = {
        "power": lambda n: 1e-8 * n**1.5,
        "exponential": lambda n: 1e-8 * 1.05**n,
    }
    subject = one(shapes[curve], np.arange(1.0, 101))
    sample = durations(subject.target[0])
    above, *_ = drawn(subject)
    assert (" ns n^1." if curve == "power" else " ns 1.0") in pictures.said(above)
    assert growth(sample).startswith("O(n^1.5)" if curve == "power" else "O(1.05^n)")
    assert growth(sample).endswith("sizes 11 to 100")


def test_what_does_not_fit_says_why() -> None:
    assert (
        pictures.refusal(Scatter(), Subject("x", [sample_profile()]))
        == "it draws values against at least five sizes"
    )
    with pytest.raises(
        UsageError,
        match=(
            "`scatter` does not fit here, it draws values against at least five sizes; these do:"
            " executions"
        ),
    ):
        render(Subject("x", [sample_profile()]), "scatter")
    assert pictures.refusal(Scatter(), one(sizes=np.array([1.0, 2, 4, 8]))) is not None
    both = Subject("two", [recorded({"f": LOG}, SIZES)], [recorded({"f": LOG}, SIZES, 0)])
    assert (
        pictures.refusal(Scatter(), both) == "it draws one revision, not two: `curves` draws both"
    )


def test_workloads_of_several_sizes_are_drawn_as_one_besides_their_own_figures() -> None:
    bound = [
        (n, Job("sort", "time", "./sort {n}", workload=str(n), params={"n": n}))
        for n in (10, 20, 40, 80, 160)
    ]
    workloads = [pictures.measured(sizes=[n], job=job, metrics=["wall"]) for n, job in bound]
    assert pictures.refusal(Scatter(), Subject("x", workloads[1:])) is not None
    page = render(Subject("x", workloads))
    assert page.count('data-view="scatter"') == 1 and page.count('data-view="executions"') == 5
    assert pictures.written(Scatter(), Subject("x", workloads), 80).startswith("sort {n}")
    assert pictures.refusal(Curves(), Subject("x", workloads, workloads)) is None


def test_a_function_that_one_side_lacks_is_drawn_alone() -> None:
    old, new = recorded({"f": LOG}, SIZES, 0), recorded({"f": LOG, "g": LOG}, SIZES)
    above, *_ = drawn(Subject("new", [new], [old]))
    assert above.title.text.startswith("only the target has it\n")
    page = render(Subject("new", [new], [old], pictures.report([old], [new])))
    assert page.count('data-view="scatter"') == 1 and page.count('data-view="curves"') == 1
    gone, *_ = drawn(Subject("gone", [old], [new]))
    assert gone.title.text.startswith("only the baseline has it\n")


def test_each_environment_has_a_figure_of_its_own() -> None:
    other = recorded({"search": LOG}, SIZES, environment=Environment({"cpu": "other"}, "ffff"))
    plots = drawn(Subject("places", [*one().target, other]))
    assert len(plots) == 8 and {plot.title.text.split("\n")[0] for plot in plots[::2]} == {
        "in 0123456789ab",
        "in ffff",
    }


def fitted(*processors: Any, curve: Callable[[Array], Array] = LOG) -> Profile:
    """A profile that was processed."""
    profile = recorded({"search": curve, "other": LOG}, SIZES)
    for processor in processors:
        profile = processor.apply(profile)
    return profile


def search(profile: Profile) -> Subject:
    """As the page narrows a subject to one unit and metric."""
    from perfvcs.pictures.pageparts import parts

    (part,) = [
        one
        for one in parts(Subject("x", [profile]), whole=True)
        if (one.unit.uid, one.metric) == ("search", "duration")
    ]
    return part.narrow()


def test_curves_that_postprocessors_left_are_drawn_with_what_they_are() -> None:
    profile = fitted(Regression(), MovingAverage(window=9), KernelRegression(), Regressogram())
    above, *_ = drawn(search(profile))
    assert [text for text in labels(above) if text.startswith("stored ")] == [
        "stored regression",
        "stored moving average",
        "stored kernel regression",
        "stored regressogram",
    ]
    told = {
        text: line.data_source.data["details"][0]
        for text, line in lines(above).items()
        if text.startswith("stored ")
    }
    assert told["stored regression"].startswith("logarithmic, O(log n), r² 0.99")
    assert told["stored moving average"].startswith("kind mean, window 9, r² 0.9")
    assert type(lines(above)["stored regressogram"].glyph).__name__ == "Step"


def test_a_stored_band_is_drawn_around_its_curve() -> None:
    profile = fitted(Lowess())
    band = next(iter(profile.models)).band
    below = msgspec.structs.replace(profile.models[0], band=([-1.0] * len(band[0]), band[1]))
    for model, clipped in ((profile.models[0], False), (below, True)):
        for above in drawn(search(msgspec.structs.replace(profile, models=[model])))[::2]:
            (entry,) = (
                item for item in above.select_one(Legend).items if "lowess" in item.label.value
            )
            curve, area = (one.data_source.data for one in entry.renderers)
            assert (area["low"] < curve["y"]).all() and (curve["y"] <= area["high"]).all()
            assert (area["low"] > 0).all() or (clipped and not isinstance(above.y_scale, LogScale))


def test_a_stored_model_is_the_curve_that_its_coefficients_say() -> None:
    profile = fitted(Regression(models=["linear"]), curve=lambda n: 1e-7 + 2e-9 * n)
    (curve,), unreadable = stored([profile], durations_of(profile, "search"), "linear")
    assert curve.y[:-1] == pytest.approx(1e-7 + 2e-9 * curve.x[:-1], rel=0.01) and unreadable == 0


def test_models_of_parts_are_one_curve_with_gaps() -> None:
    profile = fitted(Regression(strategy="interval", steps=3))
    (curve,), _ = stored([profile], durations_of(profile, "search"), "log")
    assert curve.details == "3 models of parts" and np.isnan(curve.y).sum() == 3


def durations_of(profile: Profile, uid: str) -> Any:
    from perfvcs.pictures.sample import samples

    return next(
        one
        for one in samples([profile], whole=True)
        if (one.unit.uid, one.metric) == (uid, "duration")
    )


@pytest.mark.parametrize(
    "entry",
    [
        {
            "postprocessor": "regression",
            "best": True,
            "model": "septic",
            "coefficients": [1.0, 2.0],
            "x": [1.0, 2.0],
        },
        {
            "postprocessor": "regression",
            "best": True,
            "model": "linear",
            "coefficients": [1.0],
            "x": [1.0, 2.0],
        },
        {
            "postprocessor": "regression",
            "best": True,
            "model": "linear",
            "coefficients": [1.0, 2.0],
        },
        {"postprocessor": "regression", "best": "yes"},
        {"postprocessor": "regressogram", "points": [[1.0, 2.0], [1.0]]},
        {"postprocessor": "moving-average", "points": [[2.0, 1.0], [1.0, 1.0]]},
        {"postprocessor": "moving-average"},
        {
            "postprocessor": "lowess",
            "points": [[1.0, 2.0], [1.0, 2.0]],
            "x": [1.0, 2.0],
            "rows": 2,
            "sizes": 2,
            "r2": 1.0,
            "share": 0.5,
            "robust": 3,
            "confidence": 0.99,
            "band": [[1.0], [2.0, 3.0]],
        },
        {"postprocessor": "kernel-regression", "points": "</script><img src=x onerror=alert(1)>"},
    ],
)
def test_models_that_cannot_be_read_are_counted(entry: dict[str, Any]) -> None:
    profile = recorded(
        {"search": LOG},
        SIZES,
        models=read_entries([{"uid": "search", "metric": "duration", "by": "size", **entry}]),
    )
    above, *_ = drawn(Subject("x", [profile]))
    assert "1 stored model cannot be read" in pictures.said(above)


def test_models_of_others_and_of_unknown_postprocessors_are_not_drawn() -> None:
    about = {"uid": "search", "metric": "duration"}
    models = [
        about | {"postprocessor": "bootstrap"},
        about | {"postprocessor": "moving-average", "by": "cost", "points": [[1], [2]]},
        {
            "uid": "other",
            "metric": "duration",
            "postprocessor": "moving-average",
            "points": [[1], [2]],
        },
        {"postprocessor": 7},
    ]
    profile = recorded({"search": LOG}, SIZES, models=read_entries(models))
    assert not any(text.startswith("stored") for text in labels(drawn(Subject("x", [profile]))[0]))


def test_rows_marked_as_outliers_and_clusters_look_otherwise() -> None:
    profile = recorded({"search": LOG}, SIZES)
    profile.resources.metrics["duration"][700] = 1e-4
    above, *_ = drawn(search(Outliers().apply(profile)))
    assert (
        "marked as outliers" in labels(above)
        and lines(above)["marked as outliers"].glyph.marker == "x"
    )
    assert "beyond this axis" in pictures.said(above)
    clustered = Clusterizer(strategy="sliding-window", height=0.2).apply(
        recorded({"search": LOG}, SIZES)
    )
    found, *_ = drawn(search(clustered))
    assert "cluster 2" in labels(found) and "rows" not in labels(found)
    sorted_ = Clusterizer(strategy="sort-order").apply(recorded({"search": LOG}, SIZES))
    assert "other clusters" in labels(drawn(search(sorted_))[0])


def test_the_table_of_one_revision_names_the_order_of_growth() -> None:
    page = render(
        Subject("one", [recorded({"search": LOG, "flat": lambda n: 1e-7 + 0 * n}, SIZES)])
    )
    assert "O(log n), sizes 21 to 300" in page and "O(1), sizes 21 to 300" in page


def test_a_benchmark_of_few_sizes_that_is_not_recorded_keeps_its_other_figures() -> None:
    profile = pictures.measured(sizes=[10, 20, 40, 80, 160, 320], metrics=["wall"], executions=4)
    page = render(Subject("sizes", [profile]))
    assert page.count('data-view="scatter"') == 1 and page.count('data-view="executions"') == 6


def test_a_page_of_many_functions_says_how_many_it_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("perfvcs.reports.sections.FIGURES", 8)
    names = {f"f{number}": LOG for number in range(9)}
    page = render(Subject("many", [recorded(names, np.arange(1.0, 9), executions=2)]))
    assert "are not drawn, to keep this page small" in page
    assert 1 <= page.count('data-view="scatter"') < 9


def test_a_terminal_shows_points_the_best_model_and_its_equation() -> None:
    said = pictures.written(Scatter(), one(), 80)
    assert (
        said.startswith("skiplist · search\n")
        and "○" in said
        and "duration (ns)" in said
        and said.count("\n") > 14
    )
    assert " ns ln n, O(log n), r² 0.99" in said and "○ means at some sizes   ⠤ best model" in said
    few = pictures.written(
        Scatter(), one(sizes=np.array([10.0, 100, 1000, 10_000, 100_000]), executions=1), 80
    )
    assert "○ means at each size" in few and "100,000" in few
    flat = pictures.written(Scatter(), one(lambda n: 0 * n, np.arange(-20.0, 20)), 60)
    assert "O(1)" in flat and max(map(len, flat.split("\n"))) <= 60


def test_a_terminal_gets_a_few_plots_and_how_many_there_are_besides() -> None:
    many = Subject(
        "many",
        [
            recorded(
                {f"f{number}": LOG for number in range(TEXTS + 3)}, np.arange(1.0, 30), executions=2
            )
        ],
    )
    assert pictures.written(Scatter(), many, 80).endswith("\n\nand 3 more")
