"""Heat maps: what a cell stands for, counters and memory over time, measurements by execution and
size, and the page around them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pictures
import pytest
from bokeh.plotting import figure
from browsing import BROWSER, Opened, views
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pictures import BASELINE, counted, heaped, measured
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.heat import cells
from perfvcs.pictures.sample import interval, numbered
from perfvcs.plugins.view import Unfit
from perfvcs.profile import Environment, Job, Metric, Profile, Resources
from perfvcs.reports import page
from perfvcs.views.heatmap import Heatmap


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures of a subject from top left, after bokeh has accepted them."""
    return pictures.figures(Heatmap(**options), subject)


def boxes(plot: figure) -> list[dict[str, Any]]:
    """What is told of each cell."""
    (found,) = plot.select({"name": "cells"})
    data = found.data_source.data
    return [
        dict(zip(data, row, strict=True))
        for row in zip(*(list(column) for column in data.values()), strict=True)
    ]


def title(plot: figure) -> str:
    """The title on one line, and the caption."""
    return pictures.said(plot)


def rows(plot: figure) -> list[str]:
    """The names at the rows, from the top."""
    labels = plot.yaxis[0].major_label_overrides
    return [labels[place] for place in sorted(labels)]


def counters(
    values: dict[str, list[float | None]],
    *,
    interval: float = 0.5,
    executions: int = 1,
    **overrides: Any,
) -> Profile:
    """A profile with these counters, a value for each interval and execution."""
    count = len(next(iter(values.values())))
    fields: dict[str, Any] = {
        "job": Job("shop", "counters", "./shop", options={"interval": interval}),
        "metrics": {name: Metric("B" if name == "rss" else "", "none") for name in values},
        "resources": Resources(
            ["shop"],
            [0] * count,
            np.repeat(np.arange(executions), count // executions).tolist(),
            iteration=[*range(1, count // executions + 1)] * executions,
            metrics=values,
        ),
    }
    return sample_profile(**(fields | overrides))


# cells


def test_a_cell_has_the_mean_and_the_ends_of_what_falls_into_it() -> None:
    found = cells(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([1.0, 4.0, -2.0]), (2, 2))
    np.testing.assert_equal(found.mean, [[np.nan, 2.5], [-2.0, np.nan]])
    np.testing.assert_equal(found.low, [[np.nan, 1.0], [-2.0, np.nan]])
    np.testing.assert_equal(found.high, [[np.nan, 4.0], [-2.0, np.nan]])
    assert found.count.tolist() == [[0, 2], [1, 0]]


@settings(max_examples=100, deadline=None)
@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e308, 1e308)))
def test_a_mean_lies_between_the_ends(values: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    place = np.zeros(len(values), np.int64)
    found = cells(place, place, values, (1, 1))
    assert found.low[0, 0] == values.min() <= found.mean[0, 0] <= values.max() == found.high[0, 0]


@pytest.mark.parametrize(
    ("first", "last", "most"), [(1, 10, 4), (0, 0, 200), (5, 204, 200), (0, 10**15, 7)]
)
def test_bins_are_few_equal_and_cover_all_numbers(first: int, last: int, most: int) -> None:
    (columns,) = numbered([np.array([first, last])], most)
    assert columns.count <= most and columns.place(np.array([first, last])).tolist() == [
        0,
        columns.count - 1,
    ]
    assert (
        set(np.diff(columns.edges)) == {columns.step}
        and columns.edges[0] == first <= last < columns.edges[-1]
    )


def test_both_sides_have_bins_of_one_width() -> None:
    long, short, nothing = numbered(
        [np.arange(1, 101), np.arange(1, 41), np.empty(0, np.int64)], 50
    )
    assert (long.count, short.count, nothing.count) == (
        50,
        20,
        1,
    ) and long.step == short.step == nothing.step == 2


@pytest.mark.parametrize("wrong", [None, "0.5", True, 0, -1, float("inf")])
def test_an_interval_that_is_none_is_the_usual_one(wrong: Any) -> None:
    assert (
        interval(sample_profile(job=Job("shop", "counters", "./shop", options={"interval": wrong})))
        == 0.1
    )
    assert (
        interval(sample_profile(job=Job("shop", "counters", "./shop", options={"interval": 2})))
        == 2.0
    )


# over time


def test_each_counter_is_coloured_by_its_own_range() -> None:
    (plot,) = drawn(
        Subject(
            "x",
            [
                counters(
                    {"rss": [1e6, 3e6, 2e6], "load": [0.5, 0.5, 0.1], "threads": [8.0, 8.0, 8.0]}
                )
            ],
        )
    )
    assert rows(plot) == ["rss\n1 to 3 MB", "load\n0.1 to 0.5"]
    assert [box["shade"] for box in boxes(plot)] == pytest.approx([0, 1, 0.5, 1, 1, 0])
    assert [box["at"] for box in boxes(plot)][:2] == ["0 s to 500 ms", "500 ms to 1 s"] and boxes(
        plot
    )[1]["text"] == "3 MB"
    assert plot.xaxis[0].axis_label == "time (s)" and (plot.x_range.start, plot.x_range.end) == (
        0,
        1.5,
    )
    for words in (
        "shop · counters over time",
        "1 constant, left out: threads",
        "colours: each row by its own range",
    ):
        assert words in title(plot)


def test_executions_are_averaged_and_their_ends_stated() -> None:
    (plot,) = drawn(
        Subject("x", [counters({"rss": [1e6, 5e6, 3e6, 6e6], "load": [1, 2, 3, 4]}, executions=2)])
    )
    assert [box["text"] for box in boxes(plot)][:2] == [
        "2 MB, 1 MB to 3 MB in 2",
        "5.5 MB, 5 MB to 6 MB in 2",
    ]
    assert "means of 2 executions" in title(plot)


def test_many_samples_share_cells_and_the_title_says_so() -> None:
    values: list[float | None] = [*map(float, range(1000))]
    (plot,) = drawn(Subject("x", [counters({"rss": values, "load": values})]))
    assert len(boxes(plot)) == 400 and "1 execution, 5 samples to a cell" in title(plot)
    assert (
        boxes(plot)[0]["text"] == "2 B, 0 B to 4 B in 5" and boxes(plot)[0]["at"] == "0 s to 2.5 s"
    )


def test_more_rows_than_can_be_drawn_are_counted() -> None:
    values = {f"counter{number}": [1.0, 2.0, 3.0] for number in range(70)}
    (plot,) = drawn(Subject("x", [counters({**values})]))
    assert len(rows(plot)) == 60 and "60 of 70 rows drawn" in title(plot)
    (plot,) = drawn(Subject("x", [counters({**values})]), rows=2, columns=2)
    assert len(boxes(plot)) == 4


def test_a_missing_sample_is_hatched_and_not_zero() -> None:
    (plot,) = drawn(Subject("x", [counters({"rss": [0.0, None, 2.0], "load": [1.0, 2.0, 3.0]})]))
    assert [box["at"] for box in boxes(plot) if box["name"] == "rss"] == [
        "0 s to 500 ms",
        "1.0 s to 1.5 s",
    ]
    assert "hatched: no value" in title(plot)
    assert any(getattr(renderer.glyph, "hatch_pattern", None) == "/" for renderer in plot.renderers)


def test_counters_that_never_change_are_reported_and_not_drawn() -> None:
    still = counters({f"counter{number}": [1.0, 1.0] for number in range(6)})
    words = "6 constant, left out: counter0, counter1, counter2, counter3 and 2 more"
    with pytest.raises(Unfit, match=words):
        drawn(Subject("x", [still]))


def test_a_single_moment_is_not_drawn() -> None:
    with pytest.raises(Unfit, match="nothing that was recorded over time varies"):
        drawn(Subject("x", [counters({"rss": [1.0], "load": [2.0]})]))


def test_counters_of_several_units_have_both_names() -> None:
    profile = counted(executions=1)
    profile.resources.metrics["machine_busy"] = [1.0 + row for row in range(len(profile.resources))]
    (plot,) = drawn(Subject("x", [profile]))
    assert [name.partition("\n")[0] for name in rows(plot)][-2:] == [
        "shop · machine_busy",
        "machine · machine_busy",
    ]
    assert "rss" in [name.partition("\n")[0] for name in rows(plot)]


def test_two_revisions_stand_side_by_side_under_one_scale_and_time() -> None:
    before = counters({"rss": [1.0, 2.0], "load": [1.0, 2.0]}, commit=BASELINE)
    after = counters({"rss": [1.0, 2.0, 5.0], "load": [1.0, 2.0, 2.0]})
    first, second = drawn(Subject("x", [after], [before]))
    assert first.title.text.startswith("baseline\nshop") and second.title.text.startswith(
        "target\nshop"
    )
    assert [box["shade"] for box in boxes(first)][:2] == pytest.approx([0, 0.25])
    assert [box["shade"] for box in boxes(second)][:3] == pytest.approx([0, 0.25, 1])
    assert first.x_range is second.x_range and second.x_range.end == 1.5
    assert rows(first) == rows(second) == ["rss\n1 to 5 B", "load\n1 to 2"]


def test_environments_have_figures_of_their_own() -> None:
    other = counters(
        {"rss": [1.0, 2.0], "load": [2.0, 1.0]}, environment=Environment({}, "fedcba987654")
    )
    plots = drawn(Subject("x", [counters({"rss": [1.0, 2.0], "load": [2.0, 1.0]}), other]))
    assert sorted(
        found for plot in plots for found in re.findall(r"in [0-9a-f]{12}", title(plot))
    ) == ["in 0123456789ab", "in fedcba987654"]


def test_revisions_of_very_different_lengths_have_axes_of_their_own() -> None:
    before = counters({"rss": [1.0, 2.0], "load": [1.0, 2.0]}, commit=BASELINE)
    values: list[float | None] = [*map(float, range(600))]
    first, second = drawn(Subject("x", [counters({"rss": values, "load": values})], [before]))
    assert (first.x_range.end, second.x_range.end) == (
        1,
        300,
    ) and "1 and 3 samples to a cell" in title(first)
    assert "note the time axes: the lengths differ greatly" in title(second)


def test_memory_is_drawn_by_function_in_bytes_from_zero() -> None:
    (plot,) = drawn(Subject("x", [heaped(moments=4)]))
    bar = next(one for one in plot.below if hasattr(one, "color_mapper"))
    assert bar.major_label_overrides[0.0] == "0 B" and bar.major_label_overrides[1.0].endswith("MB")
    assert rows(plot)[0] == "g" and set(rows(plot)) == {"g", "h", "names", "parse"}
    assert "live over time" in title(plot) and plot.xaxis[0].axis_label == "time (ms)"
    assert [box["at"] for box in boxes(plot)][:2] == ["0 s to 10 ms", "10 ms to 20 ms"]
    assert max(box["shade"] for box in boxes(plot)) == 1


def test_moments_that_stand_still_are_parts() -> None:
    profile = heaped(moments=3)
    profile.resources.metrics["moment"] = [
        None if value is None else 1.0 for value in profile.resources.metrics["moment"]
    ]
    (plot,) = drawn(Subject("x", [profile]))
    assert plot.xaxis[0].axis_label == "part" and boxes(plot)[1]["at"] == "part 1"
    (plot,) = drawn(Subject("x", [profile]), columns=2)
    assert boxes(plot)[0]["at"] == "part 0 to 1"


def test_logarithms_tell_small_values_apart() -> None:
    (plot,) = drawn(
        Subject("x", [counters({"rss": [1.0, 10.0, 100.0, 0.0], "load": [1.0, 2.0, 3.0, 4.0]})]),
        log=True,
    )
    assert [box["shade"] for box in boxes(plot) if box["name"] == "rss"] == pytest.approx(
        [0, 0.5, 1]
    )
    assert "by logarithms" in title(plot) and "hatched: no value, or none above zero" in title(plot)
    profile = heaped(moments=4)
    profile.resources.metrics["live"] = [
        None if value is None else -1.0 for value in profile.resources.metrics["live"]
    ]
    (plot,) = drawn(Subject("x", [profile]), log=True)
    assert "no value has a logarithm" in title(plot) and not boxes(plot)


# measurements


def test_measurements_by_execution_have_a_row_each_and_say_how_far_they_reach() -> None:
    values = {"wall": [0.010, 0.011, 0.012, 0.010, 0.010, 0.015]}
    table = Resources(
        ["sort"], [0] * 6, [0, 0, 0, 1, 1, 1], iteration=[0, 1, 2, 0, 1, 2], metrics={**values}
    )
    (plot,) = drawn(Subject("x", [sample_profile(resources=table)]), by="execution")
    assert (
        rows(plot) == ["1", "2"]
        and plot.yaxis[0].axis_label == "execution"
        and plot.xaxis[0].axis_label == "measurement"
    )
    assert [box["shade"] for box in boxes(plot)] == pytest.approx([0, 0.2, 0.4, 0, 0, 1], abs=2**-9)
    assert boxes(plot)[5]["at"] == "measurement 3" and boxes(plot)[5]["text"] == "15 ms"
    assert "colours from 10 ms to 15 ms, +50.0 %" in title(plot) and (
        plot.x_range.start,
        plot.x_range.end,
    ) == (0.5, 3.5)


def test_many_executions_and_measurements_share_cells() -> None:
    (plot,) = drawn(
        Subject("x", [measured(executions=130, iterations=450, metrics=["wall"])]), by="execution"
    )
    assert len(boxes(plot)) <= 60 * 200 and "3 measurements to a cell" in title(plot)
    assert (
        rows(plot)[0] == "1 to 3"
        and boxes(plot)[0]["at"] == "measurement 1 to 3"
        and boxes(plot)[0]["text"].endswith(" in 9")
    )


def test_sizes_are_columns_in_their_order() -> None:
    subject = Subject("x", [measured(sizes=[10, 1000, 100], executions=4, metrics=["wall"])])
    (plot,) = drawn(subject, by="size")
    assert [box["at"] for box in boxes(plot)][:3] == ["size 10", "size 100", "size 1,000"]
    assert plot.xaxis[0].major_label_overrides == {0.5: "10", 1.5: "100", 2.5: "1,000"}
    assert boxes(plot)[1]["shade"] > boxes(plot)[0]["shade"]
    (plot,) = drawn(subject, by="size", columns=2)
    assert [box["at"] for box in boxes(plot)][:2] == [
        "size 10 to 100",
        "size 1,000",
    ] and "2 sizes to a cell" in title(plot)


def test_equal_measurements_have_one_colour_and_words() -> None:
    table = Resources(
        ["sort"], [0] * 4, [0, 0, 1, 1], iteration=[0, 1, 0, 1], metrics={"wall": [0.01] * 4}
    )
    (plot,) = drawn(Subject("x", [sample_profile(resources=table)]), by="execution")
    assert "all values are equal" in title(plot) and {box["shade"] for box in boxes(plot)} == {0}


def test_only_the_first_benchmarks_are_drawn_by_execution() -> None:
    uids = [f"test{number}" for number in range(9)]
    plots = drawn(
        Subject("x", [measured(uids=uids, iterations=2, metrics=["wall"])]), by="execution"
    )
    more = "the first 6 pairs of benchmark and metric, and there are more"
    assert [more in title(plot) for plot in plots] == [False] * 5 + [True]


# what fits


@pytest.mark.parametrize(
    ("subject", "by", "words"),
    [
        (
            Subject("nothing"),
            "time",
            "it draws what the collectors `counters` and `memory` record over time",
        ),
        (pictures.one(), "time", "--set by=execution draws other measurements"),
        (
            Subject("one", [counters({"rss": [1.0, 2.0]})]),
            "time",
            "it draws several names over time, and there is one",
        ),
        (pictures.one(), "execution", "every execution has one measurement"),
        (pictures.one(), "size", "the measurements are not of several sizes"),
    ],
)
def test_a_subject_with_nothing_to_draw_gets_the_reason(
    subject: Subject, by: Any, words: str
) -> None:
    assert words in (pictures.refusal(Heatmap(by=by), subject) or "")


@pytest.mark.parametrize(
    ("rows", "columns", "told"),
    [
        (0, 1, "rows: give a whole number of at least 1"),
        (1, -1, "columns: give"),
        (1000, 1000, "1,000 rows of 1,000 columns: give"),
    ],
)
def test_sizes_that_make_no_picture_are_refused(rows: int, columns: int, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        plugins.build("views", "heatmap", {"rows": rows, "columns": columns}, "--set")


def test_what_a_command_reports_is_no_counter() -> None:
    profile = counters(
        {"rss": [1.0, 2.0, 3.0], "load": [1.0, 3.0, 2.0], "latency": [1.0, 2.0, 5.0]}
    )
    (plot,) = drawn(
        Subject(
            "x",
            [
                sample_profile(
                    job=profile.job,
                    resources=profile.resources,
                    metrics={**profile.metrics, "latency": Metric("s")},
                )
            ],
        )
    )
    assert [name.partition("\n")[0] for name in rows(plot)] == ["rss", "load"]


def test_rows_without_a_value_are_not_drawn() -> None:
    table = Resources(
        ["sort"], [0] * 4, [0, 0, 1, 1], iteration=[0, 1, 0, 1], metrics={"wall": [None] * 4}
    )
    subject = Subject("x", [sample_profile(resources=table)])
    assert pictures.refusal(Heatmap(by="execution"), subject) == "no row has a usable value"


# the page


def test_a_page_of_counters_begins_with_them_all_together() -> None:
    found = views(
        page.render(Subject("x", [counted(executions=2, moments=5, only=("rss", "cpu_use"))]))
    )
    assert found.count("heatmap") == 1 and found[0] == "heatmap"


def test_options_say_what_is_drawn() -> None:
    assert set(views(page.render(pictures.one(iterations=5), "heatmap", {"by": "execution"}))) == {
        "heatmap"
    }
    with pytest.raises(
        UsageError, match="view `heatmap` does not fit here, it draws what the collectors"
    ):
        page.render(pictures.one(iterations=5), "heatmap")


def test_very_many_rows_are_a_small_page() -> None:
    values: list[float | None] = [*np.random.default_rng(2).random(200_000).tolist()]
    subject = Subject("x", [counters({"rss": values, "load": values[::-1]})])
    assert len(page.render(subject, "heatmap").encode()) < 2_000_000


def hostile() -> Subject:
    """Two revisions whose functions are attacks."""
    sides = []
    for commit in (BASELINE, pictures.TARGET):
        moments = [(name, moment) for name in pictures.ATTACKS for moment in range(5)]
        table = Resources(
            list(pictures.ATTACKS),
            [pictures.ATTACKS.index(name) for name, _ in moments],
            [0] * len(moments),
            iteration=[moment for _, moment in moments],
            metrics={
                "live": [float(row) for row in range(len(moments))],
                "moment": [float(moment) for _, moment in moments],
            },
        )
        job = Job(pictures.ATTACKS[0], "memory", "./x")
        metrics = {"live": Metric(pictures.ATTACKS[0], "none"), "moment": Metric("s", "none")}
        sides.append([sample_profile(resources=table, metrics=metrics, job=job, commit=commit)])
    return Subject(pictures.ATTACKS[0], sides[1], sides[0])


def test_names_are_short_lines_without_formulas() -> None:
    for plot in drawn(hostile()):
        for text in [*rows(plot), *(box["name"] for box in boxes(plot))]:
            assert len(text) <= 84 and not any(
                mark in text for mark in ("\x00", "\n", "\u202e", "$$")
            )


@BROWSER
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("name", ["two", "hostile"])
def test_heat_maps_are_drawn_quietly_side_by_side_where_there_is_room(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    subject = (
        hostile()
        if name == "hostile"
        else Subject("x", [counted(seed=2)], [counted(commit=BASELINE)])
    )
    render = page.render
    monkeypatch.setattr("test_pages.page.render", lambda subject: render(subject, "heatmap"))
    opened = Opened(browser, tmp_path, subject, width)
    assert opened.run("document.documentElement.dataset.failed") is None
    assert opened.problems() == []
    assert opened.run("document.documentElement.scrollWidth") <= width
    tops = opened.run(
        "(() => { const all = view => [view, ...(view.child_views || []).flatMap(all)];"
        " return [...Bokeh.index.roots].flatMap(all).filter(view => view.model.name === 'heatmap')"
        ".map(view => view.el.getBoundingClientRect().top); })()"
    )
    assert len(tops) == 2 and (tops[0] == tops[1]) == (width == 1400)
