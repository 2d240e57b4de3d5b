"""Bars of units: from zero, beside their baseline, divided into parts, and never more than a reader
can take.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pictures
import pytest
from bokeh.models import ColumnDataSource, GlyphRenderer, Legend
from bokeh.plotting import figure
from samples import sample_profile

from perfvcs import plugins
from perfvcs.check.subject import Subject
from perfvcs.errors import UsageError
from perfvcs.pictures.bundle import together
from perfvcs.profile import REPEATED, Collected, Design, Job, Metric, Profile, Resources
from perfvcs.reports.page import render
from perfvcs.views.bars import Bars

SESSION = Collected(
    "20261120T093000-4f2a91", "2026-11-20T09:30:00Z", "2026-11-20T09:30:02Z", "perfvcs 0.1.0"
)


def made(
    rows: Sequence[tuple[str, int, float]], *, name: str = "work", **overrides: Any
) -> Profile:
    """A profile of rows: unit, execution, seconds."""
    names = list(dict.fromkeys(uid for uid, _, _ in rows))
    columns: dict[str, Any] = {
        "execution": [execution for _, execution, _ in rows],
        "metrics": {"wall": [value for _, _, value in rows]},
    }
    resources = Resources(
        names, [names.index(uid) for uid, _, _ in rows], **columns | overrides.pop("columns", {})
    )
    return sample_profile(
        **{"resources": resources, "job": Job(name, "time", f"./{name}")} | overrides
    )


def drawn(subject: Subject, **options: Any) -> list[figure]:
    """The figures, after bokeh has accepted them."""
    view = Bars(**options)
    assert pictures.refusal(view, subject) is None
    layout = pictures.rendered(view, subject)
    pictures.packed(layout)
    return list(layout.select({"type": figure}))


def bars(plot: figure) -> dict[str, list[float]]:
    """How long the bars are, by the texts of their kinds; in the order of the names."""
    found: dict[str, list[float]] = {}
    for item in (item for legend in plot.select({"type": Legend}) for item in legend.items):
        if type(item.renderers[0].glyph).__name__ == "HBar":
            data = item.renderers[0].data_source.data
            found[item.label.value] = np.round(
                np.asarray(data["right"]) - np.asarray(data["left"]), 5
            ).tolist()
    return found


def column(plot: figure, name: str) -> list[Any]:
    return next(
        list(one.data[name]) for one in plot.select({"type": ColumnDataSource}) if name in one.data
    )


def names(plot: figure) -> list[str]:
    return next(
        list(one.data["name"])
        for one in plot.select({"type": ColumnDataSource})
        if "numbers" in one.data
    )


TWICE = [("a", 0, 1.0), ("a", 1, 4.0), ("b", 0, 3.0), ("b", 1, 3.0)]


def test_each_unit_has_a_bar_from_zero_the_largest_first() -> None:
    (plot,) = drawn(Subject("x", [made(TWICE)]))
    # geometric means, as elsewhere
    assert names(plot) == ["b", "a"] and bars(plot) == {"mean": pytest.approx([3.0, 2.0])}
    assert plot.x_range.start == 0 and plot.x_range.end > 3
    assert (
        "wall time of 2 units" in pictures.said(plot)
        and plot.xaxis[0].axis_label == "wall time (s)"
    )


def test_whiskers_are_the_interval_over_executions_and_one_execution_has_none() -> None:
    values = [0.010, 0.012, 0.011, 0.013, 0.010]
    rows = [(uid, execution, value) for uid in "ab" for execution, value in enumerate(values)]
    (plot,) = drawn(Subject("x", [made(rows)]))
    low, high = column(plot, "low"), column(plot, "high")
    # R 4.3: exp(t.test(log(c(.010,.012,.011,.013,.010)), conf.level=.99)$conf.int)
    half = 4.604094871 * np.log(values).std(ddof=1) / np.sqrt(5)
    centre = 1000 * np.exp(np.log(values).mean())
    assert low == pytest.approx([centre * np.exp(-half)] * 2, rel=1e-5) and high == pytest.approx(
        [centre * np.exp(half)] * 2, rel=1e-5
    )
    assert "mean of up to 5 executions" in pictures.said(plot)
    (two,) = drawn(Subject("x", [made(rows[:2] + rows[5:7])]))
    assert "mean of 2 executions, no interval" in pictures.said(two)
    (divided,) = drawn(Subject("x", [made(TWICE)]), by="session", stacked="unit")
    for plot in (two, divided):
        assert not [one for one in plot.select({"type": ColumnDataSource}) if "low" in one.data]
    (alone,) = drawn(Subject("x", [made([("a", 0, 1.0), ("b", 0, 2.0)])]))
    assert "one execution has no interval" in pictures.said(alone)
    assert not [one for one in alone.select({"type": ColumnDataSource}) if "low" in one.data]


def test_baseline_and_target_stand_side_by_side_and_are_reported_in_numbers() -> None:
    before = [made([("a", 0, 1.0), ("b", 0, 3.0)], commit=pictures.BASELINE)]
    after = [made([("a", 0, 1.5), ("c", 0, 2.0)])]
    (plot,) = drawn(Subject("x", after, before))
    assert names(plot) == ["b", "c", "a"]
    assert column(plot, "numbers") == ["3 s → –", "– → 2 s", "1 s → 1.5 s, +50.0 %"]
    assert bars(plot) == {"baseline": [3.0, 1.0], "target": [2.0, 1.5]}
    patterns = {
        renderer.glyph.hatch_pattern
        for renderer in plot.select({"type": GlyphRenderer})
        if type(renderer.glyph).__name__ == "HBar"
    }
    assert len(patterns) == 2, "not told apart by colour alone"


def test_what_is_beyond_the_top_is_one_bar_and_counted() -> None:
    rows = [(f"u{number}", 0, float(number)) for number in range(1, 31)]
    (plot,) = drawn(Subject("x", [made(rows)]), top=5, aggregate="sum")
    assert names(plot) == ["u30", "u29", "u28", "u27", "26 others together"]
    assert bars(plot)["mean"] == [30.0, 29.0, 28.0, 27.0, 26 * 27 / 2]
    assert "wall time of 4 units, the largest of 30" in pictures.said(plot)
    (one,) = drawn(Subject("x", [made(rows)]), top=1)
    assert names(one) == ["u30", "29 others together"]
    (all_but_one,) = drawn(Subject("x", [made(rows[:3])]), top=2)
    assert names(all_but_one)[1] == "2 others together"


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [("mean", 7 / 3), ("median", 2.0), ("sum", 7.0), ("min", 1.0), ("max", 4.0), ("auto", 2.0)],
)
def test_the_rows_of_an_execution_become_one_number(aggregate: Any, expected: float) -> None:
    profile = made(
        [("a", 0, 1.0), ("a", 0, 2.0), ("a", 0, 4.0), ("b", 0, 10.0)],
        columns={"iteration": [0, 1, 2, 0]},
    )
    (plot,) = drawn(Subject("x", [profile]), aggregate=aggregate)
    assert bars(plot)["mean"] == pytest.approx([10.0, expected], rel=1e-4)


def test_the_median_of_an_even_number_of_rows_is_between_the_middle_ones() -> None:
    profile = made([("a", 0, 1.0), ("a", 0, 5.0), ("b", 0, 1.0)])
    assert bars(drawn(Subject("x", [profile]), aggregate="median")[0])["mean"] == [3.0, 1.0]


def test_recorded_calls_are_summed_up_each_for_as_many_as_it_stands_for() -> None:
    rows = Resources(
        ["f", "g"], [0, 0, 1], [0, 0, 0], size=[1.0, 2.0, 1.0],
        metrics={"duration": [1.0, 2.0, 4.0], "rate": [1.0, 10.0, 1.0], "pace": [1.0, 1.0, 1.0]},
    )  # fmt: skip
    metrics = {"duration": Metric("s"), "rate": Metric("", "none"), "pace": Metric("s", "none")}
    profile = sample_profile(
        resources=rows, metrics=metrics, job=Job("work", "complexity", "./work"), design=Design(1)
    )
    (plot,) = drawn(Subject("x", [profile]), by="uid")
    assert names(plot) == ["f", "g"] and bars(plot) == {"mean": [21.0, 4.0]}
    assert "sum of the rows" in pictures.said(plot)
    assert [metric for _, metric in together(Subject("x", [profile]))] == ["duration"]


def test_call_stacks_are_summed_up_by_function_and_a_sum_that_is_missing_is_zero() -> None:
    subject = Subject(
        "x",
        [
            pictures.sampled(
                {("main (a.py)", "f (a.py)"): 10, ("f (a.py)",): 5, ("g (b.py)",): 1},
                {("f (a.py)",): 9},
            )
        ],
    )
    (plot,) = drawn(subject)
    assert names(plot) == ["f (a.py)", "g (b.py)"]
    assert column(plot, "count") == [2, 2] and bars(plot)["mean"][1] == 0.5
    assert "without the whole process, 12.5" in pictures.said(plot)


def test_the_whole_process_stays_where_it_has_no_parts_beside_it() -> None:
    (plot,) = drawn(Subject("x", [made([("work", 0, 3.0), ("part", 0, 1.0)])]))
    assert len(names(plot)) == 2 and "without" not in pictures.said(plot)


def test_sizes_executions_and_sessions_keep_their_order() -> None:
    sized = made([("a", 0, 3.0), ("a", 0, 9.0), ("a", 0, 1.0)], columns={"size": [10.0, 2.0, None]})
    (plot,) = drawn(Subject("x", [sized]), by="size")
    assert names(plot) == ["size 2", "size 10", "no size"]
    (by_execution,) = drawn(Subject("x", [made(TWICE)]), by="execution")
    assert names(by_execution) == ["execution 1", "execution 2"] and bars(by_execution) == {
        "mean": [4.0, 7.0]
    }
    later = made(
        TWICE,
        collected=Collected(
            "20261121T093000-aaaaaa", "2026-11-21T09:30:00Z", "2026-11-21T09:30:02Z", "perfvcs"
        ),
    )
    (by_session,) = drawn(Subject("x", [later, made(TWICE)]), by="session")
    assert names(by_session) == ["session 20261120T…000-4f2a91", "session 20261121T…000-aaaaaa"]


def test_a_bar_is_divided_into_parts_that_add_up() -> None:
    (plot,) = drawn(Subject("x", [made(TWICE)]), by="execution", stacked="unit")
    assert bars(plot) == {"b": [3.0, 3.0], "a": [1.0, 4.0]}
    assert column(plot, "numbers") == ["4 s", "7 s"]
    (whole,) = drawn(Subject("x", [made(TWICE)]), by="session", stacked="unit")
    assert column(whole, "numbers") == ["5.5 s"]  # two executions are too few for an interval


def test_parts_of_two_revisions_stand_above_one_another_with_their_shares() -> None:
    after, before = (
        [made([("a", 0, 3.0), ("b", 0, 1.0)])],
        [made([("a", 0, 1.0), ("b", 0, 1.0)], commit=pictures.BASELINE)],
    )
    (plot,) = drawn(Subject("x", after, before), by="session", stacked="uid")
    assert "above: baseline, below: target" in pictures.said(plot)
    amounts = [
        text
        for one in plot.select({"type": ColumnDataSource})
        for text in one.data.get("amount", [])
    ]
    assert set(amounts) == {"1 s, 50.0 %", "3 s, 75.0 %", "1 s, 25.0 %"}


def test_parts_below_zero_go_to_the_left() -> None:
    (plot,) = drawn(
        Subject("x", [made([("a", 0, 3.0), ("b", 0, -2.0)])]), by="session", stacked="unit"
    )
    assert plot.x_range.start < -1.9 and "parts below zero go to the left" not in bars(plot)
    assert "parts below zero go to the left" in pictures.said(plot) and sorted(
        value[0] for value in bars(plot).values()
    ) == [-2.0, 3.0]


def test_metrics_of_one_unit_of_measurement_are_put_together() -> None:
    profile = pictures.measured(metrics=["wall", "cpu", "maxrss"], executions=3)
    (plot,) = drawn(Subject("x", [profile]), stacked="metric", metrics="wall,cpu")
    assert list(bars(plot)) == ["wall time", "CPU time"] and "together of 1 unit" in pictures.said(
        plot
    )
    seconds, *others = drawn(Subject("x", [profile]), by="metric")
    # a single metric in bytes has nothing beside it
    assert names(seconds) == ["wall time", "CPU time"] and not others
    assert 'data-view="bars"' in render(Subject("x", [profile]), "bars", {"by": "metric"})


@pytest.mark.slow
def test_jobs_stand_side_by_side_when_they_are_asked_for_and_environments_do_not() -> None:
    subject = pictures.one(executions=3)
    assert [len(names(plot)) for plot in drawn(subject)] == [2, 2, 2]
    assert names(drawn(subject)[0]) == ["parse", "sort --reverse data/10k.txt"]
    assert 'data-view="bars"' not in render(subject) and 'data-view="bars"' in render(
        subject, "bars"
    )
    elsewhere = [
        msgspec.structs.replace(one, environment=sample_profile().environment)
        for one in subject.target
    ]
    assert len(drawn(Subject("x", [*subject.target, *elsewhere]))) == 6


def test_a_baseline_from_elsewhere_is_taken_where_there_is_no_other() -> None:
    after, before = pictures.one(executions=2).target, pictures.one(executions=2).target
    before = [
        msgspec.structs.replace(one, environment=sample_profile().environment) for one in before
    ]
    assert set(bars(drawn(Subject("x", after, before))[0])) == {"baseline", "target"}
    assert set(bars(drawn(Subject("x", [], before))[0])) == {"mean"}


def test_of_a_job_with_several_settings_the_newest_count() -> None:
    newer = Collected(
        "20261121T093000-aaaaaa", "2026-11-21T09:30:00Z", "2026-11-21T09:30:02Z", "perfvcs"
    )
    changed = made(
        [("a", 0, 8.0), ("b", 0, 9.0)], collected=newer, job=Job("work", "time", "./work --other")
    )
    (plot,) = drawn(Subject("x", [changed, made(TWICE)]))
    assert bars(plot) == {"mean": [9.0, 8.0]}


def test_repeated_executions_do_not_count() -> None:
    (plot,) = drawn(Subject("x", [made(TWICE, columns={"mark": [0, REPEATED, 0, REPEATED]})]))
    assert bars(plot) == {"mean": [3.0, 1.0]}
    nothing = Subject("x", [made(TWICE, columns={"mark": [REPEATED] * 4})])
    assert pictures.refusal(Bars(), nothing) == "no row has a usable value"


@pytest.mark.parametrize(
    ("subject", "options", "reason"),
    [
        (Subject("x"), {}, "there are no measurements"),
        (Subject("x", [sample_profile(wall=())]), {}, "there are no measurements"),
        (
            Subject("x", [sample_profile()]),
            {},
            "it draws bars side by side, and there is only one unit",
        ),
        (
            Subject("x", [sample_profile()]),
            {"by": "session", "stacked": "uid"},
            "it draws bars side by side, and there is only one session or uid",
        ),
        (
            Subject("x", [sample_profile()]),
            {"metrics": "no such"},
            "it draws bars side by side, and there is only one unit",
        ),
        (
            Subject("x", [pictures.counted(only=("rss",))]),
            {},
            "`flow` draws what was measured over time",
        ),
    ],
)
def test_what_does_not_fit_says_why(subject: Subject, options: dict[str, Any], reason: str) -> None:
    assert pictures.refusal(Bars(**options), subject) == reason


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(
        UsageError, match="--set: view `bars`: top: give a whole number of at least 1"
    ):
        plugins.build("views", "bars", {"top": 0}, "--set")
    with pytest.raises(UsageError, match="is 'color': give "):
        plugins.build("views", "bars", {"by": "color"}, "--set")


def test_names_are_only_text_and_stay_short() -> None:
    (plot,) = drawn(Subject("x", [made([(attack, 0, 1.0) for attack in pictures.ATTACKS])]))
    assert max(map(len, names(plot))) < 40 and any("<img" in name for name in names(plot))
    page = render(Subject("x", [made([(attack, 0, 1.0) for attack in pictures.ATTACKS])]), "bars")
    assert "<img src=x" not in page
