"""A metric over time: parts that add up to the whole, means with bands over executions, and axes
that do not mislead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, Legend
from bokeh.plotting import figure
from pictures import labels
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.bundle import together
from perfvcs.profile import Design, Environment, Job, Metric, Profile, Resources
from perfvcs.reports.page import render
from perfvcs.views.flow import Flow


def heap(
    courses: dict[str, Sequence[float]],
    executions: int = 1,
    times: Sequence[float] = (),
    **overrides: Any,
) -> Profile:
    """What functions kept alive at moments 0, 1, 2, ... seconds; each execution has one byte per
    thousand more than the one before.
    """
    rows = [
        (
            uid,
            execution,
            number,
            value * (1 + execution / 1000),
            times[number] if times else float(number),
        )
        for execution in range(executions)
        for uid, values in courses.items()
        for number, value in enumerate(values)
    ]
    uids = list(courses)
    resources = Resources(
        uids,
        [uids.index(uid) for uid, *_ in rows],
        [execution for _, execution, *_ in rows],
        iteration=[row[2] + 1 for row in rows],
        metrics={"live": [row[3] for row in rows], "moment": [row[4] for row in rows]},
    )
    metrics = {"live": Metric("B", "none", "deterministic"), "moment": Metric("s", "none")}
    fields: dict[str, Any] = {
        "resources": resources,
        "metrics": metrics,
        "job": Job("names", "memory", "./names"),
        "design": Design(executions),
    }
    return sample_profile(**(fields | overrides))


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures, after bokeh has accepted them."""
    view = Flow(**options)
    assert pictures.refusal(view, subject) is None
    layout = pictures.rendered(view, subject)
    pictures.packed(layout)
    return [layout] if isinstance(layout, figure) else list(layout.children)


def data(plot: figure, text: str) -> dict[str, Any]:
    """What the entry of a legend draws."""
    item = next(
        item
        for legend in plot.select({"type": Legend})
        for item in legend.items
        if item.label.value == text
    )
    return dict(item.renderers[0].data_source.data)


TWO = {"f": [1e6, 2e6, 3e6], "g": [4e6, 4e6, 0.0]}


def test_parts_are_piled_up_the_largest_below_and_add_up_to_all() -> None:
    (plot,) = drawn(Subject("x", [heap(TWO)]))
    assert labels(plot) == ["g", "f", "all"]
    assert data(plot, "f")["low"].tolist() == data(plot, "g")["high"].tolist() == [4.0, 4.0, 0.0]
    assert data(plot, "f")["high"].tolist() == data(plot, "all")["y"].tolist() == [5.0, 6.0, 3.0]
    assert data(plot, "f")["share"] == ["20.0 %", "33.3 %", "100 %"]
    assert plot.y_range.start == 0 and plot.yaxis[0].axis_label == "live (MB)"
    assert plot.title.text == "one execution has no interval"
    patterns = [
        one.glyph.hatch_pattern for one in plot.renderers if type(one.glyph).__name__ == "VArea"
    ]
    assert len(set(patterns)) == 2, "not told apart by colour alone"


def test_moments_are_reported_in_seconds_and_samples_by_their_interval() -> None:
    (plot,) = drawn(Subject("x", [heap(TWO, times=[0.0, 0.001, 0.002])]))
    assert plot.xaxis[0].axis_label == "time (ms)"
    profile = pictures.counted(only=("rss",), executions=2, moments=8)
    sampled = msgspec.structs.replace(
        profile, job=msgspec.structs.replace(profile.job, options={"interval": 0.5})
    )
    (counters,) = drawn(Subject("x", [sampled]))
    assert (
        counters.xaxis[0].axis_label == "time (s)" and 3.5 < max(data(counters, "mean")["x"]) <= 4.0
    )


def test_several_executions_have_the_mean_with_students_interval_at_each_moment() -> None:
    values = np.array([[10.0, 30.0], [11.0, 28.0], [9.0, 32.0], [10.5, 31.0]])
    rows = Resources(
        ["sort"],
        [0] * 8,
        [0, 0, 1, 1, 2, 2, 3, 3],
        iteration=[0, 1] * 4,
        metrics={"wall": values.ravel().tolist()},
    )
    (plot,) = drawn(Subject("x", [sample_profile(resources=rows, design=Design(4))]))
    mean, band = data(plot, "mean"), data(plot, "99 % interval")
    assert mean["y"] == pytest.approx(values.mean(axis=0), rel=1e-6) and mean["count"].tolist() == [
        4,
        4,
    ]
    half = 5.840909309732 * values.std(axis=0, ddof=1) / 2  # R: qt(.995, 3)
    assert band["low"] == pytest.approx(values.mean(axis=0) - half, rel=1e-5)
    assert (
        plot.title.text.startswith("mean of 4 executions, a band for each moment")
        and plot.xaxis[0].axis_label == "measurement"
    )


def test_executions_that_end_early_are_counted_where_they_ran() -> None:
    rows = Resources(
        ["sort"],
        [0] * 7,
        [0, 0, 0, 1, 1, 2, 2],
        iteration=[0, 1, 2, 0, 1, 0, 1],
        metrics={"wall": [1.0, 2.0, 3.0, 3.0, 4.0, 2.0, 3.0]},
    )
    (plot,) = drawn(Subject("x", [sample_profile(resources=rows, design=Design(3))]))
    assert data(plot, "mean")["y"].tolist() == [2.0, 3.0, 3.0] and data(plot, "mean")[
        "count"
    ].tolist() == [3, 3, 1]
    assert len(
        data(plot, "99 % interval")["x"]
    ) == 2 and "mean of 1 to 3 executions" in pictures.said(plot)


def test_two_executions_have_no_interval_and_say_so() -> None:
    rows = Resources(
        ["sort"],
        [0] * 4,
        [0, 0, 1, 1],
        iteration=[0, 1] * 2,
        metrics={"wall": [1.0, 2.0, 1.1, 2.1]},
    )
    (plot,) = drawn(Subject("x", [sample_profile(resources=rows, design=Design(2))]))
    assert plot.title.text.startswith("mean of 2 executions, no interval")
    assert "99 % interval" not in labels(plot)
    assert data(plot, "mean")["y"] == pytest.approx([1.05, 2.05])


def test_a_part_without_a_row_at_a_moment_has_nothing_then() -> None:
    profile = heap({"f": [1e6, 1e6], "g": [2e6, 2e6]})
    profile.resources.metrics["live"][3] = None
    (plot,) = drawn(Subject("x", [profile]))
    assert data(plot, "all")["y"].tolist() == [3.0, 1.0]


def test_many_moments_become_means_of_several_with_a_note() -> None:
    profile = pictures.measured(executions=3, iterations=1000, metrics=["wall"])
    (plot,) = drawn(Subject("x", [profile]), points=100)
    assert len(
        data(plot, "mean")["x"]
    ) == 100 and "3,000 rows, each point is the mean of 10 moments" in pictures.said(plot)
    wall = np.array(profile.resources.metrics["wall"], dtype=float).reshape(3, 100, 10)
    assert data(plot, "mean")["y"] == pytest.approx(1000 * wall.mean(axis=(0, 2)), rel=1e-5)


def test_parts_beyond_the_top_are_one_and_counted() -> None:
    (plot,) = drawn(
        Subject("x", [heap({f"f{number}": [1e6 * number] * 3 for number in range(1, 13)})]), top=4
    )
    assert labels(plot) == ["f12", "f11", "f10", "9 others", "all"]
    assert data(plot, "all")["y"].tolist() == [78.0] * 3
    (one,) = drawn(Subject("x", [heap({"f": [1e6] * 3, "g": [2e6] * 3})]), top=1)
    assert labels(one) == ["g", "1 other", "all"]


def test_two_revisions_have_their_totals_on_one_figure_and_a_pile_each() -> None:
    after, before = (
        heap({"f": [2e6, 4e6], "g": [1e6, 1e6]}, 3),
        heap({"f": [1e6, 2e6], "g": [1e6, 1e6]}, 3, commit=pictures.BASELINE),
    )
    totals, first, second = drawn(Subject("x", [after], [before]))
    assert labels(totals) == [
        "baseline",
        "baseline, 99 % interval",
        "target",
        "target, 99 % interval",
    ]
    assert data(totals, "target")["y"] == pytest.approx([3.003, 5.005], rel=1e-5)
    assert first.title.text == "baseline: its parts" and first.y_range is second.y_range
    assert first.x_range is second.x_range is totals.x_range
    alone, *piles = drawn(Subject("x", [heap({"f": [2e6, 4e6]})], [heap({"f": [2e6, 5e6]}, 2)]))
    assert not piles and alone.title.text.startswith("baseline: mean of 2 executions")


def test_an_axis_that_does_not_begin_at_zero_says_how_far_the_values_range() -> None:
    (plot,) = drawn(Subject("x", [heap({"f": [100e6, 101e6]})]))
    assert "from 100 MB to 101 MB, +1.0 %; not from zero" in pictures.said(plot)
    (low,) = drawn(Subject("x", [heap({"f": [10e6, 101e6]})]))
    assert low.y_range.start == 0 and "from" not in pictures.said(low)
    (negative,) = drawn(Subject("x", [heap({"f": [-10e6, 101e6], "g": [1e6, -1e6]})]))
    assert "from -9 MB to 100 MB" in pictures.said(negative) and labels(negative) == [
        "mean"
    ]  # what is below zero is not piled up


def test_the_whole_process_is_not_a_part_of_itself() -> None:
    (plot,) = drawn(Subject("x", [heap(TWO | {"names": [9e6] * 3})]))
    assert labels(plot) == ["g", "f", "all"] and "without the whole process, 9 MB" in pictures.said(
        plot
    )


def test_jobs_metrics_and_environments_have_figures_of_their_own() -> None:
    other = heap(TWO, environment=Environment({"cpu": "other"}, "ffff"))
    assert len(drawn(Subject("x", [heap(TWO), other]))) == 2
    second = heap(TWO, job=Job("words", "memory", "./words"))
    plots = drawn(Subject("x", [heap(TWO), second]))
    assert [plot.title.text.split("\n")[0] for plot in plots] == ["names", "words"]
    counters = Subject("x", [pictures.counted(executions=2, moments=6)])
    assert len(drawn(counters)) > 5 and len(drawn(counters, metrics="rss,cpu_use")) == 2
    assert pictures.refusal(Flow(metrics="no such"), counters) is not None


def test_pages_draw_flows_of_their_own_accord_where_there_is_time() -> None:
    html = render(Subject("x", [pictures.counted(executions=2, moments=6, only=("wall", "rss"))]))
    assert html.count('data-view="flow"') == 1
    steps = Subject("x", [pictures.measured(executions=2, iterations=12, metrics=["wall"])])
    assert 'data-view="flow"' not in render(steps) and 'data-view="flow"' in render(steps, "flow")


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        (Subject("x"), "there are no measurements"),
        (
            Subject("x", [sample_profile()]),
            "it draws samples over time, or many measurements of one unit in each execution",
        ),
        (
            Subject("x", [pictures.measured(uids=["a", "b"], iterations=4)]),
            "it draws samples over time, or many measurements of one unit in each execution",
        ),
    ],
)
def test_what_does_not_fit_says_why(subject: Subject, reason: str) -> None:
    assert pictures.refusal(Flow(), subject) == reason


def test_rows_that_were_all_repeated_are_not_drawn() -> None:
    profile = heap(TWO)
    profile.resources.mark = [2] * len(profile.resources)
    assert pictures.refusal(Flow(), Subject("x", [profile])) == "no row has a usable value"
    (one_side,) = drawn(Subject("x", [heap({"f": [2e6, 4e6]})], [profile]))
    assert labels(one_side) == ["mean"]


def test_options_out_of_range_are_refused() -> None:
    for option in ("top", "points"):
        with pytest.raises(
            UsageError, match=f"view `flow`: {option}: give a whole number of at least 1"
        ):
            plugins.build("views", "flow", {option: 0}, "--set")


def test_memory_and_counters_come_together_under_the_metrics_that_tell_most() -> None:
    subject = Subject("x", [pictures.heaped(), pictures.counted(moments=6)])
    metrics = [metric for _, metric in together(subject)]
    assert (
        metrics[:3] == ["live", "rss", "cpu_use"]
        and "moment" not in metrics
        and "wall" not in metrics
    )


def test_hostile_names_are_only_text() -> None:
    html = render(Subject("x", [heap({attack: [1e6, 2e6] for attack in pictures.ATTACKS})]), "flow")
    assert "<img src=x" not in html
    assert (
        len(
            [
                one
                for plot in drawn(Subject("x", [heap(TWO)]))
                for one in plot.select({"type": ColumnDataSource})
            ]
        )
        > 2
    )
